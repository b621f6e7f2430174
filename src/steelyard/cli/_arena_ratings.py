"""`steelyard arena rating`: peer review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption, TaskName
from steelyard.cli._options import FromOne, Json
from steelyard.cli._print import print_findings, print_json, show_results
from steelyard.results import ASSIGNMENT_SEED
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.results import Assignments

rating = App(name="rating", help="Assign reviewers, and add or list ratings.", help_format="plaintext")

Unblind = Annotated[bool, Parameter(help="Show the names hidden by blinding.", negative="")]


@rating.command
def assign(
    task: TaskName,
    /,
    *,
    reviewers: Annotated[
        str | None, Parameter(help="Comma-separated reviewer ids (default: all registered people).")
    ] = None,
    per_submission: Annotated[
        FromOne | None, Parameter(help="Reviewers per submission (default: the profile's).")
    ] = None,
    seed: Annotated[int, Parameter(help="Random seed for the assignment.")] = ASSIGNMENT_SEED,
    unblind: Unblind = False,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Assign reviewers to every submission for a task.

    Existing assignments are kept. Reviewers do not get their own submissions or those of their team, and the load is
    balanced.

    Example: steelyard arena rating assign fix-race --reviewers ada,bob,cyd,dan --per-submission 3
    """
    from steelyard.questions import assign_reviewers, split_names  # brings SQLAlchemy

    names = split_names(reviewers or "")
    made = assign_reviewers(store, task, reviewers=names, per_submission=per_submission, seed=seed, unblind=unblind)
    return _print(made, json=json)


@rating.command
def pending(
    *,
    reviewer: Annotated[str | None, Parameter(help="Only reviews assigned to this reviewer.")] = None,
    task: Annotated[str | None, Parameter(help="Only this task.")] = None,
    unblind: Unblind = False,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """List assigned reviews, with submission names blinded.

    Example: steelyard arena rating pending --reviewer ada
    """
    from steelyard.questions import pending_ratings  # brings SQLAlchemy

    return _print(pending_ratings(store, reviewer=reviewer, task=task, unblind=unblind), json=json)


@rating.command
def add(
    submission: Annotated[
        str, Parameter(help="Submission id, or the blinded name shown by: steelyard arena rating pending.")
    ],
    /,
    *,
    reviewer: Annotated[str, Parameter(help="Reviewer id.")],
    score: Annotated[float, Parameter(help="Rating from 0 to 100.")],
    criterion: Annotated[str | None, Parameter(help="Rated criterion (default: the whole submission).")] = None,
    comment: Annotated[str | None, Parameter(help="Comment.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Rate a submission from 0 to 100.

    A later rating by the same reviewer replaces the earlier one. Reviewers cannot rate their own submissions. Ratings
    affect correctness only if a judge criterion of the task lists the reviewer.

    Example: steelyard arena rating add run-17 --reviewer ada --score 80 --comment "clear and complete"
    """
    from steelyard.questions import add_rating  # brings SQLAlchemy
    from steelyard.reports import rated_line

    rated = add_rating(store, submission, reviewer=reviewer, score=score, criterion=criterion, comment=comment)
    if json:
        print_json(rated.to_dict())
    else:
        show_results([rated_line(rated)])
    return 0


@rating.command(name="list")
def list_all(
    task: Annotated[str | None, Parameter(help="Task id (default: all tasks).")] = None,
    /,
    *,
    criterion: Annotated[str | None, Parameter(help="Rated criterion (default: the whole submission).")] = None,
    confidence: Annotated[float, Parameter(help="Confidence level, between 0 and 1.")] = 0.95,
    unblind: Unblind = False,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """List severity-adjusted ratings and inter-rater agreement.

    Example: steelyard arena rating list fix-race --unblind
    """
    from steelyard.questions import ratings  # brings SQLAlchemy
    from steelyard.reports import ratings_parts

    result = ratings(store, task, criterion=criterion, confidence=confidence, unblind=unblind)
    if json:
        print_json(result.to_dict())
    else:
        show_results(ratings_parts(result))
        print_findings(result.findings)
    return 0


def _print(result: Assignments, *, json: bool) -> int:
    from steelyard.reports import assignments_parts

    if json:
        print_json(result.to_dict())
    else:
        show_results(assignments_parts(result))
    return 0
