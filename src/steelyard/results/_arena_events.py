"""Events of an arena, and their delivery."""

from __future__ import annotations

import msgspec

from steelyard.results._arena_reviews import Decision


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
