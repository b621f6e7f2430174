"""The specification's payload for one attempt, with exactly its field names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import metrics
from steelyard.records import Missing, Snapshot, TestResults
from steelyard.results import BenchmarkSpeedup, Payload
from steelyard.speedups._benchmark_table import BenchmarkTable
from steelyard.speedups._failures import NO_TESTS
from steelyard.speedups._sides import Floats

Fields = dict[str, Any]  # Any: JSON values, and Missing until it is taken out

NO_SNAPSHOT = Missing("no snapshot")


def payloads(
    table: BenchmarkTable, figures: Sequence[Mapping[str, float | Missing]]
) -> Iterator[tuple[Payload, dict[str, str]]]:
    """The payload of each attempt in turn, and the reasons for what is missing in it."""
    declared = [name for name in Payload.__struct_fields__ if figures and name in figures[0]]
    sizes = np.diff(table.starts).tolist()
    for index, (attempt, speedups) in enumerate(zip(table.attempts, _per_benchmark(table), strict=True)):
        fields, reasons = without_missing(
            {
                "pytest_summary": _pytest_summary(attempt.tests) or NO_TESTS,
                "snapshot_summary": _snapshot_summary(attempt.snapshot) or NO_SNAPSHOT,
                "pytest_failed": attempt.pytest_failed,
                "success": attempt.success,
                **{name: figures[index][name] for name in declared},
                "task_cost_usd": attempt.cost_usd,
                "trajectory_length": attempt.trajectory_length,
            }
        )
        payload = Payload(
            per_benchmark_speedups=speedups,
            snapshot_failed=attempt.snapshot_failed,
            fallback_to_baseline=attempt.fallback,
            num_benchmarks=sizes[index],
            num_valid_benchmarks=int(np.count_nonzero(table.valid[table.rows(index)])),
            **fields,
        )
        yield payload, reasons


def without_missing(fields: Fields) -> tuple[Fields, dict[str, str]]:
    """The fields with None for what is missing, and the reasons by name."""
    reasons = {name: value.reason for name, value in fields.items() if isinstance(value, Missing)}
    return fields | dict.fromkeys(reasons), reasons


def _per_benchmark(table: BenchmarkTable) -> Iterator[dict[str, BenchmarkSpeedup]]:
    """For each attempt its speedups by benchmark."""
    for index, attempt in enumerate(table.attempts):
        rows = table.rows(index)
        oracle = table.oracle[rows]
        agent = np.where(table.counted[rows], table.effective[rows], table.agent[rows])
        columns = (agent, oracle, metrics.advantage.function(agent_speedup=agent, oracle_speedup=oracle))
        yield dict(zip(attempt.nop.measured_names, map(BenchmarkSpeedup, *map(nullable, columns)), strict=True))


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
