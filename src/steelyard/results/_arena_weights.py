"""Versions of the weights fitted to ratings."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.records import iso
from steelyard.results._arena_rows import FieldsResult
from steelyard.results._base import Row


class PartDiagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """Diagnostics of a part of the overall score."""

    name: str
    std_dev: float
    """Standard deviation within tasks, in points."""
    correlation: float | None
    """Correlation with the ratings within tasks; None without variation."""


class FittedWeights(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the fitted weights."""

    version: int = 0
    made_at: int = 0
    """In microseconds since 1970."""
    ratings: int
    submissions: int
    """Number of rated submissions to tasks without their own weights."""
    tasks: int
    max_shift: float
    """Maximum shift of a weight."""
    fixed: dict[str, float]
    """The profile's general weights."""
    weights: dict[str, float]
    """The shifted weights."""
    shift: dict[str, float]
    """Shift of every task's fixed weights, limited by `max_shift`; sums to 0."""
    slope: float | None
    """Rating points per point of the overall score; None with too few ratings."""
    p_value: float | None
    """p-value of the null hypothesis that the fixed weights are correct; None with too few ratings."""
    shrinkage: float | None
    """Shrinkage factor of the estimate; None if the weights do not change."""
    reason: str | None
    """Why the fixed weights remain; None otherwise."""
    parts: tuple[PartDiagnostic, ...]
    """Diagnostics of each part; empty with too few ratings."""


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightVersions(FieldsResult):
    """All versions of the weights, oldest first; the last one is in effect."""

    profile: str
    is_on: bool
    """Whether the profile enables dynamic weights."""
    versions: tuple[FittedWeights, ...]

    def _about(self) -> str:
        return f"{len(self.versions):,} versions of weights; {self.profile}"

    def to_dicts(self) -> list[Row]:
        """Return one row per version."""
        return [
            {
                "version": version.version,
                "made_at": iso(version.made_at),
                "ratings": version.ratings,
                "submissions": version.submissions,
                "tasks": version.tasks,
                **{f"{name}_weight": weight for name, weight in version.weights.items()},
                "p_value": version.p_value,
                "reason": version.reason,
            }
            for version in self.versions
        ]
