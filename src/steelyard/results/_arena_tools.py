"""Metrics of one tool in an arena, ranked within the tool."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.results._arena_rows import FieldsResult
from steelyard.results._base import Row


class ToolMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that the profile lists for the tool."""

    name: str
    title: str
    unit: str
    better: str | None
    """`higher` or `lower`; None if neither is better."""


class ToolSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission of the tool with its metrics."""

    submission_id: str
    task_id: str
    values: dict[str, float | None]
    """Metric values; None if the submission lacks the inputs."""
    ranks: dict[str, int | None]
    """Ranks among the tool's submissions that have the metric; None without a value."""
    reasons: dict[str, str]
    """Why a value is missing."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ToolMetrics(FieldsResult):
    """Metrics of one tool; no score depends on them."""

    tool: str
    display_name: str | None
    """Display name; None if the tool has none."""
    profile: str
    metrics: tuple[ToolMetric, ...]
    submissions: tuple[ToolSubmission, ...]

    def _about(self) -> str:
        return f"{self.tool}: {len(self.metrics):,} metrics of {len(self.submissions):,} submissions"

    def to_dicts(self) -> list[Row]:
        """Return one row per submission with each metric and its rank."""
        return [
            {
                "submission_id": row.submission_id,
                "task_id": row.task_id,
                **{name: row.values[name] for name in row.values},
                **{f"{name}_ranking": row.ranks[name] for name in row.ranks},
            }
            for row in self.submissions
        ]
