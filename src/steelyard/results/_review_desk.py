"""What a reviewer looks at: submissions that look too good, tools with an advantage, and every decision."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.results._arena_leaderboard import Advantage, Outlier
from steelyard.results._arena_reviews import Review
from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row


@dataclass(frozen=True, kw_only=True, repr=False)
class ReviewDesk(FieldsResult):
    """What waits for a decision, and the public log of those that were made."""

    outliers: tuple[Outlier, ...]
    """Submissions that look too good and that nobody has looked at."""
    decisions: tuple[Review, ...]
    """Every decision with who made it, when and why, the last first."""
    advantages: tuple[Advantage, ...]
    """How each tool does against the others on shared tasks."""

    def _about(self) -> str:
        return f"{len(self.outliers):,} for review, {len(self.decisions):,} decisions"

    def to_dicts(self) -> list[Row]:
        """One flat row a decision."""
        return flat_rows(self.decisions)
