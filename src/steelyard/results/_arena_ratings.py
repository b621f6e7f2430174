"""What reviewers are to rate, what they gave, and what it says once their severity is taken out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from steelyard.records import Finding
from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row

ASSIGNMENT_SEED = 20261115
"""By which reviewers are assigned where nobody names another seed."""


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A submission that a reviewer is to rate."""

    task_id: str
    entry: str
    """What the reviewer knows the submission by; `arena rating add` takes it."""
    reviewer: str
    rated: bool
    """Whether the reviewer has rated it."""
    submission_id: str | None
    """Its own id; None while the display is blinded."""
    assigned_at: str | None
    """When; None while the display is blinded."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Assignments(FieldsResult):
    """Who is to rate what, by task and reviewer."""

    assignments: tuple[Assignment, ...]

    def _about(self) -> str:
        rated = sum(assignment.rated for assignment in self.assignments)
        return f"{len(self.assignments):,} assigned, {rated:,} rated"

    def to_dicts(self) -> list[Row]:
        """One row an assignment."""
        return flat_rows(self.assignments)


@dataclass(frozen=True, kw_only=True, repr=False)
class Rated(FieldsResult):
    """A rating that is kept."""

    submission_id: str
    task_id: str
    reviewer: str
    criterion: str | None
    """What was rated; None for the submission as a whole."""
    score: float
    comment: str | None
    replaces: float | None
    """The reviewer's rating before; None where this is the first."""
    counts: bool
    """Whether ratings count in the correctness of this task: only where a `judge` criterion names reviewers."""

    def _about(self) -> str:
        return f"{self.submission_id}: {self.score:g} by {self.reviewer}"

    def to_dicts(self) -> list[Row]:
        """One row, the rating."""
        return [self._shape()]


class RatedSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission and its ratings."""

    submission_id: str
    task_id: str
    ratings: int
    mean: float
    """Of the ratings as they were given."""
    estimate: float | None
    """What reviewers of mean severity would give it."""
    low: float | None
    high: float | None
    reason: str | None
    """Why there is no interval; None when there is one."""


class ReviewerEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """How strict a reviewer is."""

    reviewer: str
    """A name for this answer alone while the display is blinded."""
    ratings: int
    severity: float | None
    """Points below (above, where negative) the mean of the reviewers of the group on the same submissions."""
    low: float | None
    high: float | None
    reason: str | None
    """Why there is no interval; None when there is one."""
    deviates: tuple[str, ...]
    """What is shown against chance at 95%, corrected for the number of reviewers: strict or lenient, erratic."""
    group: int
    """Reviewers of different groups have no submission in common and cannot be compared."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PeerReview(FieldsResult):
    """Ratings taken apart by an additive model: submission plus severity of the reviewer plus chance."""

    task_id: str | None
    """None where the ratings of all tasks are looked at together."""
    criterion: str | None
    """What was rated; None for submissions as a whole."""
    confidence: float
    n: int
    """Ratings."""
    agreement: dict[str, Any]
    """Krippendorff's alpha for ratings on an interval scale, with its interval (Any: an interval's fields)."""
    submissions: tuple[RatedSubmission, ...]
    reviewers: tuple[ReviewerEstimate, ...]
    std_dev: float | None
    """The standard deviation of what neither submission nor reviewer explains; None where it is not shown."""
    findings: tuple[Finding, ...] = ()

    def _about(self) -> str:
        return f"{self.n:,} ratings of {len(self.submissions):,} submissions by {len(self.reviewers):,} reviewers"

    def to_dicts(self) -> list[Row]:
        """One row a submission."""
        return flat_rows(self.submissions)
