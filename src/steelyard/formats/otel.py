"""OpenTelemetry as OTLP JSON, one document or one a line: spans of generative AI, and what Claude Code sends.

A conversation (or, without one, a trace) is a run. Spans of models count; spans of agents around them repeat the same
tokens and count only where there are no others. OpenInference's names are known too, and the file that GitHub Copilot
CLI writes, which has a span or a metric a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import document, label, numbered_lines, records
from steelyard.formats._failures import failure_of
from steelyard.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.formats._otel_claude import COST, EVENTS, TOKENS, counter_parts, event_parts
from steelyard.formats._otlp import Export, LogRecord, Metric, Span
from steelyard.formats._token_counts import disjoint_usage, run_from
from steelyard.records import JSON_ERRORS, Call, DecodeError, Finding, Rejected, Usage, sum_in_order

NAME = "otel"
AROUND = frozenset({"invoke_agent", "create_agent", "invoke_workflow", "plan", "AGENT", "CHAIN"})
TOOLS = frozenset({"execute_tool", "TOOL"})


_EXPORT = msgspec.json.Decoder(Export)


def recognizes(head: Head) -> bool:
    """Spans, log records or metrics as OTLP writes them in JSON, or as GitHub Copilot writes them line by line."""
    if any(head.has(name) for name in ("resourceSpans", "resourceLogs", "resourceMetrics")):
        return True
    return head.shape.get("type") in ("span", "metric") and head.has("resource", "instrumentationScope")


def read(path: Path) -> Iterator[ReadItem]:
    """One part per conversation; if events and counters report a session, only the events count."""
    spans: dict[str | int, Span] = {}
    events: list[LogRecord] = []
    metrics: list[Metric] = []
    for export in _exports(path):
        if not isinstance(export, Export):
            yield export
            continue
        spans |= {span.span_id or id(span): span for span in export.spans}  # without an id, none is another
        events += [event for event in export.events if event.name.startswith(EVENTS)]
        metrics += [metric for metric in export.metrics if metric.name in (TOKENS, COST)]
    groups: dict[str, list[Span]] = {}
    names = {span.trace_id: name for span in spans.values() if (name := _conversation(span.facts))}
    for span in spans.values():
        if any(key.startswith(("gen_ai.", "llm.", "openinference.")) for key in span.facts):
            groups.setdefault(names.get(span.trace_id, span.trace_id), []).append(span)
    for name, group in groups.items():
        try:
            yield _part(name, group, str(path))
        except DecodeError as error:
            yield Rejected(path=str(path), reason=error.reason, hint=error.hint)
    parts = list(event_parts(events, format=NAME, path=str(path)))
    known = {part.run.id for part in parts}
    yield from parts
    yield from (part for part in counter_parts(metrics, format=NAME, path=str(path)) if part.run.id not in known)


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


def _part(name: str, group: list[Span], path: str) -> RunPart:
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
    return RunPart(run=run, path=path, role="session", tool_ids=tuple(ids))


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


FORMAT = LogFormat(
    name=NAME,
    title="OpenTelemetry (OTLP JSON): GenAI spans, GitHub Copilot CLI files, Claude Code events and metrics",
    kind="sessions",
    yields=("calls", "usage by kind", "tool_calls", "iterations", "times", "cost_usd if reported"),
    recognizes=recognizes,
    read=read,
    precedence="last",
)
