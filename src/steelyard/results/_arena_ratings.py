"""Assigned and given ratings."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.results._arena_rows import FieldsResult
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
