"""Statistics of many groups at once: sorted values with counts, weighted means, intervals for means and medians."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.statistics._estimates import LEVEL, Floats, Interval, Ints, WeightBy, no_interval, too_few
from steelyard.statistics._exact_sums import ExactSums, exact_means, midpoint
from steelyard.statistics._means import (
    ASSUMED_TAIL,
    HALL,
    coverage_floor,
    exact_median,
    median_rank,
    min_n_for_median_ci,
    no_clustered_median,
    skewed_bounds,
    woodruff_median,
)
from steelyard.statistics._proportions import GAFFKE, bounded_limits, clopper_pearson

_MANY_GROUPS = 100_000
"""From here on one sort over all rows is cheaper than a sort for each group."""
_LARGE_GROUP = 4_096
"""From here on Polars sorts faster than NumPy, several times where values recur."""
_LARGE, _SHRINK = 1e150, 2.0**-600
"""Above the first, squares do not exist; the second brings every number below it."""


class GroupedValues(ABC):
    """What statistics are taken from, wherever the values are kept, each made when it is asked for.

    Save the two counts, statistics are those of the groups that have values, in order.
    """

    counts: Ints
    """How many values each group has."""
    missing: Ints
    """How many more of its rows have none."""
    ddof: int
    """0 for the deviation of the population, 1 for that of the sample."""

    @property
    @abstractmethod
    def smallest(self) -> Floats:
        """The smallest value of each group."""

    @property
    @abstractmethod
    def largest(self) -> Floats:
        """The largest."""

    @property
    @abstractmethod
    def median(self) -> Floats:
        """The middle."""

    @property
    @abstractmethod
    def mode(self) -> Floats:
        """The most frequent value; the smallest if tied."""

    @abstractmethod
    def at(self, place: Ints | int) -> Floats:
        """The value of each group at a place of its order; 0 is the smallest."""

    @property
    @abstractmethod
    def sums(self) -> ExactSums:
        """The sums of values before any rounding."""

    @abstractmethod
    def squares(self, scale: float) -> ExactSums:
        """The sums of squared distances from the group's mean, all times `scale`; infinite ones count as 0."""

    @cached_property
    def size(self) -> Ints:
        """How many values each group has, of those that have any."""
        return self.counts[self.counts > 0]

    @property
    def total(self) -> Floats:
        """The sum."""
        return self.sums.totals

    @cached_property
    def mean(self) -> Floats:
        """The mean."""
        return self.sums.means

    @property
    def deviation(self) -> Floats:
        """The standard deviation; missing where a value is infinite or the sample has one value."""
        edges = np.abs(np.concatenate([self.smallest, self.largest]))
        # a power of two changes no digit that shows, and squares exist
        scale = _SHRINK if np.max(edges, where=np.isfinite(edges), initial=0.0) > _LARGE else 1.0
        deviation = np.sqrt(self.squares(scale).over(self.size - self.ddof)) / scale
        return np.asarray(np.where(np.isfinite(self.mean), deviation, np.nan), dtype=float)


@dataclass(frozen=True)
class CountedGroups(GroupedValues):
    """Distinct numbers in memory, each with how often it occurs."""

    values: Floats
    """Group after group, ascending and distinct within each."""
    groups: npt.NDArray[np.uint32]
    """The number of each value's group among those that have values."""
    often: Ints
    """How often each occurs."""
    counts: Ints
    missing: Ints
    ddof: int

    @classmethod
    def of(cls, values: Floats, sizes: Ints, *, ddof: int) -> CountedGroups:
        """Return groups of contiguous rows with these sizes; NaN is missing."""
        ordered, counts = _sorted_within_groups(values, sizes)
        size = counts[counts > 0]
        is_new = np.ones(len(ordered), dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
        is_new[first := np.cumsum(size) - size] = True
        if is_new.all():
            once = np.broadcast_to(np.int64(1), ordered.shape)
            return cls(ordered, _repeated(size), once, counts, sizes - counts, ddof)
        starts = np.flatnonzero(is_new)
        often = np.diff(starts, append=len(ordered))
        distinct = np.diff(np.searchsorted(starts, first), append=len(starts))
        return cls(ordered[starts], _repeated(distinct), often, counts, sizes - counts, ddof)

    @classmethod
    def of_counts(cls, groups: Ints, values: Floats, often: Ints, *, size: int, ddof: int) -> CountedGroups:
        """Those of distinct values in any order, each with its group below `size`; NaN is missing."""
        known = ~np.isnan(values)
        missing = np.bincount(groups[~known], weights=often[~known], minlength=size).astype(np.int64)
        groups, values, often = groups[known], values[known], often[known]
        counts = np.bincount(groups, weights=often, minlength=size).astype(np.int64)
        order = np.lexsort((values, groups))
        places = (np.cumsum(counts > 0) - 1).astype(np.uint32)
        return cls(values[order], places[groups[order]], often[order], counts, missing, ddof)

    @cached_property
    def _first(self) -> Ints:
        """Where each group begins."""
        return np.searchsorted(self.groups, np.arange(len(self.size), dtype=np.uint32))

    @cached_property
    def _running(self) -> Ints:
        return np.cumsum(self.often)

    @property
    def _are_distinct(self) -> bool:
        return len(self.often) == int(self.size.sum())

    def at(self, place: Ints | int) -> Floats:
        """The value of each group at a place of its order; 0 is the smallest."""
        if self._are_distinct:
            return np.asarray(self.values[self._first + place])
        before = self._running[self._first] - self.often[self._first]
        return np.asarray(self.values[np.searchsorted(self._running, before + place, side="right")])

    @cached_property
    def smallest(self) -> Floats:
        """The smallest value of each group."""
        return np.asarray(self.values[self._first])

    @cached_property
    def largest(self) -> Floats:
        """The largest."""
        return np.asarray(self.values[np.append(self._first[1:], len(self.values)) - 1])

    @property
    def median(self) -> Floats:
        """The middle."""
        return midpoint(self.at((self.size - 1) // 2), self.at(self.size // 2))

    @property
    def mode(self) -> Floats:
        """The most frequent value; the smallest if tied."""
        if self._are_distinct:
            return self.smallest
        tops = np.maximum.reduceat(self.often, self._first)
        candidates = np.flatnonzero(self.often == tops[self.groups])
        return np.asarray(self.values[candidates[np.searchsorted(candidates, self._first)]])

    @cached_property
    def sums(self) -> ExactSums:
        """The sums of values before any rounding."""
        return self._added(self.values)

    def squares(self, scale: float) -> ExactSums:
        """The sums of squared distances from the group's mean, all times `scale`; infinite ones count as 0."""
        with np.errstate(invalid="ignore"):
            gaps = np.repeat(self.mean * scale, np.diff(self._first, append=len(self.values)))
            np.subtract(self.values if scale == 1.0 else self.values * scale, gaps, out=gaps)
            gaps *= gaps
        if not np.isfinite(self.mean).all():
            gaps[~np.isfinite(gaps)] = 0.0
        return self._added(gaps)

    def _added(self, values: Floats) -> ExactSums:
        return ExactSums.of(values, self.groups, len(self.size), None if self._are_distinct else self.often)


def _sorted_within_groups(values: Floats, sizes: Ints) -> tuple[Floats, Ints]:
    """Known values group after group, ascending within each, and how many each group has."""
    unknown = np.isnan(values)
    if unknown.any():
        sizes = sizes - np.bincount(_repeated(sizes)[unknown], minlength=len(sizes))
        values = values[~unknown]
    if len(sizes) > _MANY_GROUPS:
        return values[np.lexsort((values, _repeated(sizes)))], sizes
    for end, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True):
        group = values[end - size : end]
        if size < _LARGE_GROUP:
            group.sort()
        else:
            group[:] = pl.Series(group).sort(multithreaded=False).to_numpy()
    return values, sizes


def _repeated(sizes: Ints) -> npt.NDArray[np.uint32]:
    """The number of each group, as often as it has rows."""
    return np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)


def weighted_means(values: Floats, groups: Ints, tasks: Ints, *, size: int, weight_by: WeightBy) -> Floats:
    """The mean of each group, NaN for an empty one; NaN among the values is missing.

    By `runs` every run counts once; by `tasks` it is the mean over tasks of the task's own mean, so that a task
    counts once however often it was tried, and one without a value not at all.

    >>> cost, group, task = np.array([0.1, 0.1, 5.0]), np.array([0, 0, 0]), np.array([0, 0, 1])
    >>> float(weighted_means(cost, group, task, size=1, weight_by="tasks")[0])
    2.55
    """
    known = ~np.isnan(values)
    if not known.all():
        values, groups, tasks = values[known], groups[known], tasks[known]
    if weight_by == "runs":
        return exact_means(values, groups, size)
    means, owners, _ = task_means(values, groups, tasks)
    return exact_means(means, owners, size)


def task_means(values: Floats, groups: Ints, tasks: Ints) -> tuple[Floats, Ints, Ints]:
    """The mean of each task within each group, in order: the means, their groups, and how many values each has.

    `values` holds no NaN.
    """
    cells, owners, counts = _occurring(groups, tasks)
    return exact_means(values, cells, len(owners)), owners, counts


def evenly_tried(groups: Ints, tasks: Ints, *, size: int) -> np.ndarray:
    """Whether each group tried all of its tasks equally often, so that both weights agree."""
    _, owners, counts = _occurring(groups, tasks)
    least, most = np.full(size, np.iinfo(np.int64).max), np.zeros(size, dtype=np.int64)
    np.minimum.at(least, owners, counts)
    np.maximum.at(most, owners, counts)
    return np.asarray(least >= most, dtype=bool)


def _occurring(groups: Ints, tasks: Ints) -> tuple[Ints, Ints, Ints]:
    """The number of each row's group and task among those that occur, in order; of each its group and its rows."""
    width = int(tasks.max(initial=0)) + 1
    cells = groups.astype(np.int64) * width + tasks
    if int(cells.max(initial=0)) > 4 * len(cells):
        numbers, places, counts = np.unique(cells, return_inverse=True, return_counts=True)
        return places, numbers // width, counts
    by_number = np.bincount(cells)  # much faster than sorting, where numbers are dense
    numbers = np.flatnonzero(by_number)
    if len(numbers) == len(by_number):
        return cells, numbers // width, by_number
    place_of = np.zeros(len(by_number), dtype=np.int64)
    place_of[numbers] = np.arange(len(numbers))
    return place_of[cells], numbers // width, by_number[numbers]


SAME = 1e-12
"""Limits this close relative to their mean differ by rounding only."""


@dataclass(frozen=True, slots=True)
class _TaskSums:
    """Values added up by group and by task within the group, whatever the order of rows."""

    owner: Ints
    """The group of each task, ascending."""
    sums: Floats
    """Sum of each task's values."""
    counts: Floats
    """How many values each has."""


def _task_sums(values: Floats, groups: Ints, tasks: Ints) -> _TaskSums:
    """One row for each task of each group; `groups` and `tasks` are codes 0, 1, ..."""
    order = np.lexsort((values, tasks, groups))
    numbers, group, task = values[order], groups[order], tasks[order]
    fresh = np.ones(len(group), dtype=bool)
    fresh[1:] = (group[1:] != group[:-1]) | (task[1:] != task[:-1])
    cell = np.cumsum(fresh) - 1
    size = int(fresh.sum())
    return _TaskSums(
        group[fresh],
        np.bincount(cell, weights=numbers, minlength=size).astype(float),
        np.bincount(cell, minlength=size).astype(float),
    )


def auto_means(
    values: Floats,
    groups: Ints,
    tasks: Ints,
    *,
    figures: Floats,
    bounds: tuple[float, float],
    binary: bool = False,
    weight_by: WeightBy = "runs",
    level: float = LEVEL,
) -> list[Interval]:
    """For each group the interval of its mean that the metric calls for, at the cost of a few array operations.

    Within bounds it is Gaffke's over task means, which for single attempts at a `binary` metric (0 or 1) is Clopper
    and Pearson's; without an upper bound it is Hall's, and without any (a logarithm) Student's. `figures` are the
    means, weighted by `weight_by`.
    """
    size = len(figures)
    cells = _task_sums(values, groups, tasks)
    n = np.bincount(groups, minlength=size)
    clusters = np.bincount(cells.owner, minlength=size)
    weights = cells.counts if weight_by == "runs" else np.ones(len(cells.counts))
    usable, bounded = clusters > 1, bool(np.isfinite(bounds).all())
    low, high, counted = np.full((3, size), np.nan)
    rows, used = _rows(cells, weights, usable), int(usable.sum())
    if bounded:
        low[usable], high[usable] = bounded_limits(*rows, size=used, bounds=bounds, level=level)
    else:
        low[usable], high[usable], counted[usable] = skewed_bounds(
            *rows, size=used, floor=bounds[0], level=level, skewed=bool(np.isfinite(bounds[0]))
        )
    return [
        _interval(
            float(figures[place]) if n[place] else None,
            (float(low[place]), float(high[place])),
            n=int(n[place]),
            clusters=int(clusters[place]),
            binary=binary and bool(n[place] == clusters[place]),
            approx_coverage=None if bounded else coverage_floor(float(counted[place]), level=level),
            method=GAFFKE if bounded else HALL,
            level=level,
        )
        for place in range(size)
    ]


def _rows(cells: _TaskSums, weights: Floats, usable: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Ints]:
    """Means and weights of the tasks of usable groups, in an order that names do not change, and whose they are."""
    means = cells.sums / cells.counts
    order = np.lexsort((weights, means, cells.owner))
    order = order[usable[cells.owner[order]]]
    return means[order], weights[order], (np.cumsum(usable) - 1)[cells.owner[order]]


def _interval(
    estimate: float | None,
    limits: tuple[float, float],
    *,
    n: int,
    clusters: int,
    binary: bool,
    approx_coverage: float | None,
    method: str,
    level: float,
) -> Interval:
    """The interval of one group."""
    if clusters < 2 or estimate is None:
        return no_interval(too_few(n), method=method, n=n, clusters=clusters, level=level, estimate=estimate)
    if binary:
        return clopper_pearson(round(estimate * n), n, level=level)
    if limits[1] - limits[0] <= SAME * max(abs(estimate), SAME):
        reason = "equal on every task, so the variance cannot be estimated"
        return no_interval(reason, method=method, n=n, clusters=clusters, level=level, estimate=estimate)
    return Interval(
        estimate=estimate,
        low=limits[0],
        high=limits[1],
        method=method,
        n=n,
        clusters=clusters,
        confidence=level,
        approx_coverage=approx_coverage,
        assumes=None if approx_coverage is None else ASSUMED_TAIL,
    )


def auto_medians(
    values: npt.ArrayLike, groups: Ints, tasks: Ints, *, size: int, level: float = LEVEL
) -> list[Interval]:
    """For each group the interval of its median: exact with one value a task, else Woodruff's."""
    numbers = np.asarray(values, dtype=float)
    order = np.lexsort((numbers, groups))
    ordered = numbers[order]
    n = np.bincount(groups, minlength=size)
    starts = np.cumsum(n) - n
    median = np.full(size, np.nan)
    median[n > 0] = CountedGroups.of(ordered, n, ddof=0).median
    below = (numbers < median[groups]) + 0.5 * (numbers == median[groups])
    cells = _task_sums(below, groups, tasks)
    tried = np.bincount(cells.owner, minlength=size)
    low, high = _shares_below(cells, tried > 1, level=level)
    ranks = {int(count): median_rank(int(count), level) for count in np.unique(n)}
    intervals = []
    for place in range(size):
        count, clusters = int(n[place]), int(tried[place])
        own = ordered[starts[place] : starts[place] + count]
        estimate = float(median[place]) if count else None
        if count == clusters:
            intervals.append(exact_median(own, estimate, ranks[count], level=level))
        elif clusters < min_n_for_median_ci(level):
            intervals.append(no_clustered_median(count, clusters, level=level, estimate=estimate))
        else:
            limits = float(low[place]), float(high[place])
            intervals.append(woodruff_median(own, estimate, limits, clusters=clusters, level=level))
    return intervals


def _shares_below(cells: _TaskSums, usable: npt.NDArray[np.bool_], *, level: float) -> tuple[Floats, Floats]:
    """For each group with two tasks or more, the bounds of the fraction of values below its median."""
    low, high = np.full((2, len(usable)), np.nan)
    rows = _rows(cells, cells.counts, usable)
    low[usable], high[usable] = bounded_limits(*rows, size=int(usable.sum()), bounds=(0.0, 1.0), level=level)
    return low, high
