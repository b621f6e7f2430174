"""The engine on one machine: formulas are Narwhals expressions over a lazy Polars frame, reduced group by group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.engines._grouping import GroupedStatistics, Grouping, Key, KeyCoder, grouped_statistics
from steelyard.metrics import NotAnExpression, Value, catalog, evaluate
from steelyard.profiles import Profile
from steelyard.records import FACTS, Missing, is_own_fact
from steelyard.statistics import WeightBy

_CELLS_AT_ONCE = 40_000_000
"""How many values are held at a time: columns are taken together while they are small, one by one when they are not."""


_THREADS = min(8, os.cpu_count() or 1)


@dataclass
class LocalEngine:
    """Evaluates metrics over one table of runs."""

    frame: pl.LazyFrame
    n: int
    profile: Profile
    weight_by: WeightBy = "runs"
    """What counts once in a mean."""
    _columns: dict[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._present = set(self.frame.collect_schema().names())
        self.keys = KeyCoder(self.frame, self.n)

    @cached_property
    def tasks(self) -> NDArray[np.int64]:
        """The number of each run's task."""
        return self.keys.combine(["task"]).rows.astype(np.int64)

    def column(self, name: str) -> Value:
        """A fact or run metric as a column expression; Missing, with the reason, where no run can have it."""
        facts = _ColumnFacts(self._present)
        return evaluate(name, facts, self.profile, self._columns)

    def values(self, names: Sequence[str]) -> dict[str, NDArray[np.float64] | Missing]:
        """Each named fact or metric for all runs, NaN where it is missing; Missing where no run can have it."""
        columns = {name: self._column_or_values(name) for name in names}
        wanted = {name: column for name, column in columns.items() if not isinstance(column, (Missing, np.ndarray))}
        if not wanted:
            return columns
        lazy = nw.from_native(self.frame).select(
            *(column.cast(nw.Float64).alias(name) for name, column in wanted.items())
        )
        frame: pl.DataFrame = lazy.to_native().collect()
        return columns | {name: frame[name].to_numpy() for name in wanted}

    def _column_or_values(self, name: str) -> Value:
        """The expression; the values themselves where Python computes them, or where they are the same in every run."""
        try:
            column = self.column(name)
        except NotAnExpression:
            facts = sorted(self._facts_behind(name) & self._present)
            table = self.frame.select(facts).collect()
            distinct = table.unique()
            made = [evaluate(name, row, self.profile, {}) for row in distinct.iter_rows(named=True)]
            numbers = pl.Series("value", [None if isinstance(value, Missing) else value for value in made], pl.Float64)
            keyed = distinct.with_columns(numbers)
            return table.join(keyed, on=facts, how="left", nulls_equal=True, maintain_order="left")["value"].to_numpy()
        return np.full(self.n, column) if isinstance(column, float) else column

    def _batches(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[np.float64] | Missing]]:
        at_once = max(1, _CELLS_AT_ONCE // max(self.n, 1))
        for start in range(0, len(names), at_once):
            yield self.values(names[start : start + at_once])

    def statistics(self, names: Sequence[str], grouping: Grouping) -> dict[str, GroupedStatistics | Missing]:
        """Statistics of each named fact or metric in each group."""
        by_name: dict[str, GroupedStatistics | Missing] = {}
        for some in self._batches(names):
            known = {name: values for name, values in some.items() if not isinstance(values, Missing)}
            by_name |= self._reduced(known, grouping)
            by_name |= {name: values for name, values in some.items() if isinstance(values, Missing)}
        return {name: by_name[name] for name in names}

    def complete_statistics(
        self, names: Sequence[str], grouping: Grouping, reduced: Mapping[str, GroupedStatistics | Missing]
    ) -> Mapping[str, GroupedStatistics | Missing]:
        """The same over the complete cases alone: the runs that have every one of the names.

        `reduced` holds their statistics over all runs, which are the answer where the same runs have them all.
        """
        over_all = [statistics for name in names if not isinstance(statistics := reduced[name], Missing)]
        if len(over_all) < len(names) or not any(statistics["missing"].any() for statistics in over_all):
            return reduced
        columns = {name: values for name, values in self.values(names).items() if not isinstance(values, Missing)}
        complete = complete_cases(columns)
        counts = np.bincount(grouping.codes[complete], minlength=grouping.groups)
        if all(np.array_equal(statistics["count"], counts) for statistics in over_all):
            return reduced
        return self._reduced({name: np.where(complete, column, np.nan) for name, column in columns.items()}, grouping)

    def _reduced(self, columns: Mapping[str, NDArray[np.float64]], grouping: Grouping) -> dict[str, GroupedStatistics]:
        ddof = 0 if self.profile.std_dev == "population" else 1
        tasks = self.tasks if self.weight_by == "tasks" else None

        def reduce(values: NDArray[np.float64]) -> GroupedStatistics:
            return grouped_statistics(values, grouping, ddof=ddof, tasks=tasks)

        with ThreadPoolExecutor(_THREADS) as threads:  # numpy lets go of the interpreter while it sorts and adds
            return dict(zip(columns, threads.map(reduce, columns.values()), strict=True))

    def why_missing(self, name: str, by: Sequence[str], key: Key) -> str:
        """Why a metric is missing in a group where no run has it: the reason of one run, whatever the order of rows."""
        column = self._column_or_values(name)
        if isinstance(column, Missing):
            return column.reason
        needed = sorted(self._facts_behind(name) & self._present)
        same = [
            pl.col(part).eq_missing(pl.lit(value)) for part, value in zip(by, key, strict=True) if part in self._present
        ]
        rows = self.frame.filter(*same) if same else self.frame
        facts = rows.select(needed).unique().sort(needed, nulls_last=True).head(1).collect().to_dicts()
        value = evaluate(name, facts[0] if facts else {}, self.profile, {})
        return value.reason if isinstance(value, Missing) else "no run has it"

    def _facts_behind(self, name: str) -> set[str]:
        declared = None if name in FACTS or is_own_fact(name) else catalog()[name]
        if declared is None or (declared.is_of_rows and declared.level != "run" and declared.mean_of is None):
            return {name}
        if declared.mean_of is not None:
            return self._facts_behind(declared.mean_of)
        inputs = declared.inputs
        return set().union(*(self._facts_behind(spec.of or parameter) for parameter, spec in inputs.items()))


def complete_cases(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Which runs have a value in every column: a ratio of means is taken over them alone."""
    return np.asarray(~np.isnan(np.vstack(list(columns.values()))).any(axis=0), dtype=bool)


class _ColumnFacts(Mapping[str, Any]):  # Any: column expressions
    """The facts of a frame as column expressions, made when asked for."""

    def __init__(self, present: set[str]) -> None:
        self._present = (present & {*FACTS, *catalog()}) | {name for name in present if is_own_fact(name)}

    def __getitem__(self, name: str) -> Value:
        if name not in self._present:
            raise KeyError(name)
        return nw.col(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._present))

    def __len__(self) -> int:
        return len(self._present)
