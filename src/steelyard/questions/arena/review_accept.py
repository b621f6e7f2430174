"""Accept a flagged submission."""

from __future__ import annotations

from steelyard.arena import Arena
from steelyard.questions._question import arena_action
from steelyard.questions.arena._reviews import ReasonedOptions, ReviewedSubmission, decide


class ReviewAcceptOptions(ReasonedOptions):
    """Options of `arena review accept`."""


@arena_action(
    ReviewAcceptOptions,
    scope="review",
    path="/submissions/{submission}/accept",
    holder="by",
    examples=({"submission": "run-17", "reason": "checked the log", "by": "ada"},),
)
def arena_review_accept(arena: Arena, options: ReviewAcceptOptions) -> ReviewedSubmission:
    """Accept a flagged submission."""
    return decide(arena, options, "accepted", options.reason)
