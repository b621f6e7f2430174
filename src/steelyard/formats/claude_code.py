"""Claude Code's session logs: a JSON line per event, subagents in line or in files of their own.

One model call spans several lines with the same `message.id`; the last line of an id holds its usage. Some versions
never write the final output count, only the placeholder of the stream's start: such calls are marked, never taken as
exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec

from steelyard.files import glued, label, recovered
from steelyard.formats._claude import SYNTHETIC, ClaudeUsage, CostState, account_of, split_contradiction
from steelyard.formats._claude_lines import Lines
from steelyard.formats._failures import failure_of
from steelyard.formats._log_format import Head, LogFormat, LogPlaces, ReadItem, RunPart
from steelyard.formats._token_counts import busiest_model, itemized, run_from
from steelyard.records import JSON_ERRORS, Call, Failure, Finding, Provenance, Rejected, add_usage, moment

NAME = "claude-code"
CHARACTERS_PER_TOKEN = 4
WRITING = "Write"
SHORTFALL = 0.5
"""An output count below this share of the text's own length in tokens cannot be the final one."""


ABSENT = msgspec.Raw()


class Block(msgspec.Struct):
    """One block of a message's content."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    text: msgspec.Raw = ABSENT
    thinking: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT


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
    is_api_error: bool | None = msgspec.field(name="isApiErrorMessage", default=None)
    api_status: int | None = msgspec.field(name="apiErrorStatus", default=None)


class ResultLine(msgspec.Struct):
    """A user line that carries what a tool did; the result is text for some tools."""

    session: str | None = msgspec.field(name="sessionId", default=None)
    result: ToolResult | str | list[msgspec.Raw] | None = msgspec.field(name="toolUseResult", default=None)


_LINE = msgspec.json.Decoder(Line)
_STATE = msgspec.json.Decoder(CostState)
_RESULT = msgspec.json.Decoder(ResultLine)


@dataclass(slots=True)
class SessionSoFar:
    """One session while its lines are read. Nothing is worked out before the end: this is where the time goes."""

    line: int
    calls: dict[str, list[Line]] = field(default_factory=dict)
    """The lines of each message, in order."""
    others: list[Line] = field(default_factory=list)
    created: dict[str, None] = field(default_factory=dict)
    last_call: int = -1
    states: list[tuple[int, CostState]] = field(default_factory=list)
    """What it came to, with where that stands in the file."""
    refusal: tuple[int, Line] | None = None
    """The last message that tells of a refused call in place of the model's answer, with where it stands."""


def _call(id_: str, lines: list[Line], tools: dict[str, None]) -> tuple[Call, bool]:
    """One model call made out from its lines, and whether its output count is a placeholder from the stream's start."""
    usage: ClaudeUsage | None = None
    output: int | None = None
    final = False
    for line in lines:
        message = line.message
        assert message is not None  # only such lines are kept under a call
        if message.stop_reason is not None:
            final = True
        if message.usage is not None:
            stated = message.usage.output_tokens
            if output is None or stated is None or stated >= output:
                final = final or (output is not None and stated is not None and stated > output)
                usage, output = message.usage, stated
        if isinstance(message.content, list):
            for block in message.content:
                if block.type == "tool_use" and block.id is not None:
                    tools[block.id] = None
    first = lines[0]
    call = Call(
        id=label(id_),
        model=label(first.message.model) if first.message else None,
        at=moment(first.timestamp),
        usage=usage.disjoint() if usage else None,
    )
    enough = final or output is None or output >= SHORTFALL * _characters(lines) / CHARACTERS_PER_TOKEN
    return call, not enough


def _characters(lines: list[Line]) -> int:
    """How much text the model wrote, as it stands in the file."""
    characters = 0
    for line in lines:
        content = line.message.content if line.message else None
        if isinstance(content, str):
            characters += len(content)
        elif content is not None:
            for block in content:
                for text in (block.text, block.thinking, block.input):
                    if text is not ABSENT:
                        characters += len(memoryview(text))
    return characters


def recognizes(head: Head) -> bool:
    """Lines with a `sessionId` and a `parentUuid`, or the snapshot and summary lines that such files open with.

    Qwen Code writes such lines too, around messages of another shape: the first message decides.
    """
    recognized = False
    for record in head.records:
        kind = record.get("type")
        if "systemPayload" in record:
            return False
        if (
            ("sessionId" in record and ("parentUuid" in record or "leafUuid" in record or "operation" in record))
            or (kind == "file-history-snapshot" and "messageId" in record)
            or (kind == "summary" and "leafUuid" in record)
        ):
            recognized = True
            message = record.get("message")
            if isinstance(message, dict):
                return "parts" not in message or "content" in message
    return recognized or (not head.records and head.has("parentUuid", "sessionId"))


def read(path: Path) -> Iterator[ReadItem]:
    """One part per session that the file holds."""
    sessions: dict[str, SessionSoFar] = {}
    before: list[Line] = []  # lines before the first that names a session; they tell when it began
    decode = _LINE.decode
    lines = Lines(path)
    for line in lines:
        try:
            _take(decode(line), lines, sessions, before)
        except JSON_ERRORS as error:
            several = _several(line)
            if len(several) > 1:
                yield glued(path, lines.number)
            for item in several or recovered(path, lines.number, line, _LINE, error):
                if isinstance(item, (Rejected, Finding)):
                    yield item
                else:
                    _take(item if isinstance(item, Line) else item[1], lines, sessions, before)
    for line in lines.created:
        _note_created(line, sessions)
    # The last account is enough, and all of the file is searched only where it is not.
    start = next(iter(sessions.values())).last_call if len(sessions) == 1 else 0
    for place, line in lines.states_from(max(start, 0)):
        _note_state(place, line, sessions)
    for key, session in sessions.items():
        yield _part(key, session, lines)


def _several(line: bytes) -> list[Line]:
    """The objects of a line that holds several whole ones, as two writers at once leave it; none for any other line."""
    try:
        return _LINE.decode_lines(line)
    except JSON_ERRORS:
        return []


def _take(item: Line, lines: Lines, sessions: dict[str, SessionSoFar], before: list[Line]) -> None:
    """Takes one line into its session."""
    if not item.session:
        if not sessions:
            before.append(item)
        return
    session = sessions.get(item.session)
    if session is None:
        session = sessions[item.session] = SessionSoFar(line=lines.number, others=list(before))
    message = item.message
    if message is None or item.type != "assistant" or message.model == SYNTHETIC:
        session.others.append(item)
        if item.is_api_error:
            session.refusal = (lines.start, item)
        return
    id_ = message.id or f"line {lines.number}"
    if not isinstance(message.content, str):
        for block in message.content or ():
            if block.name == WRITING:
                lines.writing = True
    session.last_call = lines.start
    known = session.calls.get(id_)
    if known is None:
        session.calls[id_] = [item]
    else:
        known.append(item)


def _note_created(line: bytes, sessions: dict[str, SessionSoFar]) -> None:
    """Notes the file that a tool reports to have created, if the line is such a report."""
    try:
        report = _RESULT.decode(line)
    except JSON_ERRORS:
        return  # a shape of result that says nothing of files
    session = sessions.get(report.session or "")
    result = report.result
    if session is not None and isinstance(result, ToolResult) and result.type == "create" and result.path:
        session.created[result.path] = None


def _note_state(place: int, line: bytes, sessions: dict[str, SessionSoFar]) -> None:
    try:
        state = _STATE.decode(line)
    except JSON_ERRORS:
        return  # a line that only mentions the word
    session = sessions.get(state.session or "")
    if session is not None and state.type == "cost-state" and state.models:
        session.states.append((place, state))


def _account(
    session: SessionSoFar, calls: tuple[Call, ...], lines: Lines
) -> tuple[tuple[Call, ...] | None, float | None, Provenance]:
    """The calls with what the session came to beyond them, and its cost; no rows where its own account falls short."""
    if not session.states or session.states[-1][0] < session.last_call:
        return None, None, "unknown"  # the client was killed before it could give another
    totals, cost, sure = account_of([state for _, state in session.states])
    rows = itemized(calls, totals)
    if rows is None:  # its counters may have begun anew: earlier accounts tell
        told = SessionSoFar(line=session.line)
        for place, line in lines.states_from(0):
            _note_state(place, line, {session.states[-1][1].session or "": told})
        totals, cost, sure = account_of([state for _, state in told.states])
        rows = itemized(calls, totals)
    return (rows, cost, sure) if rows else (None, None, "unknown")


def _part(key: str, session: SessionSoFar, lines: Lines) -> RunPart:
    tools: dict[str, None] = {}
    path = str(lines.path)
    made = [_call(id_, told, tools) for id_, told in session.calls.items()]
    calls = tuple([call for call, _ in made])
    doubtful = tuple([id_ for id_, (_, doubt) in zip(session.calls, made, strict=True) if doubt])
    firsts = [told[0] for told in session.calls.values()]
    started, ended = _span(session)
    usage = add_usage(call.usage for call in calls)
    sure: Provenance = "unknown" if usage is None else "lower_bound" if doubtful else "counted"
    rows, cost, cost_sure = _account(session, calls, lines)
    if rows is not None:
        calls = rows
        usage, sure, doubtful = add_usage(call.usage for call in calls), "reported", ()
    first = next((line for line in (*session.others, *firsts) if line.cwd), None)
    failure = _failure(session)
    run = run_from(
        format=NAME,
        path=path,
        how={
            "usage": sure,
            "usage.output_tokens": "lower_bound" if doubtful else None,
            "cost_usd": cost_sure,
            "tool_calls": "counted",
            "iterations": "counted",
        },
        id=label(key),
        task=label(key),
        experiment=label(first.cwd.replace("\\", "/").rpartition("/")[2]) if first and first.cwd else None,
        agent=NAME,
        model=busiest_model(calls),
        started_at=started,
        ended_at=ended,
        outcome="not_scored" if failure is None else "errored",
        failure=failure,
        usage=usage,
        calls=calls,
        cost_usd=cost,
        tool_calls=len(tools),
        iterations=sum([not line.sidechain for line in firsts]) or None,
        files_created=tuple(session.created),
        extra={"agent_version": first.version if first else None},
    )
    return RunPart(
        run=run,
        path=path,
        line=session.line,
        role="session",
        tool_ids=tuple(tools),
        copied=tuple([id_ for id_, told in session.calls.items() if told[0].forked is not None]),
        doubtful=doubtful,
        notes=split_contradiction(path, _unsplit(session)),
    )


def _failure(session: SessionSoFar) -> Failure | None:
    """Why the session broke off: its last call was refused."""
    if session.refusal is None or session.refusal[0] < session.last_call:
        return None
    line = session.refusal[1]
    content = line.message.content if line.message else None
    text: str | None = content if isinstance(content, str) else None
    with suppress(*JSON_ERRORS):
        for block in () if isinstance(content, str) else content or ():
            text = text or (None if block.text is ABSENT else msgspec.json.decode(block.text, type=str))
    return failure_of(text, status=line.api_status)


def _unsplit(session: SessionSoFar) -> int:
    """Cache writes of which the log does not say how long they are kept."""
    messages = [told[-1].message for told in session.calls.values()]
    return sum([message.usage.unsplit for message in messages if message and message.usage])


def _span(session: SessionSoFar) -> tuple[datetime | None, datetime | None]:
    """The first and the last time of all lines; times of one log are written alike, so they sort as text."""
    times = [line.timestamp for line in session.others if line.timestamp]
    times += [line.timestamp for lines in session.calls.values() for line in lines if line.timestamp]
    if not times:
        return None, None
    started, ended = moment(min(times)), moment(max(times))
    if started is not None and ended is not None and ended < started:
        return started, None
    return started, ended


def _places(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The folders that `CLAUDE_CONFIG_DIR` names, separated by commas; without it the two usual ones."""
    usual = [home / ".claude" / "projects", home / ".config" / "claude" / "projects"]
    named = (environment.get("CLAUDE_CONFIG_DIR") or "").split(",")
    folders = [Path(folder) / "projects" for folder in named if folder]
    return [*folders, *(folder for folder in usual if str(folder).startswith(tuple(named)))]


FORMAT = LogFormat(
    name=NAME,
    title="Claude Code session logs, with subagents",
    tells="sessions",
    yields=(
        "calls",
        "usage by kind",
        "cost_usd where the session ended",
        "tool_calls",
        "iterations",
        "files_created",
        "failure",
        "times",
    ),
    recognizes=recognizes,
    read=read,
    family="claude",
    leads_family=True,
    precedence="first",
    totals_add_up=True,
    shows_every_tool_call=True,
    kept_by=LogPlaces("Claude Code", _places),
)
