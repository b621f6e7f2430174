"""Show the log of review decisions and withdrawals."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, Review, find_task, read_reviews
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer

if TYPE_CHECKING:
    from steelyard.pages import Page


class ReviewLogOptions(Options):
    """Options of `arena review log`."""

    task: str | None = doc("Only decisions about submissions to this task.", default=None, kw_only=False)


class ReviewLog(ArenaAnswer, frozen=True, kw_only=True):
    """All decisions in order. The log is append-only."""

    rows: ClassVar[Rows] = Rows("reviews")

    reviews: tuple[Review, ...]

    @property
    def about(self) -> str:
        """Number of decisions and exclusions."""
        excluded = sum(review.decision in ("excluded", "withdrawn") for review in self.reviews)
        return f"{counted(len(self.reviews), 'decision')}, {counted(excluded, 'exclusion')}"


@arena_question(ReviewLogOptions, path="/reviews", paged="reviews", examples=({"task": "fix-race"},))
def arena_review_log(arena: Arena, options: ReviewLogOptions) -> ReviewLog:
    """Return the decisions about the submissions to a task, or to all tasks."""
    with arena.read() as connection:
        key = None if options.task is None else find_task(connection, options.task, arena.rules).key
        return ReviewLog(reviews=tuple(logged.review for logged in read_reviews(connection, key)))


def page(answer: ReviewLog) -> Page:
    """Return one row per decision."""
    reviews = answer.reviews
    columns = (
        pages.time_column("decided_at", "decided", [review.decided_at for review in reviews]),
        pages.id_column("task_id", "task", "tasks", [review.task_id for review in reviews]),
        pages.id_column("submission_id", "submission", "submissions", [review.submission_id for review in reviews]),
        pages.text_column("decision", "decision", [review.decision for review in reviews]),
        pages.text_column("by", "by", [review.by for review in reviews]),
        pages.text_column("reason", "reason", [review.reason for review in reviews]),
    )
    return pages.Page(
        name="review-log",
        title="What did reviewers decide?",
        answer=f"{answer.about}.",
        table=pages.PageTable(caption="Decisions", columns=columns),
    )
