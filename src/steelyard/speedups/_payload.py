"""Records of attempts: the fields of the specification, and additional metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.records import Missing, Snapshot, TestResults
from steelyard.speedups._benchmark_table import BenchmarkTable
from steelyard.speedups._failures import NO_TESTS
from steelyard.speedups._records import PytestSummary, SnapshotSummary, SpeedupAttempt
from steelyard.speedups._sides import Floats

Fields = dict[str, Any]  # Any: JSON values, and Missing until it is taken out

NO_SNAPSHOT = Missing("no snapshot")


def payload_fields(
    table: BenchmarkTable, index: int, figures: Mapping[str, float | Missing]
) -> tuple[Fields, dict[str, str]]:
    """Return the fields of the specification for one attempt, without those of benchmarks, and reasons for None."""
    attempt, rows = table.attempts[index], table.rows(index)
    return without_missing(
        {
            "pytest_summary": _pytest_summary(attempt.tests) or NO_TESTS,
            "snapshot_summary": _snapshot_summary(attempt.snapshot) or NO_SNAPSHOT,
            "pytest_failed": attempt.pytest_failed,
            "snapshot_failed": attempt.snapshot_failed,
            "success": attempt.success,
            "fallback_to_baseline": attempt.fallback,
            "num_benchmarks": rows.stop - rows.start,
            "num_valid_benchmarks": int(np.count_nonzero(table.valid[rows])),
            **{name: value for name, value in figures.items() if name in SpeedupAttempt.__struct_fields__},
            "task_cost_usd": attempt.cost_usd,
            "trajectory_length": attempt.trajectory_length,
        }
    )


def without_missing(fields: Fields) -> tuple[Fields, dict[str, str]]:
    """The fields with None for what is missing, and the reasons by name."""
    reasons = {name: value.reason for name, value in fields.items() if isinstance(value, Missing)}
    return fields | dict.fromkeys(reasons), reasons


def nullable(values: Floats) -> list[Any]:  # Any: a float, or None for NaN
    """The numbers as a list, None for what is not finite."""
    listed: list[Any] = values.tolist()
    if np.isfinite(values).all():
        return listed
    return [value if math.isfinite(value) else None for value in listed]


def _pytest_summary(tests: TestResults | None) -> PytestSummary | None:
    if tests is None:
        return None
    passed, failed, errors = (
        part if isinstance(part, int) else len(part or ()) for part in (tests.passed, tests.failed, tests.errors)
    )
    return PytestSummary(
        passed=passed,
        failed=failed,
        error=errors,
        total=tests.total,
        status="failed" if tests.not_passed else "passed",
        failed_total=tests.not_passed,
    )


def _snapshot_summary(snapshot: Snapshot | None) -> SnapshotSummary | None:
    if snapshot is None:
        return None
    return SnapshotSummary(status=snapshot.status, pass_to_fail=snapshot.pass_to_fail)
