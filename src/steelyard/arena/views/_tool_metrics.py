"""Metrics that a profile names for some tools: evaluated on the inputs that submissions bring, ranked within the tool.

They are not part of any score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import select

from steelyard.arena._answer_parts import ToolMetric, ToolSubmission, ToolValue
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.scoring._rules import Rules
from steelyard.errors import UnknownNameError, UsageError
from steelyard.metrics import catalog, evaluate
from steelyard.profiles import DEFAULT, Profile, load_profile
from steelyard.records import Missing, custom_inputs, is_custom_field, is_storable
from steelyard.store.schema import submissions, tasks


class ToolInputs(NamedTuple):
    """What a submission of a tool brings for metrics."""

    submission_id: str
    task_id: str
    inputs: Mapping[str, float | bool]


def tool_submissions(arena: Arena, tool: str) -> tuple[tuple[ToolMetric, ...], tuple[ToolSubmission, ...]]:
    """Return the metrics that the profile lists for a tool, and its included submissions ranked by them."""
    with arena.read() as connection:
        named = metrics_of(arena.rules, tool)
        wanted = select(submissions.c.id, tasks.c.id.label("task_id"), submissions.c.details).join(tasks)
        own = (submissions.c.agent == tool) & submissions.c.excluded_at.is_(None)
        rows = connection.execute(wanted.where(own)).all() if is_storable(tool) else []
        if not rows:
            known = select(submissions.c.agent).where(submissions.c.agent.is_not(None)).distinct()
            raise UnknownNameError("tool", tool[:200], connection.execute(known).scalars())
    brought = [ToolInputs(row.id, row.task_id, inputs_in(row.details)) for row in rows]
    return tuple(_declared_metric(name) for name in named), ranked_within(brought, named)


def metrics_of(rules: Rules, tool: str | None) -> tuple[str, ...]:
    """The metrics that the profile names for a tool."""
    return (rules.tool_metrics or {}).get(tool or "", ())


def asked_metrics(rules: Rules, names: Sequence[str]) -> tuple[str, ...]:
    """The metrics asked for, each of which the profile must name for some tool."""
    known = {name: None for own in (rules.tool_metrics or {}).values() for name in own}
    if names and not known:
        hint = 'add [constants.tool_metrics] with TOOL = ["METRIC"] to the profile'
        raise UsageError(f"the profile {rules.name} lists no agent-specific metrics", hint=hint)
    for name in names:
        if name not in known:
            raise UnknownNameError("tool metric", name, known)
    return tuple(dict.fromkeys(names))


def inputs_in(details: str | None) -> dict[str, float | bool]:
    """The inputs that a submission brought; those under custom fields by the names that metrics know."""
    inputs: dict[str, float | bool] = (msgspec.json.decode(details).get("inputs") if details else None) or {}
    own = {name: value for name, value in inputs.items() if is_custom_field(name)}
    return {name: value for name, value in inputs.items() if name not in own} | custom_inputs(own)


def ranked_within(brought: Sequence[ToolInputs], names: Sequence[str]) -> tuple[ToolSubmission, ...]:
    """Each submission of one tool with its metrics, and its rank among those that have the metric (1, 1, 3)."""
    profile = load_profile(DEFAULT)
    values = [{name: _value(name, entry.inputs, profile) for name in names} for entry in brought]
    ranks: dict[str, list[int | None]] = {}
    for name in names:
        is_lower = catalog()[name].better == "lower"
        own = [metric_values[name][0] for metric_values in values]
        known = [value for value in own if value is not None]
        ranks[name] = [
            None if value is None else 1 + sum(other < value if is_lower else other > value for other in known)
            for value in own
        ]
    made = [
        ToolSubmission(
            submission_id=entry.submission_id,
            task_id=entry.task_id,
            metrics={
                name: ToolValue(value=value, ranking=ranks[name][place], reason=reason)
                for name, (value, reason) in metric_values.items()
            },
        )
        for place, (entry, metric_values) in enumerate(zip(brought, values, strict=True))
    ]
    return tuple(sorted(made, key=lambda one: (one.task_id, one.submission_id)))


def _value(name: str, inputs: Mapping[str, Any], profile: Profile) -> tuple[float | None, str | None]:  # Any: inputs
    value = evaluate(name, inputs, profile, {})
    if isinstance(value, Missing):
        return None, str(value.reason)
    number = float(value)
    return (number, None) if math.isfinite(number) else (None, "infinite")


def _declared_metric(name: str) -> ToolMetric:
    declared = catalog()[name]
    return ToolMetric(name=name, title=declared.title, unit=declared.unit, better=declared.better)
