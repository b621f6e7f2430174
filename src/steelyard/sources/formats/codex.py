"""Codex's rollout logs (`~/.codex/sessions`), of today and of before autumn 2025.

`token_count` events state the thread's cumulative total and repeat it: a call is the difference between two totals, and
the run's tokens are the last total. A forked thread or a subagent replays its parent's history, counters included,
before its own; what is replayed is not counted. A replayed turn began before the thread did: its id or its start shows
so, while the times of the lines may be those of the replay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from steelyard.files import label, records
from steelyard.records import (
    JSON_ERRORS,
    Call,
    Count,
    Failure,
    FailureCause,
    Finding,
    Rejected,
    SessionStep,
    StepRole,
    Usage,
    add_usage,
    moment,
)
from steelyard.sources.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart
from steelyard.sources.formats._run_values import (
    busiest_model,
    conditions_from,
    disjoint_usage,
    failure_of,
    folder_name,
    run_from,
    token_contradiction,
)
from steelyard.sources.formats._step_values import (
    ABSENT,
    StepItem,
    added,
    arguments_of,
    decoded_lines,
    flat_text,
    raw_text,
    value_of,
    with_usage,
)

NAME = "codex"
REPLAY = timedelta(seconds=2)
"""Where turns have no start time: replayed history is written at once, and no model answers so fast."""
CAUSES: dict[str, FailureCause] = {
    "context_window_exceeded": "agent",
    "session_budget_exceeded": "agent",
    "usage_limit_exceeded": "infrastructure",
    "server_overloaded": "infrastructure",
    "internal_server_error": "infrastructure",
    "unauthorized": "infrastructure",
    "http_connection_failed": "infrastructure",
    "response_stream_connection_failed": "infrastructure",
    "response_stream_disconnected": "infrastructure",
    "response_too_many_failed_attempts": "infrastructure",
}
"""What the client calls the error that ended a turn, and whose fault that is."""
LOST = frozenset({"response_stream_disconnected", "response_stream_connection_failed"})
"""Errors of an answer that began and was paid for, and whose tokens were never stated."""
SPAWNING = "spawn_agent"
TOOL_CALLS = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "mcp_tool_call"}
)


class Tokens(msgspec.Struct):
    """Cumulative counts: cached input is part of input, reasoning of output."""

    input_tokens: Count = 0
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count = 0
    reasoning_output_tokens: Count | None = None

    def minus(self, other: Tokens) -> Tokens | None:
        """What came after `other`; None when the counter was started again."""
        rest = [_add(mine, its, sign=-1) for mine, its in zip(_values(self), _values(other), strict=True)]
        return None if any(count is not None and count < 0 for count in rest) else Tokens(*rest)

    def plus(self, other: Tokens) -> Tokens:
        """Both together; a kind that neither states stays unknown."""
        return Tokens(*(_add(a, b) for a, b in zip(_values(self), _values(other), strict=True)))

    def disjoint(self) -> Usage:
        """The same as disjoint kinds."""
        return disjoint_usage(
            input_with_cache=self.input_tokens,
            cache_read=self.cached_input_tokens,
            cache_write=self.cache_write_input_tokens,
            output_with_reasoning=self.output_tokens,
            reasoning=self.reasoning_output_tokens,
        )


def _values(tokens: Tokens) -> tuple[Any, ...]:  # Any: counts, or None for kinds that are not stated
    return msgspec.structs.astuple(tokens)


def _add(a: Any, b: Any, *, sign: int = 1) -> Any:  # Any: as above
    return None if a is None and b is None else (a or 0) + sign * (b or 0)


class Info(msgspec.Struct):
    """The counters of a `token_count` event."""

    total: Tokens | None = msgspec.field(name="total_token_usage", default=None)
    last: Tokens | None = msgspec.field(name="last_token_usage", default=None)
    """Of the last call alone."""

    @property
    def is_of_one_call(self) -> bool:
        """Whether the total is that of one call, as after the counter was started again."""
        return self.total is not None and _is_same(self.total, self.last)


def _is_same(tokens: Tokens, last: Tokens | None) -> bool:
    """Whether the tokens are those of the last call, as far as that is stated."""
    return last is None or (tokens.input_tokens, tokens.output_tokens) == (last.input_tokens, last.output_tokens)


class ErrorInfo(msgspec.Struct):
    """Why a turn failed."""

    message: str | None = None
    kind: Any = msgspec.field(name="codex_error_info", default=None)  # Any: a word, or an object under that word

    @property
    def word(self) -> str:
        """What the client calls it."""
        return str(next(iter(self.kind), "") if isinstance(self.kind, dict) else self.kind)

    def failure(self) -> Failure:
        """The failure, with whose fault it is."""
        word = self.word
        detail = self.kind.get(word) if isinstance(self.kind, dict) else None
        status = detail.get("http_status_code") if isinstance(detail, dict) else None
        return failure_of(self.message or word or None, status=status, otherwise=CAUSES.get(word, "unknown"))


class Payload(msgspec.Struct):
    """What a line is about; every kind of line uses some of these."""

    type: str | None = None
    id: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    model: str | None = None
    call_id: str | None = None
    turn_id: str | None = None
    timestamp: str | None = None
    started_at: Any = None  # Any: seconds since 1970
    info: Info | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    source: Any = None  # Any: a word, or an object that names the parent of a subagent
    reason: Any = None  # Any: why a turn was aborted
    error: ErrorInfo | str | None = None
    message: msgspec.Raw = msgspec.Raw()
    kind: msgspec.Raw = msgspec.field(name="codex_error_info", default=msgspec.Raw())
    thread_id: str | None = None
    response_id: str | None = None
    usage: Tokens | None = None
    thread_token_usage: Tokens | None = None
    changes: Any = None  # Any: files of a patch by path
    name: Any = None  # Any: of a tool
    role: Any = None  # Any: who wrote a message
    output: Any = None  # Any: what a tool gave back
    rate_limits: Any = None  # Any: what the provider says of its limits
    success: Any = None  # Any: whether a patch was applied

    def trouble(self) -> ErrorInfo:
        """Decode an `error` event."""
        try:
            message, kind = (msgspec.json.decode(part) if bytes(part) else None for part in (self.message, self.kind))
        except JSON_ERRORS:
            return ErrorInfo()
        return ErrorInfo(message if isinstance(message, str) else None, kind)


class SpawnResult(msgspec.Struct):
    """What the tool that starts a subagent gives back."""

    agent_id: str | None = None


class Line(msgspec.Struct):
    """A line of either layout; the older one has no payload."""

    timestamp: str | None = None
    ordinal: int | None = None
    type: str | None = None
    payload: Payload | None = None
    id: str | None = None
    call_id: str | None = None
    record_type: str | None = None


class Item(Payload):
    """What a step shows of an item besides."""

    content: msgspec.Raw = ABSENT
    summary: msgspec.Raw = ABSENT
    arguments: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT
    action: msgspec.Raw = ABSENT
    tools: msgspec.Raw = ABSENT


class StepLine(Item):
    """A line with an item, or in the older layout the item itself."""

    ordinal: int | None = None
    payload: Item | None = None
    record_type: str | None = None


class ShellOutput(msgspec.Struct):
    """What clients before 2026 write as the output of a command."""

    output: str
    metadata: dict[str, Any] = {}  # Any: JSON values


_LINE = msgspec.json.Decoder(Line)
_STEP_LINE = msgspec.json.Decoder(StepLine)
_SHELL_OUTPUT = msgspec.json.Decoder(ShellOutput)
_SPAWNED = msgspec.json.Decoder(SpawnResult)


@dataclass(slots=True)
class Thread:
    """One rollout while its lines are read."""

    line: int | None = None
    """The line it begins in, where it is not the first of the file."""
    id: str | None = None
    parent: str | None = None
    replays: bool = False
    """Whether another thread's history precedes this one's own."""
    born: datetime | None = None
    """The second in which the thread was made."""
    turn_is_copied: bool | None = None
    """Whether the turn that is being read is the other thread's; None where turns do not show it."""
    cwd: str | None = None
    version: str | None = None
    model: str | None = None
    first: datetime | None = None
    last: datetime | None = None
    total: Tokens = field(default_factory=Tokens)
    seen: Tokens | None = None
    before_restart: Tokens | None = None
    """The total at which the counter was started again."""
    stated: set[tuple[Any, ...]] = field(default_factory=set)  # Any: a time and counts
    """Each total with the time it was stated at."""
    calls: list[Call] = field(default_factory=list)
    answers: dict[str, tuple[Payload, str | None, datetime | None]] = field(default_factory=dict)
    """What the newest clients write of each answer, with its model and time; used where no running total is stated."""
    tools: dict[str, None] = field(default_factory=dict)
    created: dict[str, None] = field(default_factory=dict)
    failure: Failure | None = None
    turn_failed: bool = False
    """Whether an error ended the turn: newer versions complete it all the same, without a word."""
    is_turn_open: bool | None = None
    """Whether a turn began that did not end; None in logs that do not record turns."""
    unpaid: bool = False
    """Whether the model wrote something since its tokens were last stated."""
    expects_answer: bool = True
    """Whether the model has not yet written a message without calling a tool."""
    lost: bool = False
    """Whether the tokens of an answer were never stated."""
    repeats: int = 0
    """How often a total was repeated although neither an answer nor a new rate limit came before it."""
    compactions: int = 0
    spawning: set[str | None] = field(default_factory=set)
    """Calls that start subagents."""
    spawned: dict[str, None] = field(default_factory=dict)
    """The subagents' threads."""
    ordinals: set[int] = field(default_factory=set)
    """The numbers that newer clients give the lines."""
    is_begun: bool = False
    """Whether it has lines other than those about threads."""

    @property
    def unfinished(self) -> bool:
        """Whether tokens are missing: of an answer that was lost, or of what followed the last line.

        Newer clients state each answer's tokens, and repeat the total when an answer is lost; compacting repeats it
        twice.
        """
        is_lost = self.lost or (bool(self.answers) and self.repeats > 2 * self.compactions)
        is_open = self.expects_answer if self.is_turn_open is None else self.is_turn_open
        lacks_lines = bool(self.ordinals) and len(self.ordinals) <= max(self.ordinals) - min(self.ordinals)
        return is_lost or lacks_lines or self.unpaid or is_open

    def is_followed_by(self, line: Line | StepLine) -> bool:
        """Whether another rollout begins with the line, as where several were written to one file.

        A replayed thread is older than this one, and precedes what this one did itself.
        """
        if line.type == "session_meta" and line.payload is not None:
            other, born = line.payload.id, moment(line.payload.timestamp)
        else:
            other, born = (None if line.type or line.payload else line.id), None
        if self.id is None or other in (None, self.id):
            return False
        if born is not None and self.born is not None and born.replace(microsecond=0) > self.born:
            return True
        return (self.turn_is_copied is False or bool(self.calls)) if self.replays else self.is_begun

    def take(self, line: Line | StepLine) -> None:
        """Takes one line."""
        at = moment(line.timestamp)
        self.is_begun = self.is_begun or line.type != "session_meta"
        if line.ordinal is not None:
            self.ordinals.add(line.ordinal)
        if line.type == "session_meta" and line.payload is not None:
            self._meta(line.payload, at)
        if at is not None and not (self.replays and self.born is not None and at < self.born):
            self.first = min(self.first or at, at)
            self.last = max(self.last or at, at)
        if line.payload is None:
            self._legacy(line)
        elif line.type == "turn_context":
            self.model = line.payload.model or self.model
            self._turn(line.payload)
        elif line.type == "response_item":
            if not self._copied(at):
                self._item(line.payload)
        elif line.type == "compacted":
            self.compactions += not self._copied(at)
        elif line.type == "event_msg":
            self._event(line.payload, at)
        elif line.type == "token_usage_record" and line.payload.thread_id in (None, self.id) and not self._copied(at):
            key = line.payload.response_id or f"answer {len(self.answers)}"
            self.answers.setdefault(key, (line.payload, self.model, at))
            self.unpaid, self.repeats = False, self.repeats - 1

    def _item(self, item: Payload) -> None:
        if item.type in TOOL_CALLS:
            self.tools[item.call_id or item.id or f"line {len(self.tools)}"] = None
            self.unpaid = self.expects_answer = True
            if item.name == SPAWNING:
                self.spawning.add(item.call_id)
        elif item.type == "reasoning" or (item.type == "message" and item.role == "assistant"):
            self.unpaid, self.expects_answer = True, False
        elif item.type == "message" and item.role == "user":
            self.expects_answer = True
        elif item.type == "function_call_output" and item.call_id in self.spawning and isinstance(item.output, str):
            with suppress(*JSON_ERRORS):
                if name := _SPAWNED.decode(item.output).agent_id:
                    self.spawned[name] = None

    def settle(self) -> None:
        """Takes the tokens from the answers where the running total was never stated."""
        if self.calls:
            return
        for answer, model, at in self.answers.values():
            self.model = model
            if answer.usage is not None:
                self._add(answer.usage, at, answer.response_id)
            elif answer.thread_token_usage is not None:
                self._count(Info(answer.thread_token_usage), at)

    def _legacy(self, line: Line | StepLine) -> None:
        if self.id is None and line.id and line.type is None:
            self.id = line.id
        elif line.type in TOOL_CALLS:
            self.tools[line.call_id or line.id or f"line {len(self.tools)}"] = None

    def _meta(self, meta: Payload, at: datetime | None) -> None:
        if self.id is not None:
            self.replays = self.replays or meta.id != self.id  # another is the parent's, copied with its history
            return
        self.id = meta.id
        self.cwd = meta.cwd
        self.version = meta.cli_version
        self.parent = meta.parent_thread_id or _spawned_by(meta.source)
        self.replays = self.parent is not None or meta.forked_from_id is not None
        born = moment(meta.timestamp) or at
        self.born = born.replace(microsecond=0) if born is not None else None

    def _turn(self, turn: Payload) -> None:
        """Notes whether the turn that begins is copied. Own turns follow the copied ones, never the other way round."""
        began = moment(turn.started_at) or _minted(turn.turn_id)
        if began is not None and self.born is not None and self.turn_is_copied is not False:
            self.turn_is_copied = began < self.born

    def _copied(self, at: datetime | None) -> bool:
        """Whether the other thread did this."""
        if not self.replays or self.turn_is_copied is not None:
            return self.replays and bool(self.turn_is_copied)
        return not self.calls and at is not None and self.first is not None and at - self.first <= REPLAY

    def _event(self, event: Payload, at: datetime | None) -> None:
        if event.type == "token_count" and event.info is not None and event.info.total is not None:
            if self._is_repeated(event.info.total, at):
                return
            self._count(event.info, at)
            self.repeats += not _limits_in(event.rate_limits) and not self._copied(at)
        elif event.type == "task_started":
            self.turn_failed = False
            self._turn(event)
            self.is_turn_open = True
        elif self._copied(at):
            self.is_turn_open = None
        elif event.type == "turn_aborted":
            self.lost = True
            reason = str(event.reason) if event.reason is not None else "aborted"
            self.failure = Failure(cause="cancelled", message=reason[:500])
        elif event.type == "error":
            trouble = event.trouble()
            self.failure, self.turn_failed = trouble.failure(), True
            self.lost = self.lost or trouble.word in LOST
        elif event.type == "task_complete":
            self.is_turn_open = False
            if isinstance(event.error, ErrorInfo):
                self.failure = event.error.failure()
                self.lost = self.lost or event.error.word in LOST
            elif not self.turn_failed:
                self.failure = None
        elif event.type == "patch_apply_end" and event.success is not False and isinstance(event.changes, dict):
            for path, change in event.changes.items():
                if isinstance(change, dict) and ("add" in change or change.get("type") == "add"):
                    self.created[path] = None

    def _is_first_own(self, at: datetime | None) -> bool:
        """Whether the count is the first after those of the other thread."""
        return self.replays and not self.calls and not self._copied(at)

    def _is_repeated(self, total: Tokens, at: datetime | None) -> bool:
        """Whether the line is one from further up, written again."""
        key = (at, *_values(total))
        known = key in self.stated
        self.stated.add(key)
        return known and at is not None and total != self.seen

    def _count(self, info: Info, at: datetime | None) -> None:
        total, before = info.total or Tokens(), self.seen
        step = total if before is None else total.minus(before)
        if step is None and info.is_of_one_call:
            self.before_restart, step = before, total
        elif self.before_restart is not None and step is not None and not _is_same(step, info.last):
            step = total.minus(self.before_restart) or step  # the counter that had been started again goes on
            self.lost = True
        elif self._is_first_own(at) and step is not None and info.last and not _is_same(step, info.last):
            step, self.lost = info.last, True  # what is between belongs to the other thread, or to a lost line
        if step is None:
            self.lost = self.lost or not self._copied(at)  # an earlier line, or one of another thread
            return
        self.seen = total
        if not self._copied(at):
            self._add(step, at)

    def _add(self, step: Tokens, at: datetime | None, response: str | None = None) -> None:
        if any(_values(step)):
            self.unpaid = False
            self.total = self.total.plus(step)
            self.calls.append(Call(id=label(response), model=label(self.model), at=at, usage=step.disjoint()))


def _limits_in(stated: Any) -> bool:  # Any: an object with a window for each limit, or null
    """Whether the provider told of its limits, which is also recorded with a total."""
    return isinstance(stated, dict) and any(
        stated.get(name) is not None for name in ("primary", "secondary", "credits")
    )


def _minted(turn: str | None) -> datetime | None:
    """When an id was made, where it is of the kind (UUID version 7) that begins with the time."""
    try:
        made = UUID(turn or "")
    except ValueError:
        return None
    return moment(made.int >> 80) if made.version == 7 else None


def _spawned_by(source: Any) -> str | None:  # Any: a word, or an object that names the parent
    if not isinstance(source, dict):
        return None
    subagent = source.get("subagent")
    spawn = subagent.get("thread_spawn") if isinstance(subagent, dict) else None
    return label(spawn.get("parent_thread_id")) if isinstance(spawn, dict) else None


def recognizes(head: Head) -> bool:
    """A `session_meta` line with its payload, or the older first line followed by bare response items."""
    shape = head.shape
    if shape.get("type") == "session_meta" and "payload" in shape:
        return True
    if head.has("timestamp", "type", "payload") and shape.get("type") in {"response_item", "event_msg", "turn_context"}:
        return True
    if not head.has("id", "timestamp") or "type" in shape or "task" in shape:
        return False
    if head.types & {"message", "function_call", "reasoning"} or any("record_type" in line for line in head.records):
        return True
    return "instructions" in shape and len(head.records) <= 1


def read(path: Path) -> Iterator[ReadItem]:
    """The thread of the file, or the threads where several rollouts were written to it."""
    thread = Thread()
    name = str(path)
    for item in records(path, _LINE):
        if not isinstance(item, tuple):
            yield item
            continue
        if thread.is_followed_by(item[1]):
            yield _ended(thread, name)
            thread = Thread(line=item[0])
        thread.take(item[1])
    yield _ended(thread, name)


def _ended(thread: Thread, name: str) -> ReadItem:
    thread.settle()
    if thread.id is not None:
        return _part(thread, name)
    hint = "the beginning of the file is missing"
    return Rejected(path=name, reason="no session_meta line with a thread id", hint=hint)


MAX_HELD = 64
"""Steps that wait for the tokens of the answer that they are part of."""


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a thread itself, without the history that it replays.

    The tokens of an answer follow its items: they are on the last of these.
    """
    thread, tokens, held = Thread(), _TokensOfSteps(), deque[SessionStep]()
    for item in decoded_lines(path, _STEP_LINE):
        if isinstance(item, Rejected):
            yield item
            continue
        number, line = item
        if thread.is_followed_by(line):
            yield from held
            held.clear()
            thread, tokens = Thread(), _TokensOfSteps()
        thread.take(line)
        at = moment(line.timestamp)
        if session not in (None, thread.id):
            continue
        used = tokens.of(thread)
        if used is not None:
            if not held:
                held.append(_step(thread, at, number, kind="message", role="assistant"))
            with_usage(next((each for each in reversed(held) if each.role in MODEL_ROLES), held[-1]), used)
            yield from held
            held.clear()
        if (step := _step_of(thread, line, at, number)) is not None:
            held.append(step)
            if len(held) > MAX_HELD:
                yield held.popleft()
    yield from held


MODEL_ROLES = frozenset({"assistant", "reasoning"})


@dataclass(slots=True)
class _TokensOfSteps:
    """Tokens that a thread states from line to line."""

    calls: int = 0
    answers: int = 0
    ahead: Usage | None = None
    """Tokens of answers that no running total contains yet."""

    def of(self, thread: Thread) -> Usage | None:
        """Return what was stated since the last line; None if nothing was."""
        used = None
        if len(thread.answers) > self.answers:
            answers = list(islice(thread.answers.values(), self.answers, None))
            self.answers = len(thread.answers)
            if not thread.calls or self.ahead is not None:
                used = add_usage(each.usage.disjoint() for each, _, _ in answers if each.usage is not None)
                self.ahead = add_usage((self.ahead, used))
        if len(thread.calls) > self.calls:
            total = add_usage(call.usage for call in thread.calls[self.calls :])
            self.calls = len(thread.calls)
            used = total if total is None or self.ahead is None else added(self.ahead, total)
            self.ahead = None
        return used if used is not None and used.total else None


def _step(thread: Thread, at: datetime | None, number: int, **fields: Any) -> SessionStep:  # Any: fields of a step
    subagent = None if thread.parent is None else thread.id
    return SessionStep(at=at, model=thread.model, subagent=subagent, source_line=number, **fields)


def _step_of(thread: Thread, line: StepLine, at: datetime | None, number: int) -> SessionStep | None:
    """Return the step of a line; None for a line that states only numbers, or what another line shows too."""
    item = line.payload if line.payload is not None else line
    if thread._copied(at):
        return None
    if line.type in ("response_item", item.type):
        fields = _item_fields(item)
    elif line.type == "compacted":
        fields = {"kind": "compaction", "role": "system", "text": raw_text(item.message)}
    elif line.type == "event_msg" and item.type in ("error", "turn_aborted"):
        text = raw_text(item.message) if item.type == "error" else label(item.reason) or "aborted"
        fields = {"kind": "error", "role": "system", "text": text}
    else:
        fields = None
    return None if fields is None else _step(thread, at, number, **fields)


def _item_fields(item: Item) -> dict[str, Any] | None:  # Any: fields of a step
    """Return what an item gives a step; None if it has nothing to show."""
    if item.type == "message":
        role = ITEM_ROLES.get(str(item.role), "system")
        return {"kind": "message", "role": role, "text": raw_text(item.content)}
    if item.type == "reasoning":
        text = raw_text(item.summary) or raw_text(item.content)
        return None if text is None else {"kind": "message", "role": "reasoning", "text": text}
    if item.type in TOOL_CALLS:
        given = next((raw for raw in (item.arguments, item.input, item.action) if raw is not ABSENT), ABSENT)
        return {
            "kind": "subagent" if item.name == SPAWNING else "tool_call",
            "role": "assistant",
            "tool": label(item.name) or str(item.type).removesuffix("_call"),
            "call": item.call_id or item.id,
            "arguments": arguments_of(value_of(given)),
        }
    if str(item.type).endswith("_output"):
        result, is_error = _output(item)
        return {"kind": "tool_result", "role": "tool", "call": item.call_id, "result": result, "is_error": is_error}
    return None


ITEM_ROLES: dict[str, StepRole] = {"user": "user", "assistant": "assistant"}


def _output(item: Item) -> tuple[str | None, bool]:
    """Return the output of a tool, and whether its command failed."""
    if isinstance(item.output, str) and item.output.startswith("{"):
        with suppress(*JSON_ERRORS):
            shell = _SHELL_OUTPUT.decode(item.output)
            return shell.output, shell.metadata.get("exit_code") not in (None, 0)
    return flat_text(item.output) if item.output is not None else raw_text(item.tools), item.success is False


def _part(thread: Thread, path: str) -> RunPart:
    usage = thread.total.disjoint() if thread.calls else None
    notes: tuple[Finding, ...] = ()
    if usage is not None:
        notes = token_contradiction(path, usage, stated_input=thread.total.input_tokens)
    run = run_from(
        format=NAME,
        path=path,
        how={
            "usage": "lower_bound" if notes else "reported" if usage else "unknown",
            "cost_usd": "unknown",
            "tool_calls": "counted",
        },
        id=label(thread.id),
        task=label(thread.id),
        experiment=folder_name(thread.cwd),
        agent=NAME,
        model=busiest_model(thread.calls) or label(thread.model),
        started_at=thread.first,
        ended_at=thread.last if thread.last != thread.first else None,
        outcome="errored" if thread.failure and thread.failure.cause != "cancelled" else "not_scored",
        failure=thread.failure,
        usage=usage,
        calls=tuple(thread.calls),
        tool_calls=len(thread.tools),
        iterations=max(len(thread.calls) - thread.compactions, 0) or None,
        files_created=tuple(thread.created),
        conditions=conditions_from(agent_version=thread.version),
    )
    return RunPart(
        run=run,
        path=path,
        line=thread.line,
        role="session",
        tool_ids=tuple(thread.tools),
        parent=label(thread.parent),
        started=tuple(thread.spawned),
        unfinished=thread.unfinished,
        notes=notes,
    )


def _places(home: Path, environment: Mapping[str, str]) -> list[Path]:
    folder = Path(environment.get("CODEX_HOME") or home / ".codex")
    return [folder / "sessions", folder / "archived_sessions"]


FORMAT = LogFormat(
    name=NAME,
    title="Codex rollout logs (current and older layouts)",
    kind="sessions",
    yields=("calls", "usage by kind", "tool_calls", "iterations", "files_created", "times"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    quotes_texts=True,
    family="codex",
    precedence="first",
    kept_by=LogLocations("Codex", _places),
)
