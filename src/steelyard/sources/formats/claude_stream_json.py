"""The events of `claude -p --output-format stream-json`: init, messages, and a result unless the run was killed.

The messages carry placeholder output counts, so the result's totals win; without a result the counts are lower bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec

from steelyard.files import label, records
from steelyard.records import Call, Failure, Rejected, SessionStep, Usage, moment
from steelyard.sources.formats._claude import (
    AGENT,
    SYNTHETIC,
    Result,
    StepBlock,
    message_steps,
    result_fields,
    split_contradiction,
)
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._provider_usage import ClaudeUsage
from steelyard.sources.formats._run_values import busiest_model, conditions_from, run_from
from steelyard.sources.formats._step_values import StepItem, added, decoded_lines, with_usage

NAME = "claude-stream-json"
OTHERS = frozenset({"tool_call", "thinking"})
"""Kinds of event that only Cursor's stream has."""


class Message(msgspec.Struct):
    """The provider's message."""

    id: str | None = None
    model: str | None = None
    usage: ClaudeUsage | None = None
    content: str | list[StepBlock] | None = None


class Event(Result, kw_only=True):
    """One line of the stream; a result line has the fields of `Result`."""

    message: Message | str | None = None
    timestamp: str | None = None
    version: str | None = msgspec.field(name="claude_code_version", default=None)
    model: str | None = None
    parent: str | None = msgspec.field(name="parent_tool_use_id", default=None)
    """The call that started the subagent whose message it is."""
    error_status: int | None = None


_EVENT = msgspec.json.Decoder(Event)


def recognizes(head: Head) -> bool:
    """Events with a `session_id`, the first of them `system`, or messages without Claude Code's own log fields.

    Cursor's agent streams in the same words; its `init` lists no tools, and its tool calls are events of their own.
    """
    first = head.records[0] if head.records else head.shape
    if head.types & OTHERS or "qwen_code_version" in first or (first.get("subtype") == "init" and "tools" not in first):
        return False
    if first.get("type") == "system" and "session_id" in first and "subtype" in first:
        return True
    records = [record for record in head.records if "session_id" in record and "parentUuid" not in record]
    return any(record.get("type") in ("assistant", "user") for record in records) and len(head.records) > 1


def read(path: Path) -> Iterator[ReadItem]:
    """One part per session in the stream; one file may contain two streams."""
    runs: dict[str, list[Event]] = {}
    for item in records(path, _EVENT):
        if not isinstance(item, tuple):
            yield item
        elif item[1].session_id:
            runs.setdefault(item[1].session_id, []).append(item[1])
    for session, events in runs.items():
        yield _part(session, events, path)


def _part(session: str, events: list[Event], path: Path) -> RunPart:
    calls: dict[str, Call] = {}
    tools: dict[str, None] = {}
    times = sorted(time for event in events if (time := moment(event.timestamp)) is not None)
    for event in events:
        if event.type == "assistant" and isinstance(event.message, Message):
            _take(event.message, moment(event.timestamp), calls, tools)
    rounds = {
        event.message.id
        for event in events
        if event.type == "assistant" and event.parent is None and isinstance(event.message, Message)
        if event.message.model != SYNTHETIC
    }
    started, ended = (times[0], times[-1]) if len(times) > 1 else (times[0] if times else None, None)
    result = next((event for event in reversed(events) if event.type == "result"), None)
    version = next((event.version for event in events if event.version), None)
    answers = [event.message for event in events if isinstance(event.message, Message)]
    unsplit = sum({answer.id: answer.usage.unsplit for answer in answers if answer.usage}.values())
    notes = split_contradiction(str(path), result.usage.unsplit if result and result.usage else unsplit)
    if result is not None:
        # Only what tools gave back has a time, so the last of them is not the end; the stated duration is the run's.
        ended = moment(result.timestamp) or (ended if result.duration_seconds is None else None)
        if ended is not None and result.duration_seconds is not None:
            started = ended - timedelta(seconds=result.duration_seconds)
        seen = [_without_output(call) for call in calls.values()]
        run = result_fields(
            result,
            format=NAME,
            path=str(path),
            model=busiest_model(seen) or next((event.model for event in events if event.model), None),
            seen=seen,
            tool_calls=len(tools),
            iterations=len(rounds) or None,
            started_at=started,
            ended_at=ended,
        )
        lost = any(event.subtype == "api_retry" and event.error_status is None for event in events)
        goes_on = any(event.type in ("assistant", "user") for event in events[events.index(result) + 1 :])
        return RunPart(
            run=run, path=str(path), role="session", tool_ids=tuple(tools), unfinished=lost or goes_on, notes=notes
        )
    run = run_from(
        format=NAME,
        path=str(path),
        id=label(session),
        task=label(session),
        agent=AGENT,
        model=next((event.model for event in events if event.model), None) if not calls else None,
        started_at=started,
        ended_at=ended,
        outcome="errored",
        failure=Failure(cause="unknown", message="the stream ends without a result"),
        calls=tuple(calls.values()),
        iterations=len(rounds) or None,
        conditions=conditions_from(agent_version=version),
    )
    return RunPart(
        run=run,
        path=str(path),
        role="session",
        tool_ids=tuple(tools),
        doubtful=tuple(calls),
        unfinished=True,
        notes=notes,
    )


def _without_output(call: Call) -> Call:
    """The call without its output count, which is the placeholder of the stream's start."""
    usage = call.usage and msgspec.structs.replace(call.usage, output_tokens=None)
    return msgspec.structs.replace(call, usage=usage)


def _take(message: Message, at: datetime | None, calls: dict[str, Call], tools: dict[str, None]) -> None:
    if message.model == SYNTHETIC:
        return
    key = label(message.id) or f"event {len(calls) + 1}"
    usage = message.usage.disjoint() if message.usage else None
    before = calls.get(key)
    calls[key] = Call(id=key, model=label(message.model), at=before.at if before else at, usage=usage)
    for block in message.content if isinstance(message.content, list) else ():
        if block.type == "tool_use" and block.id:
            tools[block.id] = None


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a session. Output counts are placeholders where the stream ends with a result."""
    seen: dict[str, Usage] = {}
    for item in decoded_lines(path, _EVENT):
        if isinstance(item, Rejected):
            yield item
        elif item[1].session_id and session in (None, item[1].session_id):
            yield from _steps_of_event(*item, seen)


def _steps_of_event(number: int, event: Event, seen: dict[str, Usage]) -> Iterator[SessionStep]:
    message = event.message
    step = partial(SessionStep, at=moment(event.timestamp), subagent=event.parent, source_line=number)
    if isinstance(message, str):
        yield step(kind="message", role="user" if event.type == "user" else "system", text=message)
    elif message is not None and event.type == "user":
        yield from message_steps(message.content, step, "user")
    elif message is not None and event.type == "assistant":
        if message.model == SYNTHETIC:
            yield from message_steps(message.content, step, "system")
            return
        step = partial(step, model=message.model)
        made = list(message_steps(message.content, step, "assistant"))
        if message.usage is not None:
            key, used = message.id or f"line {number}", message.usage.disjoint()
            made = made or [step(kind="message", role="assistant")] * (key not in seen)
            if made:
                with_usage(made[0], msgspec.structs.replace(added(seen.get(key), used), output_tokens=None))
            seen[key] = used
        yield from made
    elif event.type == "system" and event.subtype == "compact_boundary":
        yield step(kind="compaction", role="system")
    elif event.type == "result" and event.is_error:
        yield step(kind="error", role="system", text=event.result if isinstance(event.result, str) else event.subtype)


FORMAT = LogFormat(
    name=NAME,
    title="`claude -p --output-format stream-json`",
    kind="sessions",
    yields=("cost_usd", "usage by kind and model", "tool_calls", "iterations", "success", "times"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    family="claude",
    precedence="first",
    totals_add_up=True,
)
