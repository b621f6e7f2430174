"""Cline CLI: a session and its messages, what `--json` prints, and the task files of the extension (and its kin).

What its input includes follows the provider: cached input too, but for Anthropic's. Reasoning is part of the output. A
cost of 0 means that no price was known. Printed output does not name the session; its tool calls identify it.

A session's totals are the main agent's; a subagent has messages of its own, in the folder of the session. Of a
compaction only the compacted messages are kept, without what it used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from steelyard.files import document, label
from steelyard.records import (
    JSON_ERRORS,
    Amount,
    Call,
    Count,
    Failure,
    FailureCause,
    Rejected,
    SessionStep,
    StepKind,
    StepRole,
    Usage,
    add_usage,
    moment,
    sum_in_order,
)
from steelyard.sources.formats._claude import StepBlock, message_steps
from steelyard.sources.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import (
    all_records,
    busiest_model,
    disjoint_usage,
    failure_of,
    folder_name,
    run_from,
    span_of,
    stated_cost,
    tokens_in,
)
from steelyard.sources.formats._step_values import (
    ABSENT,
    StepItem,
    arguments_of,
    call_and_result,
    decoded_lines,
    first_with_usage,
    flat_text,
    raw_text,
    value_of,
)

NAME = "cline"
SPAWNING = "spawn_agent"
TEAM = "team_run_task"
COMPACTED = ".compaction.json"
KIN = {"roo-code": "roo-c", "kilo-code": "kilocode"}
"""Extensions made from Cline's that keep the same task files, and the word in their folders' names."""
ENDINGS: dict[str, FailureCause | None] = {
    "completed": None,
    "running": None,
    "aborted": "cancelled",
    "cancelled": "cancelled",
    "max_iterations": "agent",
}
"""How a session or a run can end, and whose fault it is if it broke off."""


class Tokens(msgspec.Struct, rename="camel"):
    """Counts of a call, or of a whole session."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    total_cost: Amount | None = None

    def disjoint(self, provider: str | None) -> Usage:
        """Disjoint kinds."""
        cached = (self.cache_read_tokens or 0) + (self.cache_write_tokens or 0)
        if (provider or "").startswith("anthropic") or (self.input_tokens is not None and cached > self.input_tokens):
            return Usage(
                input_tokens=self.input_tokens,
                output_tokens=self.output_tokens,
                cache_read_tokens=self.cache_read_tokens,
                cache_write_5m_tokens=self.cache_write_tokens,
            )
        return disjoint_usage(
            input_with_cache=self.input_tokens,
            cache_read=self.cache_read_tokens,
            cache_write=self.cache_write_tokens,
            output_with_reasoning=self.output_tokens,
        )


class Metadata(msgspec.Struct, rename="camel"):
    """What a session came to, its subagents included."""

    usage: Tokens | None = None
    aggregate_usage: Tokens | None = None


class Origin(msgspec.Struct, rename="camel"):
    """Whose messages they are."""

    parent_thread_id: str | None = None


class Session(msgspec.Struct):
    """The session's own file."""

    session_id: str
    started_at: str | None = None
    ended_at: str | None = None
    exit_code: int | None = None
    status: str | None = None
    provider: str | None = None
    model: str | None = None
    cwd: str | None = None
    metadata: Metadata | None = None


class ModelInfo(msgspec.Struct, rename="camel"):
    """Which model answered."""

    id: str | None = None
    provider: str | None = None
    model_id: str | None = None
    provider_id: str | None = None


class Message(msgspec.Struct, rename="camel"):
    """A message; only the assistant's have counts."""

    id: str | None = None
    role: str | None = None
    content: str | list[StepBlock] | None = None
    ts: float | None = None
    model_info: ModelInfo | None = None
    metrics: Tokens | None = None


class Messages(msgspec.Struct):
    """The session's messages."""

    session: str = msgspec.field(name="sessionId")
    origin: Origin | None = None
    messages: list[Message] = []


class Compaction(msgspec.Struct):
    """The messages that took the place of earlier ones."""

    source_message_count: int


class AgentEvent(msgspec.Struct, rename="camel"):
    """What the agent did."""

    type: str | None = None
    tool_call_id: str | None = None
    content_type: msgspec.Raw = ABSENT
    tool_name: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT
    output: msgspec.Raw = ABSENT
    text: msgspec.Raw = ABSENT
    error: Any = None  # Any: text or an object
    message: Any = None  # Any: text
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None

    @property
    def used(self) -> Tokens:
        """The tokens of a call, which an event of type `usage` states."""
        return Tokens(self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)


class Event(msgspec.Struct, rename="camel"):
    """A line that is printed; the last sums the run up."""

    type: str
    ts: str | None = None
    event: AgentEvent | None = None
    finish_reason: str | None = None
    iterations: Count | None = None
    usage: Tokens | None = None
    aggregate_usage: Tokens | None = None
    model: ModelInfo | None = None
    text: Any = None  # Any: the answer, or an error's text


class Request(msgspec.Struct, rename="camel"):
    """What a request of the extension came to: JSON in a message's text."""

    tokens_in: Count | None = None
    tokens_out: Count | None = None
    cache_reads: Count | None = None
    cache_writes: Count | None = None
    cost: Amount | None = None
    api_protocol: str | None = None
    model: str | None = None
    cancel_reason: str | None = None
    streaming_failed_message: str | None = None


class TaskMessage(msgspec.Struct, rename="camel"):
    """A message of the extension's task file."""

    ts: Any = None  # Any: milliseconds, or ISO text
    say: str | None = None
    ask: str | None = None
    text: str | None = None
    model_info: ModelInfo | None = None


_SESSION = msgspec.json.Decoder(Session)
_MESSAGES = msgspec.json.Decoder(Messages)
_COMPACTION = msgspec.json.Decoder(Compaction)
_EVENT = msgspec.json.Decoder(Event)
_TASK = msgspec.json.Decoder(list[TaskMessage])
_REQUEST = msgspec.json.Decoder(Request)


def recognizes(head: Head) -> bool:
    """A session that names its messages' file, messages with their origin, printed events, or a task's messages."""
    if head.has("session_id", "provider", "status") and "messages_path" in head.shape:
        return True
    if head.has("sessionId", "origin", "messages", "updated_at"):
        return True
    if head.has("source_message_count", "messages", "updated_at"):
        return True
    if head.shape.get("type") in ("hook_event", "agent_event", "run_result") and "ts" in head.shape:
        return True
    return head.has("[].ts", "[].type") and ("[].say" in head.shape or "[].ask" in head.shape)


def read(path: Path) -> Iterator[ReadItem]:
    """Yield the session or task of the file."""
    shape = head_of(path).shape
    if "session_id" in shape:
        yield _session(document(path, _SESSION), path)
    elif "sessionId" in shape:
        yield _messages(document(path, _MESSAGES), path)
    elif "source_message_count" in shape:
        document(path, _COMPACTION)
        session = label(path.name.removesuffix(COMPACTED))
        yield replace(_part(path, None, id=session, task=session or NAME), started=("compaction",))
    elif "[].ts" in shape:
        yield _task(document(path, _TASK), path)
    else:
        events = yield from all_records(path, _EVENT)
        if events:
            yield _printed(events, path)


def _session(session: Session, path: Path) -> RunPart:
    metadata = session.metadata or Metadata()
    total = metadata.aggregate_usage or metadata.usage
    usage = _counted(total, session.provider)
    failure = _ending(session.status, f"status {session.status}, exit code {session.exit_code}")
    started, ended = moment(session.started_at), moment(session.ended_at)
    part = _part(
        path,
        total.total_cost if total else None,
        id=label(session.session_id),
        task=label(session.session_id) or NAME,
        experiment=folder_name(session.cwd),
        model=label(session.model),
        started_at=started,
        ended_at=ended if started is None or ended is None or ended >= started else None,
        failure=failure,
        usage=usage,
        calls=(Call(model=label(session.model), usage=usage, summed=True),) if usage else (),
        success=None if session.exit_code is None else session.exit_code == 0,
    )
    return replace(part, unfinished=session.status != "completed")


def _counted(total: Tokens | None, provider: str | None) -> Usage | None:
    """The tokens; zeros are what a session that never got an answer leaves."""
    usage = total.disjoint(provider) if total else None
    return usage if usage and usage.total else None


def _messages(kept: Messages, path: Path) -> RunPart:
    """The part of a session, or of a subagent, whose messages name the session that started it."""
    parent = label(kept.origin.parent_thread_id) if kept.origin else None
    answers = [message for message in kept.messages if message.role == "assistant"]
    calls = tuple(
        Call(
            id=label(message.id),
            model=label(message.model_info.id) if message.model_info else None,
            at=moment(message.ts),
            usage=message.metrics.disjoint(message.model_info.provider if message.model_info else None)
            if message.metrics is not None
            else None,
        )
        for message in answers
        if message.metrics is not None or message.model_info is not None
    )
    blocks = [block for message in kept.messages for block in message.content or () if isinstance(block, StepBlock)]
    used = [block for block in blocks if block.type == "tool_use"]
    spawned = sum(block.name == SPAWNING for block in used)
    started, ended = span_of(message.ts for message in kept.messages)
    part = _part(
        path,
        None,
        tuple(dict.fromkeys(block.id for block in used if block.id)),
        id=parent or label(kept.session),
        task=parent or label(kept.session) or NAME,
        started_at=started,
        ended_at=ended,
        calls=calls,
        usage=add_usage(call.usage for call in calls),
        iterations=None if parent else len(calls) or None,
    )
    last = kept.messages[-1] if kept.messages else Message()
    waits = last.role != "assistant" or any(
        isinstance(block, StepBlock) and block in used for block in last.content or ()
    )
    return replace(
        part,
        is_subagent=parent is not None,
        started=(
            *(f"#{number}" for number in range(spawned)),
            *(("team",) if any(b.name == TEAM for b in used) else ()),
        ),
        contains=() if parent is None else (kept.session,),
        unfinished=waits,
    )


def _printed(events: list[Event], path: Path) -> RunPart:
    result = next((event for event in reversed(events) if event.type == "run_result"), None)
    total = (result.aggregate_usage or result.usage) if result else None
    model = result.model if result else None
    provider = model.provider if model else None
    inner = [event.event for event in events if event.event is not None]
    stated = {  # each once, for a line may be written twice
        (event.ts, *astuple(event.event.used)): event.event.used
        for event in events
        if event.event is not None and event.event.type == "usage"
    }
    used = [tokens.disjoint(provider) for tokens in stated.values()]
    usage = max(_counted(total, provider), add_usage(used), key=tokens_in)  # the total is without subagents
    rounds = sum(event.type == "iteration_end" for event in inner)
    tools = dict.fromkeys(event.tool_call_id for event in inner if event.tool_call_id)
    started, ended = span_of(event.ts for event in events)
    errors = [event.error or event.message for event in inner if event.type == "error"]
    if result is None:
        failure: Failure | None = failure_of(errors[-1] if errors else "the stream ends without a result")
    else:
        failure = _ending(result.finish_reason, errors[-1] if errors else result.text)
    part = _part(
        path,
        total.total_cost if total else None,
        tuple(tools),
        task=f"session of {started:%Y-%m-%dT%H:%M:%SZ}" if started else NAME,
        model=label(model.id) if model else None,
        started_at=started,
        ended_at=ended,
        failure=failure,
        usage=usage,
        calls=(Call(model=label(model.id) if model else None, usage=usage, summed=True),) if usage else (),
        iterations=result.iterations or None if result else None,
        success=None if result is None else failure is None,
    )
    calls = sum(tokens_in(call) > 0 for call in used)
    return replace(part, unfinished=result is None or 0 < calls < rounds)


def _ending(word: str | None, error: Any) -> Failure | None:  # Any: text, or an error object
    cause = ENDINGS.get(word or "completed", "unknown")
    return None if cause is None else failure_of(error, otherwise=cause)


def _task(messages: list[TaskMessage], path: Path) -> RunPart:
    requests: list[tuple[TaskMessage, Request]] = []
    for message in messages:
        if message.say == "api_req_started":
            try:
                requests.append((message, _REQUEST.decode(message.text or "{}")))
            except JSON_ERRORS:
                continue  # a request without its counts
    calls = tuple(
        Call(
            model=_model(message, request),
            at=moment(message.ts),
            usage=_of_request(message, request),
            cost_usd=request.cost or None,
        )
        for message, request in requests
    )
    calls = calls if any(call.usage for call in calls) else ()
    costs = [request.cost for _, request in requests if request.cost]
    started, ended = span_of(message.ts for message in messages)
    last = requests[-1][1] if requests else Request()
    broken = last.cancel_reason is not None
    whose: FailureCause = "cancelled" if last.cancel_reason == "user_cancelled" else "unknown"
    after = messages[messages.index(requests[-1][0]) :] if requests else messages
    part = _part(
        path,
        sum_in_order(costs) if costs else None,
        partly=len(costs) < len(calls),
        agent=next((name for name, word in KIN.items() if word in str(path.parent).lower()), NAME),
        task=label(path.parent.name) or NAME,
        model=busiest_model(calls),
        started_at=started,
        ended_at=ended,
        failure=failure_of(last.streaming_failed_message or last.cancel_reason, otherwise=whose) if broken else None,
        usage=add_usage(call.usage for call in calls),
        calls=calls,
        iterations=len(calls) or None,
    )
    return replace(
        part,
        started=("compaction",) if any(message.say == "condense_context" for message in messages) else (),
        unfinished=not any("completion_result" in (message.say, message.ask) for message in after),
    )


def _of_request(message: TaskMessage, request: Request) -> Usage | None:
    tokens = Tokens(
        input_tokens=request.tokens_in,
        output_tokens=request.tokens_out,
        cache_read_tokens=request.cache_reads,
        cache_write_tokens=request.cache_writes,
    )
    provider = request.api_protocol or (message.model_info.provider_id if message.model_info else None)
    return _counted(tokens, provider)


def _model(message: TaskMessage, request: Request) -> str | None:
    return label(message.model_info.model_id if message.model_info else request.model)


def _part(
    path: Path, cost: float | None, tools: tuple[str, ...] = (), *, partly: bool = False, **fields: Any
) -> RunPart:  # Any: fields of a Run
    usage, failure = fields.get("usage"), fields.get("failure")
    known, sure = stated_cost(cost, usage)
    run = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "reported" if usage else "unknown",
            "cost_usd": "lower_bound" if known and partly else sure,
            "tool_calls": "counted" if tools else None,
        },
        **{"agent": NAME, "outcome": "errored" if failure else "not_scored", "cost_usd": known, **fields},
    )
    return RunPart(run=run, path=str(path), role="session", tool_ids=tools)


def steps(path: Path, session: str | None) -> Iterator[StepItem]:  # noqa: ARG001 # a file holds one
    """Yield the steps of a session's messages, of a task, or of what is printed; other files have none."""
    shape = head_of(path).shape
    if "sessionId" in shape:
        kept = document(path, _MESSAGES)
        subagent = kept.session if kept.origin and kept.origin.parent_thread_id else None
        for message in kept.messages:
            yield from _message_steps(message, subagent)
    elif "[].ts" in shape:
        yield from _task_steps(document(path, _TASK))
    elif "session_id" not in shape and "source_message_count" not in shape:
        yield from _printed_steps(path)


def _message_steps(message: Message, subagent: str | None) -> list[SessionStep]:
    info = message.model_info
    known: dict[str, Any] = {"at": moment(message.ts), "subagent": subagent, "model": info.id if info else None}
    author: StepRole = "assistant" if message.role == "assistant" else "user"
    made = message_steps(message.content, partial(SessionStep, **known), author, spawning=frozenset({SPAWNING, TEAM}))
    used = message.metrics.disjoint(info.provider if info else None) if message.metrics else None
    return first_with_usage(made, used if author == "assistant" else None, **known)


def _printed_steps(path: Path) -> Iterator[StepItem]:
    for item in decoded_lines(path, _EVENT):
        if isinstance(item, Rejected):
            yield item
            continue
        number, event = item
        inner = event.event
        known: dict[str, Any] = {"at": moment(event.ts), "source_line": number}  # Any: fields of a step
        if inner is None:
            continue
        kind = value_of(inner.content_type)
        if inner.type == "content_start" and kind == "tool":
            tool, given = label(value_of(inner.tool_name)), value_of(inner.input)
            yield from call_and_result(tool, inner.tool_call_id, given, None, is_done=False, **known)
        elif inner.type == "content_end" and kind == "tool":
            result = raw_text(inner.output) or flat_text(inner.error)
            failed = inner.error is not None
            yield SessionStep(
                kind="tool_result", role="tool", call=inner.tool_call_id, result=result, is_error=failed, **known
            )
        elif inner.type == "content_end" and (text := raw_text(inner.text)):
            yield SessionStep(
                kind="message", role="reasoning" if kind == "reasoning" else "assistant", text=text, **known
            )
        elif inner.type == "error":
            yield SessionStep(kind="error", role="system", text=flat_text(inner.error or inner.message), **known)


SAID: dict[str | None, tuple[StepKind, StepRole]] = {
    "text": ("message", "assistant"),
    "reasoning": ("message", "reasoning"),
    "completion_result": ("message", "assistant"),
    "user_feedback": ("message", "user"),
    "command_output": ("tool_result", "tool"),
    "tool": ("tool_call", "assistant"),
    "command": ("tool_call", "assistant"),
    "use_mcp_server": ("tool_call", "assistant"),
    "mcp_server_response": ("tool_result", "tool"),
    "error": ("error", "system"),
    "api_req_failed": ("error", "system"),
    "condense_context": ("compaction", "system"),
}
"""What a message of a task file says; the first text is the task."""


def _task_steps(messages: list[TaskMessage]) -> Iterator[SessionStep]:
    """Yield the steps of a task; the counts of a request precede its answer."""
    waiting: Usage | None = None
    is_first = True
    for message in messages:
        word, at = message.say or message.ask, moment(message.ts)
        if word == "api_req_started":
            with suppress(*JSON_ERRORS):
                request = _REQUEST.decode(message.text or "{}")
                used = _of_request(message, request)
                if waiting is not None:
                    yield SessionStep(kind="message", role="assistant", at=at, usage=waiting)
                waiting = used
            continue
        if word not in SAID or (message.text is None and word != "condense_context"):
            continue
        kind, role = SAID[word]
        role = "user" if is_first and word == "text" else role
        is_first = False
        made = _task_step(word, kind, role, message)
        if waiting is not None and role in ("assistant", "reasoning"):
            made, waiting = first_with_usage([made], waiting)[0], None
        yield made
    if waiting is not None:
        yield SessionStep(kind="message", role="assistant", usage=waiting)


def _task_step(word: str | None, kind: StepKind, role: StepRole, message: TaskMessage) -> SessionStep:
    known: dict[str, Any] = {"kind": kind, "role": role, "at": moment(message.ts)}  # Any: fields of a step
    if kind == "tool_result":
        return SessionStep(result=message.text, **known)
    if kind != "tool_call":
        return SessionStep(text=message.text, **known)
    if word == "command":
        return SessionStep(tool="command", arguments={"command": message.text}, **known)
    arguments = arguments_of(message.text)
    tool = label((arguments or {}).get("tool") or (arguments or {}).get("toolName"))
    return SessionStep(tool=tool or str(word), arguments=arguments, **known)


def _places(home: Path, environment: Mapping[str, str]) -> list[Path]:
    return [Path(environment.get("CLINE_DIR") or home / ".cline") / "data" / "sessions"]


FORMAT = LogFormat(
    name=NAME,
    title="Cline CLI sessions, `cline --json`, and ui_messages.json of the extensions (Cline, Roo Code, Kilo Code)",
    kind="sessions",
    yields=("calls", "usage by kind", "cost_usd", "tool_calls", "iterations", "times", "success"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    precedence="first",
    kept_by=LogLocations("Cline", _places),
)
