"""The events that `codex exec --json` prints. `turn.completed` states the cumulative total: the last one counts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from steelyard.files import label
from steelyard.records import Failure, Rejected
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._run_values import all_records, failure_of, run_from, token_contradiction
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


class Trouble(msgspec.Struct):
    """An error's words."""

    message: str | None = None


class Event(msgspec.Struct):
    """One line."""

    type: str
    thread_id: str | None = None
    item: Item | None = None
    usage: Tokens | None = None
    error: Trouble | None = None
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
    family="codex",
    precedence="first",
)
