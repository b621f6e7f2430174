"""What a submitter gets back, and what an evaluation is."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["accepted", "known"]


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
    """`accepted` now, or `known`: the same submission was accepted before and is not counted again."""
    overall_score: float
    efficiency_score: float
    speed_score: float
    cost_score: float
    correctness_score: float
    adjusted_score: float
    overall_ranking: int
    """Competition rank in the task at the moment of acceptance (of asking, when it was known)."""
    percentile: float
    """Share of the task's scores strictly below, in percent."""
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
