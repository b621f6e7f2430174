"""Receipts of submissions and tasks, and rejections with their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from steelyard.records import Finding, Rejected, Task, finding_dict, one_a_kind, set_aside_findings
from steelyard.results._arena_rows import ArenaResult, as_object, flat_rows
from steelyard.results._base import Row

Status = Literal["accepted", "known", "excluded"]


class CriterionResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of one success criterion."""

    type: str
    """The criterion's type."""
    met: bool
    """Whether it is met."""
    claimed: bool = False
    """True if it is based only on a claim of the submitter."""
    reason: str
    """The reason as text."""


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A stored submission with its score and rank at that time."""

    submission_id: str
    task_id: str
    status: Status
    """`accepted`: new; `known`: accepted before and not counted again; `excluded`: accepted before, and excluded by a
    reviewer or withdrawn by its submitter."""
    overall_score: float
    efficiency_score: float
    speed_score: float
    cost_score: float
    correctness_score: float
    adjusted_score: float
    overall_ranking: int | None
    """Competition rank in the task when accepted (if `known`, now); None if excluded."""
    percentile: float | None
    """Percentage of the task's scores strictly below; None if excluded."""
    baseline_version: int
    """The baseline version of the scores."""
    defaulted: tuple[str, ...] = ()
    """Unknown fields that are scored by a default."""
    claimed: tuple[str, ...] = ()
    """Types of the criteria that are based only on claims of the submitter."""
    flags: tuple[str, ...] = ()
    """Outlier flags; two or more recommend a manual review."""
    warnings: tuple[str, ...] = ()
    """Warnings of the evaluation."""
    lower_bounds: tuple[str, ...] = ()
    """Counts that are lower bounds, so scores based on them are too high."""
    recommended_action: str | None = None
    """`manual_review` if the flags recommend it and no reviewer has accepted or excluded the submission."""


def _problems(rejected: Sequence[Rejected], notes: Sequence[Finding]) -> dict[str, Any]:  # Any: JSON values
    return {
        "rejected": [refusal.to_dict() for refusal in rejected],
        "findings": [finding_dict(note) for note in notes],
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class Submitted(ArenaResult):
    """Outcome of submitting files."""

    receipts: tuple[Receipt, ...]
    rejected: tuple[Rejected, ...]
    notes: tuple[Finding, ...] = ()
    """A finding per empty file."""

    @property
    def accepted(self) -> int:
        """Return the number of new submissions."""
        return sum(receipt.status == "accepted" for receipt in self.receipts)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return a finding per rejected submission and per empty file."""
        return one_a_kind((*set_aside_findings(self.rejected), *self.notes))

    def _about(self) -> str:
        stored = len(self.receipts) - self.accepted
        return f"{self.accepted:,} accepted, {stored:,} already known, {len(self.rejected):,} rejected"

    def to_dicts(self) -> list[Row]:
        """Return one row per receipt; lists are joined by semicolons."""
        return flat_rows(self.receipts)

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return as_object({"receipts": self.receipts, **_problems(self.rejected, self.notes)})


@dataclass(frozen=True, kw_only=True, repr=False)
class AddedTasks(ArenaResult):
    """Outcome of adding task files."""

    tasks: tuple[tuple[Task, bool], ...]
    """Each task with whether it is new."""
    rejected: tuple[Rejected, ...]
    notes: tuple[Finding, ...]
    """A finding per empty file and per category without weights."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return a finding per rejected task, and the other findings."""
        return one_a_kind((*set_aside_findings(self.rejected), *self.notes))

    def _about(self) -> str:
        return f"{sum(new for _, new in self.tasks):,} new of {len(self.tasks):,}, {len(self.rejected):,} rejected"

    def to_dicts(self) -> list[Row]:
        """Return one row per task."""
        return [{"id": task.id, "new": new} for task, new in self.tasks]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"tasks": self.to_dicts(), **_problems(self.rejected, self.notes)}
