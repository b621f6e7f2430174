"""Gemini CLI: its session document, its session lines, and what `--output-format json` and `stream-json` print.

In session lines a later record with the same id replaces the earlier. Input includes cached input; output excludes
thoughts. A subagent has a file of its own in a folder named by its parent's session: `chats/<parent>/<id>.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import document, label, records
from steelyard.records import Call, Count, Rejected, SessionStep, StepRole, Usage, add_usage, moment
from steelyard.sources.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import (
    busiest_model,
    disjoint_usage,
    failure_of,
    run_from,
    span_of,
    tokens_in,
)
from steelyard.sources.formats._step_values import (
    ABSENT,
    StepItem,
    added,
    call_and_result,
    decoded_lines,
    first_with_usage,
    flat_text,
    raw_text,
    value_of,
)

NAME = "gemini-cli"
COMPLETING = "complete_task"
"""The tool that a subagent ends with."""
SNAPSHOT = "<state_snapshot>"
"""Opens the summary that takes the place of a compressed history; the calls that wrote it are in no line."""
ENDING = ("user", "gemini", "error")
"""Messages after which a session may end: one of the user has no answer yet."""


class Tokens(msgspec.Struct):
    """Counts of one message: total = input + output + thoughts + tool."""

    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None
    thoughts: Count | None = None
    tool: Count | None = None
    prompt: Count | None = None
    candidates: Count | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds; what tools put into the prompt is input."""
        stated = self.input if self.prompt is None else self.prompt
        written = self.output if self.candidates is None else self.candidates
        both = None if stated is None else stated + (self.tool or 0)
        usage = disjoint_usage(input_with_cache=both, cache_read=self.cached)
        return msgspec.structs.replace(usage, output_tokens=written, reasoning_tokens=self.thoughts)


class ToolCall(msgspec.Struct):
    """A tool that the model called."""

    id: str | None = None
    name: str | None = None
    args: Any = None  # Any: the tool's own arguments
    status: str | None = None
    agent: str | None = msgspec.field(name="agentId", default=None)
    """The subagent that it started."""
    result: msgspec.Raw = ABSENT


class Message(msgspec.Struct):
    """A message of the session, or in the newer layout any line of it."""

    id: str | None = None
    timestamp: str | None = None
    type: str | None = None
    tokens: Tokens | None = None
    model: str | None = None
    tools: list[ToolCall] | None = msgspec.field(name="toolCalls", default=None)
    session: str | None = msgspec.field(name="sessionId", default=None)
    started: str | None = msgspec.field(name="startTime", default=None)
    kind: str | None = None
    content: Any = None  # Any: text, or parts
    thoughts: msgspec.Raw = ABSENT
    changed: SessionReset | None = msgspec.field(name="$set", default=None)
    rewound_to: str | None = msgspec.field(name="$rewindTo", default=None)


class SessionReset(msgspec.Struct):
    """Fields of the session that a line resets; a compressed or resumed history comes as a whole."""

    messages: list[Message] | None = None


class Session(msgspec.Struct):
    """The session document."""

    session: str = msgspec.field(name="sessionId")
    started: str | None = msgspec.field(name="startTime", default=None)
    updated: str | None = msgspec.field(name="lastUpdated", default=None)
    kind: str | None = None
    messages: list[Message] = []


class Model(msgspec.Struct):
    """What one model did, in the statistics of a run."""

    tokens: Tokens | None = None
    total_tokens: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cached: Count | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds, of either layout; in the newer one thoughts are what is left of the total."""
        if self.tokens is not None:
            return self.tokens.disjoint()
        thoughts = None
        if self.total_tokens is not None and self.input_tokens is not None and self.output_tokens is not None:
            thoughts = self.total_tokens - self.input_tokens - self.output_tokens
        usage = disjoint_usage(input_with_cache=self.input_tokens, cache_read=self.cached)
        reasoning = thoughts if thoughts is not None and thoughts >= 0 else None
        return msgspec.structs.replace(usage, output_tokens=self.output_tokens, reasoning_tokens=reasoning)


class Tools(msgspec.Struct):
    """Counts of tool calls."""

    total: Count | None = msgspec.field(name="totalCalls", default=None)


class Stats(Model):
    """The statistics that end a run, of all models together and of each."""

    models: dict[str, Model] | None = None
    tools: Tools | None = None
    tool_calls: Count | None = None


class Event(msgspec.Struct):
    """A line of `stream-json`, or the whole object of `json`."""

    type: str | None = None
    timestamp: str | None = None
    session: str | None = msgspec.field(name="session_id", default=None)
    model: str | None = None
    status: str | None = None
    tool_id: str | None = None
    stats: Stats | None = None
    error: Any = None  # Any: null, text or an object
    role: str | None = None
    content: msgspec.Raw = ABSENT
    tool_name: str | None = None
    parameters: msgspec.Raw = ABSENT
    output: msgspec.Raw = ABSENT
    response: msgspec.Raw = ABSENT


_SESSION = msgspec.json.Decoder(Session)
_MESSAGE = msgspec.json.Decoder(Message)
_EVENT = msgspec.json.Decoder(Event)


def recognizes(head: Head) -> bool:
    """A session with its project's hash, an `init` event with a model, or a response with statistics."""
    shape = head.shape
    if head.has("sessionId") and ("projectHash" in shape or shape.get("kind") in ("main", "subagent")):
        return True
    if shape.get("type") == "init" and head.has("session_id", "model"):
        return True
    return head.has("response", "stats", "stats.models") and "type" not in shape


def read(path: Path) -> Iterator[ReadItem]:
    """Yield the run of the file, whichever of the four layouts it has."""
    head = head_of(path)
    if head.shape.get("type") == "init":
        yield from _stream(path)
    elif "stats" in head.shape:
        yield _stats_part(path, [document(path, _EVENT)])
    elif "messages" in head.shape:
        session = document(path, _SESSION)
        messages = {m.id or str(n): m for n, m in enumerate(session.messages)}
        yield _session_part(path, session, messages, updated=session.updated)
    else:
        yield from _session_lines(path)


def _session_lines(path: Path) -> Iterator[ReadItem]:
    messages: dict[str, Message] = {}
    opening: Message | None = None
    for item in records(path, _MESSAGE):
        if not isinstance(item, tuple):
            yield item
            continue
        line = item[1]
        if line.session and line.id is None:
            if opening is not None and line.session != opening.session:  # several logs in one file
                yield _session_part(path, opening, messages)
                opening, messages = None, {}
            opening = opening or line
        elif line.changed is not None:
            for message in line.changed.messages or ():  # earlier messages were paid for, even if they are left out now
                if message.id and (message.id not in messages or message.tokens is not None):
                    messages[message.id] = message
        elif line.rewound_to in messages:
            order = list(messages)
            for dropped in order[order.index(str(line.rewound_to)) :]:
                # the conversation goes back, but the calls were made and paid for
                messages[f"rewound {dropped}"] = messages.pop(dropped)
        elif line.id and _used(line) >= _used(messages.get(line.id)):  # an earlier record may be written twice
            messages[line.id] = line
    if opening is None:
        yield Rejected(path=str(path), reason="no line with a session id")
        return
    yield _session_part(path, opening, messages)


def _used(message: Message | None) -> int:
    return tokens_in(message.tokens.disjoint()) if message is not None and message.tokens is not None else 0


def _session_part(
    path: Path,
    opening: Session | Message,
    messages: dict[str, Message],
    *,
    updated: str | None = None,
) -> RunPart:
    """The part of a session, or of a subagent: that belongs to its parent's, which names its folder."""
    own = str(opening.session)
    is_subagent = opening.kind == "subagent"
    answers = [message for message in messages.values() if message.type == "gemini"]
    calls = tuple(
        Call(
            id=label(message.id),
            model=label(message.model),
            at=moment(message.timestamp),
            usage=None if message.tokens is None else message.tokens.disjoint(),
        )
        for message in answers
        if message.tokens is not None or message.model is not None
    )
    tools = {
        tool.id or f"{key} {n}": tool for key, message in messages.items() for n, tool in enumerate(message.tools or ())
    }
    span = span_of((opening.started, updated, *(message.timestamp for message in messages.values())))
    last = next((message for message in reversed(messages.values()) if message.type in ENDING), None)
    trouble = last.content if last is not None and last.type == "error" else None
    part = _part(
        path,
        path.parent.name if is_subagent else own,
        calls,
        tuple(tools),
        span,
        iterations=None if is_subagent else len(calls) or None,
        outcome="not_scored" if trouble is None else "errored",
        failure=None if trouble is None else failure_of(trouble),
    )
    return msgspec.structs.replace(
        part,
        is_subagent=is_subagent,
        started=tuple(dict.fromkeys(tool.agent for tool in tools.values() if tool.agent)),
        contains=(own,) if is_subagent else (),
        unfinished=_unfinished(list(messages.values()), last, is_subagent=is_subagent),
    )


def _unfinished(messages: Sequence[Message], last: Message | None, *, is_subagent: bool) -> bool:
    """Whether the last message has no answer, or an earlier history was compressed by calls that are in no line."""
    if any(SNAPSHOT in str(message.content) for message in messages if message.type == "user") or last is None:
        return True
    names = {tool.name for tool in last.tools or ()}
    if is_subagent:
        return COMPLETING not in names
    # A message is written without its tools, and again with them: until then it is empty.
    return last.type == "user" or bool(names) or not last.content


def _part(
    path: Path, session: str, calls: tuple[Call, ...], tools: tuple[str, ...], times: tuple[Any, Any], **more: Any
) -> RunPart:  # Any: times and fields of a Run
    usage = add_usage(call.usage for call in calls)
    values: dict[str, Any] = {"outcome": "not_scored", "tool_calls": len(tools), **more}
    run = run_from(
        format=NAME,
        path=str(path),
        how={"usage": "reported" if usage else "unknown", "cost_usd": "unknown", "tool_calls": "counted"},
        id=label(session),
        task=label(session) or "gemini",
        agent=NAME,
        model=busiest_model(calls),
        started_at=times[0],
        ended_at=times[1],
        usage=usage,
        calls=calls,
        **values,
    )
    return RunPart(run=run, path=str(path), role="session", tool_ids=tools)


def _stream(path: Path) -> Iterator[ReadItem]:
    runs: list[list[Event]] = []  # a session that is resumed states each part by itself
    for item in records(path, _EVENT):
        if not isinstance(item, tuple):
            yield item
            continue
        event = item[1]
        if not runs or (event.type == "init" and event.session):
            runs.append([])
        runs[-1].append(event)
    for events in runs:
        yield _stats_part(path, events)


def _stats_part(path: Path, events: list[Event]) -> RunPart:
    session = next((event.session for event in events if event.session), None) or path.stem
    ended = next((event for event in reversed(events) if event.stats is not None), None)
    tools = tuple(dict.fromkeys(event.tool_id for event in events if event.type == "tool_use" and event.tool_id))
    span = span_of(event.timestamp for event in events)
    trouble = next((event.error for event in reversed(events) if event.error), None)
    more: dict[str, Any] = {}
    if ended is None or trouble is not None or (ended.status or "success") != "success":
        more = {"outcome": "errored", "failure": failure_of(trouble or "the stream ends without a result")}
    else:
        more["success"] = True
    part = _part(path, session, _model_calls(ended, events), tools, span, **more)
    part = msgspec.structs.replace(part, unfinished="failure" in more)
    counted = ended.stats.tools.total if ended and ended.stats and ended.stats.tools else None
    if counted is None and ended and ended.stats:
        counted = ended.stats.tool_calls
    if counted is None or tools:
        return part
    return msgspec.structs.replace(part, run=msgspec.structs.replace(part.run, tool_calls=counted))


def _model_calls(ended: Event | None, events: list[Event]) -> tuple[Call, ...]:
    if ended is None or ended.stats is None:
        return ()
    if ended.stats.models:
        return tuple(
            Call(model=label(name), usage=m.disjoint(), summed=True) for name, m in sorted(ended.stats.models.items())
        )
    stats = ended.stats
    if stats.input_tokens is None and stats.output_tokens is None:
        return ()
    model = next((event.model for event in events if event.model), None)
    return (Call(model=label(model), usage=stats.disjoint(), summed=True),)


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of the file, whichever of the four layouts it has."""
    head = head_of(path)
    if head.shape.get("type") == "init":
        yield from _stream_steps(path, session)
    elif "stats" in head.shape:
        yield from _answer_steps(document(path, _EVENT))
    elif "messages" in head.shape:
        kept = document(path, _SESSION)
        shown = _ShownMessages(kept.session if kept.kind == "subagent" else None)
        for message in kept.messages:
            yield from shown.take(message, None)
        yield from shown.rest()
    else:
        yield from _line_steps(path)


def _line_steps(path: Path) -> Iterator[StepItem]:
    """Yield the steps of session lines. A message that is written again shows what it has more."""
    shown = _ShownMessages(None)
    for item in decoded_lines(path, _MESSAGE):
        if isinstance(item, Rejected):
            yield item
            continue
        number, line = item
        if line.session and line.id is None:
            shown.subagent = line.session if line.kind == "subagent" else None
        elif line.changed is not None:
            for message in line.changed.messages or ():
                yield from shown.take(message, number)
        elif line.id:
            yield from shown.take(line, number)
    yield from shown.rest()


MESSAGE_ROLES: dict[str | None, StepRole] = {"user": "user", "gemini": "assistant"}


class _ShownMessages:
    """What was shown of each message, by its id. The last one waits, because it may be written again."""

    def __init__(self, subagent: str | None) -> None:
        self.subagent = subagent
        self._tokens: dict[str, Usage] = {}
        self._parts: set[tuple[str, str]] = set()
        self._answered: set[str | None] = set()
        self._last: Message | None = None
        self._held: list[SessionStep] = []
        self._known: dict[str, Any] = {}  # Any: fields of a step

    def take(self, message: Message, number: int | None) -> Iterator[SessionStep]:
        """Take a message; yield the steps of the one before."""
        if self._last is None or message.id is None or message.id != self._last.id:
            yield from self.rest()
        self._last = message
        self._held += self._new(message, number)

    def rest(self) -> list[SessionStep]:
        """Return the steps of the last message, the first with its tokens beyond those that were shown."""
        message, held = self._last, self._held
        self._last, self._held = None, []
        if message is None or message.tokens is None or message.type != "gemini":
            return held
        used, key = message.tokens.disjoint(), message.id or ""
        more = added(self._tokens.get(key), used) if key else used
        self._tokens[key] = used
        return first_with_usage(held, more, **self._known) if more.total else held

    def _is_new(self, message: Message, part: str) -> bool:
        key = (message.id or "", part)
        is_new = message.id is None or key not in self._parts
        self._parts.add(key)
        return is_new

    def _new(self, message: Message, number: int | None) -> list[SessionStep]:
        """Return the steps of what the message has more than before."""
        known: dict[str, Any] = {"at": moment(message.timestamp), "source_line": number, "subagent": self.subagent}
        known |= {"model": message.model} if message.type == "gemini" else {}
        self._known = known
        made: list[SessionStep] = []
        thoughts = value_of(message.thoughts)
        for at, thought in enumerate(thoughts if isinstance(thoughts, list) else ()):
            named = (thought.get("subject"), thought.get("description")) if isinstance(thought, dict) else (thought,)
            text = "\n".join(each for each in named if isinstance(each, str))
            if text and self._is_new(message, f"thought {at}"):
                made.append(SessionStep(kind="message", role="reasoning", text=text, **known))
        content, results = _without_results(message)
        for id_, result in results:  # the message with the call has the result too, in most versions
            if id_ not in self._answered:
                self._answered.add(id_)
                made.append(SessionStep(kind="tool_result", role="tool", call=id_, result=result, **known))
        if content and self._is_new(message, "text"):
            kind: Any = "error" if message.type == "error" else "message"  # Any: a kind of step
            kind = "compaction" if message.type == "user" and SNAPSHOT in content else kind
            role = MESSAGE_ROLES.get(message.type, "system")
            made.append(SessionStep(kind=kind, role="system" if kind != "message" else role, text=content, **known))
        for at, tool in enumerate(message.tools or ()):
            is_done = tool.result is not ABSENT
            steps = call_and_result(
                tool.name,
                tool.id,
                tool.args,
                _tool_text(value_of(tool.result)),
                is_done=is_done,
                is_error=tool.status == "error",
                kind="subagent" if tool.agent else "tool_call",
                **known,
            )
            made += [step for step in steps if self._is_new(message, f"{step.kind} {tool.id or at}")]
            if is_done:
                self._answered.add(tool.id)
        return made


def _without_results(message: Message) -> tuple[str | None, list[tuple[str | None, str | None]]]:
    """Return the text of a message, and the ids and results of the tools that it answers."""
    content = message.content
    blocks = content if isinstance(content, list) else []
    answers = [each["functionResponse"] for each in blocks if isinstance(each, dict) and "functionResponse" in each]
    if not answers:
        return flat_text(content), []
    others = [each for each in blocks if not (isinstance(each, dict) and "functionResponse" in each)]
    known = [each for each in answers if isinstance(each, dict)]
    results = [(label(each.get("id")), _tool_text(each["response"]) if "response" in each else None) for each in known]
    return flat_text(others), results


def _tool_text(result: Any) -> str | None:  # Any: a JSON value
    """Return the text of what tools gave back: their output, or an error."""
    texts = []
    for each in result if isinstance(result, list) else [result]:
        response = each.get("functionResponse", each) if isinstance(each, dict) else each
        inner = response.get("response", response) if isinstance(response, dict) else response
        named = (inner.get("output"), inner.get("error")) if isinstance(inner, dict) else ()
        texts.append(next((value for value in named if isinstance(value, str)), None) or flat_text(inner))
    return "\n".join(filter(None, texts)) or None


def _stream_steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a stream; the pieces of a message are one step."""
    said: list[tuple[int, Event]] = []
    current: str | None = None
    for item in decoded_lines(path, _EVENT):
        if isinstance(item, Rejected):
            yield item
            continue
        number, event = item
        if said and (event.type != "message" or event.role != said[0][1].role):
            yield _said(said)
            said = []
        if event.type == "init":
            current = event.session
        if session not in (None, current):
            continue
        at = moment(event.timestamp)
        if event.type == "message":
            said.append((number, event))
        elif event.type == "tool_use":
            arguments = value_of(event.parameters)
            yield from call_and_result(
                event.tool_name, event.tool_id, arguments, None, is_done=False, at=at, source_line=number
            )
        elif event.type == "tool_result":
            yield SessionStep(
                kind="tool_result",
                role="tool",
                call=event.tool_id,
                result=raw_text(event.output) or flat_text(event.error),
                is_error=event.status == "error",
                at=at,
                source_line=number,
            )
        elif event.type == "error":
            yield SessionStep(kind="error", role="system", text=flat_text(event.error), at=at, source_line=number)
    if said:
        yield _said(said)


def _said(pieces: Sequence[tuple[int, Event]]) -> SessionStep:
    number, first = pieces[0]
    text = "".join(filter(None, (raw_text(event.content) for _, event in pieces)))
    role: StepRole = "user" if first.role == "user" else "assistant"
    return SessionStep(kind="message", role=role, text=text, at=moment(first.timestamp), source_line=number)


def _answer_steps(event: Event) -> Iterator[SessionStep]:
    if text := raw_text(event.response):
        yield SessionStep(kind="message", role="assistant", text=text)
    if event.error:
        yield SessionStep(kind="error", role="system", text=flat_text(event.error))


def _places(home: Path, _environment: Mapping[str, str]) -> list[Path]:
    return [home / ".gemini" / "tmp"]


FORMAT = LogFormat(
    name=NAME,
    title="Gemini CLI sessions (JSON and JSON Lines), `--output-format json` and `stream-json`",
    kind="sessions",
    yields=("calls", "usage by kind", "tool_calls", "iterations", "times", "success"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    precedence="first",
    totals_add_up=True,
    shows_every_tool_call=True,
    kept_by=LogLocations("Gemini CLI", _places),
)
