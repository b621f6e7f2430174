"""What stands beside the specification's payload for one attempt: declared metrics and how sure each benchmark is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from steelyard import metrics
from steelyard.records import Missing
from steelyard.speedups._asv_rule import asv_changes
from steelyard.speedups._benchmark_rows import ABSENT
from steelyard.speedups._benchmark_table import BenchmarkTable
from steelyard.speedups._constants import SpeedupConstants
from steelyard.speedups._payload import nullable, without_missing
from steelyard.speedups._sides import LEVELS, Flags, Floats, Ints, Side, pooled
from steelyard.speedups._speedup_intervals import LogIntervals, log_intervals

Verdict = Literal["faster", "slower", "unclear", "unknown"]


@dataclass(frozen=True, eq=False)
class Surety:
    """For every row of the table: intervals of the log speedup and of the log ratio to the expert, and the verdict."""

    speedup: LogIntervals
    ratio: LogIntervals
    faster: Flags
    slower: Flags
    judged: Flags

    def verdict(self, row: int) -> Verdict:
        """What can be said of one benchmark."""
        if not self.judged[row]:
            return "unknown"
        return "faster" if self.faster[row] else "slower" if self.slower[row] else "unclear"


def surety_of(table: BenchmarkTable, options: SpeedupConstants) -> Surety:
    """Intervals and verdicts of the benchmarks as measured; the failure rules do not touch them."""
    speedup = log_intervals(table, options, before=table.nop_row, after=table.agent_row)
    ratio = log_intervals(table, options, before=table.oracle_row, after=table.agent_row)
    judged = np.isfinite(speedup.low)
    if options.verdict == "asv":
        faster, slower = asv_changes(table, p=options.asv_p, factor=options.asv_factor)
        return Surety(speedup, ratio, faster, slower, table.valid)
    with np.errstate(invalid="ignore"):
        return Surety(speedup, ratio, speedup.low > 0, speedup.high < 0, judged)


def measures(
    table: BenchmarkTable, index: int, surety: Surety | None, options: SpeedupConstants
) -> dict[str, Any]:  # Any: JSON values
    """Our figures for one attempt; null with a reason under `missing` where one cannot be had."""
    rows, attempt = table.rows(index), table.attempts[index]
    counted = table.counted[rows]
    mine, theirs = table.effective[rows][counted].tolist(), table.oracle[rows][counted].tolist()
    pair = {"agent_speedups": mine, "oracle_speedups": theirs}
    # A benchmark that the rule counts has a value already; the bounds ask what it could have been.
    seen = counted & ~table.agent_only[rows]
    unmatched = table.oracle[rows][table.agent_only[rows]].tolist()
    bounds = {
        "agent_speedups": table.effective[rows][seen].tolist(),
        "oracle_speedups": table.oracle[rows][seen].tolist(),
        "unmatched_oracle_speedups": [] if attempt.fallback else unmatched,
    }
    lows, highs = _ends(surety, rows, table.valid[rows])
    figures: dict[str, Any] = {
        "num_agent_only_failures": int(np.count_nonzero(table.agent_only[rows])),
        "log_advantage": metrics.log_advantage(**pair),
        "speedup_ratio_gmean": metrics.speedup_ratio_gmean(**pair),
        "speedup_ratio_hmean": metrics.speedup_ratio_hmean(**pair),
        "harmonic_speedup": metrics.harmonic_speedup(agent_speedups=mine),
        "worst_speedup": metrics.worst_speedup(agent_speedups=mine),
        "significant_regressions": _significant(table, rows, surety, highs, options),
        "minimum_significant_gain": metrics.minimum_significant_gain(log_speedup_lows=lows),
        "log_advantage_low": metrics.log_advantage_low(**bounds),
        "log_advantage_high": metrics.log_advantage_high(**bounds),
        "cost_per_log_gain": _cost_per_gain(attempt.cost_usd, float(table.task_speedup[index])),
        "noise_floor": noise_floor_of(attempt.nop, attempt.nop_again, options),
        "largest_share": metrics.largest_share(items=[a - o for a, o in zip(mine, theirs, strict=True)]),
    }
    values, reasons = without_missing(figures)
    levels = dict(zip(LEVELS, nullable(table.advantages[index]), strict=True))
    return (
        values
        | {"advantage_by_level": levels}
        | {"cost_origin": attempt.cost_origin, "trajectory_origin": attempt.trajectory_origin, "missing": reasons}
    )


def _ends(surety: Surety | None, rows: slice, valid: Flags) -> tuple[list[float], list[float]]:
    if surety is None:
        return [], []
    known = valid & np.isfinite(surety.speedup.low[rows])
    return surety.speedup.low[rows][known].tolist(), surety.speedup.high[rows][known].tolist()


def _significant(
    table: BenchmarkTable, rows: slice, surety: Surety | None, highs: list[float], options: SpeedupConstants
) -> float | Missing:
    if surety is not None and options.verdict == "asv":
        # The metric asks for the upper end; asv's rule has no interval, only whether there is a change.
        highs = np.where(surety.slower[rows], -1.0, 1.0)[table.valid[rows]].tolist()
    return metrics.significant_regressions(log_speedup_highs=highs)


def _cost_per_gain(cost: float | Missing, speedup: float) -> float | Missing:
    if isinstance(cost, Missing):
        return cost
    return metrics.cost_per_log_gain(task_cost=cost, task_speedup=speedup if np.isfinite(speedup) else None)


def noise_floor_of(nop: Side, again: Side | None, options: SpeedupConstants) -> float | Missing:
    """The noise floor from two measurements of the unchanged code; missing when it was measured once."""
    if again is None:
        return Missing("the unchanged code was not measured twice")
    medians = [_medians(side) for side in (nop, again)]
    shared = sorted(medians[0].keys() & medians[1].keys())
    gaps = [metrics.log_speedup(nop_median=medians[0][name], agent_median=medians[1][name]) for name in shared]
    known = [gap for gap in gaps if not isinstance(gap, Missing)]
    return metrics.noise_floor(repeat_log_ratios=known, noise_quantile=options.noise_quantile)


def _medians(side: Side) -> Mapping[str, float]:
    medians: Floats = pooled([side]).medians
    return {name: value for name, value in zip(side.names, medians.tolist(), strict=True) if np.isfinite(value)}


def benchmark_measures(
    table: BenchmarkTable, index: int, surety: Surety
) -> dict[str, dict[str, Any]]:  # Any: JSON values
    """For each benchmark of one attempt: statuses, intervals and verdict."""
    attempt, rows = table.attempts[index], table.rows(index)
    with np.errstate(invalid="ignore"):
        logs = np.log(table.agent[rows]), np.log(table.agent[rows]) - np.log(table.oracle[rows])
    ends = (surety.speedup.low, surety.speedup.high, surety.ratio.low, surety.ratio.high)
    columns: dict[str, list[Any]] = {
        "agent_status": _statuses(attempt.side, table, table.agent_row[rows]),
        "oracle_status": _statuses(attempt.oracle, table, table.oracle_row[rows]),
        "log_speedup": nullable(logs[0]),
        "log_speedup_low": nullable(ends[0][rows]),
        "log_speedup_high": nullable(ends[1][rows]),
        "log_ratio": nullable(logs[1]),
        "log_ratio_low": nullable(ends[2][rows]),
        "log_ratio_high": nullable(ends[3][rows]),
        "verdict": [surety.verdict(row) for row in range(rows.start, rows.stop)],
    }
    keys = tuple(columns)
    names = [attempt.nop.names[position] for position in table.local[rows].tolist()]
    return {name: dict(zip(keys, row, strict=True)) for name, *row in zip(names, *columns.values(), strict=True)}


def _statuses(side: Side, table: BenchmarkTable, rows: Ints) -> list[str]:
    start = table.pool.row(side)
    return ["missing" if row == ABSENT else side.statuses[row - start] for row in rows.tolist()]
