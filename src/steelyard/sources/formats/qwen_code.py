"""Qwen Code: the chat that it keeps, and what `--output-format json` and `stream-json` print.

The envelope is like Claude Code's, the numbers are OpenAI's: input includes cached input, output includes thoughts.
When every request failed, the printed result still reports success, with 0 tokens.

The chat's own telemetry records every call, those of subagents and of compression too; messages record the main
agent's alone. A subagent's file repeats calls that the chat of its session has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import document, label, records
from steelyard.records import Call, Count, Failure, Rejected, SessionStep, StepRole, Usage, add_usage, moment
from steelyard.sources.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import (
    busiest_model,
    conditions_from,
    disjoint_usage,
    failure_of,
    folder_name,
    run_from,
    span_of,
    tokens_in,
)
from steelyard.sources.formats._step_values import (
    ABSENT,
    StepItem,
    arguments_of,
    decoded_lines,
    first_with_usage,
    flat_text,
    raw_text,
    value_of,
)

NAME = "qwen-code"
LAUNCHED = "Background agent launched"
"""In what the tool that starts a subagent gives back at once, where the subagent goes on by itself."""


def _disjoint(
    prompt: int | None, cached: int | None, answer: int | None, thoughts: int | None, total: int | None
) -> Usage:
    """Disjoint kinds; a total that has the thoughts on top, as Gemini's has, shows that the answer excludes them."""
    apart = None not in (prompt, answer, thoughts, total) and total == (prompt or 0) + (answer or 0) + (thoughts or 0)
    usage = disjoint_usage(
        input_with_cache=prompt,
        cache_read=cached,
        output_with_reasoning=None if apart else answer,
        reasoning=thoughts,
    )
    return msgspec.structs.replace(usage, output_tokens=answer) if apart and thoughts else usage


class Metadata(msgspec.Struct, rename="camel"):
    """Counts of one call."""

    prompt_token_count: Count | None = None
    candidates_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    total_token_count: Count | None = None
    cached_content_token_count: Count | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds."""
        return _disjoint(
            self.prompt_token_count,
            self.cached_content_token_count,
            self.candidates_token_count,
            self.thoughts_token_count,
            self.total_token_count,
        )


class FunctionCall(msgspec.Struct):
    """A tool that the model called."""

    id: str | None = None
    name: msgspec.Raw = ABSENT
    args: msgspec.Raw = ABSENT


class FunctionResponse(msgspec.Struct):
    """What a tool gave back."""

    id: str | None = None
    response: Any = None  # Any: an object of the tool


class Part(msgspec.Struct):
    """A piece of a message, in the chat or in what is printed."""

    call: FunctionCall | None = msgspec.field(name="functionCall", default=None)
    answer: FunctionResponse | None = msgspec.field(name="functionResponse", default=None)
    text: Any = None  # Any: text
    type: str | None = None
    id: str | None = None
    name: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT
    thought: msgspec.Raw = ABSENT
    thinking: msgspec.Raw = ABSENT
    content: msgspec.Raw = ABSENT
    tool_use_id: msgspec.Raw = ABSENT
    is_error: msgspec.Raw = ABSENT

    @property
    def tool(self) -> str | None:
        """The id of the tool call that it is."""
        return self.call.id if self.call else self.id if self.type == "tool_use" else None


class Total(msgspec.Struct):
    """What a run came to, without the thoughts among its output; newer versions state it in place of each model's."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds."""
        return _disjoint(self.input_tokens, self.cache_read_input_tokens, self.output_tokens, None, None)


class Message(msgspec.Struct):
    """A message."""

    parts: list[Part] | None = None
    content: str | list[Part] | None = None
    model: str | None = None
    usage: Total | None = None


class UiEvent(msgspec.Struct):
    """What the client noticed: a call again, or an error."""

    name: str | None = msgspec.field(name="event.name", default=None)
    error_message: Any = None  # Any: text
    status_code: Any = None  # Any: a number or text
    response: str | None = msgspec.field(name="response_id", default=None)
    model: str | None = None
    input_token_count: Count | None = None
    output_token_count: Count | None = None
    cached_content_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    total_token_count: Count | None = None

    @property
    def used(self) -> Metadata:
        """Its counts, as a message has them."""
        return Metadata(
            prompt_token_count=self.input_token_count,
            candidates_token_count=self.output_token_count,
            thoughts_token_count=self.thoughts_token_count,
            total_token_count=self.total_token_count,
            cached_content_token_count=self.cached_content_token_count,
        )


class Payload(msgspec.Struct):
    """What a line of the client's own holds."""

    event: UiEvent | None = msgspec.field(name="uiEvent", default=None)


class Tokens(msgspec.Struct):
    """Counts of a model over the whole run."""

    prompt: Count | None = None
    candidates: Count | None = None
    cached: Count | None = None
    thoughts: Count | None = None
    total: Count | None = None


class Model(msgspec.Struct):
    """What one model did."""

    tokens: Tokens = msgspec.field(default_factory=Tokens)


class Tools(msgspec.Struct, rename="camel"):
    """Counts of tool calls."""

    total_calls: Count | None = None


class Stats(msgspec.Struct):
    """The statistics that end a run."""

    models: dict[str, Model] = {}
    tools: Tools | None = None


class Event(msgspec.Struct, kw_only=True):
    """A line of the chat, or an event that is printed: the latter writes its names with underscores."""

    type: str
    subtype: str | None = None
    uuid: str | None = None
    follows: str | None = msgspec.field(name="parentUuid", default=None)
    session: str | None = msgspec.field(name="sessionId", default=None)
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    printed_version: str | None = msgspec.field(name="qwen_code_version", default=None)
    model: str | None = None
    message: Message | None = None
    used: Metadata | None = msgspec.field(name="usageMetadata", default=None)
    payload: Payload | None = msgspec.field(name="systemPayload", default=None)
    is_error: bool | None = None
    result: Any = None  # Any: text
    duration_ms: float | None = None
    parent: str | None = msgspec.field(name="parent_tool_use_id", default=None)
    """The call that started the subagent whose event it is."""
    stats: Stats | None = None
    usage: Total | None = None
    sidechain: bool | None = msgspec.field(name="isSidechain", default=None)
    agent: str | None = msgspec.field(name="agentId", default=None)
    """The subagent whose chat it is."""
    provenance: str | None = None

    @property
    def noticed(self) -> UiEvent:
        """What the client noticed."""
        return (self.payload.event if self.payload else None) or UiEvent()


_EVENT = msgspec.json.Decoder(Event)
_EVENTS = msgspec.json.Decoder(list[Event])


def recognizes(head: Head) -> bool:
    """Lines whose messages have parts or whose payload is the client's, or events that name the version."""
    if head.has("[].qwen_code_version") or head.has("qwen_code_version"):
        return True
    if not head.has("uuid", "parentUuid", "sessionId", "version"):
        return False
    return any("systemPayload" in record or _has_parts(record.get("message")) for record in head.records)


def _has_parts(message: Any) -> bool:  # Any: a JSON value
    return isinstance(message, dict) and "parts" in message


def read(path: Path) -> Iterator[ReadItem]:
    """One part per session in the file."""
    sessions: dict[str, dict[str, Event]] = {}  # by their ids, for a line may be written twice
    listed = head_of(path).text.startswith(b"[")
    for item in ((0, event) for event in document(path, _EVENTS)) if listed else records(path, _EVENT):
        if not isinstance(item, tuple):
            yield item
        elif name := label(item[1].session or item[1].session_id):
            own = sessions.setdefault(name, {})
            own.setdefault(item[1].uuid or f"event {len(own)}", item[1])
    for name, each in sessions.items():
        events = list(each.values())
        printed = any(event.session_id for event in events)
        yield (_printed if printed else _kept)(name, events, str(path))


def _kept(session: str, events: list[Event], path: str) -> RunPart:
    calls = tuple(_calls(events))
    answers = [event for event in events if event.type == "assistant"]
    is_subagent = any(event.sidechain for event in events)
    started, ended = span_of(event.timestamp for event in events)
    last = next((event for event in reversed(events) if event.type in ("user", "assistant", "tool_result")), None)
    part = _part(
        session,
        events,
        path,
        failure=None if is_subagent else _last_error(events),
        calls=() if is_subagent else calls,
        experiment=folder_name(next((event.cwd for event in events if event.cwd), None)),
        started_at=started,
        ended_at=ended,
        iterations=None if is_subagent else len(answers) or None,
    )
    waits = last is None or last.type != "assistant" or any(_tools(last.message))
    return msgspec.structs.replace(
        part, is_subagent=is_subagent, unfinished=waits or bool(_working(events)) or _lost(events) or _lacks(events)
    )


def _lacks(events: list[Event]) -> bool:
    """Whether the chat lacks lines that others follow."""
    known = {event.uuid for event in events}
    return any(event.follows is not None and event.follows not in known for event in events)


def _lost(events: list[Event]) -> bool:
    """Whether an answer was cut off; one that the provider rejected, with a status, used no tokens."""
    noticed = [event.noticed for event in events]
    return any((notice.name or "").endswith(".api_error") and notice.status_code is None for notice in noticed)


def _working(events: list[Event]) -> set[str]:
    """The calls that started subagents in the background which have not ended here."""
    working: set[str] = set()
    for event in events:
        for piece in (event.message.parts if event.message else None) or ():
            if piece.answer is not None and LAUNCHED in str(piece.answer.response):
                working.add(str(piece.answer.id))
            elif event.type == "user" and isinstance(piece.text, str) and piece.text.startswith("<task-notification>"):
                working -= {call for call in working if f"<tool-use-id>{call}<" in piece.text}
    return working


def _calls(events: list[Event]) -> Iterator[Call]:
    """Each call that the client noticed, under the id of the message that it became; and messages without one."""
    open_: list[tuple[Event, Metadata]] = []
    for event in events:
        noticed = event.noticed
        if (noticed.name or "").endswith(".api_response"):
            open_.append((event, noticed.used))
        elif event.type == "assistant":
            used = event.used
            same = next((pair for pair in open_ if used is not None and _same(pair[1], used)), None)
            if same is not None:
                open_.remove(same)
            if used is not None:
                yield _call(event.uuid, event.model, event, used)
    for event, used in open_:
        yield _call(event.noticed.response or event.uuid, event.noticed.model, event, used)


def _same(a: Metadata, b: Metadata) -> bool:
    return (a.prompt_token_count, a.candidates_token_count) == (b.prompt_token_count, b.candidates_token_count)


def _call(id_: str | None, model: str | None, event: Event, used: Metadata) -> Call:
    return Call(id=label(id_), model=label(model), at=moment(event.timestamp), usage=used.disjoint())


def _printed(session: str, events: list[Event], path: str) -> RunPart:
    """What was printed names its messages not as the chat does, so its calls are sums, which the chat itemizes."""
    ended = next((event for event in reversed(events) if event.type == "result"), None)
    models = ended.stats.models if ended is not None and ended.stats is not None else {}
    answers = [event for event in events if event.type == "assistant"]
    calls = tuple(
        Call(model=label(name), usage=usage, summed=True)
        for name, model in sorted(models.items())
        if tokens_in(usage := _of_model(model.tokens))
    )
    if not models and ended is not None and ended.usage is not None and tokens_in(usage := ended.usage.disjoint()):
        model = next((name for event in events if (name := label(event.model)) or (name := _model_of(event))), None)
        calls = (Call(model=model, usage=usage, summed=True),)
    failure = failure_of("the stream ends without a result") if ended is None else None
    stated = bool(models) or (ended is not None and ended.usage is not None)
    if ended is not None and (ended.is_error or (stated and not calls)):
        failure = failure_of(ended.result)
    milliseconds = ended.duration_ms if ended is not None else None
    seconds = milliseconds / 1000 if milliseconds is not None and milliseconds >= 0 else None
    part = _part(
        session,
        events,
        path,
        failure=failure,
        calls=calls,
        usage=add_usage(call.usage for call in calls),
        duration_seconds=seconds,
        iterations=len([event for event in answers if event.parent is None]) or None,
        success=None if ended is None else failure is None,
    )
    used = [event.message.usage for event in answers if event.message is not None]
    lost = any(counts is not None and not counts.input_tokens for counts in used)
    lost = lost or any(event.type == "system" and event.subtype == "retry" for event in events)
    return msgspec.structs.replace(part, unfinished=ended is None or lost)


def _model_of(event: Event) -> str | None:
    return label(event.message.model) if event.message is not None else None


def _of_model(tokens: Tokens) -> Usage:
    return _disjoint(tokens.prompt, tokens.cached, tokens.candidates, tokens.thoughts, tokens.total)


def _part(
    session: str, events: list[Event], path: str, *, failure: Failure | None, calls: tuple[Call, ...], **fields: Any
) -> RunPart:  # Any: fields of a Run
    tools = dict.fromkeys(tool for event in events for tool in _tools(event.message))
    run = run_from(
        format=NAME,
        path=path,
        how={"usage": "reported" if calls else "unknown", "cost_usd": "unknown", "tool_calls": "counted"},
        id=session,
        task=session,
        agent=NAME,
        model=busiest_model(calls) or next((name for event in events if (name := label(event.model))), None),
        outcome="errored" if failure else "not_scored",
        failure=failure,
        calls=calls,
        tool_calls=len(tools),
        conditions=conditions_from(
            agent_version=next((v for e in events if (v := e.version or e.printed_version)), None)
        ),
        **fields,
    )
    return RunPart(run=run, path=path, role="session", tool_ids=tuple(tools))


def _tools(message: Message | None) -> Iterator[str]:
    if message is not None:
        pieces = message.parts or (message.content if isinstance(message.content, list) else ())
        yield from (piece.tool for piece in pieces if piece.tool)


def _last_error(events: list[Event]) -> Failure | None:
    """The error of a request that no answer followed."""
    for event in reversed(events):
        if event.type == "assistant":
            return None
        noticed = event.noticed
        if (noticed.name or "").endswith(".api_error"):
            return failure_of(noticed.error_message, status=noticed.status_code)
    return None


SPAWNING = frozenset({"agent", "task"})
MAX_OPEN = 64
"""Calls that wait for the message that they became."""


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a session. Calls that became no message, as those of subagents, are empty messages."""
    if head_of(path).text.startswith(b"["):
        for event in document(path, _EVENTS):
            if session in (None, event.session or event.session_id):
                yield from _event_steps(None, event, None)
        return
    noticed: list[tuple[int, Event, Metadata]] = []
    for item in decoded_lines(path, _EVENT):
        if isinstance(item, Rejected):
            yield item
            continue
        number, event = item
        if session not in (None, event.session or event.session_id):
            continue
        if (event.noticed.name or "").endswith(".api_response"):
            noticed.append((number, event, event.noticed.used))
            if len(noticed) > MAX_OPEN:
                yield _unseen(*noticed.pop(0))
            continue
        used = event.used if event.type == "assistant" else None
        if used is not None:
            same = next((each for each in noticed if _same(each[2], used)), None)
            if same is not None:
                noticed.remove(same)
        counts = None if event.sidechain or used is None else used.disjoint()
        yield from _event_steps(number, event, counts)
    for each in noticed:
        yield _unseen(*each)


def _unseen(number: int, event: Event, used: Metadata) -> SessionStep:
    """Return the step of a call that no message shows."""
    at, model = moment(event.timestamp), event.noticed.model
    return SessionStep(kind="message", role="assistant", at=at, model=model, usage=used.disjoint(), source_line=number)


def _event_steps(number: int | None, event: Event, used: Usage | None) -> list[SessionStep]:
    subagent = event.agent if event.sidechain else event.parent
    known: dict[str, Any] = {"at": moment(event.timestamp), "source_line": number, "subagent": subagent}
    noticed, message = event.noticed, event.message
    if (noticed.name or "").endswith(".api_error"):
        return [SessionStep(kind="error", role="system", text=flat_text(noticed.error_message), **known)]
    if event.subtype == "chat_compression":
        return [SessionStep(kind="compaction", role="system", **known)]
    if event.type == "result" and event.is_error:
        return [SessionStep(kind="error", role="system", text=flat_text(event.result), **known)]
    if message is None or event.type not in ("user", "assistant", "tool_result"):
        return []
    known |= {"model": event.model or message.model} if event.type == "assistant" else {}
    content = message.parts if message.parts is not None else message.content
    author: StepRole = "assistant" if event.type == "assistant" else "user"
    if isinstance(content, str):
        return first_with_usage([SessionStep(kind="message", role=author, text=content, **known)], used, **known)
    made = [step for piece in content or () if (step := _piece_step(piece, author, known)) is not None]
    return first_with_usage(made, used, **known)


def _piece_step(piece: Part, author: StepRole, known: dict[str, Any]) -> SessionStep | None:  # Any: fields of a step
    if piece.call is not None or piece.type == "tool_use":
        name = value_of(piece.name if piece.call is None else piece.call.name)
        given = value_of(piece.input if piece.call is None else piece.call.args)
        return SessionStep(
            kind="subagent" if name in SPAWNING else "tool_call",
            role="assistant",
            tool=label(name) or "tool",
            call=piece.tool,
            arguments=arguments_of(given),
            **known,
        )
    if piece.answer is not None or piece.type == "tool_result":
        response = piece.answer.response if piece.answer is not None else value_of(piece.content)
        error = response.get("error") if isinstance(response, dict) else None
        return SessionStep(
            kind="tool_result",
            role="tool",
            call=piece.answer.id if piece.answer is not None else label(value_of(piece.tool_use_id)),
            result=flat_text(error) or flat_text(response),
            is_error=error is not None or value_of(piece.is_error) is True,
            **known,
        )
    thought = raw_text(piece.thinking)
    text = thought or flat_text(piece.text)
    is_thought = thought is not None or value_of(piece.thought) is True
    if text is None:
        return None
    return SessionStep(kind="message", role="reasoning" if is_thought else author, text=text, **known)


def _places(home: Path, _environment: Mapping[str, str]) -> list[Path]:
    return [home / ".qwen" / "projects"]


FORMAT = LogFormat(
    name=NAME,
    title="Qwen Code chats, `--output-format json` and `stream-json`",
    kind="sessions",
    yields=("calls", "usage by kind", "tool_calls", "iterations", "times", "success"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    quotes_texts=True,
    precedence="first",
    shows_every_tool_call=True,
    kept_by=LogLocations("Qwen Code", _places),
)
