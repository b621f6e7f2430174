"""The derived fields of a Run, which are the inputs of metric formulas.

A derived field comes from one part of the record. Parts are declared once, below; tables, explanations and the
documentation are derived from the declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, overload

import msgspec

from steelyard.records._record_types import Missing
from steelyard.records._run import (
    DEFAULT_SCHEME,
    Action,
    Change,
    Component,
    ComponentType,
    Conditions,
    Judgment,
    Run,
    Steps,
    TestResults,
)
from steelyard.records._sums import exact_mean, sum_in_order
from steelyard.records._times import as_utc
from steelyard.records._usage import TOKEN_KINDS, Usage, add_usage, kinds_of

Kind = Literal["str", "bool", "int", "float"]
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


CONDITIONS: dict[str, tuple[Kind, str]] = {
    "time_limit_seconds": ("float", "Time limit of the agent."),
    "time_limit_multiplier": ("float", "Multiplier for the task's own time limit."),
    "cpus": ("float", "CPUs of the environment."),
    "memory_mb": ("float", "Memory of the environment."),
    "network": ("str", "Network access of the environment."),
    "harness": ("str", "Harness that ran the agent."),
    "harness_version": ("str", "Version of the harness."),
    "agent_version": ("str", "Version of the agent."),
    "endpoint": ("str", "Address at which the model was called."),
    "settings": ("str", "Other settings, as JSON."),
}
"""Conditions of a run, by the name of their derived field."""


def conditions_values(conditions: Conditions) -> tuple[Any, ...]:
    values = [getattr(conditions, name) for name in CONDITIONS]
    settings = conditions.settings
    return (*values[:-1], None if not settings else msgspec.json.encode(settings, order="sorted").decode())


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


PROVIDERS = (
    "anthropic",
    "azure",
    "azure_ai",
    "bedrock",
    "cohere",
    "deepseek",
    "fireworks_ai",
    "gemini",
    "github_copilot",
    "google",
    "groq",
    "litellm",
    "litellm_proxy",
    "mistral",
    "mistralai",
    "moonshotai",
    "openai",
    "openrouter",
    "qwen",
    "together_ai",
    "vertex_ai",
    "x-ai",
    "xai",
    "z-ai",
    "zai",
)
"""Who offers a model or passes requests on; any other word before a slash (a person, a folder) is part of the name."""
PROVIDED_MODEL = rf"^(?i:(?:{'|'.join(map(re.escape, PROVIDERS))})/)+((?s:.+))"
"""A name with providers before it, written so that Python and Polars read it alike."""
_PROVIDED = re.compile(PROVIDED_MODEL)


@overload
def model_group(name: str) -> str: ...
@overload
def model_group(name: None) -> None: ...
def model_group(name: str | None) -> str | None:
    """The name under which runs of the model are grouped; the record keeps what was written.

    >>> model_group("openrouter/anthropic/claude-x"), model_group("claude-x"), model_group("me/claude-x")
    ('claude-x', 'claude-x', 'me/claude-x')
    """
    return name if name is None or "/" not in name else _without_providers(name)


@lru_cache(maxsize=4096)
def _without_providers(name: str) -> str:
    match = _PROVIDED.match(name)
    return match[1] if match else name


@dataclass(frozen=True, slots=True)
class FromColumns:
    """How to compute a derived field from the columns of a flat file; a column that the file lacks is missing."""

    way: Literal["value", "model", "sum", "total", "seconds", "between", "verdict"]
    """The column itself; the same, without providers before a model's name; the sum of those that are known; that sum,
    or the stated total in the last column where it can hold more (`Usage.total`); a moment in seconds since 1970;
    seconds from the first to the second moment; the flag in the first, else the meaning of the word in the second."""
    columns: tuple[str, ...]
    known_by: tuple[str, ...] = ()
    """Of a sum: the columns of which one must be known, if not those that are added up."""
    otherwise: str | None = None
    """The value of a record that states none."""


@dataclass(frozen=True, slots=True)
class Field:
    """One column of the table of runs."""

    name: str
    kind: Kind
    meaning: str
    absent: str
    """The reason given when the field is missing."""
    flat: FromColumns | None = None
    """None for a field that only a whole record has."""
    unstated: str = ""
    """The reason given where the record has the part, but not this value of it."""


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Derived fields that are read from one part of a Run together."""

    get: Callable[[Run], Any]  # Any: each part has its own record type
    read: Callable[[Any], tuple[Any, ...]]  # Any: one value per field, None where it is missing
    fields: tuple[Field, ...]
    whole: bool = False
    """The part is the value of its only field."""

    @property
    def empty(self) -> tuple[None, ...]:
        """The values of a run that does not have the part."""
        return (None,) * len(self.fields)


def _simple(
    name: str,
    kind: Kind,
    meaning: str,
    *,
    field: str | None = None,
    absent: str | None = None,
    flat: FromColumns | None = None,
) -> FieldGroup:
    """A field of the record, or a property of it; a field is also a column of a flat file."""
    source = field or name
    stated = FromColumns("value", (source,)) if source in Run.__struct_fields__ else None
    declared = Field(name, kind, meaning, absent or f"the record has no {source}", flat or stated)
    return FieldGroup(attrgetter(source), lambda value: (value,), (declared,), whole=True)


_NO_JUDGMENTS = "the record has no judgments"
_NO_USAGE = "the record has no usage"
_NO_STEPS = "the record has no expected steps"
_NO_ACTIONS = "the record has no actions"
_NO_CHANGES = "the record does not list code changes"
_NO_COMPONENTS = "the record has no components"
_NO_TESTS = "the record has no test results"
_NO_TASK_COUNTS = "the record is not a summary of several tasks"
_TEST_COUNTS = ("tests.passed", "tests.failed", "tests.errors")
_NO_PROVENANCE = "not in the record"
_NO_CALLS = "the record does not report the tokens of the run and of every call"


def _kind_meaning(kind: str) -> str:
    words = kind.replace("cache_write_5m", "5-minute_cache_write").replace("cache_write_1h", "1-hour_cache_write")
    return f"{words.replace('_', ' ').capitalize()} of the run."


def _component_meaning(type_: ComponentType, what: str) -> str:
    return f"{what.replace('_', ' ').capitalize()} of the component {type_.value}."


KEY_PARTS: tuple[FieldGroup, ...] = (
    _simple("id", "str", "The run's id."),
    _simple("experiment", "str", "Name of the experiment."),
    _simple("task", "str", "Name of the task."),
    _simple("agent", "str", "Name of the agent."),
    FieldGroup(
        lambda run: model_group(run.model),
        lambda name: (name,),
        (
            Field(
                "model",
                "str",
                "Name of the model, without a provider prefix.",
                "the record has no model",
                FromColumns("model", ("model",)),
            ),
        ),
        whole=True,
    ),
    _simple("tier", "str", "Tier of the agent's configuration; `tier_scheme` defines the tiers."),
    _simple(
        "tier_scheme",
        "str",
        "Naming scheme of the tiers.",
        flat=FromColumns("value", ("tier_scheme",), otherwise=DEFAULT_SCHEME),
    ),
    _simple("attempt", "int", "Attempt number on the task."),
    _simple("outcome", "str", "Outcome of the run."),
)

VALUE_PARTS: tuple[FieldGroup, ...] = (
    _simple(
        "passed",
        "bool",
        "Verdict, as reported.",
        field="stated_pass",
        absent="the record has no verdict",
        flat=FromColumns("verdict", ("passed", "outcome")),
    ),
    FieldGroup(
        lambda run: run.tests,
        tests_values,
        (
            Field("tests_run", "int", "Number of tests run.", _NO_TESTS, FromColumns("sum", _TEST_COUNTS)),
            Field(
                "tests_not_passed",
                "int",
                "Number of tests that failed or errored.",
                _NO_TESTS,
                FromColumns("sum", _TEST_COUNTS[1:], known_by=_TEST_COUNTS),
            ),
            Field(
                "tests_listed_twice",
                "int",
                "Number of tests listed in more than one of passed, failed and errors.",
                "the record does not name its tests",
            ),
        ),
    ),
    FieldGroup(
        lambda run: run.task_counts,
        lambda counts: (counts.total, counts.passed),
        (
            Field(
                "summarized_tasks",
                "int",
                "Number of tasks that the record summarizes.",
                _NO_TASK_COUNTS,
                FromColumns("value", ("task_counts.total",)),
            ),
            Field(
                "summarized_passes",
                "int",
                "Number of these tasks that passed.",
                _NO_TASK_COUNTS,
                FromColumns("value", ("task_counts.passed",)),
            ),
        ),
    ),
    FieldGroup(
        lambda run: run.judgments,
        judgments_values,
        (
            Field("weighted_score", "float", "Mean of the judges' weighted scores.", _NO_JUDGMENTS),
            Field("judge_votes", "int", "Number of judges who voted.", _NO_JUDGMENTS),
            Field("judge_passes", "int", "Number of judges who voted pass.", _NO_JUDGMENTS),
            Field("judge_lowest_passing_score", "float", "Lowest score with a pass vote.", _NO_JUDGMENTS),
            Field("judge_highest_failing_score", "float", "Highest score with a fail vote.", _NO_JUDGMENTS),
            Field(
                "judge_score_error",
                "float",
                "Largest difference between a reported and a recomputed score.",
                _NO_JUDGMENTS,
            ),
            Field("judge_cost_usd", "float", "Cost of judging.", _NO_JUDGMENTS),
        ),
    ),
    _simple("stated_impl_rate", "float", "Fraction of requirements met, as reported.", field="impl_rate"),
    _simple("stated_duration_seconds", "float", "Duration of the run, as reported.", field="duration_seconds"),
    _simple(
        "elapsed_seconds",
        "float",
        "End time minus start time.",
        absent="the record does not have both started_at and ended_at",
        flat=FromColumns("between", ("started_at", "ended_at")),
    ),
    FieldGroup(
        lambda run: run.started_at,
        lambda moment: (as_utc(moment).timestamp(),),
        (
            Field(
                "start_time",
                "float",
                "Start time, in seconds since 1970.",
                "the record has no started_at",
                FromColumns("seconds", ("started_at",)),
            ),
        ),
    ),
    FieldGroup(
        lambda run: run.ended_at,
        lambda moment: (as_utc(moment).timestamp(),),
        (
            Field(
                "end_time",
                "float",
                "End time, in seconds since 1970.",
                "the record has no ended_at",
                FromColumns("seconds", ("ended_at",)),
            ),
        ),
    ),
    _simple("reported_cost_usd", "float", "Cost, as reported by the tool.", field="cost_usd"),
    FieldGroup(
        lambda run: run.total_usage,
        usage_values,
        (
            *(
                Field(
                    kind,
                    "int",
                    _kind_meaning(kind),
                    _NO_USAGE,
                    FromColumns("value", (f"usage.{kind}",)),
                    unstated=f"the record's usage has no {kind}",
                )
                for kind in TOKEN_KINDS
            ),
            Field(
                "stated_total_tokens",
                "int",
                "Total tokens, as reported.",
                "the record has no total tokens",
                FromColumns("value", ("usage.total_tokens",)),
            ),
            Field(
                "total_tokens",
                "int",
                "Total tokens: the sum of the kinds, or the reported total if some are unknown.",
                _NO_USAGE,
                FromColumns("total", (*(f"usage.{kind}" for kind in TOKEN_KINDS), "usage.total_tokens")),
            ),
        ),
    ),
    FieldGroup(
        stated_and_calls,
        gaps_values,
        (
            Field("tokens_outside_calls", "int", "Tokens reported by the run beyond those of its calls.", _NO_CALLS),
            Field("tokens_beyond_usage", "int", "Tokens of the calls beyond those reported by the run.", _NO_CALLS),
        ),
    ),
    _simple(
        "cost_is_lower_bound",
        "bool",
        "Whether the cost, or the token count it is priced from, is a lower bound.",
        absent=_NO_PROVENANCE,
    ),
    FieldGroup(
        lambda run: run.provenance,
        lambda provenance: (
            provenance.get("passed") == "passes_only" or None,  # a column that few tables have
            *(provenance.get(field) == "lower_bound" for field in ("usage", "tool_calls", "iterations")),
        ),
        (
            Field(
                "lists_passes_only",
                "bool",
                "Whether the verdict comes from a list of passed tasks, so failed runs are unknown.",
                "the verdict does not come from a list of passed tasks",
            ),
            Field("usage_is_lower_bound", "bool", "Whether the tokens are a lower bound.", _NO_PROVENANCE),
            Field("tool_calls_are_lower_bound", "bool", "Whether the tool calls are a lower bound.", _NO_PROVENANCE),
            Field("iterations_are_lower_bound", "bool", "Whether the turns are a lower bound.", _NO_PROVENANCE),
        ),
    ),
    _simple("tool_calls", "int", "Number of tool calls."),
    _simple("iterations", "int", "Number of responses from the main agent's model."),
    _simple("success", "bool", "Success as claimed by the agent."),
    _simple("score", "float", "Score, as reported by the harness."),
    FieldGroup(
        lambda run: run.conditions,
        conditions_values,
        tuple(
            Field(
                name,
                kind,
                meaning,
                "the record has no such condition",
                None if name == "settings" else FromColumns("value", (f"conditions.{name}",)),  # an object is no column
            )
            for name, (kind, meaning) in CONDITIONS.items()
        ),
    ),
    _simple("weak_check", "bool", "Whether the agent's code could have forged the verdict."),
    _simple("weak_timing", "bool", "Whether the agent's code could have forged the timings."),
    FieldGroup(
        lambda run: run.flags,
        lambda flags: (len(flags),),
        (
            Field(
                "flag_count",
                "int",
                "Number of observations made by the runner, such as changed tests.",
                "the record has none",
            ),
        ),
    ),
    FieldGroup(
        lambda run: run.steps,
        steps_values,
        (
            Field(
                "achieved_weighted_steps", "float", "Total weight of the expected steps that were achieved.", _NO_STEPS
            ),
            Field("expected_weighted_steps", "float", "Total weight of the expected steps.", _NO_STEPS),
            Field("achieved_steps", "int", "Number of expected steps achieved.", _NO_STEPS),
            Field("expected_steps", "int", "Number of expected steps.", _NO_STEPS),
        ),
    ),
    FieldGroup(
        lambda run: run.actions,
        actions_values,
        (
            Field("aligned_weight", "float", "Sum of goal alignment times weight over the actions.", _NO_ACTIONS),
            Field("action_weight", "float", "Sum of the actions' weights.", _NO_ACTIONS),
            Field(
                "goal_aligned_actions",
                "int",
                f"Number of actions with an alignment of {ALIGNED_FROM} or more.",
                _NO_ACTIONS,
            ),
            Field("total_actions", "int", "Number of actions.", _NO_ACTIONS),
        ),
    ),
    FieldGroup(
        lambda run: run.changes,
        changes_values,
        (
            Field("failed_changes", "int", "Number of changes that caused a failure.", _NO_CHANGES),
            Field("reverted_changes", "int", "Number of changes that were reverted.", _NO_CHANGES),
            Field("total_changes", "int", "Number of changes.", _NO_CHANGES),
        ),
    ),
    FieldGroup(
        lambda run: run.components,
        components_values,
        (
            Field("schema_tokens", "int", "Tokens of tool schemas.", _NO_COMPONENTS),
            Field("skill_tokens", "int", "Tokens of skill prompts and domain expertise.", _NO_COMPONENTS),
            *(
                Field(component_column(type_, what), "int", _component_meaning(type_, what), _NO_COMPONENTS)
                for type_ in ComponentType
                for what in ("input_tokens", "output_tokens")
            ),
        ),
    ),
)

_NOT_PRICED = "the tokens could not be priced"

PRICED_FIELDS: tuple[Field, ...] = (
    Field("priced_cost_usd", "float", "Cost of the run's tokens, from the price table.", _NOT_PRICED),
    Field("input_price", "float", "Price per million input tokens, if the record has one.", "the record has no price"),
    Field(
        "output_price", "float", "Price per million output tokens, if the record has one.", "the record has no price"
    ),
    *(
        Field(component_column(type_, "cost_usd"), "float", f"Cost of {type_.value} tokens.", _NOT_PRICED)
        for type_ in ComponentType
    ),
)

KEY_FIELDS: tuple[Field, ...] = tuple(field for part in KEY_PARTS for field in part.fields)
VALUE_FIELDS: tuple[Field, ...] = (*(field for part in VALUE_PARTS for field in part.fields), *PRICED_FIELDS)
RUN_FIELDS: dict[str, Field] = {field.name: field for field in (*KEY_FIELDS, *VALUE_FIELDS)}

FIELD_GROUPS: dict[str, FieldGroup] = {field.name: part for part in (*KEY_PARTS, *VALUE_PARTS) for field in part.fields}
"""The part of the record that each field is read from."""

GROUP_KEYS: tuple[str, ...] = (
    *(field.name for field in KEY_FIELDS if field.name != "id"),
    *(name for name, (kind, _) in CONDITIONS.items() if kind == "str" and name != "settings"),
)
"""What runs can be grouped by."""


def derived_fields(run: Run) -> dict[str, Any]:  # Any: text, flags and numbers; Missing where there is no value
    """Return the derived fields of one run, with the reason for each that is missing. Price tables add others."""
    values_by_name: dict[str, Any] = {}
    for part in (*KEY_PARTS, *VALUE_PARTS):
        content = part.get(run)
        values = part.empty if content is None else part.read(content)
        for field, value in zip(part.fields, values, strict=True):
            absent = field.absent if content is None or not field.unstated else field.unstated
            values_by_name[field.name] = Missing(absent) if value is None else value
    return values_by_name


def key_text(value: str | int | None) -> str:
    """The value of a key to group by, as people read it: a dash where the runs have none."""
    return "-" if value is None else str(value)


def key_label(names: Iterable[str], values: Iterable[str | int | None]) -> str:
    """A group's keys in one line.

    >>> key_label(["agent", "model"], ["a", None])
    'agent a, model -'
    """
    return ", ".join(f"{name} {key_text(value)}" for name, value in zip(names, values, strict=True))
