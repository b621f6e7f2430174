"""`steelyard arena review` and `arena withdraw`: decisions about submissions."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._nested import add_question
from steelyard.cli._options import Json
from steelyard.cli._print import print_json, print_lines
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.results import Reviewed

review = App(name="review", help="Accept, exclude or reinstate submissions.", help_format="plaintext")

SubmissionId = Annotated[str, Parameter(help="Submission id.")]
Reason = Annotated[str | None, Parameter(help="Reason, recorded in the review log.")]
As = Annotated[str | None, Parameter(name="--as", help="Name of the reviewer (default: your login name).")]
OneTask = Annotated[str | None, Parameter(help="Task id (default: all tasks).")]


add_question(review, "arena_review_list")


@review.command
def accept(
    submission: SubmissionId,
    /,
    *,
    reason: Reason = None,
    user: As = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Accept a flagged submission.

    Example: steelyard arena review accept run-17 --reason "checked the log" --as ada
    """
    return _decide("accept", submission, reason=reason, user=user, store=store, json=json)


@review.command
def exclude(
    submission: SubmissionId,
    /,
    *,
    reason: Annotated[str, Parameter(help="Reason, recorded in the review log.")],
    user: As = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Exclude a submission from its task.

    The baseline, scores, ranks and flags of the task are recomputed without it. Under the as-submitted policy, the
    scores of the other submissions do not change. The id of the submission cannot be reused.

    Example: steelyard arena review exclude run-17 --reason "prints the expected output" --as ada
    """
    return _decide("exclude", submission, reason=reason, user=user, store=store, json=json)


@review.command
def reinstate(
    submission: SubmissionId,
    /,
    *,
    reason: Reason = None,
    user: As = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Undo the exclusion or withdrawal of a submission.

    Example: steelyard arena review reinstate run-17 --as ada
    """
    return _decide("reinstate", submission, reason=reason, user=user, store=store, json=json)


add_question(review, "arena_review_log")


def withdraw(
    submission: SubmissionId,
    /,
    *,
    reason: Reason = None,
    user: Annotated[
        str | None,
        Parameter(name="--as", help="Submitter id; required if the submission does not name its submitter."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Withdraw your submission.

    The submission is excluded. A reviewer can reinstate it.

    Example: steelyard arena withdraw run-17 --reason "wrong model was logged"
    """
    from steelyard.questions import withdraw_submission  # brings SQLAlchemy

    return _print(withdraw_submission(store, submission, by=user, reason=reason), json=json)


def _decide(decision: str, submission: str, *, reason: str | None, user: str | None, store: str, json: bool) -> int:
    from steelyard.questions import review_submission  # brings SQLAlchemy

    return _print(review_submission(store, submission, decision, by=user or _login_name(), reason=reason), json=json)


def _login_name() -> str | None:
    """Return the login name, or None if the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def _print(reviewed: Reviewed, *, json: bool) -> int:
    from steelyard.reports import reviewed_lines

    if json:
        print_json(reviewed.to_dict())
    else:
        print_lines(reviewed_lines(reviewed))
    return 0
