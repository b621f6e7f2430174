"""Figures of an attempt beyond the specification's payload: declared metrics and verdicts per benchmark."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from steelyard import metrics
from steelyard.errors import UnknownNameError
from steelyard.metrics import Metric, catalog
from steelyard.records import Missing
from steelyard.speedups._asv_rule import asv_changes
from steelyard.speedups._benchmark_table import ABSENT, NO_ORACLE, BenchmarkTable
from steelyard.speedups._constants import SpeedupConstants
from steelyard.speedups._payload import nullable, without_missing
from steelyard.speedups._records import BenchmarkSpeedup, SpeedupAttempt, Verdict
from steelyard.speedups._sides import Flags, Floats, Ints, Side, pooled
from steelyard.speedups._speedup_intervals import LogIntervals, log_intervals


@dataclass(frozen=True, eq=False)
class SpeedupIntervals:
    """Intervals of the log speedup and of the log ratio to the reference solution, and the verdict, per row."""

    speedup: LogIntervals
    ratio: LogIntervals
    faster: Flags
    slower: Flags
    judged: Flags

    def verdict(self, row: int) -> Verdict:
        """Return the verdict on one benchmark."""
        if not self.judged[row]:
            return "unknown"
        return "faster" if self.faster[row] else "slower" if self.slower[row] else "unclear"


def speedup_intervals_of(table: BenchmarkTable, options: SpeedupConstants) -> SpeedupIntervals:
    """Intervals and verdicts of the benchmarks as measured; the failure rules do not touch them."""
    mine, theirs = (metrics.log_speedup.function(agent_speedup=speedups) for speedups in (table.agent, table.oracle))
    speedup = log_intervals(table, options, mine, before=table.nop_row, after=table.agent_row)
    ratio = log_intervals(table, options, mine - theirs, before=table.oracle_row, after=table.agent_row)
    judged = np.isfinite(speedup.low)
    if options.verdict == "asv":
        faster, slower = asv_changes(table, p=options.asv_p, factor=options.asv_factor)
        return SpeedupIntervals(speedup, ratio, faster, slower, table.valid)
    with np.errstate(invalid="ignore"):
        return SpeedupIntervals(speedup, ratio, speedup.low > 0, speedup.high < 0, judged)


def task_figures(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None, options: SpeedupConstants
) -> dict[str, float | Missing]:
    """Every declared metric of a task for one attempt, plug-ins' among them, in the order of their declarations."""
    known = _task_inputs(table, index, speedup_intervals, options)
    declared_here = catalog().at("task")
    for declared in declared_here:
        inputs = {name: _input(declared, spec.of or name, known) for name, spec in declared.inputs.items()}
        constants = {name: getattr(options, name, default) for name, default in declared.constants.items()}
        known[declared.name] = declared(**inputs, **constants)
    return {declared.name: known[declared.name] for declared in sorted(declared_here, key=_place_of)}


def _place_of(declared: Metric) -> tuple[bool, str, int]:
    module = declared.function.__module__
    return not module.startswith(metrics.__name__), module, declared.function.__code__.co_firstlineno


def _input(declared: Metric, name: str, known: Mapping[str, Any]) -> Any:  # Any: numbers or lists of them
    if name not in known:
        raise UnknownNameError("input of a task's metric", name, known, where=declared.name)
    return known[name]


def _task_inputs(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None, options: SpeedupConstants
) -> dict[str, Any]:  # Any: numbers, lists of them, and Missing
    """What the metrics of a task may ask for, besides each other."""
    rows, attempt = table.rows(index), table.attempts[index]
    counted, agent_only = table.counted[rows], table.agent_only[rows]
    effective, oracle = table.effective[rows], table.oracle[rows]
    seen = counted & ~agent_only
    lows, highs = _ends(table, rows, speedup_intervals, options)
    of_oracle = {
        "oracle_speedups": oracle[counted].tolist(),
        "measured_oracle_speedups": oracle[seen].tolist(),
        "unmatched_oracle_speedups": [] if attempt.fallback else oracle[agent_only].tolist(),
        "items": metrics.advantage.function(agent_speedup=effective, oracle_speedup=oracle)[counted].tolist(),
    }
    return {
        **(dict.fromkeys(of_oracle, NO_ORACLE) if attempt.oracle is None else of_oracle),
        "agent_speedups": effective[counted].tolist(),
        **{name: list(compress(numbers, counted.tolist())) for name, numbers in attempt.nop.groups.items()},
        "measured_agent_speedups": effective[seen].tolist(),
        "log_speedup_lows": lows,
        "log_speedup_highs": highs,
        "task_cost": attempt.cost_usd,
        "repeat_log_ratios": _repeat_log_ratios(attempt.nop, attempt.nop_repeat),
    }


def measures(figures: Mapping[str, float | Missing]) -> tuple[dict[str, Any], dict[str, str]]:  # Any: numbers or None
    """Return the metrics of one attempt beyond the specification's fields, and the reasons for missing ones."""
    return without_missing(
        {name: value for name, value in figures.items() if name not in SpeedupAttempt.__struct_fields__}
    )


def _ends(
    table: BenchmarkTable, rows: slice, speedup_intervals: SpeedupIntervals | None, options: SpeedupConstants
) -> tuple[list[float], list[float]]:
    """Lower and upper ends of the intervals of the log speedup, as far as there are any."""
    if speedup_intervals is None:
        return [], []
    valid, low, high = table.valid[rows], speedup_intervals.speedup.low[rows], speedup_intervals.speedup.high[rows]
    known = valid & np.isfinite(low)
    if options.verdict == "asv":
        # Metrics ask for the upper end; asv's rule has no interval, only whether there is a change.
        return low[known].tolist(), np.where(speedup_intervals.slower[rows], -1.0, 1.0)[valid].tolist()
    return low[known].tolist(), high[known].tolist()


def _repeat_log_ratios(nop: Side, again: Side | None) -> list[float]:
    """ln(nop / nop repeat) of each benchmark that was measured twice."""
    if again is None:
        return []
    first, second = _medians(nop), _medians(again)
    return [math.log(first[name]) - math.log(second[name]) for name in sorted(first.keys() & second.keys())]


def _medians(side: Side) -> Mapping[str, float]:
    medians: Floats = pooled([side]).medians
    usable = np.isfinite(medians) & (medians > 0)
    return dict(compress(zip(side.names, medians.tolist(), strict=True), usable.tolist()))


def benchmark_speedups(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None
) -> dict[str, BenchmarkSpeedup]:
    """Return the speedups, statuses, intervals and verdict of each benchmark of one attempt."""
    attempt, rows = table.attempts[index], table.rows(index)
    oracle = table.oracle[rows]
    agent = np.where(table.counted[rows], table.effective[rows], table.agent[rows])
    columns: list[list[Any]] = [
        nullable(agent),
        nullable(oracle),
        nullable(metrics.advantage.function(agent_speedup=agent, oracle_speedup=oracle)),
        _statuses(attempt.side, table, table.agent_row[rows]),
        _statuses(attempt.oracle, table, table.oracle_row[rows]),
    ]
    if speedup_intervals is None:
        columns += [[None] * len(agent)] * 8
    else:
        for intervals in (speedup_intervals.speedup, speedup_intervals.ratio):
            columns += [nullable(ends[rows]) for ends in (intervals.value, intervals.low, intervals.high)]
        columns.append([speedup_intervals.verdict(row) for row in range(rows.start, rows.stop)])
        columns.append([speedup_intervals.speedup.basis(row) for row in range(rows.start, rows.stop)])
    return dict(zip(attempt.nop.measured_names, map(BenchmarkSpeedup, *columns), strict=True))


def _statuses(side: Side | None, table: BenchmarkTable, rows: Ints) -> list[str]:
    if side is None:
        return ["missing"] * len(rows)
    start = table.pool.row(side)
    return ["missing" if row == ABSENT else side.statuses[row - start] for row in rows.tolist()]
