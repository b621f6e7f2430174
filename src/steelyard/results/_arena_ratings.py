"""Assigned ratings, given ratings, and estimates adjusted for reviewer severity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from steelyard.records import Finding
from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row

ASSIGNMENT_SEED = 20261115
"""Default random seed of assignments."""


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A submission assigned to a reviewer."""

    task_id: str
    entry: str
    """Anonymous name of the submission, for `arena rating add`."""
    reviewer: str
    rated: bool
    """Whether the reviewer has rated it."""
    submission_id: str | None
    """Submission id; None if blinded."""
    assigned_at: str | None
    """Time of the assignment; None if blinded."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Assignments(FieldsResult):
    """Assigned ratings by task and reviewer."""

    assignments: tuple[Assignment, ...]

    def _about(self) -> str:
        rated = sum(assignment.rated for assignment in self.assignments)
        return f"{len(self.assignments):,} assigned, {rated:,} rated"

    def to_dicts(self) -> list[Row]:
        """Return one row per assignment."""
        return flat_rows(self.assignments)


@dataclass(frozen=True, kw_only=True, repr=False)
class Rated(FieldsResult):
    """A stored rating."""

    submission_id: str
    task_id: str
    reviewer: str
    criterion: str | None
    """The rated criterion; None for the whole submission."""
    score: float
    comment: str | None
    replaces: float | None
    """The reviewer's previous rating; None for the first."""
    counts: bool
    """Whether the rating counts in correctness, because a `judge` criterion names reviewers."""

    def _about(self) -> str:
        return f"{self.submission_id}: {self.score:g} by {self.reviewer}"

    def to_dicts(self) -> list[Row]:
        """Return one row with the rating."""
        return [self._shape()]


class RatedSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """Ratings of a submission."""

    submission_id: str
    task_id: str
    ratings: int
    mean: float
    """Mean of the unadjusted ratings."""
    estimate: float | None
    """The rating expected from reviewers of mean severity."""
    low: float | None
    high: float | None
    reason: str | None
    """Why there is no interval; None if there is one."""


class ReviewerEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Severity of a reviewer."""

    reviewer: str
    """The reviewer, or an anonymous name valid for this result only."""
    ratings: int
    severity: float | None
    """Points below (if negative, above) the mean of the group's reviewers on the same submissions."""
    low: float | None
    high: float | None
    reason: str | None
    """Why there is no interval; None if there is one."""
    deviates: tuple[str, ...]
    """Significant deviations at the 5% level, Holm-corrected: strict or lenient, erratic."""
    group: int
    """Group number; reviewers of different groups have no submission in common and are not comparable."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PeerReview(FieldsResult):
    """Ratings decomposed by an additive model: submission quality - reviewer severity + error."""

    task_id: str | None
    """The task; None for all tasks."""
    criterion: str | None
    """The rated criterion; None for whole submissions."""
    confidence: float
    n: int
    """Number of ratings."""
    agreement: dict[str, Any]
    """Krippendorff's alpha for ratings on an interval scale, with its interval (Any: an interval's fields)."""
    submissions: tuple[RatedSubmission, ...]
    reviewers: tuple[ReviewerEstimate, ...]
    std_dev: float | None
    """Residual standard deviation; None if it cannot be estimated."""
    findings: tuple[Finding, ...] = ()

    def _about(self) -> str:
        return f"{self.n:,} ratings of {len(self.submissions):,} submissions by {len(self.reviewers):,} reviewers"

    def to_dicts(self) -> list[Row]:
        """Return one row per submission."""
        return flat_rows(self.submissions)
