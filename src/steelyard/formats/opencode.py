"""opencode: the events of `opencode run --format json`, its store, exported sessions, and the files it kept before.

A cost of 0 for steps that used tokens means that no price was known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import document, label, problem, records
from steelyard.formats._log_format import Head, LogFormat, LogPlaces, ReadItem, RunPart, head_of
from steelyard.formats._token_counts import run_from, tokens_in
from steelyard.records import (
    JSON_ERRORS,
    Amount,
    Call,
    Count,
    Failure,
    Provenance,
    Rejected,
    Usage,
    add_usage,
    moment,
    sum_in_order,
)

NAME = "opencode"
SQLITE = b"SQLite format 3\0"
_TABLES = [re.compile(rb"CREATE TABLE\s+[`\"\[]?" + name + rb"\b", re.IGNORECASE) for name in (b"message", b"part")]
"""What the first pages of the store declare."""


class Cache(msgspec.Struct):
    """Cached input of a step."""

    read: Count | None = None
    write: Count | None = None


class Tokens(msgspec.Struct):
    """Counts of a step; the kinds are disjoint already."""

    input: Count | None = None
    output: Count | None = None
    reasoning: Count | None = None
    cache: Cache | None = None

    def disjoint(self) -> Usage:
        """The same under our names."""
        return Usage(
            input_tokens=self.input,
            output_tokens=self.output,
            reasoning_tokens=self.reasoning,
            cache_read_tokens=self.cache.read if self.cache else None,
            cache_write_5m_tokens=self.cache.write if self.cache else None,
        )


class State(msgspec.Struct):
    """How a tool call stands."""

    status: str | None = None


class StepPart(msgspec.Struct):
    """What an event is about."""

    id: str | None = None
    message: str | None = msgspec.field(name="messageID", default=None)
    call: str | None = msgspec.field(name="callID", default=None)
    cost: Amount | None = None
    tokens: Tokens | None = None
    state: State | None = None


class Event(msgspec.Struct):
    """One line."""

    type: str
    timestamp: float | None = None
    session: str | None = msgspec.field(name="sessionID", default=None)
    part: StepPart | None = None
    error: Any = None  # Any: the provider's own error object


class Times(msgspec.Struct):
    """When a message began and ended, in milliseconds."""

    created: float | None = None
    completed: float | None = None


class Place(msgspec.Struct):
    """Where the session ran."""

    cwd: str | None = None


class Message(msgspec.Struct, kw_only=True):
    """A message as it is kept on disk; only the assistant's have tokens."""

    id: str
    session: str = msgspec.field(name="sessionID")
    role: str
    time: Times | None = None
    model: str | None = msgspec.field(name="modelID", default=None)
    path: Place | None = None
    cost: Amount | None = None
    tokens: Tokens | None = None
    error: Any = None  # Any: the provider's own error object


class StoredMessage(msgspec.Struct):
    """A message's content in the store, where ids stand in columns of their own."""

    role: str
    time: Times | None = None
    model: str | None = msgspec.field(name="modelID", default=None)
    cost: Amount | None = None
    tokens: Tokens | None = None
    error: Any = None  # Any: the provider's own error object


class StoredPart(msgspec.Struct):
    """A part's content in the store; only tool calls matter here."""

    type: str | None = None
    call: str | None = msgspec.field(name="callID", default=None)


class Exported(msgspec.Struct):
    """A message of an exported session, with its parts."""

    info: Message
    parts: list[StepPart] = []


class Export(msgspec.Struct):
    """What `opencode export` prints."""

    messages: list[Exported]


_EVENT = msgspec.json.Decoder(Event)
_EXPORT = msgspec.json.Decoder(Export)
_MESSAGE = msgspec.json.Decoder(Message)
_STORED_MESSAGE = msgspec.json.Decoder(StoredMessage)
_STORED_PART = msgspec.json.Decoder(StoredPart)


def recognizes(head: Head) -> bool:
    """Events with a `sessionID` and a part or an error, messages with their role and time, or the store."""
    if head.start.startswith(SQLITE):
        return all(table.search(head.start) for table in _TABLES)
    if head.has("sessionID", "role", "time", "id") or head.has("info", "messages[].info.sessionID"):
        return True
    return head.has("type", "sessionID") and ("part" in head.shape or "error" in head.shape)


def read(path: Path) -> Iterator[ReadItem]:
    """One part per session in the stream or the store, or the session's part that one message is."""
    head = head_of(path)
    if head.start.startswith(SQLITE):
        yield from _stored(path)
        return
    if "role" in head.shape or "info" in head.shape:
        kept = document(path, _EXPORT).messages if "info" in head.shape else [Exported(document(path, _MESSAGE))]
        for message in kept:
            if message.info.role == "assistant" and message.info.tokens is not None:
                yield _message(message, message.info.tokens, str(path))
        return
    runs: dict[str, list[Event]] = {}
    for item in records(path, _EVENT):
        if not isinstance(item, tuple):
            yield item
        elif item[1].session:
            runs.setdefault(item[1].session, []).append(item[1])
    for session, events in runs.items():
        yield _part(session, events, str(path))


def _stored(path: Path) -> Iterator[ReadItem]:
    """The sessions of the store; a message that cannot be read is set aside, the others go on."""
    from steelyard.formats._opencode_store import Store  # sqlite3: only those who have a store need it

    with closing(Store(path)) as store:
        homes = {id_: (parent, folder) for id_, parent, folder in store.sessions()}
        tools: dict[bytes, dict[str, None]] = {}
        for _, session, content in store.parts():
            try:
                part = _STORED_PART.decode(content)
            except JSON_ERRORS:
                continue  # no number hangs on a part's text
            if part.type == "tool" and part.call:
                tools.setdefault(session, {})[part.call] = None
        for session, rows in groupby(store.messages(), key=lambda row: row[1]):
            messages: list[tuple[str, StoredMessage]] = []
            for id_, _, content in rows:
                name = id_.decode("utf-8", "replace")
                try:
                    messages.append((name, _STORED_MESSAGE.decode(content)))
                except JSON_ERRORS as error:
                    yield Rejected(path=str(path), reason=f"message {name[:200]!r}: {problem(error)}")
            session_part = _session(session, messages, path, homes.get(session, (None, None)))
            if session_part is not None:
                yield msgspec.structs.replace(session_part, tool_ids=tuple(tools.get(session, ())))


def _session(
    id_: bytes, messages: list[tuple[str, StoredMessage]], path: Path, home: tuple[bytes | None, bytes | None]
) -> RunPart | None:
    answers = [
        (name, stored, stored.tokens)
        for name, stored in messages
        if stored.role == "assistant" and stored.tokens is not None
    ]
    if not answers:
        return None
    times = [stored.time or Times() for _, stored, _ in answers]
    starts = sorted(started for period in times if (started := moment(period.created)) is not None)
    ends = sorted(ended for period in times if (ended := moment(period.completed)) is not None)
    trouble = answers[-1][1].error
    cost, sure = _cost([StepPart(cost=stored.cost, tokens=tokens) for _, stored, tokens in answers])
    name, parent, folder = (value and value.decode("utf-8", "replace") for value in (id_, *home))
    run = run_from(
        format=NAME,
        path=str(path),
        how={"usage": "reported", "cost_usd": sure},
        id=label(name),
        task=label(name),
        experiment=label(folder.replace("\\", "/").rstrip("/").rpartition("/")[2]) if folder else None,
        agent=NAME,
        started_at=starts[0] if starts else None,
        ended_at=ends[-1] if ends and (not starts or ends[-1] >= starts[0]) else None,
        outcome="errored" if trouble else "not_scored",
        failure=Failure(cause=_cause(trouble), message=_words(trouble)) if trouble else None,
        calls=tuple(
            Call(
                id=label(message),
                model=label(stored.model),
                at=moment(stored.time.created) if stored.time else None,
                usage=tokens.disjoint(),
            )
            for message, stored, tokens in answers
        ),
        cost_usd=cost,
        iterations=len(answers),
    )
    return RunPart(run=run, path=str(path), role="session", parent=label(parent))


def _message(exported: Exported, tokens: Tokens, path: str) -> RunPart:
    message = exported.info
    tools = tuple(dict.fromkeys(part.call for part in exported.parts if part.call))
    cost, sure = _cost([StepPart(cost=message.cost, tokens=tokens)])
    times = message.time or Times()
    where = message.path.cwd if message.path else None
    run = run_from(
        format=NAME,
        path=path,
        how={"usage": "reported", "cost_usd": sure},
        id=label(message.session),
        task=label(message.session),
        experiment=label(where.replace("\\", "/").rpartition("/")[2]) if where else None,
        agent=NAME,
        started_at=moment(times.created),
        ended_at=moment(times.completed),
        outcome="errored" if message.error else "not_scored",
        failure=Failure(cause=_cause(message.error), message=_words(message.error)) if message.error else None,
        calls=(
            Call(id=label(message.id), model=label(message.model), at=moment(times.created), usage=tokens.disjoint()),
        ),
        cost_usd=cost,
        tool_calls=len(tools) if exported.parts else None,
        iterations=1,
    )
    return RunPart(run=run, path=path, role="session", tool_ids=tools)


def _part(session: str, events: list[Event], path: str) -> RunPart:
    steps = {
        event.part.id or str(number): (event, event.part)
        for number, event in enumerate(events)
        if event.type == "step_finish" and event.part is not None
    }
    calls = tuple(
        Call(id=label(part.message), at=moment(event.timestamp), usage=part.tokens.disjoint() if part.tokens else None)
        for event, part in steps.values()
    )
    tools = dict.fromkeys(e.part.call for e in events if e.type == "tool_use" and e.part is not None and e.part.call)
    cost, sure = _cost([part for _, part in steps.values()])
    times = sorted(t for t in (moment(event.timestamp) for event in events) if t is not None)
    trouble = next((event.error for event in events if event.type == "error"), None)
    usage = add_usage(call.usage for call in calls)
    run = run_from(
        format=NAME,
        path=path,
        how={"usage": "reported" if usage else "unknown", "cost_usd": sure, "tool_calls": "counted"},
        id=label(session),
        task=label(session),
        agent=NAME,
        started_at=times[0] if times else None,
        ended_at=times[-1] if times and times[-1] > times[0] else None,
        outcome="errored" if trouble is not None else "not_scored",
        failure=None if trouble is None else Failure(cause=_cause(trouble), message=_words(trouble)),
        usage=usage,
        calls=calls,
        cost_usd=cost,
        tool_calls=len(tools),
        iterations=len(calls) or None,
    )
    return RunPart(run=run, path=path, role="session", tool_ids=tuple(call for call in tools if call))


def _cost(steps: list[StepPart]) -> tuple[float | None, Provenance]:
    """The steps' costs together: a lower bound beside steps with tokens and no price, unknown when all lack one."""
    stated = [step.cost for step in steps if step.cost]
    unpriced = [step for step in steps if not step.cost and step.tokens and tokens_in(step.tokens.disjoint())]
    if not stated:
        return None, "unknown"
    return sum_in_order(stated), "lower_bound" if unpriced else "reported"


def _cause(trouble: Any) -> Any:  # Any: the provider's error object, and one of the causes
    data = trouble.get("data") if isinstance(trouble, dict) else None
    status = data.get("statusCode") if isinstance(data, dict) else None
    if isinstance(status, int) and (status == 429 or status >= 500):
        return "infrastructure"
    return "cancelled" if isinstance(trouble, dict) and "Abort" in str(trouble.get("name")) else "unknown"


def _words(trouble: Any) -> str | None:  # Any: the provider's error object
    if not isinstance(trouble, dict):
        return str(trouble)[:500]
    data = trouble.get("data")
    said = data.get("message") if isinstance(data, dict) else None
    return ": ".join(str(part)[:500] for part in (trouble.get("name"), said) if part) or None


def _places(home: Path, environment: Mapping[str, str]) -> list[Path]:
    folder = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
    return [folder / "storage" / "message", folder / "opencode.db"]


FORMAT = LogFormat(
    name=NAME,
    title="`opencode run --format json`, `opencode export`, its store (opencode.db), and messages kept on disk",
    tells="sessions",
    yields=("calls", "usage by kind", "cost_usd", "tool_calls", "iterations", "times"),
    recognizes=recognizes,
    read=read,
    precedence="first",
    shows_every_tool_call=True,
    kept_by=LogPlaces("opencode", _places),
)
