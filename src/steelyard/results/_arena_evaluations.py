"""Evaluation of one submission, and comparison of two profiles on all submissions."""

from __future__ import annotations

import msgspec

from steelyard.results._arena_leaderboard import Policy
from steelyard.results._arena_receipts import CriterionResult, Receipt
from steelyard.results._arena_reviews import Review


class ScoreReason(msgspec.Struct, frozen=True, kw_only=True):
    """A score with its formula and inputs."""

    name: str
    title: str
    value: float
    """Rounded to two decimals, as on leaderboards."""
    unrounded: float
    formula: str
    inputs: dict[str, float | None]
    """Inputs, baseline bounds and other scores; None if unknown."""
    constants: dict[str, float]


class ExtraScore(msgspec.Struct, frozen=True, kw_only=True):
    """A score in addition to those of the specification, with its formula and inputs."""

    name: str
    value: float | None
    version: int
    """The model version that it is based on."""
    formula: str
    inputs: dict[str, float | None]
    constants: dict[str, float]
    reason: str | None
    """An additional note; None if there is none."""


class ScoredSubmission(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with an explanation of its scores."""

    receipt: Receipt
    profile: str
    """The profile of the scores; under `as-submitted`, the one at the time of submission."""
    policy: Policy
    submitted_at: str
    accepted_at: str
    agent: str | None
    model: str | None
    submitter: str | None
    criteria: tuple[CriterionResult, ...]
    artifacts_sha256: str | None
    scores: tuple[ScoreReason, ...]
    sources: dict[str, str]
    """Source of each number: the submission, the criteria, the baseline, defaults, ..."""
    reviews: tuple[Review, ...]
    """Review decisions, in order."""
    extra_scores: tuple[ExtraScore, ...]
    """Scores in addition to those of the specification; none unless the profile enables them."""
