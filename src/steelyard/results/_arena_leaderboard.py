"""Leaderboards of tasks, tools and models, and submissions flagged for review."""

from __future__ import annotations

from typing import Literal

import msgspec

Policy = Literal["current", "as-submitted"]
"""`current`: all scores use one baseline version; `as-submitted`: submissions keep their original scores."""
RankedScore = Literal["overall", "efficiency", "speed", "cost", "correctness"]
LeaderKey = Literal["agent", "model", "submitter", "team"]
IntervalMethod = Literal["arena", "student", "gaffke", "too few"]


class ScoreInterval(msgspec.Struct, frozen=True, kw_only=True):
    """Mean score with its confidence interval and method."""

    estimate: float | None
    """The mean; None without scores."""
    low: float
    high: float
    level: float
    n: int
    """Number of values: scores within a task, or tasks across tasks."""
    method: IntervalMethod
    """`arena`: multipliers of the specification; `student`: Student's t; `gaffke`: bounded mean near 0 or 100;
    `too few` values: the whole range."""


class ScoredBy(msgspec.Struct, frozen=True, kw_only=True):
    """Number of scores per profile."""

    profile: str
    since: str | None
    """When the profile took effect, because two profiles may have the same name; None if unknown."""
    submissions: int


class LeaderboardEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Leaderboard entry of a submission, with the field names of the specification."""

    submission_id: str
    task_id: str
    overall_ranking: int
    percentile: float
    overall_score: float
    efficiency_score: float
    speed_score: float
    cost_score: float
    correctness_score: float
    adjusted_score: float
    efficiency_ranking: int
    speed_ranking: int
    cost_ranking: int
    correctness_ranking: int
    baseline_version: int
    defaulted: tuple[str, ...]
    claimed: tuple[str, ...]
    """Types of the criteria that are based only on claims of the submitter."""
    lower_bounds: tuple[str, ...]
    """Counts that are lower bounds, so scores based on them are too high."""
    flags: tuple[str, ...]
    recommended_action: str | None
    """`manual_review` if flags recommend it and no reviewer has accepted the submission."""
    warnings: tuple[str, ...]
    agent: str | None
    model: str | None
    submitter: str | None
    submitted_at: str
    evaluated_at: str
    total_tokens: int
    tool_calls: int
    iterations: int | None
    execution_time: float | None
    estimated_cost: float | None
    success: bool | None
    """Success as reported by the submission; None if not reported. Without criteria, no score depends on it."""
    profile: str
    """The profile of the scores; under `as-submitted`, the one at the time of submission."""
    breakdown: dict[str, float]
    """Weights of the four scores in the overall score."""
    extra_scores: dict[str, float | None] = {}
    """Scores in addition to those of the specification, by name; empty if the profile enables none."""

    @property
    def hides_failure(self) -> bool:
        """Whether it reports failure but its correctness is 100, as in a task without criteria."""
        return self.success is False and self.correctness_score == 100.0


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with several outlier flags."""

    submission_id: str
    task_id: str
    flags: tuple[str, ...]
    recommended_action: str
