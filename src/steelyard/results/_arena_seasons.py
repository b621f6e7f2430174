"""Seasons of an arena: final ranks, and checks of a manifest."""

from __future__ import annotations

import msgspec


class FinalRank(msgspec.Struct, frozen=True, kw_only=True):
    """Rank and score of a submission in a season."""

    task_id: str
    submission_id: str
    overall_ranking: int
    overall_score: float
    agent: str | None
    model: str | None
    submitter: str | None
    sha256: str
    """SHA-256 of the submission."""


class VerifyCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one check."""

    what: str
    """`digest`, `baseline`, `scores`, `ranks`, `exclusions`, `leaderboard`; with a store `kept` and `submissions`."""
    task_id: str | None = None
    """The task; None for the whole manifest."""
    holds: bool
    reason: str | None
    """The difference found; None if there is none."""
