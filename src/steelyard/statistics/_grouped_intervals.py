"""Vectorized intervals for many groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.statistics import _bounded_means as bounded_means, _skewed_means as skewed_means
from steelyard.statistics._bounded_means import bounded_limits
from steelyard.statistics._counted_groups import CountedGroups
from steelyard.statistics._estimates import LEVEL, Interval
from steelyard.statistics._interval import Floats, Ints, no_interval, too_few
from steelyard.statistics._means import (
    exact_median,
    median_rank,
    min_n_for_median_ci,
    no_clustered_median,
    woodruff_median,
)
from steelyard.statistics._proportions import clopper_pearson
from steelyard.statistics._skewed_means import skewed_bounds
from steelyard.statistics._weighting import WeightBy

SAME = 1e-12
"""Limits this close relative to their mean differ by rounding only."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Values added up by group and by task within the group, whatever the order of rows."""

    owner: Ints
    """The group of each task, ascending."""
    sums: Floats
    """Sum of each task's values."""
    counts: Floats
    """How many values each has."""


def by_cell(values: Floats, groups: Ints, tasks: Ints) -> Cells:
    """One row for each task of each group; `groups` and `tasks` are codes 0, 1, ..."""
    order = np.lexsort((values, tasks, groups))
    numbers, group, task = values[order], groups[order], tasks[order]
    fresh = np.ones(len(group), dtype=bool)
    fresh[1:] = (group[1:] != group[:-1]) | (task[1:] != task[:-1])
    cell = np.cumsum(fresh) - 1
    size = int(fresh.sum())
    return Cells(
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
    cells = by_cell(values, groups, tasks)
    n = np.bincount(groups, minlength=size)
    clusters = np.bincount(cells.owner, minlength=size)
    weights = cells.counts if weight_by == "runs" else np.ones(len(cells.counts))
    usable, bounded = clusters > 1, bool(np.isfinite(bounds).all())
    low, high, counted, varied = np.full((4, size), np.nan)
    rows, used = _rows(cells, weights, usable), int(usable.sum())
    if bounded:
        low[usable], high[usable] = bounded_limits(*rows, size=used, bounds=bounds, level=level)
    else:
        low[usable], high[usable], counted[usable], varied[usable] = skewed_bounds(
            *rows, size=used, floor=bounds[0], level=level, skewed=bool(np.isfinite(bounds[0]))
        )
    return [
        _interval(
            float(figures[place]) if n[place] else None,
            (float(low[place]), float(high[place])),
            n=int(n[place]),
            clusters=int(clusters[place]),
            binary=binary and bool(n[place] == clusters[place]),
            approx_coverage=None
            if bounded
            else skewed_means.reached(float(counted[place]), float(varied[place]), level),
            method=bounded_means.METHOD if bounded else skewed_means.METHOD,
            level=level,
        )
        for place in range(size)
    ]


def _rows(cells: Cells, weights: Floats, usable: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, Ints]:
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
    cells = by_cell(below, groups, tasks)
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


def _shares_below(cells: Cells, usable: npt.NDArray[np.bool_], *, level: float) -> tuple[Floats, Floats]:
    """For each group with two tasks or more, the bounds of the fraction of values below its median."""
    low, high = np.full((2, len(usable)), np.nan)
    rows = _rows(cells, cells.counts, usable)
    low[usable], high[usable] = bounded_limits(*rows, size=int(usable.sum()), bounds=(0.0, 1.0), level=level)
    return low, high
