"""Notes on what limits the rank of a submission."""

from __future__ import annotations

from steelyard.arena import LeaderboardEntry, Receipt
from steelyard.formatting import counted
from steelyard.pages import DASH

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
