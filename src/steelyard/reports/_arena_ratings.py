"""Ratings by reviewers, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import counted, decimal_bounds, interval_name
from steelyard.pages import DASH, TextTable, add_row
from steelyard.reports._arena_tables import arena_table
from steelyard.results import Assignments, PeerReview, Rated, WeightVersions


def rated_line(rated: Rated) -> str:
    """What was rated, and whether it counts in a score."""
    what = f" on {rated.criterion}" if rated.criterion else ""
    before = "" if rated.replaces is None else f" (previously {rated.replaces:g})"
    counts = "included in correctness" if rated.counts else "not part of any score"
    return f"{rated.submission_id}: {rated.score:g}{what} by {rated.reviewer}{before}; {counts}."


def assignments_parts(result: Assignments) -> Iterator[str | TextTable]:
    """How many are to be rated, and by whom."""
    rows = result.assignments
    if not rows:
        yield "No ratings assigned. Assign some: steelyard arena rating assign TASK"
        return
    waiting = sum(not assignment.rated for assignment in rows)
    yield f"{counted(len(rows), 'rating')} assigned, {waiting:,} pending."
    columns = [("task", 0), ("reviewer", 0), ("entry", 0), ("submission", 1), ("state", 0)]
    table = arena_table("To rate", columns, texts=("task", "reviewer", "entry", "submission", "state"))
    for row in rows:
        add_row(
            table, row.task_id, row.reviewer, row.entry, row.submission_id or DASH, "rated" if row.rated else "to rate"
        )
    yield table


def ratings_parts(result: PeerReview) -> Iterator[str | TextTable]:
    """The estimates, and how strict each reviewer is."""
    yield ratings_sentence(result)
    if not result.n:
        return
    columns = [("task", 1), ("submission", 0), ("ratings", 0), ("mean", 0), ("estimate", 0), ("interval", 0)]
    table = arena_table("Adjusted for reviewer severity", columns, texts=("task", "submission"))
    for row in sorted(result.submissions, key=lambda row: (-(row.estimate or 0.0), row.submission_id)):
        ends = _ends(row.low, row.high)
        add_row(table, row.task_id, row.submission_id, str(row.ratings), f"{row.mean:.2f}", f"{row.estimate:.2f}", ends)
    yield table
    columns = [("reviewer", 0), ("ratings", 0), ("severity", 0), ("interval", 0), ("deviates", 0)]
    reviewers = arena_table("Reviewers", columns, texts=("reviewer", "deviates"))
    for reviewer in result.reviewers:
        strict, ends = f"{reviewer.severity:+.2f}", _ends(reviewer.low, reviewer.high)
        add_row(reviewers, reviewer.reviewer, str(reviewer.ratings), strict, ends, ", ".join(reviewer.deviates))
    yield reviewers


def ratings_sentence(result: PeerReview) -> str:
    """How many ratings there are, and how far reviewers agree."""
    if not result.n:
        return "No ratings yet."
    agreement = result.agreement
    if agreement["estimate"] is None:
        summary = f"agreement unknown ({agreement.get('reason') or 'no submission has two ratings'})"
    else:
        summary = f"Krippendorff's alpha {agreement['estimate']:.2f}"
        if agreement["low"] is not None:
            summary += f" ({interval_name(result.confidence)} {decimal_bounds(agreement['low'], agreement['high'])})"
    odd = [reviewer for reviewer in result.reviewers if reviewer.deviates]
    named = ", ".join(f"{reviewer.reviewer} ({', '.join(reviewer.deviates)})" for reviewer in odd)
    deviating = f"; {named} {'deviates' if len(odd) == 1 else 'deviate'}" if odd else ""
    return (
        f"{counted(result.n, 'rating')} of {counted(len(result.submissions), 'submission')} by"
        f" {counted(len(result.reviewers), 'reviewer')}, {summary}{deviating}."
    )


def _ends(low: float | None, high: float | None) -> str:
    return decimal_bounds(low, high)


def weights_lines(result: WeightVersions) -> Iterator[str]:
    """Yield the version in force, its data, and how well each part discriminates between submissions."""
    if not result.versions:
        on = (
            "steelyard arena model weights fits them on request"
            if result.is_on
            else "use a profile with dynamic_weights, such as arena-community"
        )
        yield f"No weights have been fitted: {on}."
        return
    last = result.versions[-1]
    ratings = f"{counted(last.ratings, 'rating')} of {counted(last.submissions, 'submission')}"
    state = f"the fixed weights remain ({last.reason})" if last.reason else f"shifted by at most {last.max_shift:g}"
    yield f"Version {last.version} from {ratings} to {counted(last.tasks, 'task')}: {state}."
    for name, weight in last.weights.items():
        yield f"{name}: {weight:.4f}, fixed {last.fixed[name]:g}"
    for part in last.parts:
        correlation = (
            "no variation" if part.correlation is None else f"correlation with ratings {part.correlation:+.2f}"
        )
        yield f"{part.name}: standard deviation {part.std_dev:.2f} points, {correlation}"
