"""Versions of the weights fitted to ratings."""

from __future__ import annotations

import msgspec


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
