"""`steelyard arena rating`: peer review."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption, TaskName
from steelyard.cli._options import FromOne, Json
from steelyard.cli._output import Output
from steelyard.cli._print import print_json, show_results
from steelyard.cli._question_commands import command_named, deliver
from steelyard.results import ASSIGNMENT_SEED
from steelyard.settings import DEFAULT_STORE

rating = App(name="rating", help="Assign reviewers, and add or list ratings.", help_format="plaintext")


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
    unblind: Annotated[bool, Parameter(help="Show the names hidden by blinding.", negative="")] = False,
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
    deliver(made, Output(json=json))
    return 0


rating.command(command_named("arena_rating_pending"))


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


rating.command(command_named("arena_rating_list"))
