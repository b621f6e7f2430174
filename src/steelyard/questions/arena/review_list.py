"""List flagged submissions that need review."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, Outlier, outliers
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer

if TYPE_CHECKING:
    from steelyard.pages import Page


class ReviewListOptions(Options):
    """Options of `arena review list`."""

    task: str | None = doc("Task id (default: all tasks).", default=None, kw_only=False)


class Outliers(ArenaAnswer, frozen=True, kw_only=True):
    """Submissions flagged for manual review that no reviewer has accepted or excluded."""

    rows: ClassVar[Rows] = Rows("outliers", joined=("flags",))

    outliers: tuple[Outlier, ...]
    """In the order of acceptance."""

    @property
    def about(self) -> str:
        """Number of submissions."""
        return f"{counted(len(self.outliers), 'submission')} for review"


@arena_question(ReviewListOptions, path="/outliers", paged="outliers", examples=({"task": "fix-race"},))
def arena_review_list(arena: Arena, options: ReviewListOptions) -> Outliers:
    """Return the flagged submissions to a task, or to all tasks, that need review."""
    return Outliers(outliers=tuple(outliers(arena, options.task)))


def page(answer: Outliers) -> Page:
    """Return one row per flagged submission: its flags and the recommended action."""
    rows = answer.outliers
    flags = Counter(flag for outlier in rows for flag in outlier.flags)
    tasks = len({outlier.task_id for outlier in rows})
    actions = [outlier.recommended_action.replace("_", " ") for outlier in rows]
    columns = (
        pages.id_column("submission_id", "submission", "submissions", [outlier.submission_id for outlier in rows]),
        pages.id_column("task_id", "task", "tasks", [outlier.task_id for outlier in rows]),
        pages.text_column("flags", "flags", [", ".join(outlier.flags) for outlier in rows]),
        pages.text_column("recommended_action", "recommended", actions),
    )
    waits = "is waiting" if len(rows) == 1 else "are waiting"
    sentence = f"{counted(len(rows), 'submission')} to {counted(tasks, 'task')} {waits} for review."
    return pages.Page(
        name="review",
        title="Submissions flagged for review",
        answer=sentence if rows else "No submissions are waiting for review.",
        notes=(
            *(f"{flag}: {counted(count, 'submission')}." for flag, count in flags.most_common()),
            *(["Decide: steelyard arena review accept ID, or exclude ID with a reason."] if rows else []),
        ),
        links=(pages.PageLink("Review log", "/reviews"), pages.PageLink("Systematic advantages", "/bias")),
        table=pages.PageTable(caption="Waiting for review", columns=columns),
    )
