"""The flat facts of a Run: what metric formulas take their inputs from.

A fact comes from one part of the record. Parts are declared once, below; tables, explanations and the documentation
are derived from the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from steelyard.records._missing import Missing
from steelyard.records._moments import as_utc
from steelyard.records._run import (
    TOKEN_KINDS,
    Action,
    Change,
    Component,
    ComponentType,
    Judgment,
    Run,
    Steps,
    TestResults,
    Usage,
    add_usage,
)
from steelyard.records._sums import sum_in_order

Kind = Literal["text", "flag", "count", "amount"]

ALIGNED_FROM = 0.5
"""The goal alignment from which the simple drift counts an action as aligned."""

SKILL_TYPES = (ComponentType.SKILL_PROMPT, ComponentType.DOMAIN_EXPERTISE)
SCHEMA_TYPES = (ComponentType.TOOL_SCHEMA,)


@dataclass(frozen=True, slots=True)
class Fact:
    """One column of the table of runs."""

    name: str
    kind: Kind
    meaning: str
    absent: str
    """The reason given when the fact is missing."""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts that are read from one part of a Run together."""

    get: Callable[[Run], Any]  # Any: each part has its own record type
    read: Callable[[Any], tuple[Any, ...]]  # Any: one value per fact, None where it is missing
    facts: tuple[Fact, ...]
    whole: bool = False
    """The part is the one fact's value itself."""

    @property
    def empty(self) -> tuple[None, ...]:
        """The values of a run that does not have the part."""
        return (None,) * len(self.facts)


def _simple(name: str, kind: Kind, meaning: str, *, field: str | None = None, absent: str | None = None) -> FactGroup:
    source = field or name
    reason = absent or f"the record has no {source}"

    fact = Fact(name, kind, meaning, reason)
    return FactGroup(attrgetter(source), lambda value: (value,), (fact,), whole=True)


def _judgments(judgments: tuple[Judgment, ...]) -> tuple[Any, ...]:
    scores = [judgment.score for judgment in judgments]
    votes = [(judgment.passed, judgment.score) for judgment in judgments if judgment.passed is not None]
    errors = [
        abs(judgment.weighted_score - recomputed)
        for judgment in judgments
        if judgment.weighted_score is not None and (recomputed := judgment.recomputed_score) is not None
    ]
    costs = [judgment.cost_usd for judgment in judgments if judgment.cost_usd is not None]
    return (
        sum_in_order(sorted(scores)) / len(scores) if scores else None,
        len(votes),
        sum(1 for passed, _ in votes if passed),
        min((score for passed, score in votes if passed), default=None),
        max((score for passed, score in votes if not passed), default=None),
        max(errors, default=None),
        sum_in_order(sorted(costs)) if costs else None,
    )


def _tests(tests: TestResults) -> tuple[Any, ...]:
    return tests.total, tests.not_passed, _in_two_lists(tests)


def _in_two_lists(tests: TestResults) -> int | None:
    named = [set(names) for names in (tests.passed, tests.failed, tests.errors) if isinstance(names, tuple)]
    if len(named) < 2:
        return None
    return sum(map(len, named)) - len(set().union(*named))


def _stated_and_calls(run: Run) -> tuple[Usage, Usage] | None:
    """The run's own tokens and those of its calls, where both are stated."""
    if run.usage is None or not run.calls:
        return None
    usages = [call.usage for call in run.calls if call.usage is not None]
    total = add_usage(usages) if len(usages) == len(run.calls) else None
    return None if total is None else (run.usage, total)


def _cost_is_bound(provenance: dict[str, str]) -> tuple[Any, ...]:
    """Tokens that are known to be too few make a priced cost too low, not one that the tool reports."""
    cost = provenance.get("cost_usd")
    return (cost == "lower_bound" or (cost != "reported" and provenance.get("usage") == "lower_bound"),)


def _gaps(usages: tuple[Usage, Usage]) -> tuple[Any, ...]:
    pairs = zip(_token_kinds(usages[0]), _token_kinds(usages[1]), strict=True)
    gaps = [stated - calls for stated, calls in pairs if stated is not None and calls is not None]
    return sum(gap for gap in gaps if gap > 0), sum(-gap for gap in gaps if gap < 0)


_token_kinds = attrgetter(*TOKEN_KINDS)


def _usage(usage: Usage) -> tuple[Any, ...]:
    kinds: tuple[int | None, ...] = _token_kinds(usage)
    known = [tokens for tokens in kinds if tokens is not None]
    return (*kinds, sum(known) if known else None)


def _steps(steps: Steps) -> tuple[Any, ...]:
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


def _actions(actions: tuple[Action, ...]) -> tuple[Any, ...]:
    if not actions:
        return (None,) * 4
    return (
        sum_in_order(action.goal_alignment * action.weight for action in actions),
        sum_in_order(action.weight for action in actions),
        sum(1 for action in actions if action.goal_alignment >= ALIGNED_FROM),
        len(actions),
    )


def _changes(changes: tuple[Change, ...]) -> tuple[Any, ...]:
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


def _components(components: tuple[Component, ...]) -> tuple[Any, ...]:
    tokens = {type_: [0, 0] for type_ in ComponentType}
    if not components:
        return (None,) * (2 * len(tokens) + 2)
    for component in components:
        tokens[component.type][0] += component.input_tokens
        tokens[component.type][1] += component.output_tokens
    schema = sum(sum(tokens[type_]) for type_ in SCHEMA_TYPES)
    skill = sum(sum(tokens[type_]) for type_ in SKILL_TYPES)
    return (schema, skill, *(count for pair in tokens.values() for count in pair))


_NO_JUDGMENTS = "the record has no judgments"
_NO_USAGE = "the record has no usage"
_NO_STEPS = "the record has no expected steps"
_NO_ACTIONS = "the record has no actions"
_NO_CHANGES = "the record has no changes"
_NO_COMPONENTS = "the record has no components"
_NO_TESTS = "the record has no test results"
_NO_CALLS = "the record does not state both its tokens and those of every call"

KEY_PARTS: tuple[FactGroup, ...] = (
    _simple("id", "text", "The run's id."),
    _simple("experiment", "text", "The experiment."),
    _simple("task", "text", "The task."),
    _simple("agent", "text", "The agent."),
    _simple("model", "text", "The model."),
    _simple("tier", "text", "The tier, in its scheme."),
    _simple("tier_scheme", "text", "The naming of tiers."),
    _simple("attempt", "count", "Which attempt at the task."),
    _simple("outcome", "text", "How the run ended."),
)

VALUE_PARTS: tuple[FactGroup, ...] = (
    _simple("passed", "flag", "The verdict as stated.", field="stated_pass", absent="the record states no verdict"),
    FactGroup(
        lambda run: run.tests,
        _tests,
        (
            Fact("tests_run", "count", "How many tests ran.", _NO_TESTS),
            Fact("tests_not_passed", "count", "How many failed or broke.", _NO_TESTS),
            Fact(
                "tests_listed_twice",
                "count",
                "Tests named in more than one of passed, failed and errors.",
                "the record does not name its tests",
            ),
        ),
    ),
    FactGroup(
        lambda run: run.judgments,
        _judgments,
        (
            Fact("weighted_score", "amount", "Mean of the judges' weighted scores.", _NO_JUDGMENTS),
            Fact("judge_votes", "count", "How many judges voted.", _NO_JUDGMENTS),
            Fact("judge_passes", "count", "How many of them voted for a pass.", _NO_JUDGMENTS),
            Fact("judge_lowest_passing_score", "amount", "Lowest score with a pass vote.", _NO_JUDGMENTS),
            Fact("judge_highest_failing_score", "amount", "Highest score with a fail vote.", _NO_JUDGMENTS),
            Fact("judge_score_error", "amount", "Largest gap between a stated and a recomputed score.", _NO_JUDGMENTS),
            Fact("judge_cost_usd", "amount", "What judging cost.", _NO_JUDGMENTS),
        ),
    ),
    _simple("stated_impl_rate", "amount", "Share of requirements met, as stated.", field="impl_rate"),
    _simple(
        "elapsed_seconds", "amount", "End minus start.", absent="the record does not have both started_at and ended_at"
    ),
    FactGroup(
        lambda run: run.started_at,
        lambda moment: (as_utc(moment).timestamp(),),
        (Fact("start_time", "amount", "Start, in seconds since 1970.", "the record has no started_at"),),
    ),
    FactGroup(
        lambda run: run.ended_at,
        lambda moment: (as_utc(moment).timestamp(),),
        (Fact("end_time", "amount", "End, in seconds since 1970.", "the record has no ended_at"),),
    ),
    _simple("reported_cost_usd", "amount", "Cost as the tool reported it.", field="cost_usd"),
    FactGroup(
        lambda run: run.total_usage,
        _usage,
        (
            *(
                Fact(kind, "count", f"{kind.replace('_', ' ').capitalize()} of the run.", _NO_USAGE)
                for kind in TOKEN_KINDS
            ),
            Fact("total_tokens", "count", "All kinds of tokens together.", _NO_USAGE),
        ),
    ),
    FactGroup(
        _stated_and_calls,
        _gaps,
        (
            Fact("tokens_outside_calls", "count", "Tokens that the run states beyond those of its calls.", _NO_CALLS),
            Fact("tokens_beyond_usage", "count", "Tokens of the calls beyond those that the run states.", _NO_CALLS),
        ),
    ),
    FactGroup(
        lambda run: run.provenance,
        _cost_is_bound,
        (
            Fact(
                "cost_is_lower_bound",
                "flag",
                "The cost or the tokens are known to be too low.",
                "the record does not say",
            ),
        ),
    ),
    _simple("tool_calls", "count", "Tools called."),
    _simple("iterations", "count", "Turns taken."),
    _simple("success", "flag", "The agent's own claim."),
    FactGroup(
        lambda run: run.steps,
        _steps,
        (
            Fact("achieved_weighted_steps", "amount", "Weight of the expected steps that were achieved.", _NO_STEPS),
            Fact("expected_weighted_steps", "amount", "Weight of all expected steps.", _NO_STEPS),
            Fact("achieved_steps", "count", "Expected steps that were achieved.", _NO_STEPS),
            Fact("expected_steps", "count", "Expected steps.", _NO_STEPS),
        ),
    ),
    FactGroup(
        lambda run: run.actions,
        _actions,
        (
            Fact("aligned_weight", "amount", "Sum of goal alignment times weight over the actions.", _NO_ACTIONS),
            Fact("action_weight", "amount", "Sum of the actions' weights.", _NO_ACTIONS),
            Fact("goal_aligned_actions", "count", f"Actions with an alignment of {ALIGNED_FROM} or more.", _NO_ACTIONS),
            Fact("total_actions", "count", "Actions.", _NO_ACTIONS),
        ),
    ),
    FactGroup(
        lambda run: run.changes,
        _changes,
        (
            Fact("failed_changes", "count", "Changes that caused a failure.", _NO_CHANGES),
            Fact("reverted_changes", "count", "Changes that were reverted.", _NO_CHANGES),
            Fact("total_changes", "count", "Changes.", _NO_CHANGES),
        ),
    ),
    FactGroup(
        lambda run: run.components,
        _components,
        (
            Fact("schema_tokens", "count", "Tokens of tool schemas.", _NO_COMPONENTS),
            Fact("skill_tokens", "count", "Tokens of skill prompts and domain expertise.", _NO_COMPONENTS),
            *(
                Fact(component_column(type_, what), "count", f"{type_.value} {what.replace('_', ' ')}.", _NO_COMPONENTS)
                for type_ in ComponentType
                for what in ("input_tokens", "output_tokens")
            ),
        ),
    ),
)

_NOT_PRICED = "the tokens could not be priced"

PRICED_FACTS: tuple[Fact, ...] = (
    Fact("priced_cost_usd", "amount", "Cost of the run's tokens by the price book.", _NOT_PRICED),
    Fact("input_price", "amount", "Price of a million input tokens, where one is given by hand.", "no price is given"),
    Fact(
        "output_price", "amount", "Price of a million output tokens, where one is given by hand.", "no price is given"
    ),
    *(
        Fact(component_column(type_, "cost_usd"), "amount", f"Cost of {type_.value} tokens.", _NOT_PRICED)
        for type_ in ComponentType
    ),
)

KEY_FACTS: tuple[Fact, ...] = tuple(fact for part in KEY_PARTS for fact in part.facts)
VALUE_FACTS: tuple[Fact, ...] = (*(fact for part in VALUE_PARTS for fact in part.facts), *PRICED_FACTS)
FACTS: dict[str, Fact] = {fact.name: fact for fact in (*KEY_FACTS, *VALUE_FACTS)}

FACT_PARTS: dict[str, FactGroup] = {fact.name: part for part in (*KEY_PARTS, *VALUE_PARTS) for fact in part.facts}
"""The part of the record that each fact is read from."""

GROUP_KEYS: tuple[str, ...] = tuple(fact.name for fact in KEY_FACTS if fact.name != "id")
"""What runs can be grouped by."""


def run_facts(run: Run) -> dict[str, Any]:  # Any: text, flags and numbers; Missing where there is no value
    """The facts of one run, with the reason for each that is missing. Priced facts are added by the price book."""
    facts: dict[str, Any] = {}
    for part in (*KEY_PARTS, *VALUE_PARTS):
        content = part.get(run)
        values = part.empty if content is None else part.read(content)
        for fact, value in zip(part.facts, values, strict=True):
            facts[fact.name] = Missing(fact.absent) if value is None else value
    return facts


def key_text(value: str | int | None) -> str:
    """The value of a key to group by, as people read it: a dash where the runs have none."""
    return "-" if value is None else str(value)


def key_label(names: Iterable[str], values: Iterable[str | int | None]) -> str:
    """A group's keys in one line.

    >>> key_label(["agent", "model"], ["a", None])
    'agent a, model -'
    """
    return ", ".join(f"{name} {key_text(value)}" for name, value in zip(names, values, strict=True))
