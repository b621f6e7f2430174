"""The specification's payload for one attempt, with exactly its field names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from steelyard.records import Missing, Snapshot, TestResults
from steelyard.results import BenchmarkSpeedup, Payload
from steelyard.speedups._benchmark_table import BenchmarkTable
from steelyard.speedups._failures import NO_TESTS
from steelyard.speedups._sides import Floats

Fields = dict[str, Any]  # Any: JSON values, and Missing until it is taken out

NO_VALID = Missing("no benchmark is valid under nop, oracle and agent")
NO_SNAPSHOT = Missing("no snapshot is given")


def payloads(table: BenchmarkTable) -> Iterator[tuple[Payload, dict[str, str]]]:
    """The payload of each attempt in turn, and the reasons for what is missing in it."""
    advantages, task_speedups = table.advantages.tolist(), table.task_speedup.tolist()
    sizes = np.diff(table.starts).tolist()
    for index, (attempt, speedups) in enumerate(zip(table.attempts, _per_benchmark(table), strict=True)):
        levels = [_known(value) for value in advantages[index]]
        fields, reasons = without_missing(
            {
                "pytest_summary": _pytest_summary(attempt.tests) or NO_TESTS,
                "snapshot_summary": _snapshot_summary(attempt.snapshot) or NO_SNAPSHOT,
                "pytest_failed": attempt.pytest_failed,
                "success": attempt.success,
                "agent_advantage": levels[3],
                "agent_advantage_level1": levels[0],
                "agent_advantage_level2": levels[1],
                "agent_advantage_level3": levels[2],
                "agent_advantage_level4": levels[3],
                "task_speedup": _known(task_speedups[index]),
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


def _known(value: float) -> float | Missing:
    return value if math.isfinite(value) else NO_VALID


def _per_benchmark(table: BenchmarkTable) -> Iterator[dict[str, BenchmarkSpeedup]]:
    """For each attempt its speedups by benchmark."""
    everything = bool(table.counted.all())
    as_list = _as_list if everything else nullable
    shared: tuple[int, int] | None = None
    names: tuple[str, ...] = ()
    oracle: list[float | None] = []
    for index, attempt in enumerate(table.attempts):
        rows = table.rows(index)
        if shared != (id(attempt.nop), id(attempt.oracle)):  # agents of one task share names and the expert's numbers
            shared = (id(attempt.nop), id(attempt.oracle))
            names, oracle = attempt.nop.measured_names, as_list(table.oracle[rows])
        shown = table.effective[rows]
        if not everything:
            shown = np.where(table.counted[rows], shown, table.agent[rows])
        columns = (as_list(shown), oracle, as_list(shown - table.oracle[rows]))
        yield dict(zip(names, map(BenchmarkSpeedup, *columns), strict=True))


def _as_list(values: Floats) -> list[Any]:  # Any: floats
    listed: list[Any] = values.tolist()
    return listed


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
