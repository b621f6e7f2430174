"""Parts that the leaderboards of tasks and of the whole arena share, and notes on what limits a rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from steelyard.arena import LeaderboardEntry, Policy, Receipt, ScoredBy, ScoreInterval
from steelyard.errors import UsageError
from steelyard.formatting import counted, decimal_bounds, exact_percent
from steelyard.option_names import option
from steelyard.pages import DASH, Column, Facts
from steelyard.questions._options import Count
from steelyard.questions._question import Options, doc
from steelyard.statistics import check_level

REPORTS_FAILURE = "reports failure"
"""Note of a submission that reports its own failure although its correctness is 100."""
REVIEW_MARK = " !"
"""Marks a submission that is waiting for review."""
DEFAULT_MARK = " *"
"""Marks a default score."""
UNREPORTED = {
    "estimated_cost": f"cost not reported: default 50{DEFAULT_MARK}",
    "execution_time": f"time not reported: default 50{DEFAULT_MARK}",
    "iterations": "iterations not reported: default 1",
    "success": "success not reported: default true",
}
"""Note on each number that a submission does not report."""


class PolicyOptions(Options):
    """Baseline policy."""

    policy: Policy | None = doc(
        "Baseline policy: current or as-submitted (default: the policy of the arena).", default=None
    )


class RankingOptions(PolicyOptions):
    """Options of leaderboards."""

    confidence: float | None = doc("Confidence level, between 0 and 1 (default: 0.95).", default=None)
    top: Count | None = doc("Number of ranks to show (default: all).", default=None)

    def check(self) -> None:
        """Reject values out of range."""
        if self.confidence is not None:
            check_level(self.confidence)
        if self.top is not None and self.top < 1:
            raise UsageError(f"{option('top')} must be 1 or more (got {self.top})")


class RankedAnswer(Protocol):
    """A leaderboard, as far as its settings are concerned."""

    @property
    def profile(self) -> str: ...

    @property
    def policy(self) -> Policy: ...

    @property
    def scored_by(self) -> Sequence[ScoredBy]: ...


def settings_text(ranking: RankedAnswer) -> str:
    """Return the profile and the policy; if other profiles determined scores, each with its number of submissions.

    Profiles with the same name are distinguished by the time they took effect.
    """
    in_force = f"{ranking.profile}, policy {ranking.policy}"
    made = ranking.scored_by
    if ranking.policy == "current" or (len(made) <= 1 and all(scorer.profile == ranking.profile for scorer in made)):
        return in_force
    is_twice = len({scorer.profile for scorer in made}) < len(made)
    names = [f"{scorer.profile} of {scorer.since}" if is_twice and scorer.since else scorer.profile for scorer in made]
    shown = [f"{name} ({counted(scorer.submissions, 'submission')})" for name, scorer in zip(names, made, strict=True)]
    return f"scored by {', '.join(shown)}; current {in_force}"


def mean_facts(mean: ScoreInterval) -> Facts:
    """Return the method and the level of the interval of a mean score."""
    return (("interval method", f"{mean.method}, n {mean.n:,}"), ("confidence level", exact_percent(mean.level)))


def mean_interval_column(means: Sequence[ScoreInterval]) -> Column:
    """Return the intervals of mean scores; their lower bounds order the column."""
    return Column(
        name="confidence_interval",
        title="interval",
        values=[None if mean.estimate is None else mean.low for mean in means],
        decimals=2,
        texts=[DASH if mean.estimate is None else decimal_bounds(mean.low, mean.high) for mean in means],
    )


def unreported_text(names: Sequence[str]) -> str:
    """Return which of cost and time are missing and scored by a default; empty if both are reported.

    >>> unreported_text(["estimated_cost", "success"])
    'reported cost (scored 50)'
    """
    words = {"estimated_cost": "cost", "execution_time": "time"}
    unreported = [word for name, word in words.items() if name in names]
    return f"reported {' or '.join(unreported)} (scored 50)" if unreported else ""


def brief_notes(entry: LeaderboardEntry) -> str:
    """Return the number of notes of each kind, for a row whose submission has a page with all of them."""
    flags = counted(len(entry.flags), "flag")
    notes = [f"review ({flags})"] if entry.recommended_action else [flags] if entry.flags else []
    notes += [REPORTS_FAILURE] if entry.hides_failure else []
    for what, names in (
        ("claimed", entry.claimed),
        ("defaulted", entry.defaulted),
        ("lower bound", entry.lower_bounds),
        ("warned", entry.warnings),
    ):
        notes += [f"{len(names)} {what}"] if names else []
    return ", ".join(notes) or DASH


def rank_notes(entry: LeaderboardEntry | Receipt) -> list[str]:
    """Return what limits the rank of a submission."""
    notes = [f"{entry.recommended_action}{REVIEW_MARK}"] if entry.recommended_action else []
    notes += entry.flags
    notes += [REPORTS_FAILURE] if isinstance(entry, LeaderboardEntry) and entry.hides_failure else []
    notes += [text for field, text in UNREPORTED.items() if field in entry.defaulted]
    notes += [f"unverified: {', '.join(entry.claimed)}"] if entry.claimed else []
    notes += [f"lower bound of {', '.join(entry.lower_bounds)}"] if entry.lower_bounds else []
    return [*notes, *entry.warnings]
