"""What reviewers and submitters decided about a submission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row

Decision = Literal["accepted", "excluded", "withdrawn", "reinstated"]
"""`withdrawn` is an exclusion by the submitter; `reinstated` takes an exclusion back."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """One decision about a submission, as the log keeps it."""

    submission_id: str
    task_id: str
    decision: Decision
    by: str | None
    """Who decided; None when nobody said."""
    reason: str | None
    """Why; only an exclusion by a reviewer must have one."""
    decided_at: str


@dataclass(frozen=True, kw_only=True, repr=False)
class ReviewLog(FieldsResult):
    """Every decision about submissions, in the order in which they were made. The log only grows."""

    reviews: tuple[Review, ...]

    def _about(self) -> str:
        excluded = sum(review.decision in ("excluded", "withdrawn") for review in self.reviews)
        return f"{len(self.reviews):,} decisions, {excluded:,} exclusions"

    def to_dicts(self) -> list[Row]:
        """One row a decision."""
        return flat_rows(self.reviews)


@dataclass(frozen=True, kw_only=True, repr=False)
class Reviewed(FieldsResult):
    """A submission after a decision."""

    submission_id: str
    task_id: str
    status: Literal["counted", "excluded"]
    """Whether it counts now in the baseline, scores and ranks of its task."""
    changed: bool
    """False when the same had been decided before; nothing is added to the log then."""
    review: Review | None
    """The last decision about it; None when nothing was ever decided."""
    submissions: int
    """How many submissions of the task count now."""
    baseline_version: int
    """The task's baseline in force now."""

    def _about(self) -> str:
        return f"{self.submission_id} in {self.task_id}: {self.status}"

    def to_dicts(self) -> list[Row]:
        """One row, the last decision."""
        return [] if self.review is None else flat_rows([self.review])
