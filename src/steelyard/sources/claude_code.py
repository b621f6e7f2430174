"""Claude Code's session logs: a JSON line per event, subagents in line or in files of their own.

One model call spans several lines with the same `message.id`; the last line of an id holds its usage. Some versions
never write the final output count, only the placeholder of the stream's start: such calls are marked, never taken as
exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec

from steelyard.records.finding import Rejected
from steelyard.records.run import Call
from steelyard.sources._base import Head, Part, Reading, Source
from steelyard.sources._claude import SYNTHETIC, ClaudeUsage
from steelyard.sources._documents import JSON_ERRORS, label, moment, numbered_lines, recovered
from steelyard.sources._numbers import busiest_model, run_from, total_of

FORMAT = "claude-code"
CHARACTERS_PER_TOKEN = 4
CREATING_TOOLS = frozenset({"Write", "NotebookEdit", "MultiEdit", "Edit"})
WHOLE_BYTES = 64 << 20
"""Files up to this size are searched as a whole."""
OPENING_LINES = 4
"""Lines at the beginning that are all read, for when and where the session began."""
SHORTFALL = 0.5
"""An output count below this share of the text's own length in tokens cannot be the final one."""


class Block(msgspec.Struct):
    """One block of a message's content."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    text: msgspec.Raw = msgspec.Raw()
    thinking: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()

    @property
    def characters(self) -> int:
        """How much text the model wrote in this block, as it stands in the file."""
        return len(memoryview(self.text)) + len(memoryview(self.thinking)) + len(memoryview(self.input))


class Message(msgspec.Struct):
    """The provider's message."""

    id: str | None = None
    model: str | None = None
    usage: ClaudeUsage | None = None
    stop_reason: str | None = None
    content: str | list[Block] | None = None


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
    copied: bool
    side: bool
    final: bool
    blocks: list[Block]

    @property
    def doubtful(self) -> bool:
        """Whether the output count is a placeholder from the stream's start."""
        stated = self.usage.output_tokens if self.usage else None
        if stated is None or self.final:
            return False
        return stated < SHORTFALL * sum(block.characters for block in self.blocks) / CHARACTERS_PER_TOKEN


@dataclass(slots=True)
class SessionSoFar:
    """One session while its lines are read."""

    line: int
    first: str | None = None
    last: str | None = None
    cwd: str | None = None
    version: str | None = None
    calls: dict[str, CallSoFar] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    created: dict[str, None] = field(default_factory=dict)

    def saw(self, line: Line) -> None:
        """Takes the time and place of any line."""
        at = line.timestamp
        if at is not None:
            if self.first is None or at < self.first:
                self.first = at
            if self.last is None or at > self.last:
                self.last = at
        if self.cwd is None:
            self.cwd = line.cwd
            self.version = line.version

    def add(self, line: Line, message: Message, lines: Lines) -> bool:
        """Takes one line of a model's message; whether it calls a tool that may create a file."""
        if message.model == SYNTHETIC:
            return False
        content = message.content
        blocks = [Block(text=msgspec.Raw(content.encode()))] if isinstance(content, str) else content or []
        key = message.id or f"line {lines.number}"
        usage = message.usage
        call = self.calls.get(key)
        if call is None:
            final = message.stop_reason is not None
            forked = line.forked is not None
            self.calls[key] = CallSoFar(
                message.model, line.timestamp, usage, forked, bool(line.sidechain), final, blocks
            )
        else:
            call.blocks += blocks
            if usage is not None:
                before = call.usage.output_tokens if call.usage else None
                after = usage.output_tokens
                if before is None or after is None or after >= before:
                    call.final = call.final or (before is not None and after is not None and after > before)
                    call.usage = usage
            call.final = call.final or message.stop_reason is not None
        creating = False
        for block in blocks:
            if block.id is not None and block.type == "tool_use":
                self.tools[block.id] = None
                creating = creating or block.name in CREATING_TOOLS
        return creating


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
    before: list[Line] = []  # lines before the first that names a session; they tell when it began
    decode = _LINE.decode
    lines = Lines(path)
    for line in lines:
        try:
            lines.writing |= _take(decode(line), lines, line, sessions, before)
        except JSON_ERRORS as error:
            for item in recovered(path, lines.number, line, _LINE, error):
                if isinstance(item, Rejected):
                    yield item
                else:
                    lines.writing |= _take(item[1], lines, line, sessions, before)
    for key, session in sessions.items():
        yield _part(key, session, str(path))


class Lines:
    """The lines that say something of a run: the first, the last, and those with a model's message or a created file.

    Most of a log is what tools gave back. It is passed over without being cut into lines, so a broken line there is not
    noticed; nothing that is counted stands in it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = b""
        self.start = 0
        self.counted = 0
        self.writing = False
        """Whether a tool that may create a file has been called."""

    @property
    def number(self) -> int:
        """The number of the line that was given last; counted only when somebody asks."""
        return self.counted or self.data.count(b"\n", 0, self.start) + 1

    def __iter__(self) -> Iterator[bytes]:
        if self.path.stat().st_size > WHOLE_BYTES:
            for number, line in numbered_lines(self.path):
                self.counted = number
                yield line
            return
        data = self.data = self.path.read_bytes()
        end = len(data.rstrip())
        last = data.rfind(b"\n", 0, end) + 1
        start = 0
        opening = OPENING_LINES
        while start <= last < end:
            if opening:
                opening -= 1
            else:
                hit = data.find(b'"assistant"', start, last)
                if self.writing:
                    created = data.find(b'"create"', start, hit if hit >= 0 else last)
                    hit = created if created >= 0 else hit
                start = max(start, data.rfind(b"\n", start, hit) + 1) if hit >= 0 else last
            stop = data.find(b"\n", start, end)
            if stop < 0:
                stop = end
            if stop > start:
                self.start = start
                yield data[start:stop]
            start = stop + 1


def _take(item: Line, lines: Lines, line: bytes, sessions: dict[str, SessionSoFar], before: list[Line]) -> bool:
    """Takes one line into its session; whether it calls a tool that may create a file."""
    if not item.session:
        if not sessions:
            before.append(item)
        return False
    session = sessions.get(item.session)
    if session is None:
        session = sessions[item.session] = SessionSoFar(line=lines.number)
        for earlier in before:
            session.saw(earlier)
    session.saw(item)
    if item.message is not None and item.type == "assistant":
        return session.add(item, item.message, lines)
    if lines.writing:
        _created(line, session)
    return False


def _created(line: bytes, session: SessionSoFar) -> None:
    try:
        found = _RESULT.decode(line)
    except JSON_ERRORS:
        return  # a shape of result that says nothing of files
    if isinstance(found.result, ToolResult) and found.result.type == "create" and found.result.path:
        session.created[found.result.path] = None


def _part(key: str, session: SessionSoFar, path: str) -> Part:
    calls = tuple(
        Call(
            id=label(id_),
            model=label(call.model),
            at=moment(call.at),
            usage=call.usage.disjoint() if call.usage else None,
        )
        for id_, call in session.calls.items()
    )
    doubtful = tuple(id_ for id_, call in session.calls.items() if call.doubtful)
    started, ended = _span(session.first, session.last)
    usage = total_of(calls)
    run = run_from(
        format=FORMAT,
        path=path,
        how={
            "usage": "unknown" if usage is None else "lower_bound" if doubtful else "counted",
            "usage.output_tokens": "lower_bound" if doubtful else None,
            "cost_usd": "unknown",
            "tool_calls": "counted",
            "iterations": "counted",
        },
        id=label(key),
        task=label(key),
        experiment=label(session.cwd.replace("\\", "/").rpartition("/")[2]) if session.cwd else None,
        agent=FORMAT,
        model=busiest_model(calls),
        started_at=started,
        ended_at=ended,
        outcome="not_scored",
        usage=usage,
        calls=calls,
        tool_calls=len(session.tools),
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
        doubtful=doubtful,
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
