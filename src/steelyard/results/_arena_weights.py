"""Weights that were learned from ratings, version by version."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.records import iso
from steelyard.results._arena_rows import FieldsResult
from steelyard.results._base import Row


class PartDiagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """How well a part of the score tells submissions apart."""

    name: str
    std_dev: float
    """Its standard deviation within tasks, in points: 0 where all submissions to a task have the same."""
    correlation: float | None
    """With the ratings, within tasks; None where either does not vary."""


class FittedWeights(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the weights: how far they move from the fixed ones, and what that rests on."""

    version: int = 0
    made_at: int = 0
    """In microseconds since 1970."""
    ratings: int
    submissions: int
    """Rated submissions to tasks without weights of their own."""
    tasks: int
    max_shift: float
    """How far a weight may move at most."""
    fixed: dict[str, float]
    """The profile's general weights."""
    weights: dict[str, float]
    """The same, moved."""
    shift: dict[str, float]
    """Shift of every task's fixed weights, limited by `max_shift`; sums to 0."""
    slope: float | None
    """Points of rating for a point of the overall score; None where there are too few ratings."""
    p_value: float | None
    """The chance of such ratings where the fixed weights are right; None where there are too few ratings."""
    shrinkage: float | None
    """The fraction of the plain estimate that is kept; None where the weights stay."""
    reason: str | None
    """Why the fixed weights stand; None where others do."""
    parts: tuple[PartDiagnostic, ...]
    """How well each part tells submissions apart; empty with too few ratings."""


@dataclass(frozen=True, kw_only=True, repr=False)
class WeightVersions(FieldsResult):
    """Every version of the weights, the first one first; the last one is in force."""

    profile: str
    is_on: bool
    """Whether the profile has dynamic weights."""
    versions: tuple[FittedWeights, ...]

    def _about(self) -> str:
        return f"{len(self.versions):,} versions of weights; {self.profile}"

    def to_dicts(self) -> list[Row]:
        """One row a version."""
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
