"""How scores went over time, what changed since a moment, and what happens right now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from steelyard.results._arena_leaderboard import Policy
from steelyard.results._arena_reviews import Decision, Review
from steelyard.results._arena_rows import ArenaResult, FieldsResult, as_json, flat_rows
from steelyard.results._base import Row


class ScoreMoment(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with the score of its day."""

    submission_id: str
    task_id: str
    submitter: str | None
    submitted_at: str
    overall_score: float
    best_so_far: float
    baseline_version: int
    profile: str
    """The profile that was in force on that day."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ScoreHistory(FieldsResult):
    """Scores of the day in the order in which they were submitted, and their trend."""

    task_id: str | None
    submitter: str | None
    n: int
    trend_per_day: float | None
    """Points a day by least squares; None with the reason beside it."""
    reason: str | None
    moments: tuple[ScoreMoment, ...]
    baselines: tuple[dict[str, float | str], ...]
    """Versions of the task's baseline, with the number of submissions from which each holds."""
    team: str | None = None
    """The team whose people submitted them; None where no team was asked for."""
    reviews: tuple[Review, ...] = ()
    """What was decided about submissions, in order. Those that are excluded now are not among the moments."""

    def _about(self) -> str:
        return f"{self.n:,} submissions, task {self.task_id or 'any'}, submitter {self.submitter or 'any'}"

    def to_dicts(self) -> list[Row]:
        """One row a submission."""
        return flat_rows(self.moments)


class LeaderboardChange(msgspec.Struct, frozen=True, kw_only=True):
    """How one submission's place changed; None where it was not there then, or does not count now."""

    submission_id: str
    then_ranking: int | None
    now_ranking: int | None
    then_score: float | None
    now_score: float | None


class TaskChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What changed in a task since a moment."""

    task_id: str
    since: str
    then_n: int
    now_n: int
    then_version: int
    now_version: int
    then_profile: str
    """The profile that was in force; under `as-submitted` earlier ones may have made scores."""
    now_profile: str
    then_policy: Policy
    now_policy: Policy
    then_leader: str | None
    now_leader: str | None
    new: int
    moved: tuple[LeaderboardChange, ...]
    """Submissions that are new or whose rank or score changed, in the order of entry; then those that are excluded
    now and were not."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LeaderboardChanges(ArenaResult):
    """What changed in one task, or in every task with a change."""

    changes: tuple[TaskChanges, ...]

    def _about(self) -> str:
        return f"{len(self.changes):,} tasks changed"

    def to_dicts(self) -> list[Row]:
        """One row for each submission that is new or whose place changed."""
        return [
            {"task_id": task.task_id, "since": task.since, **row}
            for task in self.changes
            for row in flat_rows(task.moved)
        ]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"changes": as_json(self.changes)}


class ArenaEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What a target is told."""

    event_id: str
    """The same event has the same id, however often it is sent."""
    kind: str
    created_at: str
    submission_id: str
    task_id: str
    submitter: str | None
    agent: str | None
    model: str | None
    overall_score: float
    overall_ranking: int
    """At that moment, as are the score, the percentile, the version and the flags; of one that was excluded, before."""
    percentile: float
    baseline_version: int
    flags: tuple[str, ...] = ()
    """What makes the submission look too good."""
    previous_ranking: int | None = None
    """The rank that was lost; None for other events."""
    cause_submission_id: str | None = None
    """The submission by whose acceptance (the best of those that came together) or rating the rank was lost."""
    rating_number: int | None = None
    """The rating of that submission that caused the event, by its number in the log; None when none did."""
    decision: Decision | None = None
    """The decision that caused the event, with who made it and why; None when none did."""
    by: str | None = None
    reason: str | None = None


class SendingRound(msgspec.Struct, frozen=True, kw_only=True):
    """What one round of sending did."""

    sent: int
    failed: int
    put_off: int
    """Deliveries that were due and not tried, since their target did not answer at all."""
    settled: int
    waiting: int
    """Events that are not settled yet."""
    next_attempt_at: str | None
    """When the first of them is tried again; None where none waits for that."""
    errors: tuple[str, ...]
