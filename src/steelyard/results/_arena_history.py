"""Scores over time, leaderboard changes, and events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from steelyard.results._arena_leaderboard import Policy
from steelyard.results._arena_reviews import Decision, Review
from steelyard.results._arena_rows import ArenaResult, FieldsResult, as_json, flat_rows
from steelyard.results._base import Row


class ScoreMoment(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with its original score."""

    submission_id: str
    task_id: str
    submitter: str | None
    submitted_at: str
    overall_score: float
    best_so_far: float
    baseline_version: int
    profile: str
    """The profile in effect at that time."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ScoreHistory(FieldsResult):
    """Original scores in order of submission, with their trend."""

    task_id: str | None
    submitter: str | None
    n: int
    trend_per_day: float | None
    """Score points per day by least squares; None with a reason."""
    reason: str | None
    moments: tuple[ScoreMoment, ...]
    baselines: tuple[dict[str, float | str], ...]
    """Versions of the task's baseline, with the number of submissions at which each started."""
    team: str | None = None
    """The selected team; None for all."""
    reviews: tuple[Review, ...] = ()
    """Review decisions, in order. Submissions that are excluded now are not in the history."""

    def _about(self) -> str:
        return f"{self.n:,} submissions, task {self.task_id or 'any'}, submitter {self.submitter or 'any'}"

    def to_dicts(self) -> list[Row]:
        """Return one row per submission."""
        return flat_rows(self.moments)


class LeaderboardChange(msgspec.Struct, frozen=True, kw_only=True):
    """Rank change of a submission; None where it did not exist then or is excluded now."""

    submission_id: str
    then_ranking: int | None
    now_ranking: int | None
    then_score: float | None
    now_score: float | None


class TaskChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in a task since a given time."""

    task_id: str
    since: str
    then_n: int
    now_n: int
    then_version: int
    now_version: int
    then_profile: str
    """The profile in effect; under `as-submitted`, scores may come from earlier ones."""
    now_profile: str
    then_policy: Policy
    now_policy: Policy
    then_leader: str | None
    now_leader: str | None
    new: int
    moved: tuple[LeaderboardChange, ...]
    """Submissions that are new or changed rank or score, in order of acceptance, followed by newly excluded ones."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LeaderboardChanges(ArenaResult):
    """Leaderboard changes in one task or in all tasks."""

    changes: tuple[TaskChanges, ...]

    def _about(self) -> str:
        return f"{len(self.changes):,} tasks changed"

    def to_dicts(self) -> list[Row]:
        """Return one row per submission that is new or changed rank."""
        return [
            {"task_id": task.task_id, "since": task.since, **row}
            for task in self.changes
            for row in flat_rows(task.moved)
        ]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"changes": as_json(self.changes)}


class ArenaEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Event sent to notification targets."""

    event_id: str
    """Event id, identical if the event is sent again."""
    kind: str
    created_at: str
    submission_id: str
    task_id: str
    submitter: str | None
    agent: str | None
    model: str | None
    overall_score: float
    overall_ranking: int
    """Rank at that time, like score, percentile, version and flags; for an exclusion, before it."""
    percentile: float
    baseline_version: int
    flags: tuple[str, ...] = ()
    """Outlier flags."""
    previous_ranking: int | None = None
    """The lost rank; None for other events."""
    cause_submission_id: str | None = None
    """The submission that caused the loss, by being accepted (the best of a batch) or rated."""
    rating_number: int | None = None
    """Number of the rating that caused the event; None otherwise."""
    decision: Decision | None = None
    """The review decision that caused the event; None otherwise."""
    by: str | None = None
    reason: str | None = None


class SendingRound(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one round of deliveries."""

    sent: int
    failed: int
    put_off: int
    """Due deliveries that were postponed because the target did not respond."""
    settled: int
    waiting: int
    """Number of events that are not done."""
    next_attempt_at: str | None
    """Time of the next retry; None if there is none."""
    errors: tuple[str, ...]
