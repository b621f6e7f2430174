"""Runs in groups: the keys that make a group, and the statistics of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.errors import UsageError
from steelyard.metrics.engines._protocol import GroupedStatistics, Key
from steelyard.statistics import STATISTICS, CountedGroups, GroupedValues, weighted_means

Codes = NDArray[Any]  # Any: 32 bits where they suffice, else 64
Level = list[str | int | None]
_KEPT = 3
"""Combinations of several keys whose numbers are kept, those that were asked for last: four bytes a row each."""
_ROWS_AT_ONCE = 2_000_000
"""Rows whose groups are reduced together: arrays of this size are had again without asking the system for memory."""


@dataclass(frozen=True)
class Combinations:
    """The combinations of keys that occur, numbered in order, and each row's number."""

    present: Codes
    rows: NDArray[np.uint32]
    levels: tuple[Level, ...]

    def keys(self, numbers: Sequence[int] | None = None) -> list[Key]:
        """The keys of the numbered combinations, or of all of them."""
        chosen = self.present if numbers is None else self.present[np.asarray(numbers, np.int64)]
        parts = [[level[place] for place in places.tolist()] for level, places in self._parts(chosen)]
        return list(zip(*parts, strict=True)) if parts else [()] * len(chosen)

    def frame(self, names: Sequence[str]) -> pl.DataFrame:
        """The keys as columns, a row for each combination."""
        parts = zip(names, self._parts(self.present), strict=True)
        return pl.DataFrame([pl.Series(name, level).gather(places) for name, (level, places) in parts])

    def _parts(self, chosen: Codes) -> list[tuple[Level, Codes]]:
        """Of each key its values, and which of them each combination has."""
        parts: list[tuple[Level, Codes]] = []
        rest = chosen.copy()
        for level in reversed(self.levels):
            rest, places = np.divmod(rest, len(level))
            parts.append((level, places))
        return parts[::-1]

    @cached_property
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
    _combined: dict[tuple[str, ...], Combinations] = field(default_factory=dict)
    _one_at_a_time: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        self._names = set(self.frame.collect_schema().names())

    def combine(self, by: Sequence[str]) -> Combinations:
        """The combinations of the named keys; missing values come last in order."""
        with self._one_at_a_time:
            self._combined[tuple(by)] = known = self._combined.pop(tuple(by), None) or self._combine(by)
            numbered_apart = [names for names in self._combined if len(names) != 1]  # one key has its own numbers
            for oldest in numbered_apart[:-_KEPT]:
                del self._combined[oldest]
        return known

    def _combine(self, by: Sequence[str]) -> Combinations:
        if len([name for name in by if name not in self._known]) > 1:
            with ThreadPoolExecutor() as threads:  # Polars lets go of the interpreter while it looks names up
                list(threads.map(self._codes, by))
        codes: Codes = np.zeros(self.n, np.uint32)
        levels: list[Level] = []
        for name in by:
            own, values = self._codes(name)
            space = math.prod(map(len, [*levels, values]))
            if space >= 2**62:
                raise UsageError("too many combinations of group keys", hint="group by fewer keys")
            levels.append(values)
            if space == len(values):
                codes = own
            elif len(values) > 1:  # a single value does not split rows
                codes = codes.astype(np.int64) if space >= 2**32 else codes
                codes = codes * codes.dtype.type(len(values)) + own
        if len(by) == 1:
            return Combinations(np.arange(len(levels[0])), codes, tuple(levels))
        return _numbered(codes, tuple(levels))

    def _codes(self, name: str) -> tuple[Codes, Level]:
        if name not in self._known:
            if name in self._names:
                column = self.frame.select(name).collect().to_series()
                # an enumeration has an order of its own, which no other engine knows
                self._known[name] = _codes_of(column.cast(pl.String) if column.dtype == pl.Enum else column)
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
    values = column.gather(first_row[present].tolist())
    order = values.arg_sort(nulls_last=True).to_numpy()
    code_of = np.zeros(len(first_row), np.uint32)
    code_of[present[order]] = np.arange(len(order))
    return code_of[numbers], values.gather(order.tolist()).to_list()


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

    def pieces(self) -> Iterator[tuple[slice, slice]]:
        """Yield groups and their rows in `order`, in pieces small enough to reuse memory."""
        edges, ends = [0], np.cumsum(self.sizes)
        while edges[-1] < self.groups:
            last = np.searchsorted(ends, self.starts[edges[-1]] + _ROWS_AT_ONCE, side="right")
            edges.append(max(edges[-1] + 1, int(last)))
        for first, last in pairwise(edges):
            yield slice(first, last), slice(int(self.starts[first]), int(ends[last - 1]))


def grouped_statistics(
    values: Floats, grouping: Grouping, *, ddof: int, tasks: Ints | None = None
) -> GroupedStatistics:
    """Every declared statistic of `values` (NaN = missing) in each group. `ddof` 0 is the population, 1 the sample.

    With `tasks`, the task of each row, the mean is that of the tasks' means; all else is over rows.
    """
    parts = [
        statistics_of(CountedGroups.of(values[grouping.order[rows]], grouping.sizes[groups], ddof=ddof))
        for groups, rows in grouping.pieces()
    ]
    if not parts:
        return statistics_of(CountedGroups.of(values, grouping.sizes, ddof=ddof))
    by_name = {name: np.concatenate([part[name] for part in parts]) for name in STATISTICS}
    if tasks is not None:
        codes = grouping.codes.astype(np.int64)
        by_name["mean"] = weighted_means(values, codes, tasks, size=grouping.groups, weight_by="tasks")
    return by_name


def statistics_of(groups: GroupedValues) -> GroupedStatistics:
    """Every declared statistic of each group, NaN where it has no values."""
    filled = groups.counts > 0
    by_name: GroupedStatistics = {}
    for name, statistic in STATISTICS.items():
        if statistic.counts:
            by_name[name] = statistic.take(groups)
            continue
        by_name[name] = np.full(len(filled), np.nan)
        if filled.any():
            by_name[name][filled] = statistic.take(groups)
    return by_name
