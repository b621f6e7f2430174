"""What those who submit and who define tasks get back: receipts, and what was refused with its reason."""

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
    """Whether one success criterion was met, and how that is known."""

    type: str
    """The criterion's type."""
    met: bool
    """Whether it counts as met."""
    claimed: bool = False
    """True when only the submitter's word stands behind it."""
    reason: str
    """What decided, in words."""


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A submission that is in the store, with its score and place at that moment."""

    submission_id: str
    task_id: str
    status: Status
    """`accepted` now, or `known`: the same submission was accepted before and is not counted again; `excluded`: it was
    accepted before, and a reviewer excluded it or its submitter withdrew it."""
    overall_score: float
    efficiency_score: float
    speed_score: float
    cost_score: float
    correctness_score: float
    adjusted_score: float
    overall_ranking: int | None
    """Competition rank in the task at the moment of acceptance (of asking, when it was known); None when excluded."""
    percentile: float | None
    """Fraction of the task's scores strictly below, in percent; None when excluded."""
    baseline_version: int
    """The baseline that the scores are made with."""
    defaulted: tuple[str, ...] = ()
    """Fields that were unknown and scored by a default."""
    claimed: tuple[str, ...] = ()
    """Types of the criteria that only the submitter's word decided."""
    flags: tuple[str, ...] = ()
    """What makes it look too good; two or more ask for a review by a person."""
    warnings: tuple[str, ...] = ()
    """What looks suspicious about the evaluation."""
    lower_bounds: tuple[str, ...] = ()
    """Counts of which only a part is known, so that scores made from them are too good."""
    recommended_action: str | None = None
    """`manual_review` where the flags ask for it and nobody has accepted or excluded the submission."""


def _told(rejected: Sequence[Rejected], notes: Sequence[Finding]) -> dict[str, Any]:  # Any: JSON values
    return {
        "refused": [refusal.to_dict() for refusal in rejected],
        "findings": [finding_dict(note) for note in notes],
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class Submitted(ArenaResult):
    """The outcome of the submissions of some files."""

    receipts: tuple[Receipt, ...]
    rejected: tuple[Rejected, ...]
    notes: tuple[Finding, ...] = ()
    """A finding for each file that held nothing."""

    @property
    def accepted(self) -> int:
        """How many are new in the store."""
        return sum(receipt.status == "accepted" for receipt in self.receipts)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A finding for each that was refused, and for each file that held nothing."""
        return one_a_kind((*set_aside_findings(self.rejected), *self.notes))

    def _about(self) -> str:
        stored = len(self.receipts) - self.accepted
        return f"{self.accepted:,} accepted, {stored:,} already known, {len(self.rejected):,} rejected"

    def to_dicts(self) -> list[Row]:
        """One flat row a receipt; lists are joined by semicolons."""
        return flat_rows(self.receipts)

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return as_object({"receipts": self.receipts, **_told(self.rejected, self.notes)})


@dataclass(frozen=True, kw_only=True, repr=False)
class AddedTasks(ArenaResult):
    """The outcome of the tasks of some files."""

    tasks: tuple[tuple[Task, bool], ...]
    """Each task that is in the arena now, and whether it is new."""
    rejected: tuple[Rejected, ...]
    notes: tuple[Finding, ...]
    """A finding for each file that held nothing, and for each category without weights."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A finding for each that was refused, and whatever else its author should know."""
        return one_a_kind((*set_aside_findings(self.rejected), *self.notes))

    def _about(self) -> str:
        return f"{sum(new for _, new in self.tasks):,} new of {len(self.tasks):,}, {len(self.rejected):,} rejected"

    def to_dicts(self) -> list[Row]:
        """One row a task."""
        return [{"id": task.id, "new": new} for task, new in self.tasks]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {"tasks": self.to_dicts(), **_told(self.rejected, self.notes)}
