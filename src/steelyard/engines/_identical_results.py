"""Agents whose measured results are the same to the last bit."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines._protocol import Engine
from steelyard.errors import MemoryLimitError
from steelyard.records import Finding, Missing, Place, key_label
from steelyard.statistics import Coincidence, coincidences

MEASURED = ("duration_seconds", "cost_usd", "total_tokens")
"""What is measured finely enough that two runs hardly ever agree in it."""
AGENT = ("agent", "model", "tier")
"""Keys that distinguish agents."""
MESSAGE = (
    "the results of two agents are bit-identical on more tasks than chance explains; check whether one is a copy "
    "of the other"
)

MAX_RUNS = 20_000_000
"""All pairs of results are compared in memory; above this many runs the check is skipped, on every engine."""


def identical_results(engine: Engine) -> list[Finding]:
    """The pairs of agents that have the same durations, costs or tokens, each with how likely that is by chance."""
    names = [key for key in AGENT if len(engine.groups([key]).sizes) > 1]
    if not names:
        return []
    if engine.n > MAX_RUNS:
        return [_not_checked(f"up to {MAX_RUNS:,} runs (got {engine.n:,})")]
    try:
        return _identical(engine, names)
    except MemoryLimitError:
        return [_not_checked(f"if the results of all runs fit in memory; those of {engine.n:,} runs do not")]


def _not_checked(where: str) -> Finding:
    message = f"identical results are checked only {where}"
    return Finding(code="not_checked", severity="info", message=message)


def _identical(engine: Engine, names: Sequence[str]) -> list[Finding]:
    combinations = engine.codes(names)
    agents = combinations.keys()
    tasks = engine.codes(["task"]).rows
    pairs: dict[tuple[int, int], list[str]] = {}
    for name in MEASURED:
        values = engine.values([name])[name]
        if isinstance(values, Missing):
            continue
        # coarse numbers agree too easily
        for pair in coincidences(tasks, combinations.rows, values, only_fine=True, looks=len(MEASURED)):
            pairs.setdefault((pair.first, pair.second), []).append(_sentence(name, pair))
    places = [
        Place(
            where=f"{key_label(names, agents[first])} and {key_label(names, agents[second])}",
            message="; ".join(sentences),
        )
        for (first, second), sentences in sorted(pairs.items())
    ]
    return [Finding(code="duplicate_results", message=MESSAGE, places=tuple(places))] if places else []


def _sentence(name: str, pair: Coincidence) -> str:
    return f"{name} on {pair.agreeing:,} of {pair.tasks:,} tasks (probability {pair.chance_text})"
