"""GitHub Copilot CLI: the events that it keeps of a session, and those that `--output-format json` prints.

What it prints has no tokens. A compaction states its own tokens, which are in no usage record and in no total. Input
includes cached input whatever the provider, output includes reasoning; its cost is in premium requests, not in money.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import label
from steelyard.records import Call, Count, Failure, Rejected, SessionStep, Usage, add_usage, moment
from steelyard.sources.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart
from steelyard.sources.formats._run_values import (
    all_records,
    busiest_model,
    conditions_from,
    disjoint_usage,
    failure_of,
    folder_name,
    itemized,
    run_from,
    span_of,
    token_contradiction,
)
from steelyard.sources.formats._step_values import (
    ABSENT,
    StepItem,
    arguments_of,
    decoded_lines,
    first_with_usage,
    flat_text,
    raw_text,
    value_of,
)

NAME = "copilot-cli"
KEPT = "events.jsonl"
"""What the file of a session is called, in a folder that is called after the session."""
STARTED = "session.start"
SUBJECTS = ("session", "assistant", "user", "system", "tool", "model", "subagent")
"""What the first half of an event's type names: `session.start`, `assistant.message`."""


class Tokens(msgspec.Struct, rename="camel"):
    """Counts of a call, or of all calls of a model."""

    model: str | None = None
    api_call_id: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds."""
        return disjoint_usage(
            input_with_cache=self.input_tokens,
            cache_read=self.cache_read_tokens,
            cache_write=self.cache_write_tokens,
            output_with_reasoning=self.output_tokens,
            reasoning=self.reasoning_tokens,
        )


class ModelMetrics(msgspec.Struct):
    """What one model did in the whole session."""

    usage: Tokens | None = None


class Context(msgspec.Struct):
    """Where the session ran."""

    cwd: str | None = None


class ToolRequest(msgspec.Struct):
    """A tool that a message asks for."""

    name: str | None = None


class Data(msgspec.Struct, rename="camel"):
    """What an event is about; every kind of event uses some of these."""

    session_id: str | None = None
    copilot_version: str | None = None
    start_time: str | None = None
    selected_model: str | None = None
    model: str | None = None
    context: Context | None = None
    usage: Tokens | None = None
    compaction_tokens_used: Tokens | None = None
    attempt: str | None = msgspec.field(name="compactionAttemptId", default=None)
    requests: list[ToolRequest] | None = msgspec.field(name="toolRequests", default=None)
    tool_call_id: str | None = None
    shutdown_type: str | None = None
    model_metrics: dict[str, ModelMetrics] | None = None
    total_premium_requests: float | None = None
    message: Any = None  # Any: an error's text
    content: msgspec.Raw = ABSENT
    reasoning_text: msgspec.Raw = ABSENT
    tool_name: msgspec.Raw = ABSENT
    arguments: msgspec.Raw = ABSENT
    result: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT
    success: msgspec.Raw = ABSENT
    summary_content: msgspec.Raw = ABSENT
    status_code: Any = None  # Any: a number or text


class Event(msgspec.Struct):
    """One line; the last that is printed has its fields outside `data`."""

    type: str
    id: str | None = None
    parent: str | None = msgspec.field(name="parentId", default=None)
    """The event that it follows."""
    timestamp: str | None = None
    data: Data = msgspec.field(default_factory=Data)
    session: str | None = msgspec.field(name="sessionId", default=None)
    agent: str | None = msgspec.field(name="agentId", default=None)
    """The subagent that it is about."""
    exit_code: int | None = msgspec.field(name="exitCode", default=None)


_EVENT = msgspec.json.Decoder(Event)


def recognizes(head: Head) -> bool:
    """Events with `data` and a parent, of the kinds that a Copilot session has."""
    subject, dot, _ = str(head.shape.get("type")).partition(".")
    return bool(dot) and subject in SUBJECTS and head.has("data", "id", "timestamp", "parentId")


def read(path: Path) -> Iterator[ReadItem]:
    """Yield the session of the events, or the sessions where several logs were written to one file."""
    everything = yield from all_records(path, _EVENT)
    sessions: list[dict[str, Event]] = []  # by their ids, for an event may be written twice
    names: list[str | None] = []
    for number, event in enumerate(everything):
        name = label(event.data.session_id or event.session)
        if not sessions or (event.type == STARTED and names[-1] not in (None, name)):
            sessions.append({})
            names.append(None)
        names[-1] = names[-1] or name
        sessions[-1].setdefault(event.id or f"event {number}", event)
    for name, events in zip(names, sessions, strict=True):
        session = label(path.parent.name) if name is None and path.name == KEPT else name
        if session is None and not any(event.type.startswith(("assistant.", "user.")) for event in events.values()):
            hint = "the beginning or end of the file is missing; use the session's events.jsonl"
            yield Rejected(path=str(path), reason="no event with a session id", hint=hint)
        else:
            yield _part(session, list(events.values()), path)


def _part(session: str | None, events: list[Event], path: Path) -> RunPart:
    calls = tuple(_calls(events))
    usage = add_usage(call.usage for call in calls)
    started, ended = span_of(event.data.start_time or event.timestamp for event in events)
    tools = dict.fromkeys(
        event.data.tool_call_id for event in events if event.type.startswith("tool.") and event.data.tool_call_id
    )
    failure = _failure(events)
    exit_code = next((event.exit_code for event in reversed(events) if event.exit_code is not None), None)
    premium = [event.data.total_premium_requests for event in events if event.data.total_premium_requests is not None]
    notes = [
        note
        for event in events
        if event.data.usage
        for note in token_contradiction(
            str(path), event.data.usage.disjoint(), stated_input=event.data.usage.input_tokens
        )
    ][:1]
    run = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "unknown" if usage is None else "lower_bound" if notes else "reported",
            "cost_usd": "unknown",
            "tool_calls": "counted",
        },
        id=session,
        task=session or (f"session of {started:%Y-%m-%dT%H:%M:%SZ}" if started else NAME),
        experiment=folder_name(_first(event.data.context.cwd for event in events if event.data.context)),
        agent=NAME,
        model=busiest_model(calls) or _first(event.data.model or event.data.selected_model for event in events),
        started_at=started,
        ended_at=ended,
        outcome="errored" if failure else "not_scored",
        failure=failure,
        usage=usage,
        calls=calls,
        tool_calls=len(tools),
        iterations=sum(1 for event in events if event.type == "assistant.turn_start" and event.agent is None) or None,
        success=None if exit_code is None else exit_code == 0,
        conditions=conditions_from(agent_version=_first(event.data.copilot_version for event in events)),
        extra={"premium_requests": premium[-1] if premium else None},
    )
    return RunPart(
        run=run,
        path=str(path),
        role="session",
        tool_ids=tuple(tools),
        marks=tuple(event.id for event in events if event.type == "user.message" and event.id),
        unfinished=_unfinished(events) or _lacks_events(events),
        notes=tuple(notes),
    )


def _unfinished(events: list[Event]) -> bool:
    """Whether an answer, a subagent or a compaction has no end here, or was aborted."""
    waits, working, compacting = True, set(), set()
    for event in events:
        kind, data = event.type, event.data
        if kind == "abort":
            return True
        if kind == "subagent.started":
            working.add(event.agent or data.tool_call_id)
        elif kind in ("subagent.completed", "subagent.failed"):
            working.discard(event.agent or data.tool_call_id)
        elif kind == "session.compaction_start":
            compacting.add(data.attempt)
        elif kind == "session.compaction_complete":
            compacting.discard(data.attempt)
        elif event.agent is None:
            if kind in ("user.message", "assistant.turn_start"):
                waits = True
            elif kind == "assistant.message":
                waits = bool(data.requests)
            elif data.model_metrics or event.exit_code is not None:
                waits = waits and data.shutdown_type not in (None, "routine")
    return waits or bool(working) or bool(compacting)


def _lacks_events(events: list[Event]) -> bool:
    """Whether the log of a session lacks events that others follow; what is printed names no session at its start."""
    known = {event.id for event in events}
    kept = any(event.type == STARTED for event in events)
    return kept and any(event.parent is not None and event.parent not in known for event in events)


def _calls(events: list[Event]) -> Iterator[Call]:
    """Each call, and what each model's sum has beyond them, which a session states when it ends."""
    recorded = [
        Call(id=label(used.api_call_id), model=label(used.model), at=moment(event.timestamp), usage=used.disjoint())
        for event in events
        if event.type == "session.usage_record" and (used := event.data.usage) is not None
    ]
    ended = next((event.data.model_metrics for event in reversed(events) if event.data.model_metrics), None) or {}
    sums = [
        Call(model=label(model), usage=metrics.usage.disjoint(), summed=True)
        for model, metrics in sorted(ended.items())
        if metrics.usage is not None
    ]
    yield from (itemized(recorded, sums) if sums else None) or recorded
    for event in events:
        if event.type == "session.compaction_complete":
            used = event.data.compaction_tokens_used
            yield Call(
                id=label(event.data.attempt),
                model=label(used.model) if used else None,
                at=moment(event.timestamp),
                usage=used.disjoint() if used else None,
            )


def _failure(events: list[Event]) -> Failure | None:
    ended = next((event for event in reversed(events) if event.exit_code is not None or event.data.shutdown_type), None)
    if ended is not None and not ended.exit_code and ended.data.shutdown_type in (None, "routine"):
        return None
    trouble = next((event.data for event in reversed(events) if event.type.endswith(".error")), None)
    if trouble is not None:
        return failure_of(trouble.message, status=trouble.status_code)
    if ended is None:
        return None  # a session that continues or was killed: its events do not show which
    return failure_of(f"exit code {ended.exit_code}" if ended.exit_code else f"shutdown: {ended.data.shutdown_type}")


def _first(values: Iterator[str | None]) -> str | None:
    return next((name for value in values if (name := label(value))), None)


SPAWNING = "task"


def steps(path: Path, session: str | None) -> Iterator[StepItem]:  # noqa: ARG001 # a file holds one
    """Yield the steps of the session; the tokens of a call are recorded before its message."""
    waiting: list[tuple[int, Event, Usage]] = []
    for item in decoded_lines(path, _EVENT):
        if isinstance(item, Rejected):
            yield item
            continue
        number, event = item
        used = event.data.usage if event.type == "session.usage_record" else None
        used = event.data.compaction_tokens_used if event.type == "session.compaction_complete" else used
        if used is not None and event.type == "session.usage_record":
            if len(waiting) > 1:
                yield _unseen(*waiting.pop(0))
            waiting.append((number, event, used.disjoint()))
            continue
        made = _event_steps(number, event)
        if event.type == "assistant.message" and waiting:
            made = first_with_usage(made, waiting.pop(0)[2], at=moment(event.timestamp), source_line=number)
        elif used is not None:
            made = first_with_usage(made, used.disjoint())
        yield from made
    for each in waiting:
        yield _unseen(*each)


def _unseen(number: int, event: Event, used: Usage) -> SessionStep:
    """Return the step of a call that no message shows."""
    model = event.data.usage.model if event.data.usage else None
    at = moment(event.timestamp)
    return SessionStep(kind="message", role="assistant", at=at, model=model, usage=used, source_line=number)


def _event_steps(number: int, event: Event) -> list[SessionStep]:
    kind, data = event.type, event.data
    known: dict[str, Any] = {"at": moment(event.timestamp), "source_line": number, "subagent": event.agent}
    if kind in ("user.message", "system.message", "assistant.message"):
        role: Any = kind.partition(".")[0]  # Any: a role of a step
        known |= {"model": data.model} if role == "assistant" else {}
        texts: Any = (("reasoning", raw_text(data.reasoning_text)), (role, raw_text(data.content)))  # Any: as above
        return [SessionStep(kind="message", role=each, text=text, **known) for each, text in texts if text]
    if kind == "tool.execution_start":
        name = label(value_of(data.tool_name)) or "tool"
        return [
            SessionStep(
                kind="subagent" if name == SPAWNING else "tool_call",
                role="assistant",
                tool=name,
                call=data.tool_call_id,
                arguments=arguments_of(value_of(data.arguments)),
                **known,
            )
        ]
    if kind == "tool.execution_complete":
        failed = value_of(data.success) is False
        text = (raw_text(data.error) if failed else None) or raw_text(data.result)
        return [
            SessionStep(kind="tool_result", role="tool", call=data.tool_call_id, result=text, is_error=failed, **known)
        ]
    if kind == "session.compaction_complete":
        return [SessionStep(kind="compaction", role="system", text=raw_text(data.summary_content), **known)]
    if kind.endswith(".error") or kind == "abort":
        return [SessionStep(kind="error", role="system", text=flat_text(data.message), **known)]
    return []


def _places(home: Path, environment: Mapping[str, str]) -> list[Path]:
    return [Path(environment.get("COPILOT_HOME") or home / ".copilot") / "session-state"]


FORMAT = LogFormat(
    name=NAME,
    title="GitHub Copilot CLI session events, and `copilot -p --output-format json` (no tokens)",
    kind="sessions",
    yields=("calls", "usage by kind", "tool_calls", "iterations", "times", "success"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    precedence="first",
    shows_every_tool_call=True,
    kept_by=LogLocations("GitHub Copilot CLI", _places),
)
