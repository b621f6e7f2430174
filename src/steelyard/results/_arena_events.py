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

    @property
    def sentence(self) -> str:
        """The event in one line."""
        what = self.kind.removeprefix("submission.").replace("_", " ")
        before = "" if self.previous_ranking is None else f" (was {self.previous_ranking})"
        who = f"  by {self.by}" if self.by else ""
        who += f"  by a rating of {self.cause_submission_id}" if self.rating_number is not None else ""
        why = f": {self.reason}" if self.reason else ""
        return (
            f"{self.task_id}  {self.submission_id}  {self.overall_score:.2f}  rank {self.overall_ranking}{before}"
            f"  percentile {self.percentile}{'' if what == 'evaluated' else f'  {what}'}{who}{why}"
        )
