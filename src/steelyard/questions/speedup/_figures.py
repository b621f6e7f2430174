"""Figures of speedups."""

from __future__ import annotations

import math

from steelyard.figures import Axis, BenchmarkRatio, Estimate, Figure, dots, waterfall
from steelyard.questions.speedup._answer import SpeedupAttempt, SpeedupResult


def speedup_waterfall(result: SpeedupResult, width: int) -> Figure:
    """Every benchmark of every attempt, the fastest first."""
    bars, noise = [], []
    several = len(result.tasks) > 1
    for attempt in result.attempts:
        prefix = f"{attempt.agent} on {attempt.trial}: " if several else f"{attempt.key}: "
        prefix = prefix if len(result.attempts) > 1 else ""
        bars += _bars(attempt, prefix)
        noise.append(attempt.measures.get("noise_floor"))
    floors = [math.exp(min(floor, 700.0)) for floor in noise if floor]
    title = "Speedup by benchmark"
    if len(result.attempts) == 1:
        title += f": {result.attempts[0].agent}"
    many = f"{len(result.attempts):,} attempts" if len(result.attempts) > 1 else ""
    failed = sum(attempt.fallback_to_baseline for attempt in result.attempts)
    fallen = f"{failed:,} failed their tests and count as 1x" if failed else ""
    note = "; ".join(part for part in (many, fallen, "gray: no significant change") if part)
    return waterfall(bars, title=title, note=note, noise=max(floors, default=None), width=width)


def _bars(attempt: SpeedupAttempt, prefix: str) -> list[BenchmarkRatio]:
    bars = []
    for name, each in attempt.per_benchmark_speedups.items():
        is_noise, verdict = each.verdict == "unclear", each.verdict or ""
        bars.append(BenchmarkRatio(f"{prefix}{name}", each.agent_speedup, each.oracle_speedup, is_noise, verdict))
    return bars


def speedup_dots(result: SpeedupResult, width: int) -> Figure:
    """The speedup of each attempt's task: the geometric mean over its benchmarks."""
    rows = []
    for attempt in result.attempts:
        note = f"{attempt.num_valid_benchmarks:,} of {attempt.num_benchmarks:,} benchmarks"
        note += "; failed its tests and counts as unchanged" if attempt.fallback_to_baseline else ""
        label = attempt.key if len(result.tasks) == 1 else f"{attempt.agent}: {attempt.trial}"
        value = attempt.task_speedup
        rows.append(Estimate(label=label, value=value, note=note, faint=attempt.fallback_to_baseline))
    axis = Axis(title="Speedup over the unchanged code", unit="", log=True)
    title = "Speedup by attempt"
    note = "geometric mean over benchmarks; hollow markers: tests failed"
    return dots(rows, title=title, axis=axis, note=note, reference=1.0, width=width)


DRAWINGS = {"waterfall": speedup_waterfall, "dots": speedup_dots}
"""Figures of the answer."""
