"""The arena's commands by which people decide: review, withdraw."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import StoreOption
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import print_json, print_lines

if TYPE_CHECKING:
    from steelyard.results import Reviewed

SubmissionId = Annotated[str, Parameter(help="The submission's id.")]
Reason = Annotated[str | None, Parameter(help="Why; the log keeps it. An exclusion needs one.")]


def review(
    submission: SubmissionId,
    /,
    *,
    accept: Annotated[bool, Parameter(help="It counts, and needs no further review.", negative="")] = False,
    exclude: Annotated[bool, Parameter(help="It no longer counts in its task.", negative="")] = False,
    reinstate: Annotated[bool, Parameter(help="Take its exclusion back.", negative="")] = False,
    reason: Reason = None,
    by: Annotated[str | None, Parameter(help="Who decides; the name you are logged in by, if not given.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Settle the review of a submission: accept it, exclude it, or take an exclusion back.

    An excluded submission no longer counts: the baseline, scores, ranks and flags of its task are recomputed without it
    (under the policy as-submitted the others keep their scores). Its id stays taken, and the log keeps who decided
    what, when and why. Deciding the same again changes nothing.

    Example: steelyard arena review run-17 --exclude --reason "reads the expected output" --by ada
    Example: steelyard arena review run-17 --reinstate
    """
    from steelyard.workflow import review_submission  # brings SQLAlchemy

    asked = {"accept": accept, "exclude": exclude, "reinstate": reinstate}
    chosen = [verb for verb, is_asked in asked.items() if is_asked]
    if len(chosen) != 1:
        raise UsageError("name one decision", hint="--accept, --exclude --reason TEXT, or --reinstate")
    return _print(review_submission(store, submission, chosen[0], by=by or _user(), reason=reason), json=json)


def withdraw(
    submission: SubmissionId,
    /,
    *,
    reason: Reason = None,
    by: Annotated[
        str | None, Parameter(help="Who withdraws it, where the submission names no submitter; else only that one may.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Withdraw a submission of your own: an exclusion by its submitter. A reviewer can take it back.

    Example: steelyard arena withdraw run-17 --reason "wrong model was logged"
    """
    from steelyard.workflow import withdraw_submission  # brings SQLAlchemy

    return _print(withdraw_submission(store, submission, by=by, reason=reason), json=json)


def _user() -> str | None:
    """The name that the user is logged in by; None where the system knows none."""
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


COMMANDS = ((review, "review"), (withdraw, "withdraw"))
