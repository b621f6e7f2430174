"""OpenTelemetry's JSON: spans, log records and metrics as a collector writes them."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from steelyard.records import moment

Attributes = dict[str, Any]  # Any: JSON scalars


class Value(msgspec.Struct, rename="camel"):
    """An attribute's value; whole numbers may be written as text."""

    string_value: str | None = None
    int_value: int | str | None = None
    double_value: float | None = None
    bool_value: bool | None = None

    @property
    def plain(self) -> Any:  # Any: a JSON scalar
        """The value itself."""
        if self.int_value is not None:
            text = str(self.int_value)
            return int(text) if text.lstrip("-").isdigit() and len(text) < 20 else None
        return next((v for v in (self.string_value, self.double_value, self.bool_value) if v is not None), None)


class Attribute(msgspec.Struct):
    """A name and a value."""

    key: str
    value: Value | None = None


class Described(msgspec.Struct, rename="camel", kw_only=True, dict=True):
    """Whatever has attributes: a list of pairs, or in GitHub Copilot's file a plain object."""

    attributes: list[Attribute] | dict[str, Any] = []  # Any: JSON values

    @cached_property
    def facts(self) -> Attributes:
        """The attributes by name."""
        if isinstance(self.attributes, dict):
            return self.attributes
        return {attribute.key: attribute.value.plain for attribute in self.attributes if attribute.value is not None}


class Status(msgspec.Struct):
    """How a span ended; 2 is an error."""

    code: int | str | None = None
    message: str | None = None


class Span(Described, rename="camel", kw_only=True):
    """One span; GitHub Copilot writes its times as seconds and nanoseconds."""

    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str | None = None
    start_time_unix_nano: int | str | None = None
    end_time_unix_nano: int | str | None = None
    start_time: list[int] | None = None
    end_time: list[int] | None = None
    status: Status | None = None

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


class LogRecord(Described, rename="camel", kw_only=True):
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


class Point(Described, rename="camel", kw_only=True):
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
    def events(self) -> list[LogRecord]:
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
