"""Claude Code's session logs: a JSON line per event, subagents in line or in files of their own.

One model call spans several lines with the same `message.id`; the last line of an id holds its usage. Some versions
never write the final output count, only the placeholder of the stream's start: such calls are marked, never taken as
exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from steelyard.files import glued, label, recovered
from steelyard.formats._claude import SYNTHETIC, CostState, account_of, split_contradiction
from steelyard.formats._claude_lines import Lines
from steelyard.formats._claude_sessions import ABSENT, Line, SessionSoFar
from steelyard.formats._failures import failure_of
from steelyard.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart
from steelyard.formats._token_counts import busiest_model, itemized, run_from
from steelyard.records import JSON_ERRORS, Call, Failure, Finding, Provenance, Rejected, add_usage, moment

NAME = "claude-code"
WRITING = "Write"


class ToolResult(msgspec.Struct, gc=False):
    """What a tool reported back to the client."""

    type: str | None = None
    path: str | None = msgspec.field(name="filePath", default=None)


class ResultLine(msgspec.Struct):
    """A user line that carries what a tool did; the result is text for some tools."""

    session: str | None = msgspec.field(name="sessionId", default=None)
    result: ToolResult | str | list[msgspec.Raw] | None = msgspec.field(name="toolUseResult", default=None)


_LINE = msgspec.json.Decoder(Line)
_STATE = msgspec.json.Decoder(CostState)
_RESULT = msgspec.json.Decoder(ResultLine)


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
    before: list[Line] = []  # lines before the first that names a session; they show when it began
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
    """Takes one line into its session. Most of the time of reading is spent here, so little is called."""
    if not item.session:
        if not sessions:
            before.append(item)
        return
    session = sessions.get(item.session)
    if session is None:
        session = sessions[item.session] = SessionSoFar(line=lines.number)
        for line in before:
            session.take_other(line)
    message = item.message
    if message is None or item.type != "assistant" or message.model == SYNTHETIC:
        session.take_other(item)
        if item.is_api_error:
            session.refusal = (lines.start, item)
        return
    session.last_call = lines.start
    call = session.take_call(message.id or f"line {lines.number}", item, message)
    content = message.content
    if not content:
        return
    if isinstance(content, str):
        call.characters += len(content)
        return
    for block in content:
        if block.type == "tool_use":
            if block.id is not None:
                session.tools[block.id] = None
            if block.name == WRITING:
                lines.writing = True
        if not call.final:
            for written in (block.text, block.thinking, block.input):
                if written is not ABSENT:
                    call.characters += len(memoryview(written))


def _note_created(line: bytes, sessions: dict[str, SessionSoFar]) -> None:
    """Notes the file that a tool reports to have created, if the line is such a report."""
    try:
        report = _RESULT.decode(line)
    except JSON_ERRORS:
        return  # a shape of result without files
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
    if rows is None:  # its counters may have been reset: use earlier accounts
        full = SessionSoFar(line=session.line)
        for place, line in lines.states_from(0):
            _note_state(place, line, {session.states[-1][1].session or "": full})
        totals, cost, sure = account_of([state for _, state in full.states])
        rows = itemized(calls, totals)
    return (rows, cost, sure) if rows else (None, None, "unknown")


def _part(key: str, session: SessionSoFar, lines: Lines) -> RunPart:
    path = str(lines.path)
    calls = tuple([call.made(id_) for id_, call in session.calls.items()])
    doubtful = tuple([id_ for id_, call in session.calls.items() if not call.final and call.is_doubtful])
    firsts = [call.first for call in session.calls.values()]
    started, ended = _span(session)
    usage = add_usage([call.usage for call in calls])
    sure: Provenance = "unknown" if usage is None else "lower_bound" if doubtful else "counted"
    rows, cost, cost_sure = _account(session, calls, lines)
    if rows is not None:
        calls = rows
        usage, sure, doubtful = add_usage(call.usage for call in calls), "reported", ()
    place = session.place or next((line for line in firsts if line.cwd), None)
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
        experiment=label(place.cwd.replace("\\", "/").rpartition("/")[2]) if place and place.cwd else None,
        agent=NAME,
        model=busiest_model(calls),
        started_at=started,
        ended_at=ended,
        outcome="not_scored" if failure is None else "errored",
        failure=failure,
        usage=usage,
        calls=calls,
        cost_usd=cost,
        tool_calls=len(session.tools),
        iterations=sum([not line.sidechain for line in firsts]) or None,
        files_created=tuple(session.created),
        extra={"agent_version": place.version if place else None},
    )
    return RunPart(
        run=run,
        path=path,
        line=session.line,
        role="session",
        tool_ids=tuple(session.tools),
        copied=tuple([id_ for id_, call in session.calls.items() if call.first.forked is not None]),
        doubtful=doubtful,
        notes=split_contradiction(path, _unsplit(session)),
    )


def _failure(session: SessionSoFar) -> Failure | None:
    """Return why the session failed: its last call was rejected."""
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
    """Return cache writes whose lifetime the log lacks."""
    return sum([call.last.usage.unsplit for call in session.calls.values() if call.last.usage is not None])


def _span(session: SessionSoFar) -> tuple[datetime | None, datetime | None]:
    """Return the start and end of the session, as far as its lines have them."""
    started, ended = moment(session.began or None), moment(session.ended or None)
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
    kind="sessions",
    yields=(
        "calls",
        "usage by kind",
        "cost_usd if the session ended",
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
    kept_by=LogLocations("Claude Code", _places),
)
