"""Assign reviewers to every submission for a task.

Existing assignments are kept. Reviewers are never assigned their own submissions or those of their team, and loads
are balanced.
"""

from __future__ import annotations

from steelyard.arena import Arena, assign
from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.questions._question import Names, arena_action, doc
from steelyard.questions.arena._common import BlindedOptions
from steelyard.questions.arena.rating_pending import Assignments

ASSIGNMENT_SEED = 20261115
MAX_REVIEWERS = 100
"""Reviewers per submission."""


class RatingAssignOptions(BlindedOptions):
    """Options of `arena rating assign`."""

    task: str = doc("Task id.", kw_only=False)
    reviewers: Names = doc("Comma-separated reviewer ids (default: all registered people).", default=())
    per_submission: int | None = doc("Reviewers per submission (default: the profile's).", default=None)
    seed: int = doc("Random seed for the assignment.", default=ASSIGNMENT_SEED)


@arena_action(
    RatingAssignOptions,
    path="/assignments",
    examples=({"task": "fix-race", "reviewers": ("ada", "bob", "cyd", "dan"), "per_submission": 3},),
)
def arena_rating_assign(arena: Arena, options: RatingAssignOptions) -> Assignments:
    """Assign reviewers to every submission for a task, and return all assignments of the task."""
    each = options.per_submission
    if each is not None and not 1 <= each <= MAX_REVIEWERS:
        name = option("per_submission")
        raise UsageError(f"{name} must be between 1 and {MAX_REVIEWERS} (got {each})", hint=option("per_submission", 3))
    assigned = assign(
        arena,
        options.task,
        reviewers=tuple(options.reviewers),
        per_submission=each,
        seed=options.seed,
        unblind=options.unblind,
    )
    return Assignments(assignments=assigned)
