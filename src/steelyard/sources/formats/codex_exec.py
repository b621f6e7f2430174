"""The events that `codex exec --json` prints. `turn.completed` states the cumulative total: the last one counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import label
from steelyard.records import Failure, Rejected, SessionStep, Usage
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._run_values import all_records, failure_of, run_from, token_contradiction
from steelyard.sources.formats._step_values import (
    ABSENT,
    StepItem,
    added,
    arguments_of,
    decoded_lines,
    raw_text,
    value_of,
    with_usage,
)
from steelyard.sources.formats.codex import Tokens

NAME = "codex-exec"
TOOLS = frozenset({"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search"})


class Change(msgspec.Struct):
    """One file of a change."""

    path: str | None = None
    kind: str | None = None


class Item(msgspec.Struct):
    """A step of the turn."""

    id: str | None = None
    type: str | None = None
    status: str | None = None
    changes: list[Change] | None = None
    threads: list[str] | None = msgspec.field(name="receiver_thread_ids", default=None)
    text: msgspec.Raw = ABSENT
    message: msgspec.Raw = ABSENT
    command: msgspec.Raw = ABSENT
    aggregated_output: msgspec.Raw = ABSENT
    exit_code: msgspec.Raw = ABSENT
    tool: msgspec.Raw = ABSENT
    arguments: msgspec.Raw = ABSENT
    result: msgspec.Raw = ABSENT
    query: msgspec.Raw = ABSENT


class ErrorInfo(msgspec.Struct):
    """An error's words."""

    message: str | None = None


class Event(msgspec.Struct):
    """One line."""

    type: str
    thread_id: str | None = None
    item: Item | None = None
    usage: Tokens | None = None
    error: ErrorInfo | None = None
    message: str | None = None


_EVENT = msgspec.json.Decoder(Event)


def recognizes(head: Head) -> bool:
    """A `thread.started` event, or the turns and items that follow it."""
    kinds = head.types | {head.shape.get("type")}
    return "thread.started" in kinds or (
        "turn.started" in kinds and any(str(kind).startswith("item.") for kind in kinds)
    )


def read(path: Path) -> Iterator[ReadItem]:
    """Yield the thread of the stream, or the threads of several streams in one file."""
    events = yield from all_records(path, _EVENT)
    thread = next((event.thread_id for event in events if event.thread_id), None)
    if thread is None:
        yield Rejected(path=str(path), reason="no thread.started event with a thread id")
        return
    threads: dict[str, list[Event]] = {}
    for event in events:
        thread = event.thread_id or thread
        threads.setdefault(thread, []).append(event)
    # Where a thread has no turn, two streams were written at once, and turns are in the other's.
    mixed = len(threads) > 1 and not all(any(event.type == "turn.started" for event in own) for own in threads.values())
    for name, own in threads.items():
        part = _part(name, own, str(path))
        yield msgspec.structs.replace(part, unfinished=True) if mixed else part


def _part(thread: str, events: list[Event], path: str) -> RunPart:
    total = next((event.usage for event in reversed(events) if event.type == "turn.completed" and event.usage), None)
    usage = total.disjoint() if total else None
    tools = {event.item.id or "": None for event in events if event.item is not None and event.item.type in TOOLS}
    spawned = dict.fromkeys(
        thread for event in events if event.item is not None for thread in event.item.threads or () if thread
    )
    turns = sum(1 for event in events if event.type == "turn.started")
    created = {
        change.path: None
        for event in events
        if event.type == "item.completed" and event.item is not None and event.item.status != "failed"
        for change in event.item.changes or ()
        if change.kind == "add" and change.path
    }
    failure = _failure(events)
    notes = token_contradiction(path, usage, stated_input=total.input_tokens) if usage and total else ()
    run = run_from(
        format=NAME,
        path=path,
        how={
            "usage": "lower_bound" if notes else "reported" if usage else "unknown",
            "cost_usd": "unknown",
            "tool_calls": "counted",
            "iterations": "lower_bound" if turns else None,  # the calls of a turn do not show
        },
        id=label(thread),
        task=label(thread),
        agent="codex",
        outcome="errored" if failure else "not_scored",
        failure=failure,
        usage=usage,
        tool_calls=len(tools),
        iterations=turns or None,
        success=None if failure or total is None else True,
        files_created=tuple(created),
    )
    return RunPart(
        run=run,
        path=path,
        role="session",
        started=tuple(spawned),
        unfinished=_unfinished(events),
        notes=notes,
    )


def steps(path: Path, session: str | None) -> Iterator[StepItem]:  # noqa: ARG001 # a file holds one
    """Yield the steps of the thread; the tokens of a turn follow its items and are on the model's last."""
    held: deque[SessionStep] = deque()
    begun: set[str | None] = set()
    seen: Usage | None = None
    for item in decoded_lines(path, _EVENT):
        if isinstance(item, Rejected):
            yield item
            continue
        number, event = item
        if event.usage is not None:
            used = event.usage.disjoint()
            if not held or held[0].role not in ("assistant", "reasoning"):
                held.append(SessionStep(kind="message", role="assistant", source_line=number))
                yield from popped(held, len(held) - 1)
            with_usage(held[0], added(seen, used))
            seen = used
        if event.error is not None or event.type == "error":
            text = event.message if event.error is None else event.error.message
            held.append(SessionStep(kind="error", role="system", text=text, source_line=number))
        if event.item is not None and event.type.startswith("item."):
            held += _item_steps(event.item, number, is_done=event.type == "item.completed", begun=begun)
        last = max((at for at, step in enumerate(held) if step.role in ("assistant", "reasoning")), default=0)
        yield from popped(held, max(last, len(held) - MAX_HELD))
    yield from held


MAX_HELD = 64
"""Steps that wait for the tokens of the turn that they are part of."""


def popped(held: deque[SessionStep], count: int) -> Iterator[SessionStep]:
    """Yield the first steps, which wait no longer."""
    for _ in range(count):
        yield held.popleft()


def _item_steps(item: Item, number: int, *, is_done: bool, begun: set[str | None]) -> Iterator[SessionStep]:
    """Yield the steps of an item: a tool's call when it begins, and its result when it is done."""
    if item.type in TOOLS:
        if item.id is None or item.id not in begun:
            begun.add(item.id)
            yield SessionStep(
                kind="subagent" if item.threads else "tool_call",
                role="assistant",
                tool=label(value_of(item.tool)) or str(item.type),
                call=item.id,
                arguments=_arguments(item),
                source_line=number,
            )
        if is_done:
            exit_code = value_of(item.exit_code)
            yield SessionStep(
                kind="tool_result",
                role="tool",
                call=item.id,
                result=raw_text(item.aggregated_output) or raw_text(item.result) or item.status,
                is_error=item.status == "failed" or exit_code not in (None, 0),
                source_line=number,
            )
    elif is_done and (text := raw_text(item.text) or raw_text(item.message)) is not None:
        if item.type == "error":
            yield SessionStep(kind="error", role="system", text=text, source_line=number)
        else:
            is_thought = item.type == "reasoning"
            yield SessionStep(
                kind="message", role="reasoning" if is_thought else "assistant", text=text, source_line=number
            )


def _arguments(item: Item) -> dict[str, Any] | None:  # Any: JSON values
    if item.changes is not None:
        return {"changes": [msgspec.to_builtins(change) for change in item.changes]}
    named = {"command": value_of(item.command), "query": value_of(item.query)}
    return arguments_of(value_of(item.arguments)) or {key: value for key, value in named.items() if value} or None


def _unfinished(events: list[Event]) -> bool:
    """Whether a turn began after the last total, an answer was lost and asked for again, or totals are missing."""
    turns = [event.type for event in events if event.type in {"turn.started", "turn.completed", "turn.failed"}]
    retried = any(event.type == "error" and "stream disconnected" in (event.message or "") for event in events)
    totals = [event.usage for event in events if event.type == "turn.completed" and event.usage]
    foreign = turns.count("turn.completed") > turns.count("turn.started")  # those of another stream
    falls = any(after.minus(before) is None for before, after in pairwise(totals))
    return retried or foreign or falls or turns[-1:] != ["turn.completed"]


def _failure(events: list[Event]) -> Failure | None:
    ended = next((event for event in reversed(events) if event.type in {"turn.completed", "turn.failed"}), None)
    if ended is not None and ended.type == "turn.completed":
        return None
    message = next(
        (e.error.message if e.error else e.message for e in reversed(events) if e.type in {"turn.failed", "error"}),
        None,
    )
    if ended is None:
        return failure_of(message or "the stream ends before the turn is complete")
    return failure_of(message)


FORMAT = LogFormat(
    name=NAME,
    title="`codex exec --json`",
    kind="sessions",
    yields=("usage by kind", "tool_calls", "iterations", "files_created", "success"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    family="codex",
    precedence="first",
)
