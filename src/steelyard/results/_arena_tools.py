"""Metrics of one tool in an arena, ranked within the tool."""

from __future__ import annotations

import msgspec


class ToolMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that the profile lists for the tool."""

    name: str
    title: str
    unit: str
    better: str | None
    """`higher` or `lower`; None if neither is better."""


class ToolValue(msgspec.Struct, frozen=True, kw_only=True):
    """Value of a metric for one submission."""

    value: float | None
    """None if the submission lacks the inputs (see `reason`)."""
    ranking: int | None
    """Rank among the tool's submissions that have a value."""
    reason: str | None
    """Why the value is missing."""


class ToolSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission of the tool with its metrics."""

    submission_id: str
    task_id: str
    metrics: dict[str, ToolValue]
