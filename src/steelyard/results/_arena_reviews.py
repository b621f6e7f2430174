"""Decisions of reviewers and submitters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row

Decision = Literal["accepted", "excluded", "withdrawn", "reinstated"]
"""`withdrawn` is an exclusion by the submitter; `reinstated` reverts an exclusion."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A logged decision on a submission."""

    submission_id: str
    task_id: str
    decision: Decision
    by: str | None
    """The reviewer; None if not given."""
    reason: str | None
    """The reason; required only for an exclusion by a reviewer."""
    decided_at: str

    @property
    def sentence(self) -> str:
        """The decision with who made it, when and why."""
        who = f" by {self.by}" if self.by else ""
        why = f": {self.reason}" if self.reason else "."
        return f"{self.submission_id} in {self.task_id} was {self.decision}{who} on {self.decided_at[:10]}{why}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Reviewed(FieldsResult):
    """A submission after a decision."""

    submission_id: str
    task_id: str
    status: Literal["counted", "excluded"]
    """Whether it is now included in the baseline, scores and ranks of its task."""
    changed: bool
    """False if the decision was already in effect; the log is then unchanged."""
    review: Review | None
    """The last decision on it; None if there is none."""
    submissions: int
    """Number of included submissions of the task."""
    baseline_version: int
    """The current baseline version of the task."""

    def _about(self) -> str:
        return f"{self.submission_id} in {self.task_id}: {self.status}"

    def to_dicts(self) -> list[Row]:
        """Return one row with the last decision."""
        return [] if self.review is None else flat_rows([self.review])
