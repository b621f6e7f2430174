"""Receipts of submissions."""

from __future__ import annotations

from typing import Literal

import msgspec

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
