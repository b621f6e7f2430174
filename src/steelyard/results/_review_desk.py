"""Review page: flagged submissions, tools with an advantage, and the log of decisions."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.results._arena_leaderboard import Advantage, Outlier
from steelyard.results._arena_reviews import Review
from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row


@dataclass(frozen=True, kw_only=True, repr=False)
class ReviewDesk(FieldsResult):
    """Submissions that are waiting for review, and the log of decisions."""

    outliers: tuple[Outlier, ...]
    """Flagged submissions without a review."""
    decisions: tuple[Review, ...]
    """Decisions with reviewer, time and reason, most recent first."""
    advantages: tuple[Advantage, ...]
    """Score difference of each tool from the others on shared tasks."""

    def _about(self) -> str:
        return f"{len(self.outliers):,} for review, {len(self.decisions):,} decisions"

    def to_dicts(self) -> list[Row]:
        """Return one row per decision."""
        return flat_rows(self.decisions)
