"""Undo the exclusion or withdrawal of a submission."""

from __future__ import annotations

from steelyard.arena import Arena
from steelyard.questions._question import arena_action
from steelyard.questions.arena._reviews import ReasonedOptions, ReviewedSubmission, decide


class ReviewReinstateOptions(ReasonedOptions):
    """Options of `arena review reinstate`."""


@arena_action(
    ReviewReinstateOptions,
    scope="review",
    path="/submissions/{submission}/reinstate",
    holder="by",
    examples=({"submission": "run-17", "by": "ada"},),
)
def arena_review_reinstate(arena: Arena, options: ReviewReinstateOptions) -> ReviewedSubmission:
    """Undo the exclusion or withdrawal of a submission."""
    return decide(arena, options, "reinstated", options.reason)
