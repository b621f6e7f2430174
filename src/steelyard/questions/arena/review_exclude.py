"""Exclude a submission from its task.

The baseline, scores, ranks and flags of the task are recomputed without it. Under the as-submitted policy, the scores
of the other submissions do not change. The id of the submission cannot be reused.
"""

from __future__ import annotations

from steelyard.arena import Arena
from steelyard.questions._question import arena_action, doc
from steelyard.questions.arena._reviews import REASON, DecisionOptions, ReviewedSubmission, decide


class ReviewExcludeOptions(DecisionOptions):
    """Options of `arena review exclude`."""

    reason: str = doc(REASON)


@arena_action(
    ReviewExcludeOptions,
    scope="review",
    path="/submissions/{submission}/exclude",
    holder="by",
    examples=({"submission": "run-17", "reason": "prints the expected output", "by": "ada"},),
)
def arena_review_exclude(arena: Arena, options: ReviewExcludeOptions) -> ReviewedSubmission:
    """Exclude a submission from the baseline, scores, ranks and flags of its task."""
    return decide(arena, options, "excluded", options.reason)
