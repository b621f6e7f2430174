"""Runs in groups: the keys that make a group, and the values of each sorted within it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.errors import UsageError

Key = tuple[str | int | None, ...]
Codes = NDArray[Any]  # Any: 32 bits where they suffice, else 64
Level = list[str | int | None]


@dataclass(frozen=True, slots=True)
class Combinations:
    """The combinations of keys that occur, numbered in order, and each row's number."""

    present: Codes
    rows: NDArray[np.uint32]
    levels: tuple[Level, ...]

    def keys(self, numbers: Sequence[int] | None = None) -> list[Key]:
        """The keys of the numbered combinations, or of all of them."""
        chosen = self.present if numbers is None else self.present[np.asarray(numbers, np.int64)]
        parts: list[list[str | int | None]] = []
        rest = chosen.copy()
        for level in reversed(self.levels):
            rest, index = np.divmod(rest, len(level))
            parts.append([level[position] for position in index.tolist()])
        return list(zip(*reversed(parts), strict=True)) if parts else [()] * len(chosen)

    @property
    def sizes(self) -> Codes:
        """How many rows each combination has."""
        return np.bincount(self.rows, minlength=len(self.present)).astype(np.int64)

    def grouping(self) -> Grouping:
        """The rows by combination, for reducing."""
        return Grouping.of(self.rows, len(self.present))


@dataclass
class KeyCoder:
    """Numbers the values of key columns, each column once."""

    frame: pl.LazyFrame
    n: int
    _known: dict[str, tuple[Codes, Level]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names = set(self.frame.collect_schema().names())

    def combine(self, by: Sequence[str]) -> Combinations:
        """The combinations of the named keys; missing values come last in order."""
        with ThreadPoolExecutor() as threads:  # Polars lets go of the interpreter while it looks names up
            list(threads.map(self._codes, by))
        codes: Codes = np.zeros(self.n, np.uint32)
        levels: list[Level] = []
        for name in by:
            own, values = self._codes(name)
            space = math.prod(map(len, [*levels, values]))
            if space >= 2**62:
                raise UsageError("the keys have too many combinations to be numbered", hint="group by fewer keys")
            if levels:
                codes = codes.astype(np.int64) if space >= 2**32 else codes
                codes = codes * codes.dtype.type(len(values)) + own
            else:
                codes = own
            levels.append(values)
        return _numbered(codes, tuple(levels))

    def _codes(self, name: str) -> tuple[Codes, Level]:
        if name not in self._known:
            if name in self._names:
                self._known[name] = _codes_of(self.frame.select(name).collect().to_series())
            else:
                self._known[name] = (np.zeros(self.n, np.uint32), [None])
        return self._known[name]


def _codes_of(column: pl.Series) -> tuple[Codes, Level]:
    """Each row's index into the sorted distinct values; missing comes last."""
    if column.null_count() == len(column):
        return np.zeros(len(column), np.uint32), [None]
    numbers = _small_numbers(column)
    first_row = np.full(int(numbers.max()) + 1, -1, np.int64)
    first_row[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    present = np.flatnonzero(first_row >= 0)
    values = column.gather(first_row[present])
    order = values.arg_sort(nulls_last=True).to_numpy()
    code_of = np.zeros(len(first_row), np.uint32)
    code_of[present[order]] = np.arange(len(order))
    return code_of[numbers], values.gather(order).to_list()


def _small_numbers(column: pl.Series) -> Codes:
    """A number for each row, the same for the same value, and not much larger than the number of rows."""
    raw = column.cast(pl.Categorical).to_physical() if column.dtype == pl.String else column
    if raw.null_count() == 0 and raw.dtype == pl.UInt32 and int(raw.to_numpy().max()) <= _few(len(raw)):
        return raw.to_numpy()
    known = raw.drop_nulls().to_numpy().astype(np.int64)
    least, most = int(known.min()), int(known.max())
    numbers: Codes = raw.cast(pl.Int64).fill_null(most + 1).to_numpy() - least
    if most - least > _few(len(numbers)):
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return numbers


def _few(rows: int) -> int:
    return max(4 * rows, 1_000_000)


def _numbered(codes: Codes, levels: tuple[Level, ...]) -> Combinations:
    space = math.prod(map(len, levels))
    if space > _few(len(codes)):
        present, inverse = np.unique(codes, return_inverse=True)
        return Combinations(present, inverse.astype(np.uint32), levels)
    present = np.flatnonzero(np.bincount(codes, minlength=space)) if len(codes) else np.zeros(0, np.int64)
    number_of = np.zeros(space, np.uint32)
    number_of[present] = np.arange(len(present), dtype=np.uint32)
    return Combinations(present, number_of[codes], levels)


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
