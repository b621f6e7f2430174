"""Agent trajectories in the ATIF format (versions 1.x), read as Harbor writes them, and written with all steps.

Prompt tokens include cached ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from steelyard.files import document, label
from steelyard.records import (
    Amount,
    Call,
    Count,
    Finding,
    Run,
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
    extra: msgspec.Raw = ABSENT

    def disjoint(self) -> Usage:
        """Disjoint kinds; those of a trajectory that we wrote are exact."""
        return _written_usage(self.extra) or disjoint_usage(
            input_with_cache=self.prompt_tokens,
            cache_read=self.cached_tokens,
            output_with_reasoning=self.completion_tokens,
        )


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
    extra: msgspec.Raw = ABSENT


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
    if len(name) <= 1_000:
        return name
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


def _calls(steps: Sequence[_Placed]) -> Iterator[Call]:
    """A call for each step that states tokens."""
    for owner, agent, step in steps:
        tokens = step.metrics
        if tokens is not None and (tokens.prompt_tokens is not None or tokens.completion_tokens is not None):
            yield Call(
                id=f"{_brief(owner)} {step.step_id}",
                model=label(step.model_name) or label(agent.model_name),
                at=moment(step.timestamp),
                usage=tokens.disjoint(),
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
        usage = _written_usage(totals.extra) or disjoint_usage(
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
    ours = _ours(step.extra)
    subagent = ours.get("subagent", subagent)
    known: dict[str, Any] = {"at": moment(step.timestamp), "subagent": subagent}  # Any: fields of a step
    source = SOURCES.get(step.source, "system")
    named = label(step.model_name) or model if source == "assistant" else None
    spoken = known | {"model": ours.get("model", named)}
    made: list[SessionStep] = []
    if (thought := raw_text(step.reasoning_content)) is not None:
        made.append(SessionStep(kind="message", role="reasoning", text=thought, **spoken))
    if (text := raw_text(step.message)) is not None or "kind" in ours:
        kind: StepKind = ours.get("kind", "message")
        at = moment(ours["message_at"]) if "message_at" in ours else known["at"]
        made.append(SessionStep(kind=kind, role=ours.get("role", source), text=text, **spoken | {"at": at}))
    for call in step.tool_calls or ():
        own = _ours(call.extra)
        given = None if "no_arguments" in own else arguments_of(value_of(call.arguments))
        made.append(
            SessionStep(
                kind=own.get("kind", "tool_call"),
                role="assistant",
                tool=label(value_of(call.function_name)) or "tool",
                call=None if "no_id" in own else call.tool_call_id,
                arguments=given,
                **spoken | ({"at": moment(own["at"])} if "at" in own else {}),
            )
        )
    if step.metrics is not None:
        used = step.metrics.disjoint()
        made = first_with_usage(made, used if used.total is not None else None, **spoken)
    for result in step.observation.results if step.observation else ():
        own = _ours(result.extra)
        made.append(
            SessionStep(
                kind="tool_result",
                role="tool",
                call=own.get("call", label(value_of(result.source_call_id))),
                result=raw_text(result.content),
                is_error=own.get("is_error") is True,
                tool=own.get("tool"),
                model=own.get("model"),
                **known | ({"at": moment(own["at"])} if "at" in own else {}),
            )
        )
    return made


OURS = "steelyard"
"""Key of `extra` under which a trajectory that we wrote has what ATIF has no field for."""
UNKNOWN = "unknown"
"""Name or version of an agent of which the log states none; ATIF requires both."""
VERSION = "ATIF-v1.7"
"""Version that we write: the first in which calls and results have `extra`."""


class OwnFields(msgspec.Struct, omit_defaults=True):
    """What ATIF has no field for; of another program's trajectory nothing is set."""

    kind: StepKind | UnsetType = UNSET
    role: StepRole | UnsetType = UNSET
    model: str | UnsetType | None = UNSET
    subagent: str | UnsetType | None = UNSET
    at: str | UnsetType | None = UNSET
    message_at: str | UnsetType | None = UNSET
    call: str | UnsetType | None = UNSET
    tool: str | UnsetType | None = UNSET
    is_error: bool | UnsetType = UNSET
    no_id: bool | UnsetType = UNSET
    no_arguments: bool | UnsetType = UNSET


def _ours(extra: msgspec.Raw) -> dict[str, Any]:  # Any: values of `OwnFields`
    """Return what we wrote into an `extra`; nothing if another program did."""
    value = value_of(extra)
    if not isinstance(value, dict) or OURS not in value:
        return {}
    try:
        written: dict[str, Any] = msgspec.to_builtins(msgspec.convert(value[OURS], OwnFields))
    except msgspec.ValidationError:
        return {}
    return written


def _written_usage(extra: msgspec.Raw) -> Usage | None:
    """Return the tokens by kind that we wrote into an `extra`, because ATIF has no kinds of cache writes."""
    value = value_of(extra)
    try:
        return msgspec.convert(value[OURS], Usage) if isinstance(value, dict) and OURS in value else None
    except msgspec.ValidationError:
        return None


def atif_trajectory(run: Run, steps: Iterable[SessionStep]) -> dict[str, Any]:  # Any: JSON values
    """Return a run's steps as an ATIF trajectory, which gives the same steps when it is read.

    A call and its result are in one step of ATIF if nothing comes between them. Subagents' steps are in their order
    among the others, marked as theirs.
    """
    written: list[_StepBuilder] = []
    for step in steps:
        if not written or not written[-1].takes(step):
            written.append(_StepBuilder(step, run.model))
        written[-1].add(step)
    version = (run.extra or {}).get("x_agent_version") or (run.conditions and run.conditions.agent_version)
    total = add_usage(each.usage for each in written)
    used = None if total is None else {f"total_{name}": count for name, count in _atif_counts(total).items()}
    known = {
        "total_steps": len(written),
        "total_cost_usd": run.cost_usd,
        **(used or {}),
        "extra": None if total is None else {OURS: msgspec.to_builtins(total)},
    }
    return {
        "schema_version": VERSION,
        "session_id": run.id,
        "agent": _stated({"name": run.agent or UNKNOWN, "version": str(version or UNKNOWN), "model_name": run.model}),
        "steps": [each.built(number) for number, each in enumerate(written, 1)]
        or [{"step_id": 1, "source": "system", "message": ""}],
        "final_metrics": _stated(known),
    }


def _atif_counts(usage: Usage) -> dict[str, int | None]:
    """Return tokens as ATIF counts them: the prompt includes the cache, the completion includes reasoning."""
    prompt = (
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_5m_tokens,
        usage.cache_write_1h_tokens,
    )
    answer = (usage.output_tokens, usage.reasoning_tokens)
    return {
        "prompt_tokens": None if usage.input_tokens is None else sum(filter(None, prompt)),
        "completion_tokens": None if usage.output_tokens is None else sum(filter(None, answer)),
        "cached_tokens": usage.cache_read_tokens,
    }


def _stated(fields: dict[str, Any]) -> dict[str, Any]:  # Any: JSON values
    return {name: value for name, value in fields.items() if value is not None}


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


_RANKS: dict[str, int] = {"tool_call": 2, "subagent": 2, "tool_result": 3}
"""Order of what one step of ATIF contains: reasoning, a message, calls, results."""


class _StepBuilder:
    """A step of ATIF while it is put together."""

    def __init__(self, first: SessionStep, default_model: str | None) -> None:
        self.usage = first.usage
        self._first, self._default = first, default_model
        self._rank = -1
        self._calls: set[str] = set()
        is_agents = first.role in ("assistant", "reasoning") or (first.usage is not None and first.role != "tool")
        self._source = "agent" if is_agents else "user" if first.role == "user" else "system"
        self._fields: dict[str, Any] = {"message": ""}  # Any: JSON values
        self._ours: dict[str, Any] = {}
        self._results: list[dict[str, Any]] = []

    def takes(self, step: SessionStep) -> bool:
        """Return whether the step belongs to the same step of ATIF."""
        rank = _rank(step)
        in_order = rank > self._rank or (rank == self._rank and rank > 1)
        is_agents = self._source == "agent" and (step.kind in _RANKS or step.role in ("assistant", "reasoning"))
        same = step.subagent == self._first.subagent and step.usage is None
        if rank == 3:
            return in_order and is_agents and same and step.call in self._calls
        is_plain = step.kind in ("message", "tool_call", "subagent")
        return in_order and is_agents and same and is_plain and step.model == self._first.model

    def add(self, step: SessionStep) -> None:
        """Add a step; the first has been asked for by its constructor."""
        self._rank = _rank(step)
        at = {"at": _iso(step.at)} if step.at != self._first.at else {}
        if step.kind in ("tool_call", "subagent"):
            self._add_call(step, at)
        elif step.kind == "tool_result":
            own = at | ({"is_error": True} if step.is_error else {})
            own |= {name: value for name in ("tool", "model") if (value := getattr(step, name)) is not None}
            own |= {} if step.call in self._calls or step.call is None else {"call": step.call}
            result = {"source_call_id": step.call if step.call in self._calls else None, "content": step.result}
            self._results.append(_stated(result | {"extra": {OURS: own} if own else None}))
        elif step.role == "reasoning":
            self._fields["reasoning_content"] = step.text or ""
        else:
            self._fields["message"] = step.text or ""
            self._ours |= {"message_at": _iso(step.at)} if at else {}
            if step.kind != "message" or not step.text or self._source != _SOURCES.get(step.role):
                self._ours |= {"kind": step.kind, "role": step.role}

    def _add_call(self, step: SessionStep, own: dict[str, Any]) -> None:  # Any: JSON values
        calls = self._fields.setdefault("tool_calls", [])
        own = own | ({"kind": step.kind} if step.kind != "tool_call" else {})
        own |= {"no_id": True} if step.call is None else {}
        own |= {"no_arguments": True} if step.arguments is None else {}
        call = {
            "tool_call_id": step.call or f"step-{step.index}-{len(calls)}",
            "function_name": step.tool,
            "arguments": step.arguments or {},
            "extra": {OURS: own} if own else None,
        }
        calls.append(_stated(call))
        if step.call is not None:
            self._calls.add(step.call)

    def built(self, number: int) -> dict[str, Any]:  # Any: JSON values
        """Return the step of ATIF with its number."""
        first, ours = self._first, self._ours
        if first.subagent is not None:
            ours["subagent"] = first.subagent
        is_agents = self._source == "agent"
        if first.kind != "tool_result" and first.model != (self._default if is_agents else None):
            ours |= {"model": first.model}
        made = {
            "step_id": number,
            "timestamp": _iso(first.at),
            "source": self._source,
            "model_name": first.model if is_agents else None,
            **self._fields,
            "observation": {"results": self._results} if self._results else None,
            "extra": {OURS: ours} if ours else None,
        }
        if self.usage is not None and is_agents:
            counts = _stated(_atif_counts(self.usage))
            made["metrics"] = counts | {"extra": {OURS: msgspec.to_builtins(self.usage)}}
        return _stated(made)


_SOURCES: dict[str, str] = {"user": "user", "system": "system", "assistant": "agent"}


def _rank(step: SessionStep) -> int:
    return _RANKS.get(step.kind, 0 if step.role == "reasoning" else 1)


FORMAT = LogFormat(
    name=NAME,
    title="ATIF agent trajectories",
    kind="sessions",
    yields=("calls", "usage", "cost_usd", "tool_calls", "iterations", "times"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    quotes_texts=True,
    precedence="last",
)
