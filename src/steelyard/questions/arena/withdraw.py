"""Withdraw your submission.

The submission is excluded. A reviewer can reinstate it.
"""

from __future__ import annotations

from sqlalchemy import select

from steelyard.arena import Arena
from steelyard.errors import PermissionDeniedError
from steelyard.questions._question import Options, arena_action, doc
from steelyard.questions.arena._reviews import REASON, ReviewedSubmission
from steelyard.records import is_storable
from steelyard.store.schema import submissions


class WithdrawOptions(Options):
    """Options of `arena withdraw`."""

    submission: str = doc("Submission id.", kw_only=False)
    by: str | None = doc(
        "Submitter id; required if the submission does not name its submitter.", default=None, flag="as"
    )
    reason: str | None = doc(REASON, default=None)


def check_submitter(arena: Arena, options: WithdrawOptions) -> None:
    """Deny all but the submitter, also if the submission does not name its submitter."""
    if not is_storable(options.submission):
        return  # there is no such submission
    with arena.read() as connection:
        named = select(submissions.c.submitter).where(submissions.c.id == options.submission)
        row = connection.execute(named).first()
    if row is not None and row.submitter != options.by:
        hint = "ask a reviewer to exclude it"
        raise PermissionDeniedError(f"only the submitter can withdraw it, not {options.by!r}", hint=hint)


@arena_action(
    WithdrawOptions,
    scope="submit",
    path="/submissions/{submission}/withdraw",
    holder="by",
    check_holder=check_submitter,
    examples=({"submission": "run-17", "reason": "wrong model was logged"},),
)
def arena_withdraw(arena: Arena, options: WithdrawOptions) -> ReviewedSubmission:
    """Withdraw a submission as its submitter."""
    decided = arena.decide(options.submission, "withdrawn", by=options.by, reason=options.reason)
    return ReviewedSubmission(**decided._asdict())
