"""Decisions on submissions: what `review accept`, `exclude`, `reinstate` and `withdraw` share."""

from __future__ import annotations

from typing import ClassVar, Literal

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, Decision, Review
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, doc
from steelyard.questions.arena._common import ArenaAnswer, login_name

REASON = "Reason, recorded in the review log."


class DecisionOptions(Options):
    """Submission and reviewer of a decision."""

    submission: str = doc("Submission id.", kw_only=False)
    by: str | None = doc("Name of the reviewer (default: your login name).", default=None, flag="as")


class ReasonedOptions(DecisionOptions):
    """A decision with an optional reason."""

    reason: str | None = doc(REASON, default=None)


class ReviewedSubmission(ArenaAnswer, frozen=True, kw_only=True):
    """A submission after a decision."""

    rows: ClassVar[Rows] = Rows(keep=("submission_id", "task_id", "status", "changed", "review"))

    submission_id: str
    task_id: str
    status: Literal["counted", "excluded"]
    """Whether it is now included in the baseline, scores and ranks of its task."""
    changed: bool
    """False if the decision was already in effect; the log is then unchanged."""
    review: Review | None
    """The last decision on it; None if there is none."""
    submissions: int
    """Number of included submissions of the task."""
    baseline_version: int
    """The current baseline version of the task."""

    @property
    def about(self) -> str:
        """The submission with its status."""
        return f"{self.submission_id} in {self.task_id}: {self.status}"


def decide(arena: Arena, options: DecisionOptions, decision: Decision, reason: str | None) -> ReviewedSubmission:
    """Make a decision as a reviewer."""
    decided = arena.decide(options.submission, decision, by=options.by or login_name(), reason=reason)
    return ReviewedSubmission(**decided._asdict())


def page(answer: ReviewedSubmission) -> pages.Page:
    """Return the decision and its result in sentences."""
    included = "is excluded" if answer.status == "excluded" else "is included"
    included += f"; {answer.task_id} has {counted(answer.submissions, 'submission')}"
    return pages.Page(
        name="review",
        title="Is the submission included?",
        answer=f"{'' if answer.changed else 'No change: '}{answer.submission_id} {included}, "
        f"baseline version {answer.baseline_version}.",
        notes=() if answer.review is None else (answer.review.sentence,),
        links=(pages.PageLink(answer.submission_id, pages.id_path("submissions", answer.submission_id)),),
    )
