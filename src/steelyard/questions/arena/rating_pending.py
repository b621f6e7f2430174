"""List submissions assigned for rating, with names blinded."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, Assignment, assignments_of
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, BlindedOptions

if TYPE_CHECKING:
    from steelyard.pages import Page


class RatingPendingOptions(BlindedOptions):
    """Options of `arena rating pending`."""

    reviewer: str | None = doc("Only submissions assigned to this reviewer.", default=None)
    task: str | None = doc("Only this task.", default=None)


class Assignments(ArenaAnswer, frozen=True, kw_only=True):
    """Assigned ratings by task and reviewer."""

    rows: ClassVar[Rows] = Rows("assignments")

    assignments: tuple[Assignment, ...]

    @property
    def about(self) -> str:
        """Number of assigned and of pending ratings."""
        pending = sum(not assignment.rated for assignment in self.assignments)
        return f"{counted(len(self.assignments), 'rating')} assigned, {pending:,} pending"


@arena_question(RatingPendingOptions, path="/assignments", paged="assignments", examples=({"reviewer": "ada"},))
def arena_rating_pending(arena: Arena, options: RatingPendingOptions) -> Assignments:
    """Return the assigned reviews, blinded unless `unblind` is set."""
    assigned = assignments_of(arena, reviewer=options.reviewer, task_id=options.task, unblind=options.unblind)
    return Assignments(assignments=assigned)


def page(answer: Assignments) -> Page:
    """Return one row per assigned submission and reviewer."""
    assigned = answer.assignments
    is_blinded = all(row.submission_id is None for row in assigned)
    submission = pages.text_column("submission_id", "submission", [row.submission_id for row in assigned])
    columns = (
        pages.text_column("task_id", "task", [row.task_id for row in assigned]),
        pages.text_column("reviewer", "reviewer", [row.reviewer for row in assigned]),
        pages.text_column("entry", "entry", [row.entry for row in assigned]),
        *(() if is_blinded else (submission,)),
        pages.text_column("rated", "state", ["rated" if row.rated else "to rate" for row in assigned]),
    )
    blinded = "Submissions are blinded: names do not identify the submitter."
    return pages.Page(
        name="assignments",
        title="Assigned ratings",
        answer=f"{answer.about}."
        if assigned
        else "No ratings assigned. Assign some: steelyard arena rating assign TASK",
        notes=(blinded,) if assigned and is_blinded else (),
        table=pages.PageTable(caption="Assignments", columns=columns),
    )
