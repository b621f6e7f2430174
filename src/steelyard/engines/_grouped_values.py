"""Statistics of many groups at once, in an order that does not depend on the order of rows.

Values are sorted within their group before anything is added up, so the same runs give the same bits however they were
read, and each group's sums use the same pairwise scheme whatever stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PAIRWISE_FROM = 128
"""Groups of this size and more are summed one by one (pairwise); smaller ones all at once."""
_MANY_GROUPS = 100_000
"""From here on one sort over all rows is cheaper than a sort for each group."""
_LARGE, _SHRINK = 1e150, 2.0**-600
"""Above the first, squares do not exist; the second brings every number below it."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which rows belong to which group: `order` lists the rows group after group, `starts` where each group begins."""

    codes: NDArray[np.uint32]
    order: Ints
    starts: Ints
    sizes: Ints

    @classmethod
    def of(cls, codes: NDArray[np.uint32], groups: int) -> Grouping:
        """The grouping of rows by code; every code is below `groups`."""
        small = codes.astype(np.uint16) if groups <= 65_536 else codes
        order = np.argsort(small, kind="stable")
        sizes = np.bincount(codes, minlength=groups).astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64) if groups else np.zeros(0, np.int64)
        return cls(codes, order, starts, sizes)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)


_STATISTICS = ("median", "mean", "mode", "min", "max", "std_dev", "sum")


@dataclass(frozen=True, slots=True)
class GroupedStatistics:
    """One array for each statistic, one element a group; NaN where it is missing."""

    count: Ints
    missing: Ints
    median: Floats
    mean: Floats
    mode: Floats
    min: Floats
    max: Floats
    std_dev: Floats
    sum: Floats


def grouped_statistics(values: Floats, grouping: Grouping, *, ddof: int) -> GroupedStatistics:
    """Statistics of `values` (NaN = missing) in each group. `ddof` 0 is the population, 1 the sample deviation."""
    kept, count = _sorted_within_groups(values[grouping.order], grouping.sizes)
    has = count > 0
    by_statistic = {name: np.full(grouping.groups, np.nan) for name in _STATISTICS}
    if has.any():
        for name, part in _reduced(kept, count[has], ddof).items():
            by_statistic[name][has] = part
    return GroupedStatistics(count=count, missing=grouping.sizes - count, **by_statistic)


def _reduced(kept: Floats, size: Ints, ddof: int) -> dict[str, Floats]:
    """Each statistic of each group; the groups' sorted values lie side by side and none is empty."""
    first = np.cumsum(size) - size
    low, high = kept[first + (size - 1) // 2], kept[first + size // 2]
    with np.errstate(over="ignore"):  # two values whose sum is too large are halved first
        added = low + high
        middle = np.where(np.isfinite(added) | (low == high), added / 2, low / 2 + high / 2)
    return {
        "median": np.where(low == high, low, middle),
        "mode": _modes(kept, first),
        "min": kept[first],
        "max": kept[first + size - 1],
        **_moments(kept, first, size, ddof),
    }


def _moments(kept: Floats, first: Ints, size: Ints, ddof: int) -> dict[str, Floats]:
    least, most = kept[first], kept[first + size - 1]
    edges = np.abs(np.concatenate([least, most]))
    if np.max(edges, where=np.isfinite(edges), initial=0.0) > _LARGE:
        # a power of two changes no digit, and the sums of squares exist
        small = _moments(kept * _SHRINK, first, size, ddof)
        with np.errstate(over="ignore"):  # a sum that is too large is infinite
            return {name: shrunk / _SHRINK for name, shrunk in small.items()}
    total = _sums(kept, first, size)
    mean = np.where(least == most, least, total / size)  # ten times 0.6 add up to a little less than 6
    with np.errstate(invalid="ignore"):  # infinite values: their deviation is missing by definition
        deviations = kept - np.repeat(mean, size)
        squares = np.multiply(deviations, deviations, out=deviations)
        deviation = np.sqrt(_sums(squares, first, size) / np.where(size > ddof, size - ddof, np.nan))
    return {"mean": mean, "std_dev": np.where(np.isfinite(mean), deviation, np.nan), "sum": total}


def _sorted_within_groups(values: Floats, sizes: Ints) -> tuple[Floats, Ints]:
    """Known values group after group, ascending within each, and how many each group has."""
    groups = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
    unknown = np.isnan(values)
    if unknown.any():
        sizes = sizes - np.bincount(groups[unknown], minlength=len(sizes))
        values, groups = values[~unknown], groups[~unknown]
    if len(sizes) > _MANY_GROUPS:
        return values[np.lexsort((values, groups))], sizes
    for end, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True):
        values[end - size : end].sort()
    return values, sizes


def _sums(values: Floats, starts: Ints, sizes: Ints) -> Floats:
    """The sum of each group's slice; the slices lie side by side and none is empty."""
    totals = np.add.reduceat(values, starts)
    for index in np.flatnonzero(sizes >= _PAIRWISE_FROM):
        totals[index] = values[starts[index] : starts[index] + sizes[index]].sum()
    return totals


def _modes(values: Floats, starts: Ints) -> Floats:
    """The most frequent value of each sorted slice, the smallest among equals."""
    is_new = np.empty(len(values), dtype=bool)
    is_new[0] = True
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    is_new[starts] = True
    run_starts = np.flatnonzero(is_new)
    run_lengths = np.diff(run_starts, append=len(values))
    first_run = np.searchsorted(run_starts, starts)
    longest = np.maximum.reduceat(run_lengths, first_run)
    runs_per_group = np.diff(first_run, append=len(run_starts))
    is_longest = run_lengths == np.repeat(longest, runs_per_group)
    candidates = np.flatnonzero(is_longest)
    chosen = candidates[np.searchsorted(candidates, first_run)]
    return values[run_starts[chosen]]
