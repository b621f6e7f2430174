"""Rate a submission from 0 to 100.

A later rating by the same reviewer replaces the earlier one. Reviewers cannot rate their own submissions. Ratings
affect correctness only if a judge criterion of the task lists the reviewer.
"""

from __future__ import annotations

from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, NewRating, rate
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_action, doc
from steelyard.questions.arena._common import ArenaAnswer, login_name


class RatingAddOptions(Options):
    """Options of `arena rating add`."""

    submission: str = doc("Submission id, or the blinded name shown by: steelyard arena rating pending.", kw_only=False)
    reviewer: str | None = doc("Reviewer id (default: your login name).", default=None)
    score: float = doc("Rating from 0 to 100.")
    criterion: str | None = doc("Rated criterion (default: the whole submission).", default=None)
    comment: str | None = doc("Comment.", default=None)


class AddedRating(ArenaAnswer, frozen=True, kw_only=True):
    """A stored rating."""

    rows: ClassVar[Rows] = Rows(
        keep=("submission_id", "task_id", "reviewer", "criterion", "score", "comment", "replaces", "counts")
    )

    submission_id: str
    task_id: str
    reviewer: str
    criterion: str | None
    """The rated criterion; None for the whole submission."""
    score: float
    comment: str | None
    replaces: float | None
    """The reviewer's previous rating; None for the first."""
    counts: bool
    """Whether the rating counts in correctness, because a `judge` criterion names reviewers."""

    @property
    def about(self) -> str:
        """The submission with its score and reviewer."""
        return f"{self.submission_id}: {self.score:g} by {self.reviewer}"


@arena_action(
    RatingAddOptions,
    scope="review",
    path="/submissions/{submission}/ratings",
    holder="reviewer",
    examples=({"submission": "run-17", "reviewer": "ada", "score": 80, "comment": "clear and complete"},),
)
def arena_rating_add(arena: Arena, options: RatingAddOptions) -> AddedRating:
    """Rate a submission from 0 to 100, by its id or the blinded name in an assignment."""
    reviewer = options.reviewer or login_name() or ""
    new = NewRating(options.submission, reviewer, float(options.score), options.criterion, options.comment)
    return AddedRating(**rate(arena, new)._asdict())


def page(answer: AddedRating) -> pages.Page:
    """Return what was rated, and whether it counts in a score."""
    what = f" on {answer.criterion}" if answer.criterion else ""
    before = "" if answer.replaces is None else f" (previously {answer.replaces:g})"
    counts = "included in correctness" if answer.counts else "not part of any score"
    return pages.Page(
        name="rating",
        title="Was the submission rated?",
        answer=f"{answer.submission_id}: {answer.score:g}{what} by {answer.reviewer}{before}; {counts}.",
        links=(pages.PageLink(answer.submission_id, pages.id_path("submissions", answer.submission_id)),),
    )
