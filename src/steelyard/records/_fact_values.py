"""The values of facts that are computed from a part of a Run."""

from __future__ import annotations

from typing import Any, Literal

from steelyard.records._run import Action, Change, Component, ComponentType, Judgment, Run, Steps, TestResults
from steelyard.records._sums import exact_mean, sum_in_order
from steelyard.records._usage import Usage, add_usage, kinds_of

ALIGNED_FROM = 0.5
"""The goal alignment from which the simple drift counts an action as aligned."""

SKILL_TYPES = (ComponentType.SKILL_PROMPT, ComponentType.DOMAIN_EXPERTISE)
SCHEMA_TYPES = (ComponentType.TOOL_SCHEMA,)


def judgments_values(judgments: tuple[Judgment, ...]) -> tuple[Any, ...]:
    scores = [judgment.score for judgment in judgments]
    votes = [(judgment.passed, judgment.score) for judgment in judgments if judgment.passed is not None]
    errors = [
        abs(judgment.weighted_score - recomputed)
        for judgment in judgments
        if judgment.weighted_score is not None and (recomputed := judgment.recomputed_score) is not None
    ]
    costs = [judgment.cost_usd for judgment in judgments if judgment.cost_usd is not None]
    return (
        exact_mean(scores) if scores else None,
        len(votes),
        sum(1 for passed, _ in votes if passed),
        min((score for passed, score in votes if passed), default=None),
        max((score for passed, score in votes if not passed), default=None),
        max(errors, default=None),
        sum_in_order(sorted(costs)) if costs else None,
    )


def tests_values(tests: TestResults) -> tuple[Any, ...]:
    return tests.total, tests.not_passed, _in_two_lists(tests)


def _in_two_lists(tests: TestResults) -> int | None:
    named = [set(names) for names in (tests.passed, tests.failed, tests.errors) if isinstance(names, tuple)]
    if len(named) < 2:
        return None
    return sum(map(len, named)) - len(set().union(*named))


def stated_and_calls(run: Run) -> tuple[Usage, Usage] | None:
    """The run's own tokens and those of its calls, where both are stated."""
    if run.usage is None or not run.calls:
        return None
    total = add_usage(call.usage for call in run.calls)
    return None if total is None or any(call.usage is None for call in run.calls) else (run.usage, total)


def gaps_values(usages: tuple[Usage, Usage]) -> tuple[Any, ...]:
    pairs = zip(kinds_of(usages[0]), kinds_of(usages[1]), strict=True)
    gaps = [stated - calls for stated, calls in pairs if stated is not None and calls is not None]
    return sum(gap for gap in gaps if gap > 0), sum(-gap for gap in gaps if gap < 0)


def usage_values(usage: Usage) -> tuple[Any, ...]:
    return (*kinds_of(usage), usage.total_tokens, usage.total)


def steps_values(steps: Steps) -> tuple[Any, ...]:
    if not steps.expected:
        return (None,) * 4
    achieved = set(steps.achieved)
    reached = [step.weight for step in steps.expected if step.id in achieved]
    return (
        sum_in_order(reached),
        sum_in_order(step.weight for step in steps.expected),
        len(reached),
        len(steps.expected),
    )


def actions_values(actions: tuple[Action, ...]) -> tuple[Any, ...]:
    if not actions:
        return (None,) * 4
    return (
        sum_in_order(action.goal_alignment * action.weight for action in actions),
        sum_in_order(action.weight for action in actions),
        sum(1 for action in actions if action.goal_alignment >= ALIGNED_FROM),
        len(actions),
    )


def changes_values(changes: tuple[Change, ...]) -> tuple[Any, ...]:
    if not changes:
        return (None,) * 3
    return (
        sum(1 for change in changes if change.failed),
        sum(1 for change in changes if change.reverted),
        len(changes),
    )


def component_column(type_: ComponentType, what: Literal["input_tokens", "output_tokens", "cost_usd"]) -> str:
    """The column that holds a component's tokens or cost.

    >>> component_column(ComponentType.TOOL_SCHEMA, "cost_usd")
    'tool_schema_cost_usd'
    """
    return f"{type_.value.lower()}_{what}"


def components_values(components: tuple[Component, ...]) -> tuple[Any, ...]:
    tokens = {type_: [0, 0] for type_ in ComponentType}
    if not components:
        return (None,) * (2 * len(tokens) + 2)
    for component in components:
        tokens[component.type][0] += component.input_tokens
        tokens[component.type][1] += component.output_tokens
    schema = sum(sum(tokens[type_]) for type_ in SCHEMA_TYPES)
    skill = sum(sum(tokens[type_]) for type_ in SKILL_TYPES)
    return (schema, skill, *(count for pair in tokens.values() for count in pair))
