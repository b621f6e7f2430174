"""Agent trajectories in the ATIF format (versions 1.x), as Harbor writes them. Prompt tokens include cached ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from steelyard.files import document, label
from steelyard.records import (
    Amount,
    Call,
    Count,
    Finding,
    SessionStep,
    StepKind,
    StepRole,
    Usage,
    add_usage,
    moment,
    sum_in_order,
)
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._run_values import (
    busiest_model,
    conditions_from,
    disjoint_usage,
    run_from,
    span_of,
    stated_cost,
    token_contradiction,
)
from steelyard.sources.formats._step_values import ABSENT, arguments_of, first_with_usage, raw_text, value_of

NAME = "atif"


class Metrics(msgspec.Struct):
    """Tokens of one step."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: Amount | None = None


class ToolCall(msgspec.Struct):
    """A tool that the agent called."""

    tool_call_id: str | None = None
    function_name: msgspec.Raw = ABSENT
    arguments: msgspec.Raw = ABSENT
    extra: msgspec.Raw = ABSENT


class Reference(msgspec.Struct):
    """A subagent's trajectory."""

    trajectory_id: str | None = None


class Result(msgspec.Struct):
    """What a tool gave back."""

    subagent_trajectory_ref: list[Reference] | None = None
    source_call_id: msgspec.Raw = ABSENT
    content: msgspec.Raw = ABSENT
    extra: msgspec.Raw = ABSENT


class Observation(msgspec.Struct):
    """What tools gave back."""

    results: list[Result] = []


class Step(msgspec.Struct):
    """One step."""

    step_id: int | None = None
    timestamp: str | None = None
    source: str | None = None
    model_name: str | None = None
    tool_calls: list[ToolCall] | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: Count | None = None
    observation: Observation | None = None
    message: msgspec.Raw = ABSENT
    reasoning_content: msgspec.Raw = ABSENT
    extra: msgspec.Raw = ABSENT


class Totals(msgspec.Struct):
    """Tokens and cost of the whole."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: Amount | None = None
    total_steps: Count | None = None


class Agent(msgspec.Struct):
    """Who acted."""

    name: str | None = None
    version: str | None = None
    model_name: str | None = None


class Trajectory(msgspec.Struct, kw_only=True):
    """The file."""

    schema_version: str
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent
    steps: list[Step]
    final_metrics: Totals | None = None
    subagent_trajectories: list[Trajectory] | None = None


_Placed: TypeAlias = tuple[str, Agent, Step]
"""A step with whose it is: the trajectory's name and its agent."""

_TRAJECTORY = msgspec.json.Decoder(Trajectory)


def recognizes(head: Head) -> bool:
    """Whether the schema version is one of ATIF."""
    return str(head.shape.get("schema_version", "")).startswith("ATIF")


def read(path: Path) -> Iterator[ReadItem]:
    """Yield the run of the trajectory."""
    trajectory = document(path, _TRAJECTORY)
    name = str(path)
    steps = list(_steps(trajectory))
    calls = tuple(_calls(steps))
    totals = trajectory.final_metrics or Totals()
    usage, notes = _usage(totals, calls, name)
    if trajectory.subagent_trajectories and _leaves_out(totals, steps):
        usage = add_usage(call.usage for call in calls)
    cost, sure = stated_cost(_cost(totals, steps), usage)
    tools = {call.tool_call_id or "" for _, _, step in steps for call in step.tool_calls or ()} - {""}
    main = [step for owner, _, step in steps if owner == (trajectory.trajectory_id or trajectory.session_id or "")]
    turns = sum(1 if step.llm_call_count is None else step.llm_call_count for step in main if step.source == "agent")
    results = [result for _, _, step in steps if step.observation for result in step.observation.results]
    started_by = [ref.trajectory_id for result in results for ref in result.subagent_trajectory_ref or ()]
    inner = [subagent.trajectory_id for subagent in trajectory.subagent_trajectories or ()]
    started, ended = span_of(step.timestamp for _, _, step in steps)
    session = label(trajectory.session_id) or label(trajectory.trajectory_id)
    run = run_from(
        format=NAME,
        path=name,
        how={
            "usage": "lower_bound" if notes else "reported" if usage else "unknown",
            "cost_usd": sure,
            "tool_calls": "counted",
            "iterations": "counted",
        },
        id=session,
        task=session or label(path.parent.name) or NAME,
        agent=label(trajectory.agent.name),
        model=label(trajectory.agent.model_name) or busiest_model(calls),
        started_at=started,
        ended_at=ended,
        outcome="not_scored",
        usage=usage,
        calls=calls,
        cost_usd=cost,
        tool_calls=len(tools),
        iterations=turns or None,
        conditions=conditions_from(agent_version=trajectory.agent.version),
    )
    yield RunPart(
        run=run,
        path=name,
        role="session",
        tool_ids=tuple(sorted(tools)),
        started=tuple(id_ for id_ in started_by if id_),
        contains=tuple(id_ for id_ in inner if id_),
        unfinished=_unfinished(trajectory),
        notes=notes,
    )


def _unfinished(trajectory: Trajectory) -> bool:
    """Whether steps that the totals count are not there, or, without totals, the last step has no answer."""
    totals, last = trajectory.final_metrics, trajectory.steps[-1:]
    if totals is not None:
        return totals.total_steps is not None and totals.total_steps > len(trajectory.steps)
    return any(step.tool_calls or step.source != "agent" for step in last)


def _brief(name: str) -> str:
    """The name; of one that is too long for an id, its digest."""
    return name if len(name) <= 1_000 else hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


def _calls(steps: Sequence[_Placed]) -> Iterator[Call]:
    """A call for each step that states tokens."""
    for owner, agent, step in steps:
        tokens = step.metrics
        if tokens is not None and (tokens.prompt_tokens is not None or tokens.completion_tokens is not None):
            yield Call(
                id=f"{_brief(owner)} {step.step_id}",
                model=label(step.model_name) or label(agent.model_name),
                at=moment(step.timestamp),
                usage=disjoint_usage(
                    input_with_cache=tokens.prompt_tokens,
                    cache_read=tokens.cached_tokens,
                    output_with_reasoning=tokens.completion_tokens,
                ),
            )


def _cost(totals: Totals, steps: Sequence[_Placed]) -> float | None:
    """The cost that is stated of the whole, else what the steps state together."""
    if totals.total_cost_usd is not None:
        return totals.total_cost_usd
    costs = [step.metrics.cost_usd for _, _, step in steps if step.metrics and step.metrics.cost_usd is not None]
    return sum_in_order(costs) if costs else None


def _usage(totals: Totals, calls: tuple[Call, ...], path: str) -> tuple[Usage | None, tuple[Finding, ...]]:
    """The stated totals, else the steps' sum; without the uncached input where the counts contradict themselves."""
    usage = add_usage(call.usage for call in calls)
    notes: tuple[Finding, ...] = ()
    if totals.total_prompt_tokens is not None or totals.total_completion_tokens is not None:
        usage = disjoint_usage(
            input_with_cache=totals.total_prompt_tokens,
            cache_read=totals.total_cached_tokens,
            output_with_reasoning=totals.total_completion_tokens,
        )
        notes = token_contradiction(path, usage, stated_input=totals.total_prompt_tokens)
    if usage is not None and any(call.usage is not None and call.usage.input_tokens is None for call in calls):
        notes = notes or contradiction_in_steps(path)
    if usage is not None and notes:
        usage = msgspec.structs.replace(usage, input_tokens=None)
    return usage, notes


def _leaves_out(totals: Totals, steps: Sequence[_Placed]) -> bool:
    """Whether the stated totals are those of the main agent's steps alone; writers differ in what they add up."""
    stated = [step.metrics.prompt_tokens for _, _, step in steps if step.metrics and step.metrics.prompt_tokens]
    return totals.total_prompt_tokens is not None and sum(stated) > totals.total_prompt_tokens


def contradiction_in_steps(path: str) -> tuple[Finding, ...]:
    """The finding for steps that state more cached input than input: the totals cannot be right either."""
    message = "steps report more cached than input tokens; uncached input is unknown"
    return (Finding(code="token_contradiction", message=message, where=path),)


def _steps(trajectory: Trajectory, within: str = "") -> Iterator[_Placed]:
    """Steps that happened here, subagents' too; what was copied from an earlier context is left out.

    A subagent may share its parent's session, but never its parent's place.
    """
    name = within or trajectory.trajectory_id or trajectory.session_id or ""
    for step in trajectory.steps:
        if not step.is_copied_context:
            yield name, trajectory.agent, step
    for number, inner in enumerate(trajectory.subagent_trajectories or (), start=1):
        yield from _steps(inner, f"{name}/{inner.trajectory_id or number}")


def steps(path: Path, session: str | None) -> Iterator[SessionStep]:  # noqa: ARG001 # a file holds one
    """Yield the steps of the trajectory; a subagent's follow the step that refers to them."""
    yield from _trajectory_steps(document(path, _TRAJECTORY), None)


SOURCES: dict[str | None, StepRole] = {"user": "user", "agent": "assistant"}


def _trajectory_steps(trajectory: Trajectory, subagent: str | None) -> Iterator[SessionStep]:
    inner = {each.trajectory_id or str(n): each for n, each in enumerate(trajectory.subagent_trajectories or ())}
    for step in trajectory.steps:
        if step.is_copied_context:
            continue
        yield from _step_steps(step, label(trajectory.agent.model_name), subagent)
        results = step.observation.results if step.observation else ()
        for reference in (each for result in results for each in result.subagent_trajectory_ref or ()):
            if (found := inner.pop(reference.trajectory_id or "", None)) is not None:
                yield from _trajectory_steps(found, reference.trajectory_id)
    for name, each in inner.items():
        yield from _trajectory_steps(each, name)


def _step_steps(step: Step, model: str | None, subagent: str | None) -> list[SessionStep]:
    """Return the steps of a step: its reasoning, its message, its tool calls, and what these gave back."""
    told = value_of(step.extra)
    ours = told.get(OURS) if isinstance(told, dict) else None
    ours = ours if isinstance(ours, dict) else {}
    subagent = ours.get("subagent") if isinstance(ours.get("subagent"), str) else subagent
    known: dict[str, Any] = {"at": moment(step.timestamp), "subagent": subagent}  # Any: fields of a step
    source = SOURCES.get(step.source, "system")
    spoken = known | ({"model": label(step.model_name) or model} if source == "assistant" else {})
    made: list[SessionStep] = []
    if (thought := raw_text(step.reasoning_content)) is not None:
        made.append(SessionStep(kind="message", role="reasoning", text=thought, **spoken))
    kind: StepKind = ours["kind"] if ours.get("kind") in ("compaction", "error") else "message"
    if (text := raw_text(step.message)) is not None or kind != "message":
        made.append(SessionStep(kind=kind, role=source, text=text, **spoken))
    for call in step.tool_calls or ():
        own = value_of(call.extra)
        is_subagent = isinstance(own, dict) and own.get(OURS) == "subagent"
        made.append(
            SessionStep(
                kind="subagent" if is_subagent else "tool_call",
                role="assistant",
                tool=label(value_of(call.function_name)) or "tool",
                call=call.tool_call_id,
                arguments=arguments_of(value_of(call.arguments)),
                **spoken,
            )
        )
    if step.metrics is not None:
        used = disjoint_usage(
            input_with_cache=step.metrics.prompt_tokens,
            cache_read=step.metrics.cached_tokens,
            output_with_reasoning=step.metrics.completion_tokens,
        )
        made = first_with_usage(made, used if used.total is not None else None, **spoken)
    for result in step.observation.results if step.observation else ():
        own = value_of(result.extra)
        is_error = isinstance(own, dict) and own.get("is_error") is True
        call_id, text = label(value_of(result.source_call_id)), raw_text(result.content)
        made.append(SessionStep(kind="tool_result", role="tool", call=call_id, result=text, is_error=is_error, **known))
    return made


OURS = "steelyard"
"""Key of `extra` under which a trajectory that we wrote has what ATIF has no field for."""
FORMAT = LogFormat(
    name=NAME,
    title="ATIF agent trajectories",
    kind="sessions",
    yields=("calls", "usage", "cost_usd", "tool_calls", "iterations", "times"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    precedence="last",
)
