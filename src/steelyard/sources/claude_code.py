"""Claude Code's session logs: one JSON line per event under `~/.claude/projects`, subagents in line or in files of their own.

One model call spans several lines with the same `message.id`; the last line of an id holds its usage. Some versions never
write the final output count, only the placeholder of the stream's start: such calls are marked, never taken as exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePath

import msgspec

from steelyard.records.finding import Rejected
from steelyard.records.run import Call
from steelyard.sources._base import Head, Part, Reading, Source
from steelyard.sources._claude import SYNTHETIC, ClaudeUsage
from steelyard.sources._documents import JSON_ERRORS, label, moment, numbered_lines, recovered
from steelyard.sources._numbers import run_from

FORMAT = "claude-code"
CHARACTERS_PER_TOKEN = 4
SHORTFALL = 0.5
"""An output count below this share of the text's own length in tokens cannot be the final one."""


class Block(msgspec.Struct):
    """One block of a message's content."""

    type: str | None = None
    id: str | None = None
    text: str | None = None
    thinking: str | None = None
    input: msgspec.Raw = msgspec.Raw()

    @property
    def characters(self) -> int:
        """How much text the model wrote in this block."""
        return len(self.text or "") + len(self.thinking or "") + len(memoryview(self.input))


class Message(msgspec.Struct):
    """The provider's message."""

    id: str | None = None
    model: str | None = None
    usage: ClaudeUsage | None = None
    stop_reason: str | None = None
    content: str | list[Block | str] | None = None


class Fork(msgspec.Struct):
    """Where a copied line came from."""

    session: str | None = msgspec.field(name="sessionId", default=None)


class ToolResult(msgspec.Struct):
    """What a tool reported back to the client."""

    type: str | None = None
    path: str | None = msgspec.field(name="filePath", default=None)


class Line(msgspec.Struct):
    """What we take of a line."""

    type: str | None = None
    session: str | None = msgspec.field(name="sessionId", default=None)
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    sidechain: bool | None = msgspec.field(name="isSidechain", default=None)
    message: Message | None = None
    forked: Fork | None = msgspec.field(name="forkedFrom", default=None)


class ResultLine(msgspec.Struct):
    """A user line that carries what a tool did; the result is text for some tools."""

    session: str | None = msgspec.field(name="sessionId", default=None)
    result: ToolResult | str | list[msgspec.Raw] | None = msgspec.field(name="toolUseResult", default=None)


_LINE = msgspec.json.Decoder(Line)
_RESULT = msgspec.json.Decoder(ResultLine)


@dataclass(slots=True)
class CallSoFar:
    """One model call while its lines are read."""

    model: str | None
    at: str | None
    usage: ClaudeUsage | None
    final: bool = False
    characters: int = 0
    copied: bool = False
    side: bool = False

    @property
    def doubtful(self) -> bool:
        """Whether the output count is a placeholder from the stream's start."""
        stated = self.usage.output_tokens if self.usage else None
        if stated is None or self.final:
            return False
        return stated < SHORTFALL * self.characters / CHARACTERS_PER_TOKEN


@dataclass(slots=True)
class SessionSoFar:
    """One session while its lines are read."""

    calls: dict[str, CallSoFar] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    created: dict[str, None] = field(default_factory=dict)
    first: str | None = None
    last: str | None = None
    cwd: str | None = None
    version: str | None = None
    line: int = 1

    def saw(self, line: Line) -> None:
        """Takes the time and place of any line."""
        if line.timestamp:
            self.first = line.timestamp if self.first is None else min(self.first, line.timestamp)
            self.last = line.timestamp if self.last is None else max(self.last, line.timestamp)
        self.cwd = self.cwd or line.cwd
        self.version = self.version or line.version

    def add(self, line: Line, message: Message, number: int) -> None:
        """Takes one line of a model's message."""
        if message.model == SYNTHETIC:
            return
        key = message.id or f"line {number}"
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = CallSoFar(message.model, line.timestamp, message.usage)
            call.copied = line.forked is not None
            call.side = bool(line.sidechain)
        elif message.usage is not None:
            before = call.usage.output_tokens if call.usage else None
            after = message.usage.output_tokens
            call.final = call.final or (before is not None and after is not None and after > before)
            if before is None or after is None or after >= before:
                call.usage = message.usage
        call.final = call.final or message.stop_reason is not None
        if isinstance(message.content, str):
            call.characters += len(message.content)
            return
        for block in message.content or ():
            if isinstance(block, str):
                continue
            call.characters += block.characters
            if block.type == "tool_use" and block.id:
                self.tools[block.id] = None


def recognises(head: Head) -> bool:
    """Lines with a `sessionId` and a `parentUuid`, or the snapshot and summary lines that such files open with."""
    for record in head.records:
        if "sessionId" in record and ("parentUuid" in record or "leafUuid" in record or "operation" in record):
            return True
        if record.get("type") == "file-history-snapshot" and "messageId" in record:
            return True
        if record.get("type") == "summary" and "leafUuid" in record:
            return True
    return not head.records and head.has("parentUuid", "sessionId")


def read(path: Path) -> Iterator[Reading]:
    """One part per session that the file holds."""
    sessions: dict[str, SessionSoFar] = {}
    name = str(path)
    pending: Line | None = None  # a line before the first that names a session
    latest: bytes = b""
    for number, line in numbered_lines(path):
        latest = line
        if sessions and b'"assistant"' not in line:
            if b'"create"' in line:
                _created(line, sessions)
            elif not line.rstrip().endswith(b"}") or not line.lstrip().startswith(b"{"):
                yield from _whole(path, number, line, sessions)
            continue
        for item in _decoded(path, number, line):
            if isinstance(item, Rejected):
                yield item
            elif item.session:
                session = sessions.setdefault(item.session, SessionSoFar(line=number))
                session.saw(item)
                if pending is not None:
                    session.saw(pending)
                    pending = None
                if item.type == "assistant" and item.message is not None:
                    session.add(item, item.message, number)
            elif not sessions:
                pending = pending or item
    _last_time(latest, sessions)
    for key, session in sessions.items():
        yield _part(key, session, name)


def _decoded(path: Path, number: int, line: bytes) -> Iterator[Line | Rejected]:
    try:
        yield _LINE.decode(line)
    except JSON_ERRORS as error:
        for item in recovered(path, number, line, _LINE, error):
            yield item if isinstance(item, Rejected) else item[1]


def _whole(path: Path, number: int, line: bytes, sessions: dict[str, SessionSoFar]) -> Iterator[Rejected]:
    """What is wrong with a line that does not look whole."""
    for item in _decoded(path, number, line):
        if isinstance(item, Rejected):
            yield item
        elif item.session in sessions:
            sessions[item.session].saw(item)


def _created(line: bytes, sessions: dict[str, SessionSoFar]) -> None:
    try:
        found = _RESULT.decode(line)
    except JSON_ERRORS:
        return  # a shape of result that says nothing of files; times are taken from the lines around it
    if isinstance(found.result, ToolResult) and found.result.type == "create" and found.result.path:
        session = sessions.get(found.session or "")
        if session is not None:
            session.created[found.result.path] = None


def _last_time(line: bytes, sessions: dict[str, SessionSoFar]) -> None:
    try:
        found = _LINE.decode(line)
    except JSON_ERRORS:
        return  # already reported where it was read
    if found.session in sessions:
        sessions[found.session].saw(found)


def _part(key: str, session: SessionSoFar, path: str) -> Part:
    calls = tuple(
        Call(id=label(id_), model=label(call.model), at=moment(call.at), usage=call.usage.disjoint() if call.usage else None)
        for id_, call in session.calls.items()
    )
    started, ended = _span(session.first, session.last)
    run = run_from(
        format=FORMAT,
        path=path,
        id=label(key),
        task=label(key),
        experiment=label(PurePath(session.cwd.replace("\\", "/")).name) if session.cwd else None,
        agent=FORMAT,
        started_at=started,
        ended_at=ended,
        outcome="not_scored",
        calls=calls,
        iterations=sum(1 for call in session.calls.values() if not call.side) or None,
        files_created=tuple(session.created),
        extra={"agent_version": session.version},
    )
    return Part(
        run=run,
        path=path,
        line=session.line,
        role="session",
        tool_ids=tuple(session.tools),
        copied=tuple(id_ for id_, call in session.calls.items() if call.copied),
        doubtful=tuple(id_ for id_, call in session.calls.items() if call.doubtful),
    )


def _span(first: str | None, last: str | None) -> tuple[datetime | None, datetime | None]:
    started, ended = moment(first), moment(last)
    if started is not None and ended is not None and ended < started:
        return started, None
    return started, ended


SOURCE = Source(
    name=FORMAT,
    title="Claude Code session logs, with subagents",
    yields=("calls", "usage by kind", "tool_calls", "iterations", "files_created", "times"),
    recognises=recognises,
    read=read,
)
