"""A labeled synthetic experiment: 7 tiers x 20 tasks x 10 runs with every part of a record filled.

No agent ran. The numbers follow a synthetic story (each tier adds skill and tokens, tooling adds schema tokens) so that
every table has something to show. The generator draws only seeded uniform numbers, which Python keeps the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

from steelyard.records import (
    SCHEMES,
    Action,
    Call,
    Change,
    Component,
    ComponentType,
    Criterion,
    Judgment,
    Origin,
    Output,
    Run,
    Step,
    Steps,
    TestResults,
    Usage,
)

EXPERIMENT = "synthetic-demo"
RUNS_PER_TASK = 10
SEED = 20261115
MODEL = "claude-sonnet-4-20250514"
START = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)

TASKS: dict[str, float] = {
    "parse-csv": 0.30,
    "rename-field": 0.30,
    "bump-dependency": 0.25,
    "add-flag": 0.20,
    "escape-html": 0.15,
    "sort-stable": 0.15,
    "add-endpoint": 0.10,
    "cache-result": 0.10,
    "retry-request": 0.05,
    "paginate-list": 0.0,
    "merge-config": 0.0,
    "stream-upload": -0.05,
    "split-module": -0.10,
    "round-money": -0.10,
    "fix-leak": -0.15,
    "migrate-schema": -0.20,
    "parallel-build": -0.25,
    "fix-race": -0.30,
    "port-parser": -0.35,
    "prove-invariant": -0.60,
}
"""Each task and how much easier it is than the average."""

SKILL = {"T0": 0.53, "T1": 0.58, "T2": 0.66, "T3": 0.60, "T4": 0.72, "T5": 0.80, "T6": 0.92}
"""Probability of a pass on an average task."""

COMPONENT_TOKENS: dict[str, dict[ComponentType, int]] = {
    "T0": {ComponentType.SYSTEM_PROMPT: 400},
    "T1": {ComponentType.SYSTEM_PROMPT: 1_800},
    "T2": {
        ComponentType.SYSTEM_PROMPT: 1_800,
        ComponentType.SKILL_PROMPT: 6_000,
        ComponentType.DOMAIN_EXPERTISE: 2_500,
    },
    "T3": {
        ComponentType.SYSTEM_PROMPT: 1_800,
        ComponentType.SKILL_PROMPT: 2_000,
        ComponentType.TOOL_SCHEMA: 42_000,
        ComponentType.TOOL_CALL: 1_500,
        ComponentType.TOOL_RESPONSE: 9_000,
    },
    "T4": {
        ComponentType.SYSTEM_PROMPT: 1_800,
        ComponentType.SKILL_PROMPT: 4_000,
        ComponentType.TOOL_SCHEMA: 18_000,
        ComponentType.ORCHESTRATOR: 5_000,
        ComponentType.SUB_AGENT: 21_000,
    },
    "T5": {
        ComponentType.SYSTEM_PROMPT: 1_800,
        ComponentType.SKILL_PROMPT: 4_000,
        ComponentType.TOOL_SCHEMA: 18_000,
        ComponentType.ORCHESTRATOR: 7_000,
        ComponentType.SUB_AGENT: 24_000,
        ComponentType.MONITOR: 3_500,
        ComponentType.EVALUATOR: 5_500,
    },
    "T6": {
        ComponentType.SYSTEM_PROMPT: 1_800,
        ComponentType.SKILL_PROMPT: 6_000,
        ComponentType.DOMAIN_EXPERTISE: 2_500,
        ComponentType.TOOL_SCHEMA: 24_000,
        ComponentType.TOOL_CALL: 1_500,
        ComponentType.TOOL_RESPONSE: 9_000,
        ComponentType.ORCHESTRATOR: 6_000,
        ComponentType.SUB_AGENT: 20_000,
        ComponentType.EVALUATOR: 5_500,
    },
}

OUTPUT_PER_INPUT = {
    ComponentType.TOOL_CALL: 0.8,
    ComponentType.ORCHESTRATOR: 0.15,
    ComponentType.SUB_AGENT: 0.10,
    ComponentType.MONITOR: 0.05,
    ComponentType.EVALUATOR: 0.12,
}
"""Output tokens per input token of each component; prompts and schemas produce none."""

STEPS = tuple(
    Step(id=name, weight=weight) for name, weight in (("read", 1.0), ("plan", 1.0), ("edit", 2.0), ("verify", 2.0))
)


def demo_runs() -> Iterator[Run]:
    """Yield the 1,400 runs; deterministic.

    >>> sum(1 for _ in demo_runs())
    1400
    """
    chance = Random(SEED)  # noqa: S311  # synthetic data, not a secret
    for tier in SCHEMES["spec"]:
        for task, ease in TASKS.items():
            for attempt in range(1, RUNS_PER_TASK + 1):
                yield _run(chance, tier, task, ease, attempt)


def _run(chance: Random, tier: str, task: str, ease: float, attempt: int) -> Run:
    quality = min(max(SKILL[tier] + ease + 0.5 * (chance.random() - 0.5), 0.02), 0.99)
    passed = chance.random() < quality
    components = _components(chance, tier)
    input_tokens = sum(component.input_tokens for component in components) * 3
    output_tokens = sum(component.output_tokens for component in components) + 600 + int(1_800 * chance.random())
    started = START + timedelta(hours=attempt, minutes=int(tier[1]) * 7)
    seconds = 40 + input_tokens / 900 + 60 * chance.random()
    failing = 0 if passed else 1 + int(3 * chance.random())
    id_ = f"demo-{tier}-{task}-{attempt:02}"
    return Run(
        id=id_,
        experiment=EXPERIMENT,
        task=task,
        agent="demo-agent",
        model=MODEL,
        tier=tier,
        attempt=attempt,
        started_at=started,
        ended_at=started + timedelta(milliseconds=int(seconds * 1000)),
        outcome="passed" if passed else "failed",
        passed=passed,
        judgments=_judgments(chance, quality, passed=passed),
        calls=_calls(id_, started, input_tokens, output_tokens),
        tool_calls=3 + int(12 * chance.random()),
        iterations=1 + int(6 * chance.random()),
        success=passed,
        files_created=(f"{task}.py",),
        tests=TestResults(passed=12 - failing, failed=failing, errors=0),
        steps=_steps(chance, quality),
        actions=tuple(Action(goal_alignment=round(min(1.0, quality + 0.4 * chance.random()), 3)) for _ in range(5)),
        changes=_changes(chance, quality),
        components=components,
        output=Output(language="python", text=_answer(chance, task)),
        provenance={"usage": "counted"},
        source=Origin(format="demo"),
    )


def _answer(chance: Random, task: str) -> str:
    """Return one of four implementations of a function; most runs return the first."""
    name = task.replace("-", "_")
    ways = (
        "    return sorted(items)",
        "    # smallest first\n    return sorted(items)",
        "    result = sorted(items)\n    return result",
        "    result = list(items)\n    result.sort()\n    return result",
    )
    return f"def {name}(items):\n{ways[int(4 * chance.random() ** 3)]}\n"


def _calls(run: str, started: datetime, input_tokens: int, output_tokens: int) -> tuple[Call, ...]:
    """Split the tokens of the run between two calls; cache reads exceed writes."""
    half = Usage(
        input_tokens=input_tokens // 2,
        output_tokens=output_tokens // 2,
        cache_read_tokens=4 * input_tokens,
        cache_write_5m_tokens=input_tokens // 4,
        cache_write_1h_tokens=0,
        reasoning_tokens=0,
    )
    return tuple(
        Call(id=f"{run}-{number}", model=MODEL, at=started + timedelta(seconds=number), usage=half) for number in (1, 2)
    )


def _steps(chance: Random, quality: float) -> Steps:
    achieved = tuple(step.id for step in STEPS if chance.random() < 0.35 + 0.65 * quality)
    return Steps(expected=STEPS, achieved=achieved)


def _changes(chance: Random, quality: float) -> tuple[Change, ...]:
    return tuple(
        Change(id=f"c{number}", failed=chance.random() > 0.7 + 0.3 * quality, reverted=chance.random() > 0.9)
        for number in range(3)
    )


def _components(chance: Random, tier: str) -> tuple[Component, ...]:
    return tuple(
        Component(
            type=type_,
            input_tokens=int(tokens * (0.9 + 0.2 * chance.random())),
            output_tokens=int(tokens * OUTPUT_PER_INPUT.get(type_, 0.0)),
        )
        for type_, tokens in COMPONENT_TOKENS[tier].items()
    )


def _judgments(chance: Random, quality: float, *, passed: bool) -> tuple[Judgment, ...]:
    return tuple(
        _judgment(judge, quality + lenience + 0.1 * (chance.random() - 0.5), passed=passed)
        for judge, lenience in (("judge-a", 0.0), ("judge-b", 0.04), ("judge-c", -0.05))
    )


def _judgment(judge: str, quality: float, *, passed: bool) -> Judgment:
    level = min(max(0.62 + 0.36 * quality if passed else 0.2 + 0.3 * quality, 0.0), 1.0)
    criteria = tuple(
        Criterion(name=name, weight=weight, achieved=float(round(10 * level)), max=10.0)
        for name, weight in (("correctness", 2.0), ("completeness", 1.5), ("clarity", 1.0))
    )
    return Judgment(
        judge=judge, weighted_score=round(10 * level) / 10, passed=passed, cost_usd=0.004, criteria=criteria
    )
