"""Agents whose results agree over tasks: a single number at each is no evidence, many of them are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.records import Finding
from steelyard.speedups._benchmark_table import Attempt
from steelyard.speedups._sides import Side
from steelyard.statistics import Floats, Ints, are_fine, coincidences


def identical_agents(attempts: Sequence[Attempt]) -> Iterator[Finding]:
    """Pairs of agents with the same times or stated speedups at more tasks than chance explains."""
    results = [
        (attempt.task, attempt.agent, numbers.tobytes())
        for attempt in attempts
        if are_fine(numbers := _numbers(attempt.side)).any()
    ]
    if not results:
        return
    tasks, agents, values = (_numbered(column) for column in zip(*results, strict=True))
    names = sorted({agent for _, agent, _ in results})
    for pair in coincidences(tasks, agents, values):
        message = (
            f"the results of {names[pair.first]} and {names[pair.second]} are bit-identical on "
            f"{pair.agreeing:,} of {pair.tasks:,} tasks (probability by chance: {pair.chance_text})"
        )
        yield Finding(code="duplicate_results", message=message)


def _numbered(names: Sequence[str | bytes]) -> Ints:
    """The place of each name among all, sorted."""
    return np.asarray(np.unique(np.array(names, dtype=object), return_inverse=True)[1], dtype=np.int64)


def _numbers(side: Side) -> Floats:
    """What was measured: samples, else medians, else stated speedups."""
    if side.values.size:
        return side.values
    known = side.medians[np.isfinite(side.medians)]
    if known.size or side.stated is None:
        return known
    return side.stated[np.isfinite(side.stated)]
