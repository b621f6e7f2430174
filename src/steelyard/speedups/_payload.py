"""The specification's payload for one attempt, with exactly its field names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steelyard.records.missing import Missing
from steelyard.records.run import Snapshot, TestResults
from steelyard.speedups._sides import Floats
from steelyard.speedups._table import Table

NO_VALID = "no benchmark is valid under nop, oracle and agent"
NO_SNAPSHOT = "no snapshot is given"


def payload(table: Table, index: int) -> tuple[dict[str, Any], dict[str, str]]:  # Any: the payload's JSON values
    """The payload of one attempt, and the reasons for what is missing in it."""
    attempt, rows = table.attempts[index], table.rows(index)
    levels = [_known(value) for value in table.advantages[index].tolist()]
    fields: dict[str, Any] = {
        "per_benchmark_speedups": per_benchmark(table, index),
        "pytest_summary": _pytest_summary(attempt.tests) or Missing("no test results are given"),
        "snapshot_summary": _snapshot_summary(attempt.snapshot) or Missing(NO_SNAPSHOT),
        "pytest_failed": attempt.pytest_failed,
        "snapshot_failed": attempt.snapshot_failed,
        "success": attempt.success,
        "fallback_to_baseline": attempt.fallback,
        "agent_advantage": levels[3],
        "agent_advantage_level1": levels[0],
        "agent_advantage_level2": levels[1],
        "agent_advantage_level3": levels[2],
        "agent_advantage_level4": levels[3],
        "num_benchmarks": rows.stop - rows.start,
        "num_valid_benchmarks": int(np.count_nonzero(table.valid[rows])),
        "task_speedup": _known(float(table.task_speedup[index])),
        "task_cost_usd": attempt.cost_usd,
        "trajectory_length": attempt.trajectory_length,
    }
    return without_missing(fields)


def without_missing(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:  # Any: JSON values and Missing
    """The fields with None for what is missing, and the reasons by name."""
    reasons = {name: value.reason for name, value in fields.items() if isinstance(value, Missing)}
    return {name: None if name in reasons else value for name, value in fields.items()}, reasons


def _known(value: float) -> float | Missing:
    return value if np.isfinite(value) else Missing(NO_VALID)


def per_benchmark(table: Table, index: int) -> dict[str, dict[str, float | None]]:
    """Speedups by benchmark, after the failure rules; None where a side has no usable number."""
    rows = table.rows(index)
    names = table.attempts[index].nop.names
    agent = np.where(table.counted[rows], table.effective[rows], table.agent[rows])
    oracle = table.oracle[rows]
    columns = (table.local[rows].tolist(), nullable(agent), nullable(oracle), nullable(agent - oracle))
    return {
        names[position]: {"agent/nop": mine, "oracle/nop": theirs, "advantage": gap}
        for position, mine, theirs, gap in zip(*columns, strict=True)
    }


def nullable(values: Floats) -> list[Any]:  # Any: a float, or None for NaN
    """The numbers as a list, None for what is not finite."""
    listed: list[Any] = values.tolist()
    if np.isfinite(values).all():
        return listed
    return [value if math.isfinite(value) else None for value in listed]


def _pytest_summary(tests: TestResults | None) -> dict[str, Any] | None:  # Any: counts and a word
    if tests is None:
        return None
    counted = {"passed": tests.passed, "failed": tests.failed, "error": tests.errors}
    counts = {name: part if isinstance(part, int) else len(part or ()) for name, part in counted.items()}
    return counts | {
        "total": tests.total,
        "status": "failed" if tests.not_passed else "passed",
        "failed_total": tests.not_passed,
    }


def _snapshot_summary(snapshot: Snapshot | None) -> dict[str, Any] | None:  # Any: a word and a count
    if snapshot is None:
        return None
    return {"status": snapshot.status, "pass_to_fail": snapshot.pass_to_fail}
