"""The engines that keep runs outside this process: the same expressions, evaluated wherever the frame lives.

Of each group and value its number of runs is counted: engines spill such a histogram, and every statistic is had from
it by counting, sorting and adding whole numbers. What is divided or rounded is divided or rounded here, in Python.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.errors import MemoryLimitError
from steelyard.metrics import ExpressionError, Value
from steelyard.metrics.engines._columns import Formulas, number_column
from steelyard.metrics.engines._histograms import COUNT, VALUE, Histogram, exact_sums
from steelyard.metrics.engines._local import OrderedRows
from steelyard.metrics.engines._protocol import RUNS, First, GroupedStatistics, Key, Other, Source
from steelyard.metrics.engines._run_groups import statistics_of
from steelyard.profiles import Profile
from steelyard.records import Missing
from steelyard.scratch import make_scratch, remove_scratch
from steelyard.sources import RunTable, free_bytes
from steelyard.statistics import CountedGroups, ExactSums, Floats, GroupedValues, Ints, WeightBy, exact_means

ROW = "_row"
"""Run number in the facts, which aligns columns that were computed separately."""
GROUP = "_group"
RUN_LEVEL = 8
"""Columns of eight bytes that statistics of single runs hold besides the values: groups, tasks, order, copies."""
HELD_ROWS = 200_000
"""Groups and values of a histogram that is reduced here: one question instead of seven."""


@dataclass(frozen=True, slots=True)
class LazyGroups:
    """Groups in order, and where it was asked for the group of each run."""

    frame: pl.DataFrame
    """Their keys."""
    by: tuple[str, ...]
    sizes: Ints
    rows: NDArray[np.uint32]

    def keys(self, numbers: Sequence[int] | None = None) -> list[Key]:
        """The keys of the numbered groups, or of all of them."""
        places = range(len(self.sizes)) if numbers is None else list(numbers)
        if not self.by:
            return [()] * len(places)
        chosen = self.frame if numbers is None else self.frame[places]
        return list(chosen.iter_rows())


@dataclass
class LazyEngine:
    """Evaluates metrics over one table of runs, wherever its source keeps them."""

    source: Source
    n: int
    profile: Profile
    weight_by: WeightBy = "runs"
    _known: dict[tuple[str, ...], LazyGroups] = field(default_factory=dict)
    """Groups that were found before, of the same runs."""

    def __post_init__(self) -> None:
        self.columns = frozenset(self.source.frame.collect_schema().names())
        self._formulas = Formulas(self.columns, self.profile)

    def with_profile(self, profile: Profile) -> LazyEngine:
        """The same runs by another profile."""
        return replace(self, profile=profile)

    def weighted(self, weight_by: WeightBy) -> LazyEngine:
        """The same runs with another weight in means."""
        return replace(self, weight_by=weight_by)

    def column(self, name: str) -> Value:
        """A fact or run metric as a column expression; Missing, with the reason, where no run can have it."""
        return self._formulas.column(name)

    def groups(self, by: Sequence[str], /) -> LazyGroups:
        """The groups that occur, missing values last in order."""
        if tuple(by) not in self._known:
            cells = self.tally(by, counts={})
            ordered = cells.sort(list(by), nulls_last=True) if by else cells
            sizes = ordered[RUNS].to_numpy().astype(np.int64)
            none = np.zeros(0, np.uint32)
            self._known[tuple(by)] = LazyGroups(ordered.select(list(by)), tuple(by), sizes, none)
        return self._known[tuple(by)]

    def tally(
        self,
        by: Sequence[str],
        *,
        counts: Mapping[str, nw.Expr],
        least: Mapping[str, nw.Expr] | None = None,
        most: Mapping[str, nw.Expr] | None = None,
    ) -> pl.DataFrame:
        """A row for each group, with its keys, all of its `runs`, in how many each condition holds, and extremes."""
        least, most = least or {}, most or {}
        keys = [name for name in by if name in self.columns]
        wanted = [nw.when(condition).then(1).otherwise(0).alias(name) for name, condition in counts.items()]
        wanted += [column.alias(name) for name, column in {**least, **most}.items()]
        rows = self.source.frame.select(*keys, nw.lit(0).alias(GROUP), nw.lit(1).alias(RUNS), *wanted)
        reduced = [nw.col(name).sum() for name in (RUNS, *counts)]
        reduced += [nw.col(name).min() for name in least] + [nw.col(name).max() for name in most]
        added = rows.group_by(*(keys or [GROUP])).agg(*reduced)
        whole = added.with_columns(*(nw.col(name).cast(nw.Int64) for name in (RUNS, *counts)))
        found = self.source.collect(whole)
        absent = [pl.lit(None, pl.String).alias(name) for name in by if name not in self.columns]
        return found.with_columns(absent).select(*by, RUNS, *counts, *least, *most)

    def _numbered(self, by: Sequence[str]) -> nw.LazyFrame[Any]:
        """The facts with the number of each run's group."""
        groups = self.groups(by)
        if len(groups.sizes) < 2:
            return self.source.frame.with_columns(nw.lit(0).alias(GROUP))
        keys = [name for name in by if name in self.columns]
        numbers = pl.Series(GROUP, np.arange(len(groups.sizes)), pl.Int64)
        return self._looked_up(groups.frame.select(keys).with_columns(numbers), keys)

    def _looked_up(self, table: pl.DataFrame, keys: Sequence[str]) -> nw.LazyFrame[Any]:
        """The facts joined with a table by these columns; missing is the same as missing."""
        nulls = [name for name in keys if table[name].null_count()]
        filled = {name: _filled(name, table.schema[name]) for name in nulls}
        marks = {name: (f"_{name}_known", f"_{name}_filled") for name in nulls}
        on = [part for name in keys for part in marks.get(name, (name,))]
        extra = [column.alias(mark) for name in nulls for column, mark in zip(filled[name], marks[name], strict=True)]
        ours = self.source.add(table).with_columns(*extra) if extra else self.source.add(table)
        facts = self.source.frame.with_columns(*extra) if extra else self.source.frame
        return facts.join(ours.drop(*nulls) if nulls else ours, on=on, how="inner")

    def _valued(self, name: str, by: Sequence[str], *, known: nw.Expr | None = None) -> nw.LazyFrame[Any] | Missing:
        """The group, the task and the value of each run; null where one of those that must be `known` is not."""
        try:
            column = self.column(name)
            rows = self._numbered(by)
        except ExpressionError:
            column = nw.col(VALUE)
            rows = self._by_python(name, by)
        if isinstance(column, Missing):
            return column
        value = _finite_or_missing(column)
        value = value if known is None else nw.when(known).then(value)
        task = [nw.col("task")] if "task" in self.columns else []
        return rows.select(nw.col(GROUP), *task, value.alias(VALUE))

    def _by_python(self, name: str, by: Sequence[str]) -> nw.LazyFrame[Any]:
        """The facts with a metric that Python computes of the distinct facts behind it."""
        facts = self._formulas.facts_behind(name)
        distinct = self.source.collect(self.source.frame.select(*facts).unique())
        made = pl.Series(VALUE, self._formulas.by_python(name, distinct.iter_rows(named=True)), pl.Float64)
        with_values = replace(
            self, source=_JoinedSource(self.source, self._looked_up(distinct.with_columns(made), facts))
        )
        return with_values._numbered(by)

    def statistics(self, names: Sequence[str], by: Sequence[str]) -> dict[str, GroupedStatistics | Missing]:
        """Every declared statistic of each named fact or metric in each group."""
        return {name: self._statistics(name, by) for name in names}

    def _statistics(self, name: str, by: Sequence[str]) -> GroupedStatistics | Missing:
        rows = self._valued(name, by)
        if isinstance(rows, Missing):
            return rows
        size = len(self.groups(by).sizes)
        counted = rows.group_by(GROUP, VALUE).agg(nw.len().alias(COUNT))
        whole = counted.with_columns(nw.col(COUNT).cast(nw.Int64))
        with self.source.keep(whole) as kept:
            by_name = statistics_of(self._grouped(kept, size))
        if self.weight_by == "tasks":
            by_name["mean"] = self._mean_of_tasks(rows, size)
        return by_name

    def _grouped(self, kept: nw.LazyFrame[Any], size: int) -> GroupedValues:
        """Return the source of statistics: the histogram itself if it is small, else the engine's figures of it."""
        ddof = 0 if self.profile.std_dev == "population" else 1
        held = self.source.collect(kept.head(HELD_ROWS + 1))
        if held.height > HELD_ROWS:
            return Histogram(self.source, kept, GROUP, size, ddof)
        numbers, often = (held[name].cast(pl.Int64).to_numpy() for name in (GROUP, COUNT))
        values = held[VALUE].cast(pl.Float64).to_numpy()
        return CountedGroups.of_counts(numbers, values, often, size=size, ddof=ddof)

    def means(
        self, names: Sequence[str], by: Sequence[str], *, complete: bool = False
    ) -> dict[str, GroupedStatistics | Missing]:
        """Mean, sum and count alone; with `complete`, over the runs that have every one of the names."""
        columns = {name: self.column(name) for name in names}
        known = [column for column in columns.values() if not isinstance(column, Missing)]
        everywhere = _all_known(known) if complete and known else None
        size = len(self.groups(by).sizes)
        by_name: dict[str, GroupedStatistics | Missing] = {}
        for name in names:
            rows = self._valued(name, by, known=everywhere)
            by_name[name] = rows if isinstance(rows, Missing) else self._means(rows, size)
        return by_name

    def _means(self, rows: nw.LazyFrame[Any], size: int) -> GroupedStatistics:
        exact = self._in_groups(rows, size)
        mean = exact.means if self.weight_by == "runs" else self._mean_of_tasks(rows, size)
        return {"mean": mean, "sum": np.where(exact.counts > 0, exact.totals, np.nan), "count": exact.counts}

    def _in_groups(self, rows: nw.LazyFrame[Any], size: int) -> ExactSums:
        keys, exact = exact_sums(self.source, rows.with_columns(nw.lit(1).alias(COUNT)), [GROUP])
        return exact.merged(keys[GROUP].to_numpy().astype(np.int64), size)

    def _mean_of_tasks(self, rows: nw.LazyFrame[Any], size: int) -> Floats:
        """The mean of each group over the means of its tasks."""
        keys, exact = exact_sums(self.source, rows.with_columns(nw.lit(1).alias(COUNT)), [GROUP, "task"])
        used = exact.counts > 0
        return exact_means(exact.means[used], keys[GROUP].to_numpy().astype(np.int64)[used], size)

    def sums(self, columns: Mapping[str, nw.Expr], by: Sequence[str]) -> tuple[pl.DataFrame, dict[str, ExactSums]]:
        """The keys of each group, and the exact sums of the columns in them."""
        groups, rows = self.groups(by), self._numbered(by)
        exact = {
            name: self._in_groups(rows.select(nw.col(GROUP), column.alias(VALUE)), len(groups.sizes))
            for name, column in columns.items()
        }
        return groups.frame, exact

    def hits(self, condition: nw.Expr, shown: Sequence[nw.Expr]) -> OrderedRows:
        """The runs for which the condition holds, with what is shown of each, in the order of that."""
        rows = self.source.frame.filter(condition).select(*shown)
        ordered = rows.sort(rows.collect_schema().names())
        return OrderedRows(lambda most: self.source.collect(ordered if most is None else ordered.head(most)))

    def at_once(
        self, question: Callable[[], First], others: Sequence[Callable[[], Other]]
    ) -> tuple[First, list[Other]]:
        """The answers to questions that ask this engine, one after another: each takes all the memory there is."""
        return question(), [other() for other in others]

    def why_missing(self, name: str, by: Sequence[str], key: Key) -> str:
        """Why a metric is missing in a group where no run has it: the reason of one run, whatever the order of rows."""
        try:
            column = self.column(name)
        except ExpressionError:
            column = None
        if isinstance(column, Missing):
            return column.reason
        needed = self._formulas.facts_behind(name)
        rows = self.source.frame
        for part, value in zip(by, key, strict=True):
            if part in self.columns:
                rows = rows.filter(nw.col(part).is_null() if value is None else nw.col(part) == value)
        if not needed:
            return self._formulas.why_missing(name, {})
        first = rows.select(*needed).sort(*needed, nulls_last=True).head(1)
        facts = self.source.collect(first).to_dicts()
        return self._formulas.why_missing(name, facts[0] if facts else {})

    def values(self, names: Sequence[str]) -> dict[str, Floats | Missing]:
        """Each fact or metric of all runs, NaN where it is missing: eight bytes a run."""
        columns: dict[str, Floats | Missing] = {}
        self._check_room(len(names))
        for name in names:
            try:
                column, frame = self.column(name), self.source.frame
            except ExpressionError:
                column, frame = nw.col(VALUE), self._by_python(name, ())
            if isinstance(column, Missing):
                columns[name] = column
                continue
            found = frame.select(nw.col(ROW), number_column(column).alias(VALUE))
            columns[name] = self._in_order(found, VALUE).cast(pl.Float64).to_numpy()
        return columns

    def codes(self, by: Sequence[str]) -> LazyGroups:
        """The groups and the group of each run, in the order of `values`."""
        rows = self._in_order(self._numbered(by).select(ROW, GROUP), GROUP).cast(pl.UInt32).to_numpy()
        return replace(self.groups(by), rows=rows)

    def _check_room(self, columns: int) -> None:
        """Reject resampling of single runs if their values would not fit into memory."""
        needed, free = self.n * 8 * (columns + RUN_LEVEL), free_bytes()
        if needed > free:
            raise MemoryLimitError(self.n, needed=needed, free=free)

    @cached_property
    def tasks(self) -> Ints:
        """The number of each run's task, in the order of `values`."""
        return self.codes(["task"]).rows.astype(np.int64)

    def _in_order(self, lazy: nw.LazyFrame[Any], name: str) -> pl.Series:
        """A column in the order of runs."""
        found = self.source.collect(lazy)
        rows = found[ROW]
        return found[name] if rows.is_sorted() else found[name].gather(rows.arg_sort())


@dataclass(frozen=True)
class _JoinedSource:
    """A source whose facts have more columns."""

    source: Source
    frame: nw.LazyFrame[Any]

    def __getattr__(self, name: str) -> Any:  # Any: what the source does
        return getattr(self.source, name)


def _filled(name: str, type_: pl.DataType) -> Iterator[nw.Expr]:
    """Yield two columns that distinguish missing from every value: whether it is known, and the filled value."""
    column = nw.col(name)
    nothing: str | float | bool = "" if type_ == pl.String else False if type_ == pl.Boolean else 0
    yield (~column.is_null()).cast(nw.Int64)
    yield nw.when(column.is_null()).then(nw.lit(nothing)).otherwise(column)


def _finite_or_missing(column: Value) -> nw.Expr:
    """Numbers in which NaN is missing too."""
    value = number_column(column)
    return nw.when(~value.is_nan()).then(value)


def _all_known(columns: Sequence[Value]) -> nw.Expr:
    expressions = [_finite_or_missing(column) for column in columns]
    known = ~expressions[0].is_null()
    for column in expressions[1:]:
        known = known & ~column.is_null()
    return known


class Facts:
    """Files with one numbered row per run, removed when no longer referenced."""

    def __init__(self, table: RunTable, parent: Path | None = None) -> None:
        self.folder = make_scratch(parent)
        weakref.finalize(self, remove_scratch, self.folder)
        self.path = self.folder / "facts.parquet"
        numbered = table.frame.with_row_index(ROW).with_columns(pl.col(ROW).cast(pl.Int64), *_plain_texts(table.frame))
        numbered.sink_parquet(self.path, compression="lz4", maintain_order=True)


def _plain_texts(frame: pl.LazyFrame) -> list[pl.Expr]:
    """Names of a fixed list as texts: other engines have no such type, or give it an order of its own."""
    schema = frame.collect_schema()
    coded = [name for name, type_ in schema.items() if type_ == pl.Categorical or isinstance(type_, pl.Enum)]
    return [pl.col(name).cast(pl.String) for name in coded]
