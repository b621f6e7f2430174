"""Claude Code's session logs: a JSON line per event, subagents in line or in files of their own.

One model call spans several lines with the same `message.id`; the last line of an id holds its usage. Some versions
never write the final output count, only the placeholder of the stream's start: such calls are marked, never taken as
exact. A session ends with an answer that the provider ended, or with the client's account of all of its calls; the
calls that compact a session, and answers that were cut off, are in no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from steelyard.files import glued, label, numbered_lines, recovered, whole_file
from steelyard.records import (
    JSON_ERRORS,
    Call,
    Failure,
    Finding,
    Provenance,
    Rejected,
    SessionStep,
    Usage,
    add_usage,
    moment,
)
from steelyard.settings import SHORT_EVENTS
from steelyard.sources.formats._claude import (
    DELEGATING,
    SYNTHETIC,
    Block,
    CostState,
    StepBlock,
    account_of,
    message_steps,
    split_contradiction,
)
from steelyard.sources.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart
from steelyard.sources.formats._provider_usage import ClaudeUsage
from steelyard.sources.formats._run_values import (
    busiest_model,
    conditions_from,
    failure_of,
    folder_name,
    itemized,
    run_from,
)
from steelyard.sources.formats._step_values import (
    ABSENT,
    StepItem,
    added,
    decoded_lines,
    raw_text,
    value_of,
    with_usage,
)

NAME = "claude-code"
WRITING = "Write"


CREATED = b'"create"'
SPAWNED = b'"agentId":"'
COST_STATE = b'"cost-state"'
USER = b'"type":"user"'
OWN_ID, PARENT_ID = b'"uuid":"', b'"parentUuid":"'
ID_BYTES = 36
COMPACTION = b'"subtype":"compact_boundary"'
CUT_OFF = (b'"subtype":"api_error"', b'"text":"[Request interrupted by user]"')
"""In lines about an answer that did not come, or not as a whole."""
NOTICES = (COMPACTION, *CUT_OFF)
ENDINGS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal", "model_context_window_exceeded"})
"""Reasons to stop after which the model is not called again by itself."""
CLIENTS_OWN = ("<local-command", "<bash-std")
"""What the client writes as a user's message when a command of its own is done: nothing to be answered."""
WHOLE_BYTES = 64 << 20
"""Files up to this size are searched as a whole."""
OPENING_LINES = 4
"""Lines at the beginning that are all read, for when and where the session began."""


class Lines:
    """The lines with data about a run: the first, the last, and those with a model's message.

    Most of a log is what tools gave back. It is passed over without being cut into lines, so a broken line there is not
    noticed; it contains nothing that is counted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = b""
        self.start = 0
        """The place of the line that was given last, in bytes or lines; places of one file compare."""
        self.counted = 0
        self.writing = False
        """Whether a tool that may create a file has just been called."""
        self.created: list[bytes] = []
        """Lines in which a tool may report a file that it created."""
        self.delegating = False
        """Whether a subagent has just been started."""
        self.spawned: list[bytes] = []
        """Lines in which a tool may report which subagent it started."""
        self._states: list[tuple[int, bytes]] = []
        self._notices: list[tuple[int, bytes]] = []
        self._asked: list[tuple[int, bytes]] = []
        self._own_ids: set[bytes] = set()
        self._parent_ids: set[bytes] = set()

    def is_broken(self, session: str) -> bool:
        """Whether a line of the session follows one that the file lacks."""
        if self.counted:
            return not self._parent_ids <= self._own_ids
        lost = _ids_after(PARENT_ID, self.data) - _ids_after(OWN_ID, self.data)
        name = b'"sessionId":"%s"' % session.encode()
        return any(name in line for parent in lost for _, line in _lines_with(self.data, PARENT_ID + parent))

    def states_from(self, place: int) -> Iterator[tuple[int, bytes]]:
        """Yield lines from a place on that may have the session's totals, with their own places."""
        if self.counted:
            return ((at, line) for at, line in self._states if at >= place)
        return _lines_with(self.data, COST_STATE, place)

    def notices(self, word: bytes, place: int = 0) -> Iterator[bytes]:
        """Yield the lines with one of `NOTICES`, from a place on."""
        if self.counted:
            return (line for at, line in self._notices if at >= place and word in line)
        return (line for _, line in _lines_with(self.data, word, place))

    def asked_from(self, place: int) -> Iterator[bytes]:
        """Yield lines from a place on that may be a user's."""
        if self.counted:
            return (line for at, line in self._asked if at >= place)
        return (line for _, line in _lines_with(self.data, USER, place))

    @property
    def number(self) -> int:
        """The number of the line that was given last; counted only on request."""
        number, at, find = self.counted or 1, -1, self.data.find
        while (at := find(b"\n", at + 1, self.start)) >= 0:  # `count` looks at every byte by itself
            number += 1
        return number

    def __iter__(self) -> Iterator[bytes]:
        if self.path.stat().st_size > WHOLE_BYTES:
            for number, line in numbered_lines(self.path, SHORT_EVENTS):
                self.counted = self.start = number
                self._own_ids |= _ids_after(OWN_ID, line)
                self._parent_ids |= _ids_after(PARENT_ID, line)
                if CREATED in line:
                    self.created.append(line)
                if COST_STATE in line:
                    self._states.append((number, line))
                if USER in line:
                    self._asked = [(number, line)]
                if self.delegating and SPAWNED in line:
                    self.spawned.append(line)
                if any(word in line for word in NOTICES):
                    self._notices.append((number, line))
                yield line
            return
        data = self.data = whole_file(self.path)
        end = len(data)
        while end and data[end - 1] in b" \t\r\n":
            end -= 1
        last = data.rfind(b"\n", 0, end) + 1
        start = 0
        opening = OPENING_LINES
        find = data.find
        while start <= last < end:
            if opening:
                opening -= 1
                if self.delegating or self.writing:
                    self._look_for_results(start, find(b"\n", start, end))
            else:
                hit = find(b'"assistant"', start, last)
                following = (data.rfind(b"\n", start, hit) + 1 or start) if hit >= 0 else last
                if following > start:  # a tool's result precedes the model's next message
                    if self.delegating or self.writing:
                        self._look_for_results(start, following)
                    self.delegating = self.writing = False
                start = following
            stop = find(b"\n", start, end)
            if stop < 0:
                stop = end
            if stop > start:
                self.start = start
                yield data[start:stop]
            start = stop + 1

    def _look_for_results(self, start: int, end: int) -> None:
        if self.writing:
            self.created += [line for _, line in _lines_with(self.data, CREATED, start, end)]
        if self.delegating:
            self.spawned += [line for _, line in _lines_with(self.data, SPAWNED, start, end)]


def _ids_after(key: bytes, data: bytes) -> set[bytes]:
    return {rest[:ID_BYTES].partition(b'"')[0] for rest in data.split(key)[1:]}


def _lines_with(data: bytes, word: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that contain the word, each once, with their starts."""
    end = len(data) if end is None else end
    at = data.find(word, start, end)
    while at >= 0:
        begin, stop = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at, end)
        stop = end if stop < 0 else stop
        yield begin, data[begin:stop]
        at = data.find(word, stop, end)


CHARACTERS_PER_TOKEN = 4
SHORTFALL = 0.5
"""An output count below this fraction of the text's own length in tokens cannot be the final one."""


class Message(msgspec.Struct, gc=False):
    """The provider's message."""

    id: str | None = None
    model: str | None = None
    usage: ClaudeUsage | None = None
    stop_reason: str | None = None
    content: str | list[Block] | None = None


class Fork(msgspec.Struct, gc=False):
    """Where a copied line came from."""

    session: str | None = msgspec.field(name="sessionId", default=None)


class Line(msgspec.Struct, gc=False):
    """What we take of a line."""

    type: str | None = None
    session: str | None = msgspec.field(name="sessionId", default=None)
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    sidechain: bool | None = msgspec.field(name="isSidechain", default=None)
    agent: str | None = msgspec.field(name="agentId", default=None)
    message: Message | None = None
    forked: Fork | None = msgspec.field(name="forkedFrom", default=None)
    is_api_error: bool | None = msgspec.field(name="isApiErrorMessage", default=None)
    api_status: int | None = msgspec.field(name="apiErrorStatus", default=None)


class CallSoFar(msgspec.Struct, gc=False):
    """One model call while its lines are read."""

    first: Line
    last: Message
    usage: ClaudeUsage | None = None
    """The latest that does not fall behind an earlier one."""
    output: int | None = None
    """Its output tokens."""
    final: bool = False
    """Whether the output count is more than the placeholder from the stream's start."""
    characters: int = 0
    """How much text the model wrote, as written in the file; counted until the output count is known to be final."""
    calls_tool: bool = False

    @property
    def is_answer(self) -> bool:
        """Whether the model finished, and waits for no tool.

        Many versions write no reason to stop. The final output count comes with that reason, after all of the content,
        so an answer that has the count and ends with text is finished.
        """
        if self.last.stop_reason is not None:
            return self.last.stop_reason in ENDINGS
        content = self.last.content
        ends_with_text = isinstance(content, list) and bool(content) and content[-1].type == "text"
        return self.final and ends_with_text and not self.calls_tool

    @property
    def is_doubtful(self) -> bool:
        """Whether the output count is a placeholder from the stream's start."""
        return (
            not self.final
            and self.output is not None
            and self.output < SHORTFALL * self.characters / CHARACTERS_PER_TOKEN
        )

    def made(self, id_: str) -> Call:
        """Return the call that its lines report."""
        return Call(
            id=label(id_),
            model=label(self.last.model if self.first.message is None else self.first.message.model),
            at=moment(self.first.timestamp),
            usage=self.usage.disjoint() if self.usage is not None else None,
        )


@dataclass(slots=True)
class SessionSoFar:
    """One session while its lines are read."""

    line: int
    calls: dict[str, CallSoFar] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    began: str = ""
    """The first time of all lines; times of one log are written alike, so they sort as text."""
    ended: str = ""
    place: Line | None = None
    """The first line that names the agent's folder, other than those of calls."""
    created: dict[str, None] = field(default_factory=dict)
    spawned: dict[str, None] = field(default_factory=dict)
    last_call: int = -1
    last: CallSoFar | None = None
    """The call of the last line that has one."""
    states: list[tuple[int, CostState]] = field(default_factory=list)
    """Its totals, with their places in the file."""
    refusal: tuple[int, Line] | None = None
    """The last message that reports a rejected call in place of the model's answer, with its place."""

    def take_other(self, item: Line) -> None:
        """Note the time and folder of a line."""
        if item.timestamp:
            self.ended = max(self.ended, item.timestamp)
            self.began = min(self.began or item.timestamp, item.timestamp)
        if self.place is None and item.cwd:
            self.place = item

    def take_call(self, id_: str, item: Line, message: Message) -> CallSoFar:
        """Takes a line of a model call. Most of the time of reading is spent here, so little is called."""
        time, used = item.timestamp, message.usage
        if time:
            if time > self.ended:  # noqa: PLR1730 # a call for every line
                self.ended = time
            if time < self.began or not self.began:
                self.began = time
        call = self.calls.get(id_)
        if call is None:
            call = self.calls[id_] = CallSoFar(item, message)
        else:
            call.last = message
        if message.stop_reason is not None:
            call.final = True
        if used is not None:
            stated, before = used.output_tokens, call.output
            if before is None or stated is None or stated >= before:
                if before is not None and stated is not None and stated > before:
                    call.final = True
                call.usage, call.output = used, stated
        return call


class ToolResult(msgspec.Struct, gc=False):
    """What a tool reported back to the client."""

    type: str | None = None
    path: str | None = msgspec.field(name="filePath", default=None)
    agent: str | None = msgspec.field(name="agentId", default=None)


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
    for line in (*lines.created, *lines.spawned):
        _note_result(line, sessions)
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
    call = session.last = session.take_call(message.id or f"line {lines.number}", item, message)
    content = message.content
    if not content:
        return
    if isinstance(content, str):
        call.characters += len(content)
        return
    for block in content:
        kind = block.type
        if kind == "tool_use":
            written = block.input
            call.calls_tool = True
            if block.id is not None:
                session.tools[block.id] = None
            name = block.name
            if name == WRITING:
                lines.writing = True
            elif name in DELEGATING:
                lines.delegating = True
        else:
            written = block.text if kind == "text" else block.thinking
        if not call.final and written is not ABSENT:
            call.characters += len(memoryview(written))


def _note_result(line: bytes, sessions: dict[str, SessionSoFar]) -> None:
    """Notes the file that a tool reports to have created, or the subagent that it started, if the line is a report."""
    try:
        report = _RESULT.decode(line)
    except JSON_ERRORS:
        return  # a shape of result without files
    session = sessions.get(report.session or "")
    result = report.result
    if session is not None and isinstance(result, ToolResult):
        if result.type == "create" and result.path:
            session.created[result.path] = None
        if result.agent:
            session.spawned[result.agent] = None


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
    is_subagent = all(line.sidechain for line in firsts) and bool(firsts)
    agents = {line.agent for line in firsts if line.sidechain}
    contains = tuple(session.spawned) if None in agents else tuple(agent for agent in agents if agent)
    place = session.place or next((line for line in firsts if line.cwd), None)
    failure = _failure(session)
    run = run_from(
        format=NAME,
        path=path,
        how={
            "usage": sure,
            "cost_usd": cost_sure,
            "tool_calls": "counted",
            "iterations": "counted",
        },
        id=label(key),
        task=label(key),
        experiment=folder_name(place.cwd if place else None),
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
        conditions=conditions_from(agent_version=place.version if place else None),
    )
    return RunPart(
        run=run,
        path=path,
        line=session.line,
        role="session",
        tool_ids=tuple(session.tools),
        copied=tuple([id_ for id_, call in session.calls.items() if call.first.forked is not None]),
        doubtful=doubtful,
        is_subagent=is_subagent,
        started=() if rows is not None else tuple(session.spawned),
        contains=tuple(sorted(contains)),
        unfinished=_unfinished(key, session, lines, has_account=rows is not None),
        notes=split_contradiction(path, _unsplit(session)),
    )


def _unfinished(key: str, session: SessionSoFar, lines: Lines, *, has_account: bool) -> bool:
    """Whether the session shows no end, or has calls whose tokens are neither in its messages nor in its account."""
    if session.last is None:
        return False
    if not has_account:
        if not session.last.is_answer or not all(call.final for call in session.calls.values()):
            return True
        if _waits(session, lines):
            return True
    since = session.states[-1][0] if has_account else 0
    if any(_is_notice(line) for line in lines.notices(COMPACTION, since)):
        return True
    if any(_is_notice(line) for word in CUT_OFF for line in lines.notices(word)):
        return True
    return not has_account and lines.is_broken(key)


def _waits(session: SessionSoFar, lines: Lines) -> bool:
    """Whether the last thing that a user or a tool said has no answer."""
    last: Line | None = None
    for line in lines.asked_from(session.last_call):
        with suppress(*JSON_ERRORS):
            item = _LINE.decode(line)
            last = item if item.type == "user" else last
    content = last.message.content if last is not None and last.message is not None else None
    return last is not None and not (isinstance(content, str) and content.startswith(CLIENTS_OWN))


class Notice(msgspec.Struct):
    """A line of the client's own, or of a user."""

    type: str | None = None
    subtype: str | None = None
    error: msgspec.Raw = ABSENT


class ApiError(msgspec.Struct):
    """Why a call failed."""

    status: int | None = None


_NOTICE = msgspec.json.Decoder(Notice)
_API_ERROR = msgspec.json.Decoder(ApiError)


def _is_notice(line: bytes) -> bool:
    """Whether the line tells of a call whose tokens are not in the log; one that was rejected used none."""
    try:
        notice = _NOTICE.decode(line)
        if notice.type == "system" and notice.subtype == "api_error" and notice.error is not ABSENT:
            return _API_ERROR.decode(notice.error).status is None
    except JSON_ERRORS:
        return False  # a line that only mentions the word
    return notice.type == "user" or notice.subtype == "compact_boundary"


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


class StepMessage(Message, gc=False):
    """The provider's message with what its steps show."""

    content: str | list[StepBlock] | None = None  # type: ignore[assignment] # blocks are only read


class StepLine(Line, gc=False):
    """What a step shows of a line besides."""

    message: StepMessage | None = None
    subtype: msgspec.Raw = ABSENT
    content: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


_STEP_LINE = msgspec.json.Decoder(StepLine)
INLINE = "sidechain"
"""Subagent of a line that does not name it, as in versions before 2.0."""


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a session. Tokens of a call that grow from line to line are on the lines that add them."""
    seen: dict[str, Usage] = {}
    for item in decoded_lines(path, _STEP_LINE):
        if isinstance(item, Rejected):
            yield item
        elif item[1].session and session in (None, item[1].session):
            yield from _steps_of_line(*item, seen)


def _steps_of_line(number: int, line: StepLine, seen: dict[str, Usage]) -> Iterator[SessionStep]:
    message = line.message
    step = partial(
        SessionStep,
        at=moment(line.timestamp),
        subagent=(line.agent or INLINE) if line.sidechain else None,
        source_line=number,
    )
    if message is None:
        if line.type == "system":
            text = raw_text(line.content)
            if (subtype := value_of(line.subtype)) == "compact_boundary":
                yield step(kind="compaction", role="system", text=text)
            elif subtype == "api_error":
                yield step(kind="error", role="system", text=text or raw_text(line.error))
            elif text is not None:
                yield step(kind="message", role="system", text=text)
    elif message.model == SYNTHETIC and line.type == "assistant":
        text = "\n".join(each.text for each in message_steps(message.content, step, "assistant") if each.text)
        yield step(kind="error" if line.is_api_error else "message", role="system", text=text or None)
    elif line.type == "assistant":
        made = list(message_steps(message.content, partial(step, model=message.model), "assistant"))
        if message.usage is not None and line.forked is None:
            used, key = message.usage.disjoint(), message.id or f"line {number}"
            before = seen.get(key)
            if before is None or (used.output_tokens or 0) >= (before.output_tokens or 0):
                more = added(before, used)
                seen[key] = used
                made = made or [step(kind="message", role="assistant", model=message.model)] * bool(more.total)
                if made and (before is None or more.total):
                    with_usage(made[0], more)
        yield from made
    elif line.type == "user":
        yield from message_steps(message.content, step, "user")


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
    steps=steps,
    quotes_texts=True,
    family="claude",
    leads_family=True,
    precedence="first",
    totals_add_up=True,
    shows_every_tool_call=True,
    kept_by=LogLocations("Claude Code", _places),
)
