"""Benchmarks of one attempt by module, class, function and parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from steelyard.metrics import geometric_mean
from steelyard.speedups._benchmark_table import BenchmarkTable
from steelyard.speedups._measures import SpeedupIntervals
from steelyard.speedups._records import BenchmarkLevel
from steelyard.speedups._sides import Floats

Paths = list[tuple[tuple[str, ...], list[int]]]


def levels_of(
    table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None
) -> tuple[BenchmarkLevel, ...]:
    """Return the levels of one attempt, each before those inside it; without intervals, nothing is noise."""
    attempt, rows = table.attempts[index], table.rows(index)
    paths: dict[tuple[str, ...], list[int]] = {}
    for row in range(rows.start, rows.stop):
        place, name = attempt.nop.places[int(table.local[row])], table.name(row)
        path = tuple(part for part in place if part is not None)
        parameters = name[name.index(path[-1]) + len(path[-1]) :] if path and path[-1] in name else name
        paths.setdefault((*path, parameters), []).append(row)
    return tuple(_levels(table, speedup_intervals, sorted(paths.items()), ()))


def _levels(
    table: BenchmarkTable, speedup_intervals: SpeedupIntervals | None, paths: Paths, above: tuple[str, ...]
) -> Iterator[BenchmarkLevel]:
    rows = [row for _, path_rows in paths for row in path_rows]
    branches: dict[str, Paths] = {}
    for path, path_rows in paths:
        if len(path) > len(above):
            branches.setdefault(path[len(above)], []).append((path, path_rows))
    counted = [row for row in rows if table.counted[row]]
    low, high = _interval(table, speedup_intervals, counted)
    yield BenchmarkLevel(
        name=("".join((".".join(above[:-1]), *above[-1:])) if not branches else ".".join(above)) or "overall",
        agent_speedup=_gmean(table.effective[counted]),
        oracle_speedup=_gmean(table.oracle[counted]) if np.isfinite(table.oracle[counted]).all() else None,
        low=low,
        high=high,
        num_benchmarks=len(rows),
        num_valid_benchmarks=int(np.count_nonzero(table.valid[rows])),
        is_noise=speedup_intervals is not None
        and bool(counted)
        and all(speedup_intervals.verdict(row) == "unclear" for row in counted),
    )
    if list(branches) != [""]:  # a function without parameters is its own benchmark
        for name, inside in branches.items():
            yield from _levels(table, speedup_intervals, inside, (*above, name))


def _interval(
    table: BenchmarkTable, speedup_intervals: SpeedupIntervals | None, rows: list[int]
) -> tuple[float | None, float | None]:
    """That of a single benchmark's speedup; one that the failure rules replaced was not measured and has none."""
    if speedup_intervals is None or len(rows) != 1 or table.effective[rows[0]] != table.agent[rows[0]]:
        return None, None
    low, high = (float(ends[rows[0]]) for ends in (speedup_intervals.speedup.low, speedup_intervals.speedup.high))
    return (math.exp(low), math.exp(high)) if math.isfinite(low) and math.isfinite(high) else (None, None)


def _gmean(values: Floats) -> float | None:
    return geometric_mean(values.tolist()) if len(values) else None
