"""List severity-adjusted ratings and inter-rater agreement.

A rating is modeled as submission quality - reviewer severity + error.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, RatingTable, find_task, rating_table
from steelyard.formatting import counted, decimal_bounds, interval_name
from steelyard.questions._answer import Part, Rows
from steelyard.questions._figure_options import ConfidenceOptions
from steelyard.questions._question import arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, BlindedOptions
from steelyard.statistics import Interval, TwoWay, check_level, deviations, krippendorff_alpha, two_way

if TYPE_CHECKING:
    from steelyard.pages import Column, Page


class RatingListOptions(BlindedOptions, ConfidenceOptions):
    """Options of `arena rating list`."""

    task: str | None = doc("Task id (default: all tasks).", default=None, kw_only=False)
    criterion: str | None = doc("Rated criterion (default: the whole submission).", default=None)


class RatedSubmission(Part, frozen=True, kw_only=True):
    """Ratings of a submission."""

    submission_id: str
    task_id: str
    ratings: int
    mean: float
    """Mean of the unadjusted ratings."""
    estimate: float | None
    """The rating expected from reviewers of mean severity."""
    low: float | None
    high: float | None
    reason: str | None
    """Why there is no interval; None if there is one."""


class ReviewerEstimate(Part, frozen=True, kw_only=True):
    """Severity of a reviewer."""

    reviewer: str
    """The reviewer, or an anonymous name valid for this answer only."""
    ratings: int
    severity: float | None
    """Points below (if negative, above) the mean of the group's reviewers on the same submissions."""
    low: float | None
    high: float | None
    reason: str | None
    """Why there is no interval; None if there is one."""
    deviates: tuple[str, ...]
    """Significant deviations at the 5% level, Holm-corrected: strict or lenient, erratic."""
    group: int
    """Group number; reviewers of different groups have no submission in common and are not comparable."""


class PeerReview(ArenaAnswer, frozen=True, kw_only=True):
    """Ratings decomposed by an additive model: submission quality - reviewer severity + error."""

    rows: ClassVar[Rows] = Rows("submissions")

    task_id: str | None
    """The task; None for all tasks."""
    criterion: str | None
    """The rated criterion; None for whole submissions."""
    confidence: float
    n: int
    """Number of ratings."""
    agreement: Interval
    """Krippendorff's alpha for ratings on an interval scale."""
    submissions: tuple[RatedSubmission, ...]
    reviewers: tuple[ReviewerEstimate, ...]
    std_dev: float | None
    """Residual standard deviation; None if it cannot be estimated."""

    @property
    def about(self) -> str:
        """Number of ratings, submissions and reviewers."""
        submissions, reviewers = counted(len(self.submissions), "submission"), counted(len(self.reviewers), "reviewer")
        return f"{counted(self.n, 'rating')} of {submissions} by {reviewers}"


@arena_question(RatingListOptions, path="/ratings", examples=({"task": "fix-race", "unblind": True},))
def arena_rating_list(arena: Arena, options: RatingListOptions) -> PeerReview:
    """Return ratings adjusted for reviewer severity; reviewers are blinded unless `unblind` is set."""
    level = check_level(options.confidence)
    with arena.read() as connection:
        key = None if options.task is None else find_task(connection, options.task, arena.rules).key
        table = rating_table(connection, key, options.criterion)
    fit = two_way(table.units, table.raters, table.scores, level=level) if len(table.scores) else None
    wide = np.full((len(table.submissions), len(table.reviewers)), np.nan)
    wide[table.units, table.raters] = table.scores
    clusters = [task if options.task is None else name for task, name in table.submissions]
    return PeerReview(
        task_id=options.task,
        criterion=options.criterion,
        confidence=level,
        n=len(table.scores),
        agreement=krippendorff_alpha(wide, clusters, scale="interval", level=level),
        submissions=() if fit is None else _submissions(table, fit),
        reviewers=() if fit is None else _reviewers(table, fit, unblind=options.unblind),
        std_dev=None if fit is None else fit.std_dev,
    )


def _submissions(table: RatingTable, fit: TwoWay) -> tuple[RatedSubmission, ...]:
    counts = np.bincount(table.units)
    means = np.bincount(table.units, table.scores) / counts
    return tuple(
        RatedSubmission(
            submission_id=name,
            task_id=task,
            ratings=int(counts[place]),
            mean=float(means[place]),
            estimate=interval.estimate,
            low=interval.low,
            high=interval.high,
            reason=interval.reason,
        )
        for place, (task, name) in enumerate(table.submissions)
        for interval in [fit.quality_interval(place, int(counts[place]))]
    )


def _reviewers(table: RatingTable, fit: TwoWay, *, unblind: bool) -> tuple[ReviewerEstimate, ...]:
    counts = Counter(table.raters.tolist())
    estimates = []
    for place, (name, words) in enumerate(zip(table.reviewers, deviations(fit, table.raters), strict=True)):
        interval = fit.severity_interval(place, counts[place])
        estimates.append(
            ReviewerEstimate(
                reviewer=name if unblind else _blinded(name, table.submissions),
                ratings=counts[place],
                severity=interval.estimate,
                low=interval.low,
                high=interval.high,
                reason=interval.reason,
                deviates=words,
                group=int(fit.group[place]) + 1,
            )
        )
    return tuple(estimates if unblind else sorted(estimates, key=lambda reviewer: reviewer.reviewer))


def _blinded(name: str, rated: Sequence[tuple[str, str]]) -> str:
    """Return an anonymous name; it changes with the rated submissions, so that it does not link two rounds."""
    identity = "\0".join([name, str(len(rated)), *rated[0], *rated[-1]])
    return f"reviewer-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def page(answer: PeerReview) -> Page:
    """Return one row per submission with its estimate, then the severity of each reviewer."""
    rated = sorted(answer.submissions, key=lambda row: (-(row.estimate or 0.0), row.submission_id))
    columns = (
        pages.id_column("submission_id", "submission", "submissions", [row.submission_id for row in rated]),
        pages.text_column("task_id", "task", [row.task_id for row in rated]),
        pages.count_column("ratings", "ratings", [row.ratings for row in rated]),
        pages.number_column("mean", "mean", [row.mean for row in rated], places=2),
        pages.number_column("estimate", "estimate", [row.estimate for row in rated], places=2),
        _interval_column(answer, rated),
    )
    reviewers = pages.PageTable(
        name="reviewers",
        caption="Reviewer severity: points below the other reviewers on the same submissions",
        columns=(
            pages.text_column("reviewer", "reviewer", [row.reviewer for row in answer.reviewers]),
            pages.count_column("ratings", "ratings", [row.ratings for row in answer.reviewers]),
            pages.number_column("severity", "severity", [row.severity for row in answer.reviewers], places=2, sign="+"),
            _interval_column(answer, answer.reviewers, signed=True),
            pages.text_column("deviates", "deviates", [", ".join(row.deviates) for row in answer.reviewers]),
        ),
    )
    groups = max((reviewer.group for reviewer in answer.reviewers), default=1)
    apart = (
        f"{groups} groups of reviewers have no submission in common; severity and estimates are comparable only within"
        " a group."
    )
    return pages.Page(
        name="ratings",
        title="Peer ratings",
        answer=_sentence(answer),
        notes=(apart,) if groups > 1 else (),
        table=pages.PageTable(caption="Estimates adjusted for reviewer severity", columns=columns),
        also=(reviewers,) if answer.reviewers else (),
        facts=(("model", "submission quality - reviewer severity + error"), ("ratings", "not part of any score")),
    )


def _interval_column(
    answer: PeerReview, rows: Sequence[RatedSubmission | ReviewerEstimate], *, signed: bool = False
) -> Column:
    """Return the intervals; their lower bounds order the column."""
    texts = [decimal_bounds(row.low, row.high, signed=signed) for row in rows]
    title = interval_name(answer.confidence)
    return pages.Column(name="interval", title=title, values=[row.low for row in rows], decimals=6, texts=texts)


def _sentence(answer: PeerReview) -> str:
    """Return the number of ratings, how far reviewers agree, and who deviates."""
    if not answer.n:
        return "No ratings yet."
    alpha = answer.agreement
    if alpha.estimate is None:
        summary = f"agreement unknown ({alpha.reason or 'no submission has two ratings'})"
    else:
        summary = f"Krippendorff's alpha {alpha.estimate:.2f}"
        if alpha.known:
            summary += f" ({interval_name(answer.confidence)} {decimal_bounds(alpha.low, alpha.high)})"
    odd = [reviewer for reviewer in answer.reviewers if reviewer.deviates]
    named = ", ".join(f"{reviewer.reviewer} ({', '.join(reviewer.deviates)})" for reviewer in odd)
    deviating = f"; {named} {'deviates' if len(odd) == 1 else 'deviate'}" if odd else ""
    return f"{answer.about}, {summary}{deviating}."
