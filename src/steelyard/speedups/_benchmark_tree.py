"""One attempt's benchmarks as a tree: module, class, function, parameters."""

from __future__ import annotations

import math

import numpy as np

from steelyard.metrics import geometric_mean
from steelyard.results import BenchmarkNode
from steelyard.speedups._benchmark_table import BenchmarkTable
from steelyard.speedups._measures import SpeedupIntervals
from steelyard.speedups._sides import Floats


def tree_of(table: BenchmarkTable, index: int, speedup_intervals: SpeedupIntervals | None) -> BenchmarkNode:
    """The tree of one attempt; its root is the overall level. Without intervals nothing is noise."""
    attempt, rows = table.attempts[index], table.rows(index)
    paths: dict[tuple[str, ...], list[int]] = {}
    for row in range(rows.start, rows.stop):
        place, name = attempt.nop.places[int(table.local[row])], table.name(row)
        path = tuple(part for part in place if part is not None)
        parameters = name[name.index(path[-1]) + len(path[-1]) :] if path and path[-1] in name else name
        paths.setdefault((*path, parameters), []).append(row)
    return _node(table, speedup_intervals, "overall", sorted(paths.items()), depth=0)


def _node(
    table: BenchmarkTable,
    speedup_intervals: SpeedupIntervals | None,
    label: str,
    paths: list[tuple[tuple[str, ...], list[int]]],
    *,
    depth: int,
) -> BenchmarkNode:
    rows = [row for _, path_rows in paths for row in path_rows]
    branches: dict[str, list[tuple[tuple[str, ...], list[int]]]] = {}
    for path, path_rows in paths:
        if len(path) > depth:
            branches.setdefault(path[depth], []).append((path, path_rows))
    children = tuple(
        _node(table, speedup_intervals, name, inside, depth=depth + 1) for name, inside in branches.items()
    )
    if [child.label for child in children] == [""]:
        children = ()  # a function without parameters is its own leaf
    counted = [row for row in rows if table.counted[row]]
    low, high = _interval(table, speedup_intervals, counted)
    return BenchmarkNode(
        label=label,
        agent=_gmean(table.effective[counted]),
        oracle=_gmean(table.oracle[counted]) if np.isfinite(table.oracle[counted]).all() else None,
        size=len(rows),
        valid=int(np.count_nonzero(table.valid[rows])),
        low=low,
        high=high,
        is_noise=speedup_intervals is not None
        and bool(counted)
        and all(speedup_intervals.verdict(row) == "unclear" for row in counted),
        children=children,
    )


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
