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
    kept, starts, count = _sorted_within_groups(values, grouping)
    has = count > 0
    nothing = np.full(grouping.groups, np.nan)
    if not has.any():
        zero = np.zeros(grouping.groups, np.int64)
        return GroupedStatistics(zero, grouping.sizes, *(nothing for _ in range(7)))
    first, size = starts[has], count[has]

    def spread(found: Floats) -> Floats:
        whole = nothing.copy()
        whole[has] = found
        return whole

    total = _sums(kept, first, size)
    mean = total / size
    low, high = kept[first + (size - 1) // 2], kept[first + size // 2]
    with np.errstate(invalid="ignore"):  # infinite values: their deviation is missing by definition
        squares = (kept - np.repeat(mean, size)) ** 2
        deviation = np.sqrt(_sums(squares, first, size) / np.where(size > ddof, size - ddof, np.nan))
    return GroupedStatistics(
        count=count,
        missing=grouping.sizes - count,
        median=spread(np.where(low == high, low, (low + high) / 2)),
        mean=spread(mean),
        mode=spread(_modes(kept, first)),
        min=spread(kept[first]),
        max=spread(kept[first + size - 1]),
        std_dev=spread(np.where(np.isfinite(mean), deviation, np.nan)),
        sum=spread(total),
    )


def _sorted_within_groups(values: Floats, grouping: Grouping) -> tuple[Floats, Ints, Ints]:
    """Known values group after group, ascending within each; where each group begins; how many it has."""
    known = ~np.isnan(values)
    if grouping.groups > _MANY_GROUPS:
        order = np.lexsort((values, grouping.codes))
        kept = values[order]
        kept = kept[~np.isnan(kept)]
        count = np.bincount(grouping.codes[known], minlength=grouping.groups).astype(np.int64)
        return kept, np.concatenate(([0], np.cumsum(count)[:-1])), count
    by_group = values[grouping.order]
    if known.all():
        kept, count = by_group, grouping.sizes
    else:
        kept = by_group[~np.isnan(by_group)]
        count = np.bincount(grouping.codes[known], minlength=grouping.groups).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(count)[:-1])).astype(np.int64)
    for start, size in zip(starts.tolist(), count.tolist(), strict=True):
        kept[start : start + size].sort()
    return kept, starts, count


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
