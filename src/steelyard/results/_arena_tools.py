"""Metrics of one tool in an arena, ranked within the tool."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.results._arena_rows import FieldsResult
from steelyard.results._base import Row


class ToolMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that the profile names for the tool."""

    name: str
    title: str
    unit: str
    better: str | None
    """`higher` or `lower`; None where neither is."""


class ToolSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission of the tool with its metrics."""

    submission_id: str
    task_id: str
    values: dict[str, float | None]
    """None where the submission does not bring what the metric needs."""
    ranks: dict[str, int | None]
    """Among the tool's own submissions that have the metric; None where this one has not."""
    reasons: dict[str, str]
    """Why a value is missing."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ToolMetrics(FieldsResult):
    """What a profile measures of one tool, beside the scores."""

    tool: str
    display_name: str | None
    """What people read beside the id; None where the tool was not registered with one."""
    profile: str
    metrics: tuple[ToolMetric, ...]
    submissions: tuple[ToolSubmission, ...]

    def _about(self) -> str:
        return f"{self.tool}: {len(self.metrics):,} metrics of {len(self.submissions):,} submissions"

    def to_dicts(self) -> list[Row]:
        """One row a submission: each metric and its rank."""
        return [
            {
                "submission_id": row.submission_id,
                "task_id": row.task_id,
                **{name: row.values[name] for name in row.values},
                **{f"{name}_ranking": row.ranks[name] for name in row.ranks},
            }
            for row in self.submissions
        ]
