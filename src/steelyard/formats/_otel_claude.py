"""What Claude Code sends to an OpenTelemetry collector: an event for each request, and counters of tokens and cost.

Both state the same usage. Counters are deltas by default: the points of all exports add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from steelyard.files import amount, count, label
from steelyard.formats._claude import AGENT
from steelyard.formats._failures import failure_of
from steelyard.formats._log_format import RunPart
from steelyard.formats._otlp import Attributes, LogRecord, Metric, Point, time_of
from steelyard.formats._token_counts import run_from
from steelyard.records import MAX_VALUE, Call, Failure, Usage, add_usage, sum_in_order

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


def event_parts(records: Sequence[LogRecord], *, format: str, path: str) -> Iterator[RunPart]:  # noqa: A002
    """Yield a part for each session in the events."""
    sessions: dict[str, list[tuple[LogRecord, Attributes]]] = {}
    for record in records:
        facts = record.facts
        session = label(facts.get("session.id"))
        if session:
            sessions.setdefault(session, []).append((record, facts))
    for session, events in sessions.items():
        yield _session_part(session, events, format, path)


def _session_part(session: str, events: list[tuple[LogRecord, Attributes]], format: str, path: str) -> RunPart:  # noqa: A002
    events.sort(key=lambda event: (str(event[0].time_unix_nano), count(event[1].get("event.sequence")) or 0))
    named = [(record.name.removeprefix(EVENTS), record, facts) for record, facts in events]
    requests = [(record, facts) for name, record, facts in named if name == "api_request"]
    calls = tuple(
        Call(
            id=label(facts.get("request_id")) or label(f"{record.time_unix_nano} {facts.get('event.sequence')}"),
            model=label(facts.get("model")),
            at=time_of(record.time_unix_nano),
            usage=_usage(facts),
            cost_usd=amount(facts.get("cost_usd")),
        )
        for record, facts in requests
    )
    stated = [cost for _, facts in requests if (cost := amount(facts.get("cost_usd"))) is not None]
    tools = dict.fromkeys(
        tool for name, _, facts in named if name == "tool_result" and (tool := label(facts.get("tool_use_id")))
    )
    times = sorted(at for _, record, _ in named if (at := time_of(record.time_unix_nano)) is not None)
    failure = _failure([(name, facts) for name, _, facts in named])
    run = run_from(
        format=format,
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
    return RunPart(run=run, path=path, role="session", tool_ids=tuple(tools))


def _usage(facts: Attributes) -> Usage:
    return Usage(
        input_tokens=_whole(facts.get("input_tokens")),
        output_tokens=_whole(facts.get("output_tokens")),
        cache_read_tokens=_whole(facts.get("cache_read_tokens")),
        cache_write_5m_tokens=_whole(facts.get("cache_creation_tokens")),
    )


def _whole(value: Any) -> int | None:  # Any: a JSON scalar; numbers come as text in some events
    return count(int(value)) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else count(value)


def _failure(events: list[tuple[str, Attributes]]) -> Failure | None:
    """The error of the last request, if no later one succeeded."""
    last = next((event for event in reversed(events) if event[0] in ("api_request", "api_error")), None)
    if last is None or last[0] == "api_request":
        return None
    return failure_of(last[1].get("error"), status=last[1].get("status_code"))


def counter_parts(metrics: Sequence[Metric], *, format: str, path: str) -> Iterator[RunPart]:  # noqa: A002
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
            yield _counted_part(session, calls, costs, [point for _, point, _ in own], format, path)


def _counted_part(
    session: str,
    calls: tuple[Call, ...],
    costs: list[float],
    points: list[Point],
    format: str,  # noqa: A002
    path: str,
) -> RunPart:
    starts = sorted(at for point in points if (at := time_of(point.start_time_unix_nano)) is not None)
    ends = sorted(at for point in points if (at := time_of(point.time_unix_nano)) is not None)
    usage = add_usage(call.usage for call in calls)
    run = run_from(
        format=format,
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
    return RunPart(run=run, path=path, role="session")


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
            key = (*key, point.time_unix_nano, number)
        before = series.get(key)
        series[key] = facts, max(value, before[1]) if before else value
    yield from series.values()
