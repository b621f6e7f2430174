"""The engine on one machine: formulas are Narwhals expressions over a lazy Polars frame, reduced group by group."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.metrics import ExpressionError, Value
from steelyard.metrics.engines._columns import Formulas, number_column
from steelyard.metrics.engines._protocol import RUNS, First, GroupedStatistics, Key, Other
from steelyard.metrics.engines._run_groups import Combinations, Grouping, KeyCoder, grouped_statistics
from steelyard.profiles import Profile
from steelyard.records import Missing
from steelyard.sources import SpillFolder
from steelyard.statistics import ExactSums, Floats, Ints, WeightBy, weighted_means

_CELLS_AT_ONCE = 40_000_000
"""How many values are held at a time: columns are taken together while they are small, one by one when they are not."""
_GROUP = "_group"
_FIRST_ROWS = 100
_MINUS_ZERO = np.uint64(1 << 63)
"""The bits of -0.0."""


_THREADS = min(8, os.cpu_count() or 1)
_ROWS_AT_ONCE = 100_000
"""Up to this many runs, several queries fit into memory at a time; above, one."""


@dataclass
class LocalEngine:
    """Evaluates metrics over one table of runs in memory."""

    frame: pl.LazyFrame
    n: int
    profile: Profile
    weight_by: WeightBy = "runs"
    folders: tuple[SpillFolder, ...] = ()
    """Spilled rows; must exist as long as the engine."""
    _keys: KeyCoder | None = None
    """What numbered the keys of the same runs before."""

    def __post_init__(self) -> None:
        self.columns = frozenset(self.frame.collect_schema().names())
        self._formulas = Formulas(self.columns, self.profile)
        self._coder = KeyCoder(self.frame, self.n) if self._keys is None else self._keys

    def with_profile(self, profile: Profile) -> LocalEngine:
        """The same runs by another profile."""
        return LocalEngine(self.frame, self.n, profile, self.weight_by, self.folders, self._coder)

    def weighted(self, weight_by: WeightBy) -> LocalEngine:
        """The same runs with another weight in means."""
        return LocalEngine(self.frame, self.n, self.profile, weight_by, self.folders, self._coder)

    @cached_property
    def tasks(self) -> Ints:
        """The number of each run's task."""
        return self.codes(["task"]).rows.astype(np.int64)

    def column(self, name: str) -> Value:
        """A fact or run metric as a column expression; Missing, with the reason, where no run can have it."""
        return self._formulas.column(name)

    def codes(self, by: Sequence[str]) -> Combinations:
        """The groups and the group of each run."""
        return self._coder.combine(by)

    groups = codes

    def values(self, names: Sequence[str]) -> dict[str, Floats | Missing]:
        """Each named fact or metric for all runs, NaN where it is missing; Missing where no run can have it."""
        columns = {name: self._column_or_values(name) for name in names}
        wanted = {name: column for name, column in columns.items() if not isinstance(column, (Missing, np.ndarray))}
        if not wanted:
            return columns
        return columns | self._evaluated(wanted)

    def _evaluated(self, wanted: Mapping[str, Value]) -> dict[str, Floats]:
        named = (number_column(column).alias(name) for name, column in wanted.items())
        frame: pl.DataFrame = nw.from_native(self.frame).select(*named).to_native().collect()
        return {name: _one_zero(frame[name].to_numpy()) for name in wanted}

    def _column_or_values(self, name: str) -> Value:
        """The expression; the values themselves where Python computes them, or where they are the same in every run."""
        try:
            column = self.column(name)
        except ExpressionError:
            facts = self._formulas.facts_behind(name)
            table = self.frame.select(facts).collect()
            distinct = table.unique()
            made = self._formulas.by_python(name, distinct.iter_rows(named=True))
            keyed = distinct.with_columns(pl.Series("value", made, pl.Float64))
            joined = table.join(keyed, on=facts, how="left", nulls_equal=True, maintain_order="left")
            return joined["value"].to_numpy() + 0.0
        return np.full(self.n, column + 0.0) if isinstance(column, float) else column

    def _batches(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[np.float64] | Missing]]:
        at_once = max(1, _CELLS_AT_ONCE // max(self.n, 1))
        for start in range(0, len(names), at_once):
            yield self.values(names[start : start + at_once])

    def statistics(self, names: Sequence[str], by: Sequence[str]) -> dict[str, GroupedStatistics | Missing]:
        """Statistics of each named fact or metric in each group."""
        grouping = self.codes(by).grouping()
        by_name: dict[str, GroupedStatistics | Missing] = {}
        for some in self._batches(names):
            known = {name: values for name, values in some.items() if not isinstance(values, Missing)}
            by_name |= self._reduced(known, grouping)
            by_name |= {name: values for name, values in some.items() if isinstance(values, Missing)}
        return {name: by_name[name] for name in names}

    def _reduced(self, columns: Mapping[str, NDArray[np.float64]], grouping: Grouping) -> dict[str, GroupedStatistics]:
        ddof = 0 if self.profile.std_dev == "population" else 1
        tasks = self.tasks if self.weight_by == "tasks" else None

        def reduce(values: NDArray[np.float64]) -> GroupedStatistics:
            return grouped_statistics(values, grouping, ddof=ddof, tasks=tasks)

        with ThreadPoolExecutor(_THREADS) as threads:  # numpy lets go of the interpreter while it sorts and adds
            return dict(zip(columns, threads.map(reduce, columns.values()), strict=True))

    def at_once(
        self, question: Callable[[], First], others: Sequence[Callable[[], Other]]
    ) -> tuple[First, list[Other]]:
        """The answers to questions that ask this engine."""
        if self.n > _ROWS_AT_ONCE:
            return question(), [other() for other in others]
        with ThreadPoolExecutor(_THREADS) as threads:  # numpy and Polars let go of the interpreter while they compute
            asked = [threads.submit(other) for other in others]
            return question(), [other.result() for other in asked]

    def means(
        self, names: Sequence[str], by: Sequence[str], *, complete: bool = False
    ) -> dict[str, GroupedStatistics | Missing]:
        """Mean, sum and count alone; with `complete`, over the runs that have every one of the names."""
        codes = self.codes(by)
        columns, rows, size = self.values(names), codes.rows.astype(np.int64), len(codes.present)
        known = {name: values for name, values in columns.items() if not isinstance(values, Missing)}
        everywhere = complete_cases(known) if complete and known else None
        by_name: dict[str, GroupedStatistics | Missing] = dict(columns)  # type: ignore[arg-type] # what is known is put in below
        for name, column in known.items():
            values = column if everywhere is None else np.where(everywhere, column, np.nan)
            by_name[name] = self._means(values, rows, size)
        return by_name

    def _means(self, values: Floats, rows: Ints, size: int) -> GroupedStatistics:
        known = ~np.isnan(values)
        exact = ExactSums.of(values, rows, size) if known.all() else ExactSums.of(values[known], rows[known], size)
        mean = exact.means
        if self.weight_by == "tasks":
            mean = weighted_means(values, rows, self.tasks, size=size, weight_by="tasks")
        return {"mean": mean, "sum": np.where(exact.counts > 0, exact.totals, np.nan), "count": exact.counts}

    def tally(
        self,
        by: Sequence[str],
        *,
        counts: Mapping[str, nw.Expr],
        least: Mapping[str, nw.Expr] | None = None,
        most: Mapping[str, nw.Expr] | None = None,
    ) -> pl.DataFrame:
        """A row for each group, with its keys, all of its `runs`, in how many each condition holds, and extremes."""
        codes = self.codes(by)
        least, most = least or {}, most or {}
        extremes = {**least, **most}
        wanted = [condition.alias(name) for name, condition in counts.items()]
        wanted += [column.alias(name) for name, column in extremes.items()]
        frame = codes.frame(by) if by else pl.DataFrame({RUNS: codes.sizes})
        frame = frame.with_columns(pl.Series(RUNS, codes.sizes))
        if not wanted:
            return frame
        rows: pl.LazyFrame = nw.from_native(self.frame).select(*wanted).to_native()
        reduced = [pl.col(name).sum().cast(pl.Int64) for name in counts]
        reduced += [pl.col(name).min() for name in least] + [pl.col(name).max() for name in most]
        if not by:
            return pl.concat([frame, rows.select(reduced).collect()], how="horizontal")
        coded = rows.with_columns(pl.Series(_GROUP, codes.rows))
        by_group = coded.group_by(_GROUP).agg(reduced).sort(_GROUP).drop(_GROUP).collect()
        return pl.concat([frame, by_group], how="horizontal")

    def sums(self, columns: Mapping[str, nw.Expr], by: Sequence[str]) -> tuple[pl.DataFrame, dict[str, ExactSums]]:
        """The keys of each group, and the exact sums of the columns in them."""
        codes = self.codes(by)
        exact: dict[str, ExactSums] = {}
        for name, values in self._evaluated(columns).items():
            known = ~np.isnan(values)
            exact[name] = ExactSums.of(values[known], codes.rows[known], len(codes.present))
        return codes.frame(by), exact

    def hits(self, condition: nw.Expr, shown: Sequence[nw.Expr]) -> OrderedRows:
        """The runs for which the condition holds, with what is shown of each, in the order of that."""

        def computed(most: int | None) -> pl.DataFrame:
            rows: pl.LazyFrame = nw.from_native(self.frame).filter(condition).select(*shown).to_native()
            ordered = rows.sort(rows.collect_schema().names())
            return (ordered if most is None else ordered.head(most)).collect()

        return OrderedRows(computed)

    def why_missing(self, name: str, by: Sequence[str], key: Key) -> str:
        """Why a metric is missing in a group where no run has it: the reason of one run, whatever the order of rows."""
        column = self._column_or_values(name)
        if isinstance(column, Missing):
            return column.reason
        needed = self._formulas.facts_behind(name)
        same = [
            pl.col(part).eq_missing(pl.lit(value)) for part, value in zip(by, key, strict=True) if part in self.columns
        ]
        rows = self.frame.filter(*same) if same else self.frame
        facts = rows.select(needed).unique().sort(needed, nulls_last=True).head(1).collect().to_dicts()
        return self._formulas.why_missing(name, facts[0] if facts else {})


def _one_zero(values: Floats) -> Floats:
    """The values with 0 for -0, which Polars takes for nothing to do, and which would sort as it comes."""
    return values + 0.0 if np.any(values.view(np.uint64) == _MINUS_ZERO) else values


@dataclass(frozen=True)
class OrderedRows:
    """Rows that are computed when they are asked for: of millions often only the first are."""

    computed: Callable[[int | None], pl.DataFrame]
    """Return the first n in order; all without a number."""

    @cached_property
    def _all(self) -> pl.DataFrame:
        return self.computed(None)

    @cached_property
    def _first(self) -> pl.DataFrame:
        return self.computed(_FIRST_ROWS)

    def between(self, start: int, stop: int) -> Iterator[tuple[Any, ...]]:  # Any: texts, flags and numbers
        """Some of them."""
        rows = self._first if stop <= _FIRST_ROWS else self._all
        return iter(rows[start:stop].iter_rows())


def complete_cases(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Which runs have a value in every column: a ratio of means is taken over them alone."""
    return np.asarray(~np.isnan(np.vstack(list(columns.values()))).any(axis=0), dtype=bool)
