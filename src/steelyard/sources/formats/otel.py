"""OpenTelemetry as OTLP JSON, one document or one per line: spans of generative AI, and what Claude Code sends.

A conversation (or, without one, a trace) is a run. Spans of models count; spans of agents around them repeat the same
tokens and count only where there are no others. OpenInference's names are known too, and the file that GitHub Copilot
CLI writes, which has one span or metric per line. Claude Code sends an event for each request, and counters of tokens
and cost. Both state the same usage. Counters are deltas by default: the points of all exports add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import amount, count, document, label, numbered_lines, records
from steelyard.records import (
    JSON_ERRORS,
    MAX_VALUE,
    Call,
    DecodeError,
    Failure,
    Finding,
    Rejected,
    SessionStep,
    Usage,
    add_usage,
    moment,
    sum_in_order,
)
from steelyard.sources.formats._claude import AGENT
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._otel_steps import StatedSpan, span_steps
from steelyard.sources.formats._run_values import disjoint_usage, failure_of, run_from, tokens_in
from steelyard.sources.formats._step_values import call_and_result, first_with_usage, flat_text

NAME = "otel"
AROUND = frozenset({"invoke_agent", "create_agent", "invoke_workflow", "plan", "AGENT", "CHAIN"})
TOOLS = frozenset({"execute_tool", "TOOL"})


Attributes = dict[str, Any]  # Any: JSON scalars


class Value(msgspec.Struct, rename="camel"):
    """An attribute's value; whole numbers may be written as text."""

    string_value: str | None = None
    int_value: int | str | None = None
    double_value: float | None = None
    bool_value: bool | None = None
    array_value: ArrayValue | None = None
    kvlist_value: PairsValue | None = None

    @property
    def plain(self) -> Any:  # Any: a JSON value
        """The value itself."""
        if self.array_value is not None:
            return [value.plain for value in self.array_value.values]
        if self.kvlist_value is not None:
            return {pair.key: pair.value.plain for pair in self.kvlist_value.values if pair.value is not None}
        if self.int_value is not None:
            text = str(self.int_value)
            return int(text) if text.lstrip("-").isdigit() and len(text) < 20 else None
        return next((v for v in (self.string_value, self.double_value, self.bool_value) if v is not None), None)


class Attribute(msgspec.Struct):
    """A name and a value."""

    key: str
    value: Value | None = None


class ArrayValue(msgspec.Struct):
    """Several values."""

    values: list[Value] = []


class PairsValue(msgspec.Struct):
    """Several values by name."""

    values: list[Attribute] = []


class AttributeOwner(msgspec.Struct, rename="camel", kw_only=True, dict=True):
    """Whatever has attributes: a list of pairs, or in GitHub Copilot's file a plain object."""

    attributes: list[Attribute] | dict[str, Any] = []  # Any: JSON values

    @cached_property
    def facts(self) -> Attributes:
        """The attributes by name."""
        if isinstance(self.attributes, dict):
            return self.attributes
        return {attribute.key: attribute.value.plain for attribute in self.attributes if attribute.value is not None}


class SpanEvent(AttributeOwner, kw_only=True):
    """Something that happened during a span, such as a message."""

    name: str = ""

    @property
    def stated(self) -> Attributes:
        """Its attributes with its name."""
        return {**self.facts, "event.name": self.name}


class Status(msgspec.Struct):
    """How a span ended; 2 is an error."""

    code: int | str | None = None
    message: str | None = None


class Span(AttributeOwner, rename="camel", kw_only=True):
    """One span; GitHub Copilot writes its times as seconds and nanoseconds."""

    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str | None = None
    start_time_unix_nano: int | str | None = None
    end_time_unix_nano: int | str | None = None
    start_time: list[int] | None = None
    end_time: list[int] | None = None
    status: Status | None = None
    name: str = ""
    events: list[SpanEvent] = []

    @property
    def started(self) -> datetime | None:
        """When it began."""
        return time_of(self.start_time_unix_nano or _nanoseconds(self.start_time))

    @property
    def ended(self) -> datetime | None:
        """When it ended."""
        return time_of(self.end_time_unix_nano or _nanoseconds(self.end_time))


class ScopeSpans(msgspec.Struct):
    """Spans of one library."""

    spans: list[Span] = []


class ResourceSpans(msgspec.Struct, rename="camel"):
    """Spans of one service."""

    scope_spans: list[ScopeSpans] = []


class LogRecord(AttributeOwner, rename="camel", kw_only=True):
    """One event."""

    time_unix_nano: int | str | None = None
    body: Value | None = None

    @property
    def name(self) -> str:
        """What happened: the text of the record."""
        return str(self.body.plain) if self.body else ""


class ScopeLogs(msgspec.Struct, rename="camel"):
    """Events of one library."""

    log_records: list[LogRecord] = []


class ResourceLogs(msgspec.Struct, rename="camel"):
    """Events of one service."""

    scope_logs: list[ScopeLogs] = []


class Point(AttributeOwner, rename="camel", kw_only=True):
    """One value of a counter."""

    start_time_unix_nano: int | str | None = None
    time_unix_nano: int | str | None = None
    as_double: float | None = None
    as_int: int | str | None = None

    @property
    def value(self) -> float | None:
        """The number."""
        return self.as_double if self.as_double is not None else Value(int_value=self.as_int).plain


class Sum(msgspec.Struct, rename="camel"):
    """A counter's points; temporality 1 is deltas, 2 is cumulative."""

    aggregation_temporality: int | str | None = None
    data_points: list[Point] = []


class Metric(msgspec.Struct):
    """Counter; other kinds of metrics have no data about a run."""

    name: str = ""
    sum: Sum | None = None

    @property
    def points(self) -> list[Point]:
        """Its values."""
        return self.sum.data_points if self.sum else []

    @property
    def temporality(self) -> int | str | None:
        """Whether its points are deltas or cumulative."""
        return self.sum.aggregation_temporality if self.sum else None


class ScopeMetrics(msgspec.Struct):
    """Metrics of one library."""

    metrics: list[Metric] = []


class ResourceMetrics(msgspec.Struct, rename="camel"):
    """Metrics of one service."""

    scope_metrics: list[ScopeMetrics] = []


class Export(Span, rename="camel", kw_only=True):
    """The file, or a line of it; in GitHub Copilot's file a line is itself a span, or a metric."""

    type: str | None = None
    resource_spans: list[ResourceSpans] = []
    resource_logs: list[ResourceLogs] = []
    resource_metrics: list[ResourceMetrics] = []

    @property
    def spans(self) -> list[Span]:
        """All spans."""
        own: list[Span] = [self] if self.type == "span" and self.trace_id else []
        return own + [
            span for resource in self.resource_spans for scope in resource.scope_spans for span in scope.spans
        ]

    @property
    def log_records(self) -> list[LogRecord]:
        """All events."""
        return [
            event for resource in self.resource_logs for scope in resource.scope_logs for event in scope.log_records
        ]

    @property
    def metrics(self) -> list[Metric]:
        """All metrics."""
        return [
            metric for resource in self.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics
        ]


def _nanoseconds(pair: list[int] | None) -> int | None:
    return pair[0] * 10**9 + pair[1] if pair and len(pair) == 2 else None


def time_of(nanoseconds: int | str | None) -> datetime | None:
    """Convert nanoseconds since 1970 to a moment; None for an invalid value."""
    try:
        return moment(int(nanoseconds or 0) / 1e9) if nanoseconds else None
    except (ValueError, OverflowError):
        return None


_EXPORT = msgspec.json.Decoder(Export)


def recognizes(head: Head) -> bool:
    """Spans, log records or metrics as OTLP writes them in JSON, or as GitHub Copilot writes them line by line."""
    if any(head.has(name) for name in ("resourceSpans", "resourceLogs", "resourceMetrics")):
        return True
    return head.shape.get("type") in ("span", "metric") and head.has("resource", "instrumentationScope")


def read(path: Path) -> Iterator[ReadItem]:
    """One part per conversation; if events and counters report a session, only the events count."""
    content = Content()
    yield from content.read(path)
    spans, events, metrics = content.spans, content.events, content.metrics
    groups, names = content.conversations()
    places: dict[str, set[str]] = {}
    for span in spans.values():
        places.setdefault(names.get(span.trace_id, span.trace_id), set()).add(span.span_id)
    for name, group in groups.items():
        try:
            yield _part(name, group, str(path), places[name])
        except DecodeError as error:
            yield Rejected(path=str(path), reason=error.reason, hint=error.hint)
    parts = list(event_parts(events, str(path)))
    known = {part.run.id for part in parts}
    yield from parts
    yield from (part for part in counter_parts(metrics, str(path)) if part.run.id not in known)


class Content:
    """All spans, events and metrics of a file."""

    def __init__(self) -> None:
        self.spans: dict[str | int, Span] = {}
        self.events: list[LogRecord] = []
        self.metrics: list[Metric] = []

    def read(self, path: Path) -> Iterator[Rejected | Finding]:
        """Read the file; what cannot be used of it is yielded."""
        for export in _exports(path):
            if not isinstance(export, Export):
                yield export
                continue
            self.spans |= {span.span_id or id(span): span for span in export.spans}  # without an id, none is another
            self.events += [event for event in export.log_records if event.name.startswith(EVENTS)]
            self.metrics += [metric for metric in export.metrics if metric.name in (TOKENS, COST)]

    def conversations(self) -> tuple[dict[str, list[Span]], dict[str, str]]:
        """Return the spans of each conversation, and the conversation of each trace that names one."""
        names = {span.trace_id: name for span in self.spans.values() if (name := _conversation(span.facts))}
        groups: dict[str, list[Span]] = {}
        for span in self.spans.values():
            if any(key.startswith(("gen_ai.", "llm.", "openinference.")) for key in span.facts):
                groups.setdefault(names.get(span.trace_id, span.trace_id), []).append(span)
        return groups, names


def steps(path: Path, session: str | None) -> Iterator[SessionStep | Rejected]:
    """Yield the steps of a conversation, with the texts that the exporter records."""
    content = Content()
    for item in content.read(path):
        if isinstance(item, Rejected):
            yield item
    groups, _ = content.conversations()
    for name, group in groups.items():
        if session in (None, name):
            used = [span for span in group if _usage(span.facts) is not None]
            counted = [span for span in used if _kind(span.facts) not in AROUND] or used
            kept = [span for span in group if span in counted or _kind(span.facts) not in AROUND]
            kept.sort(key=lambda span: int(span.start_time_unix_nano or _nanoseconds(span.start_time) or 0))
            yield from span_steps([_stated(span, is_counted=span in counted) for span in kept])
    records = [each for each in content.events if session in (None, label(each.facts.get("session.id")))]
    records.sort(key=lambda each: (str(each.time_unix_nano), count(each.facts.get("event.sequence")) or 0))
    once = {msgspec.json.encode((each.name, each.time_unix_nano, each.facts)): each for each in records}
    for record in once.values():
        yield from _event_steps(record)


def _stated(span: Span, *, is_counted: bool) -> StatedSpan:
    status = span.status
    failed = status is not None and status.code in (2, "STATUS_CODE_ERROR")
    return StatedSpan(
        facts=span.facts,
        name=span.name,
        at=span.started,
        is_tool=_kind(span.facts) in TOOLS,
        call=label(span.facts.get("gen_ai.tool.call.id")),
        model=_model(span.facts),
        usage=_usage(span.facts) if is_counted else None,
        error=((status.message if status else None) or "") if failed else None,
        events=[event.stated for event in span.events],
    )


_NEVER = datetime.max.replace(tzinfo=UTC)


def _event_steps(record: LogRecord) -> Iterator[SessionStep]:
    """Yield the steps of an event of Claude Code; without the option for it, its texts are left out."""
    facts, name, at = record.facts, record.name.removeprefix(EVENTS), time_of(record.time_unix_nano)
    if name == "user_prompt":
        yield SessionStep(kind="message", role="user", text=flat_text(facts.get("prompt")), at=at)
    elif name == "api_request":
        known: dict[str, Any] = {"at": at, "model": label(facts.get("model"))}  # Any: fields of a step
        yield from first_with_usage([], _request_usage(facts), **known)
    elif name == "tool_result":
        arguments = facts.get("tool_parameters", facts.get("tool_input"))
        tool, call = label(facts.get("tool_name")), label(facts.get("tool_use_id"))
        is_error = str(facts.get("success")).lower() == "false"
        result = flat_text(facts.get("error"))
        yield from call_and_result(tool, call, arguments, result, is_done=True, is_error=is_error, at=at)
    elif name == "api_error":
        yield SessionStep(kind="error", role="system", text=flat_text(facts.get("error")), at=at)


def _exports(path: Path) -> Iterator[Export | Rejected | Finding]:
    _, first = next(numbered_lines(path), (1, b""))
    try:
        _EXPORT.decode(first)
    except JSON_ERRORS:
        yield document(path, _EXPORT)
        return
    for item in records(path, _EXPORT):
        yield item[1] if isinstance(item, tuple) else item


def _conversation(facts: dict[str, Any]) -> str | None:  # Any: JSON scalars
    return label(facts.get("gen_ai.conversation.id")) or label(facts.get("session.id"))


def _part(name: str, group: list[Span], path: str, exported: set[str]) -> RunPart:
    """The run of a conversation. A span is exported when it ends, so a span without its parent is of an open trace."""
    parents = {span.parent_span_id for span in group if span.parent_span_id}
    used = [span for span in group if _usage(span.facts) is not None]
    inner = [span for span in used if _kind(span.facts) not in AROUND]
    calls = tuple(
        Call(
            id=label(span.facts.get("gen_ai.response.id")) or label(span.span_id),
            model=_model(span.facts),
            at=span.started,
            usage=_usage(span.facts),
        )
        for span in inner or used
    )
    tools = [span for span in group if _kind(span.facts) in TOOLS]
    ids = [
        label(span.facts.get("gen_ai.tool.call.id")) or span.span_id or f"{path} {number}"
        for number, span in enumerate(tools)
    ]
    starts = sorted(t for span in group if (t := span.started) is not None)
    ends = sorted(t for span in group if (t := span.ended) is not None)
    root = next((span for span in group if not span.parent_span_id), None)
    failed = root is not None and root.status is not None and root.status.code in (2, "STATUS_CODE_ERROR")
    agent = next((a for span in group if (a := label(span.facts.get("gen_ai.agent.name")))), None)
    if any(key.startswith("github.copilot.") for span in group for key in span.facts):
        agent = "copilot-cli"
    costs = [cost for span in inner or used if isinstance(cost := span.facts.get("llm.cost.total"), int | float)]
    run = run_from(
        format=NAME,
        path=path,
        how={
            "cost_usd": "unknown" if not costs else "reported" if len(costs) == len(calls) else "lower_bound",
            "tool_calls": "counted",
        },
        id=label(name),
        task=label(name),
        agent=agent,
        started_at=starts[0] if starts else None,
        ended_at=ends[-1] if starts and ends and ends[-1] >= starts[0] else None,
        outcome="errored" if failed else "not_scored",
        failure=failure_of(root.status.message) if failed and root and root.status else None,
        calls=calls,
        cost_usd=sum_in_order(costs) if costs else None,
        tool_calls=len(set(ids)),
        iterations=len(calls) or None,
    )
    return RunPart(
        run=run,
        path=path,
        role="session",
        tool_ids=tuple(ids),
        started=tuple(sorted(parents - exported)),
        unfinished=bool(inner) and any(_tokens(span) > sum(map(_tokens, inner)) for span in used),
        contains=tuple(sorted(exported - {span.span_id for span in used})),
    )


def _tokens(span: Span) -> int:
    return tokens_in(_usage(span.facts))


def _kind(facts: dict[str, Any]) -> Any:  # Any: JSON scalars
    return facts.get("gen_ai.operation.name") or facts.get("openinference.span.kind")


def _model(facts: dict[str, Any]) -> str | None:  # Any: JSON scalars
    names = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
    return next((model for name in names if (model := label(facts.get(name)))), None)


def _usage(facts: dict[str, Any]) -> Usage | None:  # Any: JSON scalars
    def count(*names: str) -> int | None:
        value = next((facts[name] for name in names if name in facts), None)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    stated = count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
    written = count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
    if stated is None and written is None:
        return None
    return disjoint_usage(
        input_with_cache=stated,
        cache_read=count("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
        cache_write=count("gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write"),
        output_with_reasoning=written,
        reasoning=count("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"),
    )


EVENTS = "claude_code."
TOKENS, COST = "claude_code.token.usage", "claude_code.cost.usage"
KINDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_tokens",
    "cacheCreation": "cache_write_5m_tokens",
}
"""The counter's kinds of tokens, which are disjoint; the lifetime of a cache write is missing."""
CUMULATIVE = (2, "AGGREGATION_TEMPORALITY_CUMULATIVE")


def event_parts(records: Sequence[LogRecord], path: str) -> Iterator[RunPart]:
    """Yield a part for each session in the events."""
    sessions: dict[str, dict[bytes, tuple[LogRecord, Attributes]]] = {}  # each once: an export may be repeated
    for record in records:
        facts = record.facts
        session = label(facts.get("session.id"))
        if session:
            sessions.setdefault(session, {})[msgspec.json.encode((record.name, record.time_unix_nano, facts))] = (
                record,
                facts,
            )
    for session, events in sessions.items():
        yield _session_part(session, list(events.values()), path)


def _session_part(session: str, events: list[tuple[LogRecord, Attributes]], path: str) -> RunPart:
    events.sort(key=lambda event: (str(event[0].time_unix_nano), count(event[1].get("event.sequence")) or 0))
    named = [(record.name.removeprefix(EVENTS), record, facts) for record, facts in events]
    requests = [(record, facts) for name, record, facts in named if name == "api_request"]
    calls = tuple(
        Call(
            id=label(facts.get("request_id")) or label(f"{record.time_unix_nano} {facts.get('event.sequence')}"),
            model=label(facts.get("model")),
            at=time_of(record.time_unix_nano),
            usage=_request_usage(facts),
            cost_usd=amount(facts.get("cost_usd")),
        )
        for record, facts in requests
    )
    stated = [cost for _, facts in requests if (cost := amount(facts.get("cost_usd"))) is not None]
    tools = dict.fromkeys(
        tool for name, _, facts in named if name == "tool_result" and (tool := label(facts.get("tool_use_id")))
    )
    times = sorted(at for _, record, _ in named if (at := time_of(record.time_unix_nano)) is not None)
    failure = _request_failure([(name, facts) for name, _, facts in named])
    run = run_from(
        format=NAME,
        path=path,
        how={
            "cost_usd": "unknown" if not stated else "reported" if len(stated) == len(calls) else "lower_bound",
            "tool_calls": "counted",
        },
        id=session,
        task=session,
        agent=AGENT,
        started_at=times[0] if times else None,
        ended_at=times[-1] if times and times[-1] > times[0] else None,
        outcome="errored" if failure else "not_scored",
        failure=failure,
        calls=calls,
        cost_usd=sum_in_order(stated) if stated else None,
        tool_calls=len(tools),
        iterations=len(calls) or None,
    )
    return RunPart(run=run, path=path, role="session", tool_ids=tuple(tools), unfinished=True)  # no event ends it


def _request_usage(facts: Attributes) -> Usage:
    return Usage(
        input_tokens=_whole(facts.get("input_tokens")),
        output_tokens=_whole(facts.get("output_tokens")),
        cache_read_tokens=_whole(facts.get("cache_read_tokens")),
        cache_write_5m_tokens=_whole(facts.get("cache_creation_tokens")),
    )


def _whole(value: Any) -> int | None:  # Any: a JSON scalar; numbers come as text in some events
    return count(int(value)) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else count(value)


def _request_failure(events: list[tuple[str, Attributes]]) -> Failure | None:
    """The error of the last request, if no later one succeeded."""
    last = next((event for event in reversed(events) if event[0] in ("api_request", "api_error")), None)
    if last is None or last[0] == "api_request":
        return None
    return failure_of(last[1].get("error"), status=last[1].get("status_code"))


def counter_parts(metrics: Sequence[Metric], path: str) -> Iterator[RunPart]:
    """Yield a part for each session in the counters, with the sum of each model."""
    points = [(metric, point, point.facts) for metric in metrics for point in metric.points]
    sessions = {session: None for metric, _, facts in points if (session := label(facts.get("session.id")))}
    for session in sessions:
        own = [entry for entry in points if entry[2].get("session.id") == session]
        used: dict[str | None, dict[str, float]] = {}
        for facts, total in _totals([entry for entry in own if entry[0].name == TOKENS]):
            kind = KINDS.get(str(facts.get("type")))
            if kind is not None:
                kinds = used.setdefault(label(facts.get("model")), {})
                kinds[kind] = kinds.get(kind, 0) + total
        costs = [total for _, total in _totals([entry for entry in own if entry[0].name == COST])]
        calls = tuple(
            Call(model=model, usage=Usage(**{kind: int(total) for kind, total in kinds.items()}), summed=True)
            for model, kinds in sorted(used.items(), key=lambda item: item[0] or "")
        )
        if calls or costs:
            yield _counted_part(session, calls, costs, [point for _, point, _ in own], path)


def _counted_part(
    session: str,
    calls: tuple[Call, ...],
    costs: list[float],
    points: list[Point],
    path: str,
) -> RunPart:
    starts = sorted(at for point in points if (at := time_of(point.start_time_unix_nano)) is not None)
    ends = sorted(at for point in points if (at := time_of(point.time_unix_nano)) is not None)
    usage = add_usage(call.usage for call in calls)
    run = run_from(
        format=NAME,
        path=path,
        how={"usage": "reported" if usage else "unknown", "cost_usd": "reported" if costs else "unknown"},
        id=session,
        task=session,
        agent=AGENT,
        started_at=starts[0] if starts else None,
        ended_at=ends[-1] if starts and ends and ends[-1] >= starts[0] else None,
        outcome="not_scored",
        usage=usage,
        calls=calls,
        cost_usd=sum_in_order(costs) if costs else None,
    )
    return RunPart(run=run, path=path, role="session", unfinished=True)  # no point is marked as the last


def _totals(entries: list[tuple[Metric, Point, Attributes]]) -> Iterator[tuple[Attributes, float]]:
    """What each counter came to: points that are deltas add up, of cumulative ones the last of each start counts."""
    series: dict[tuple[Any, ...], tuple[Attributes, float]] = {}  # Any: attributes, and when a counter began
    for number, (metric, point, facts) in enumerate(entries):
        value = point.value
        if value is None or value < 0 or value > MAX_VALUE:
            continue
        cumulative = metric.temporality in CUMULATIVE
        key: tuple[Any, ...] = (msgspec.json.encode(facts, order="sorted"), point.start_time_unix_nano)
        if not cumulative:
            key = (*key, point.time_unix_nano or number)  # of two with the same times, one is repeated
        before = series.get(key)
        series[key] = facts, max(value, before[1]) if before else value
    yield from series.values()


FORMAT = LogFormat(
    name=NAME,
    title="OpenTelemetry (OTLP JSON): GenAI spans, GitHub Copilot CLI files, Claude Code events and metrics",
    kind="sessions",
    yields=("calls", "usage by kind", "tool_calls", "iterations", "times", "cost_usd if reported"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    precedence="last",
)
