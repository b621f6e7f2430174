"""opencode: the events of `opencode run --format json`, its store, exported sessions, and the files it kept before.

A cost of 0 for steps that used tokens means that no price was known. The call that asks a model for the session's title
is in none of its logs, so tokens and cost are lower bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from steelyard import sources
from steelyard.errors import UnreadableFileError
from steelyard.files import document, label, problem, records
from steelyard.records import (
    JSON_ERRORS,
    Amount,
    Call,
    Count,
    Failure,
    Provenance,
    Rejected,
    SessionStep,
    StepRole,
    Usage,
    add_usage,
    moment,
    sum_in_order,
)
from steelyard.sources.formats._log_format import SQLITE, Head, LogFormat, LogLocations, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import failure_of, folder_name, run_from, span_of
from steelyard.sources.formats._step_values import (
    ABSENT,
    StepItem,
    call_and_result,
    decoded_lines,
    first_with_usage,
    flat_text,
    raw_text,
    value_of,
)

NAME = "opencode"
KILO = "kilo"
"""A tool made from opencode that writes the same; only the place of its files distinguishes the two."""


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
    """State of a tool call."""

    status: str | None = None
    input: msgspec.Raw = ABSENT
    output: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class StepPart(msgspec.Struct):
    """What an event is about."""

    id: str | None = None
    message: str | None = msgspec.field(name="messageID", default=None)
    call: str | None = msgspec.field(name="callID", default=None)
    cost: Amount | None = None
    tokens: Tokens | None = None
    state: State | None = None
    type: msgspec.Raw = ABSENT
    text: msgspec.Raw = ABSENT
    tool: msgspec.Raw = ABSENT


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


class StoredMessage(msgspec.Struct, kw_only=True):
    """A message's content in the store, where ids are columns of their own; only the assistant's have tokens."""

    role: str
    time: Times | None = None
    model: str | None = msgspec.field(name="modelID", default=None)
    cost: Amount | None = None
    tokens: Tokens | None = None
    error: Any = None  # Any: the provider's own error object

    @property
    def when(self) -> Times:
        """When it began and ended, as far as that is known."""
        return self.time or Times()


class Message(StoredMessage, kw_only=True):
    """A message as it is kept on disk."""

    id: str
    session: str = msgspec.field(name="sessionID")
    path: Place | None = None


class StoredPart(msgspec.Struct):
    """A part's content in the store; only tool calls matter here."""

    type: str | None = None
    call: str | None = msgspec.field(name="callID", default=None)


class ExportedMessage(msgspec.Struct):
    """A message of an exported session, with its parts."""

    info: Message
    parts: list[StepPart] = []


class Export(msgspec.Struct):
    """What `opencode export` prints."""

    messages: list[ExportedMessage]


_EVENT = msgspec.json.Decoder(Event)
_PART = msgspec.json.Decoder(StepPart)
_EXPORT = msgspec.json.Decoder(Export)
_MESSAGE = msgspec.json.Decoder(Message)
_STORED_MESSAGE = msgspec.json.Decoder(StoredMessage)
_STORED_PART = msgspec.json.Decoder(StoredPart)


def recognizes(head: Head) -> bool:
    """Events with a `sessionID` and a part or an error, messages with their role and time, or the store."""
    if head.start.startswith(SQLITE):
        return all({"session_id", "data"} <= head.tables.get(name, frozenset()) for name in ("message", "part"))
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
        kept = document(path, _EXPORT).messages if "info" in head.shape else [ExportedMessage(document(path, _MESSAGE))]
        for exported in kept:
            info, tools = exported.info, tuple(dict.fromkeys(part.call for part in exported.parts if part.call))
            where = info.path.cwd if info.path else None
            part = _session(info.session, [(info.id, info)], path, folder=where, tools=tools)
            if part is not None:
                yield part
        return
    runs: dict[str, list[Event]] = {}
    for item in records(path, _EVENT):
        if not isinstance(item, tuple):
            yield item
        elif item[1].session:
            runs.setdefault(item[1].session, []).append(item[1])
    for session, events in runs.items():
        yield _part(session, events, path)


def _stored(path: Path) -> Iterator[ReadItem]:
    """The sessions of the store; a message that cannot be read is rejected, the others go on."""

    def texts(table: str, *columns: str, order: Sequence[str]) -> Iterator[tuple[bytes, ...]]:
        for row in store.rows(table, columns, order=order):
            if all(cell is None or isinstance(cell, bytes) for cell in row):
                yield tuple(cell if isinstance(cell, bytes) else b"" for cell in row)

    in_order = ("session_id", "time_created", "id")
    with closing(sources.SqliteStore(path)) as store:
        homes = {id_: home for id_, *home in texts("session", "id", "parent_id", "directory", order=("id",))}
        tools: dict[bytes, dict[str, None]] = {}
        for session, content in texts("part", "session_id", "data", order=in_order):
            try:
                part = _STORED_PART.decode(content)
            except JSON_ERRORS:
                continue  # no number hangs on a part's text
            if part.type == "tool" and part.call:
                tools.setdefault(session, {})[part.call] = None
        rows_in_order = texts("message", "session_id", "id", "data", order=in_order)
        for session, rows in groupby(rows_in_order, key=lambda row: row[0]):
            messages: list[tuple[str, StoredMessage]] = []
            for _, id_, content in rows:
                name = id_.decode("utf-8", "replace")
                try:
                    messages.append((name, _STORED_MESSAGE.decode(content)))
                except JSON_ERRORS as error:
                    yield Rejected(path=str(path), reason=f"message {name[:200]!r}: {problem(error)}")
            parent, folder = (text.decode("utf-8", "replace") for text in homes.get(session, (b"", b"")))
            own_tools = tuple(tools.get(session, ()))
            name = session.decode("utf-8", "replace")
            session_part = _session(name, messages, path, folder=folder, tools=own_tools, parent=parent)
            if session_part is not None:
                yield session_part


def _session(
    id_: str,
    messages: Sequence[tuple[str, StoredMessage]],
    path: Path,
    *,
    folder: str | None,
    tools: tuple[str, ...],
    parent: str | None = None,
) -> RunPart | None:
    answers = [
        (name, stored, stored.tokens)
        for name, stored in messages
        if stored.role == "assistant" and stored.tokens is not None
    ]
    if not answers:
        return None
    starts = sorted(at for _, stored, _ in answers if (at := moment(stored.when.created)) is not None)
    ends = sorted(at for _, stored, _ in answers if (at := moment(stored.when.completed)) is not None)
    trouble = answers[-1][1].error
    cost, sure = _cost([StepPart(cost=stored.cost, tokens=tokens) for _, stored, tokens in answers])
    run = run_from(
        format=NAME,
        path=str(path),
        how={"usage": "lower_bound", "cost_usd": sure},
        id=label(id_),
        task=label(id_),
        experiment=folder_name(folder),
        agent=_agent(path),
        started_at=starts[0] if starts else None,
        ended_at=ends[-1] if ends and (not starts or ends[-1] >= starts[0]) else None,
        outcome="errored" if trouble else "not_scored",
        failure=_failure(trouble),
        calls=tuple(
            Call(
                id=label(name),
                model=label(stored.model),
                at=moment(stored.when.created),
                usage=tokens.disjoint(),
                cost_usd=stored.cost or None,
            )
            for name, stored, tokens in answers
        ),
        cost_usd=cost,
        iterations=len(answers),
    )
    return RunPart(run=run, path=str(path), role="session", parent=label(parent), tool_ids=tools)


def _agent(path: Path) -> str:
    return KILO if path.stem == KILO or KILO in path.parts else NAME


def _part(session: str, events: list[Event], path: Path) -> RunPart:
    steps = {
        event.part.id or str(number): (event, event.part)
        for number, event in enumerate(events)
        if event.type == "step_finish" and event.part is not None
    }
    calls = tuple(
        Call(
            id=label(part.message),
            at=moment(event.timestamp),
            usage=part.tokens.disjoint() if part.tokens else None,
            cost_usd=part.cost or None,
        )
        for event, part in steps.values()
    )
    tools = dict.fromkeys(e.part.call for e in events if e.type == "tool_use" and e.part is not None and e.part.call)
    cost, sure = _cost([part for _, part in steps.values()])
    started, ended = span_of(event.timestamp for event in events)
    trouble = next((event.error for event in events if event.type == "error"), None)
    usage = add_usage(call.usage for call in calls)
    run = run_from(
        format=NAME,
        path=str(path),
        how={"usage": "lower_bound" if usage else "unknown", "cost_usd": sure, "tool_calls": "counted"},
        id=label(session),
        task=label(session),
        agent=_agent(path),
        started_at=started,
        ended_at=ended,
        outcome="errored" if trouble is not None else "not_scored",
        failure=_failure(trouble),
        usage=usage,
        calls=calls,
        cost_usd=cost,
        tool_calls=len(tools),
        iterations=len(calls) or None,
    )
    return RunPart(run=run, path=str(path), role="session", tool_ids=tuple(call for call in tools if call))


def _cost(steps: list[StepPart]) -> tuple[float | None, Provenance]:
    """The steps' costs together, without the call for the session's title; unknown when no step has one."""
    stated = [step.cost for step in steps if step.cost]
    return (sum_in_order(stated), "lower_bound") if stated else (None, "unknown")


def _failure(trouble: Any) -> Failure | None:  # Any: the provider's error object
    if not trouble:
        return None
    aborted = isinstance(trouble, dict) and "Abort" in str(trouble.get("name"))
    return failure_of(trouble, otherwise="cancelled" if aborted else "unknown")


SPAWNING = "task"
MAX_HELD = 64
"""Steps of an answer that wait for its tokens."""


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a session in a stream, an export, a message file or the store."""
    head = head_of(path)
    if head.start.startswith(SQLITE):
        yield from _stored_steps(path, session)
    elif "info" in head.shape:
        for exported in document(path, _EXPORT).messages:
            yield from _message_steps(exported.info, exported.parts)
    elif "role" in head.shape:
        message = document(path, _MESSAGE)
        yield from _message_steps(message, _kept_parts(path, message))
    else:
        yield from _stream_steps(path, session)


def _stream_steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a stream; the tokens of an answer follow its parts and are on the first of these."""
    held: list[SessionStep] = []
    finished: set[str] = set()
    for item in decoded_lines(path, _EVENT):
        if isinstance(item, Rejected):
            yield item
            continue
        number, event = item
        if session not in (None, event.session):
            continue
        known: dict[str, Any] = {"at": moment(event.timestamp), "source_line": number}  # Any: fields of a step
        if event.type == "error":
            held.append(SessionStep(kind="error", role="system", text=_error_text(event.error), **known))
        part = event.part
        if part is None:
            continue
        if event.type == "step_finish" and (part.id is None or part.id not in finished):
            finished.add(part.id or "")
            used = part.tokens.disjoint() if part.tokens else None
            yield from first_with_usage(held, used, **known)
            held = []
        else:
            held += _part_steps(part, event.type, "assistant", **known)
            if len(held) > MAX_HELD:
                yield held.pop(0)
    yield from held


def _message_steps(message: StoredMessage, parts: Sequence[StepPart]) -> list[SessionStep]:
    is_answer = message.role == "assistant"
    known: dict[str, Any] = {"at": moment(message.when.created)}  # Any: fields of a step
    known |= {"model": message.model} if is_answer else {}
    role: StepRole = "assistant" if is_answer else "user"
    made = [step for part in parts for step in _part_steps(part, None, role, **known)]
    if message.error:
        made.append(SessionStep(kind="error", role="system", text=_error_text(message.error), **known))
    return first_with_usage(made, message.tokens.disjoint() if is_answer and message.tokens else None, **known)


def _error_text(error: Any) -> str | None:  # Any: the provider's own error object
    data = error.get("data") if isinstance(error, dict) else None
    text = data.get("message") if isinstance(data, dict) else None
    return text if isinstance(text, str) else flat_text(error)


def _part_steps(part: StepPart, kind: str | None, role: StepRole, **known: Any) -> Iterator[SessionStep]:
    """Yield the steps of a part, by its own type or that of its event (Any: fields of a step)."""
    named = value_of(part.type)
    kind = named if isinstance(named, str) else kind
    if kind in ("tool", "tool_use"):
        tool, state = value_of(part.tool), part.state or State()
        yield from call_and_result(
            tool if isinstance(tool, str) else None,
            part.call,
            value_of(state.input),
            raw_text(state.output) or raw_text(state.error),
            is_done=state.status in ("completed", "error"),
            is_error=state.status == "error",
            kind="subagent" if tool == SPAWNING else "tool_call",
            **known,
        )
    elif kind == "compaction":
        yield SessionStep(kind="compaction", role="system", text=raw_text(part.text), **known)
    elif kind in ("text", "reasoning") and (text := raw_text(part.text)) is not None:
        yield SessionStep(kind="message", role="reasoning" if kind == "reasoning" else role, text=text, **known)


def _kept_parts(path: Path, message: Message) -> list[StepPart]:
    """Return the parts of a message file, which are files of a folder of its own."""
    folder = path.parents[2] / "part" / message.id if len(path.parents) > 2 else path.parent / "part"
    parts: list[StepPart] = []
    for file in sorted(folder.glob("*.json"))[:MAX_PARTS] if "/" not in message.id else ():
        if file.is_file() and not file.is_symlink():
            with suppress(UnreadableFileError):
                parts.append(document(file, _PART))
    return parts


MAX_PARTS = 10_000
"""Maximum number of part files read per message."""


def _stored_steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a session of the store: its messages in order, each with its parts."""
    wanted = None if session is None else session.encode()
    with closing(sources.SqliteStore(path)) as store:
        messages: dict[bytes, StoredMessage] = {}
        columns = ("session_id", "id", "data")
        for in_session, id_, content in store.rows("message", columns, order=("session_id", "time_created", "id")):
            if isinstance(id_, bytes) and isinstance(content, bytes) and wanted in (None, in_session):
                with suppress(*JSON_ERRORS):
                    messages[id_] = _STORED_MESSAGE.decode(content)
        held: list[StepPart] = []
        current = b""
        order = ("session_id", "message_id", "time_created", "id")
        for in_session, id_, content in store.rows("part", ("session_id", "message_id", "data"), order=order):
            if wanted not in (None, in_session) or not isinstance(content, bytes) or not isinstance(id_, bytes):
                continue
            if id_ != current:
                yield from _message_steps(messages[current], held) if current in messages else ()
                messages.pop(current, None)
                held, current = [], id_
            with suppress(*JSON_ERRORS):
                held.append(_PART.decode(content))
        yield from _message_steps(messages[current], held) if current in messages else ()
        messages.pop(current, None)
        for message in messages.values():
            yield from _message_steps(message, ())


def _places(home: Path, environment: Mapping[str, str]) -> list[Path]:
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    return [
        place for tool in (NAME, KILO) for place in (data / tool / "storage" / "message", data / tool / f"{tool}.db")
    ]


FORMAT = LogFormat(
    name=NAME,
    title="opencode and Kilo CLI: `run --format json`, `export`, databases (opencode.db, kilo.db), message files",
    kind="sessions",
    yields=("calls", "usage by kind", "cost_usd", "tool_calls", "iterations", "times"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    precedence="first",
    shows_every_tool_call=True,
    kept_by=LogLocations("opencode and Kilo", _places),
)
