"""The arena's commands of peer review: assign, assignments, rate, ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.results import ASSIGNMENT_SEED
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import StoreOption, TaskName
from steelyard.surfaces.cli._options import FromOne, Json
from steelyard.surfaces.cli._print import print_findings, print_json, show_results

if TYPE_CHECKING:
    from steelyard.results import Assignments

Names = Annotated[bool, Parameter(help="Show the names that a blinded display hides.", negative="")]


def rate(
    submission: Annotated[str, Parameter(help="The submission's id, or the entry of an assignment.")],
    /,
    *,
    reviewer: Annotated[str, Parameter(help="The id of who rates.")],
    score: Annotated[float, Parameter(help="The rating, 0 to 100.")],
    criterion: Annotated[str | None, Parameter(help="What is rated; the submission as a whole if not given.")] = None,
    comment: Annotated[str | None, Parameter(help="A comment, for people to read.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Rate a submission. A later rating by the same reviewer replaces it; nobody rates their own.

    Ratings stand beside the scores. They count in correctness only where a judge criterion of the task names reviewers.

    Example: steelyard arena rate run-17 --reviewer ada --score 80 --comment "clear and complete"
    """
    from steelyard.reports import rated_line
    from steelyard.workflow import rate as rate_in  # brings SQLAlchemy

    rated = rate_in(store, submission, reviewer=reviewer, score=score, criterion=criterion, comment=comment)
    if json:
        print_json(rated.to_dict())
    else:
        show_results([rated_line(rated)])
    return 0


def assign(
    task: TaskName,
    /,
    *,
    reviewers: Annotated[
        str | None, Parameter(help="Ids, separated by commas; all registered people if not given.")
    ] = None,
    each: Annotated[FromOne | None, Parameter(help="Reviewers of each submission; the profile's number.")] = None,
    seed: Annotated[int, Parameter(help="The same seed and names give the same assignment.")] = ASSIGNMENT_SEED,
    names: Names = False,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Assign reviewers to every submission of a task; those that it has stay.

    Nobody gets their own submission or one of their team, and everybody gets about as many.

    Example: steelyard arena assign fix-race --reviewers ada,bob,cyd,dan --each 3
    """
    from steelyard.workflow import assign as assign_in, split_names  # brings SQLAlchemy

    made = assign_in(store, task, reviewers=split_names(reviewers or ""), each=each, seed=seed, names=names)
    return _print(made, json=json)


def assignments(
    *,
    reviewer: Annotated[str | None, Parameter(help="Only what this reviewer is to rate.")] = None,
    task: Annotated[str | None, Parameter(help="Only this task.")] = None,
    names: Names = False,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Who is to rate what, blinded: submissions are shown under names that do not tell whose they are.

    Example: steelyard arena assignments --reviewer ada
    """
    from steelyard.workflow import assignments as assigned  # brings SQLAlchemy

    return _print(assigned(store, reviewer=reviewer, task=task, names=names), json=json)


def ratings(
    task: Annotated[str | None, Parameter(help="The task's id; all by default.")] = None,
    /,
    *,
    criterion: Annotated[str | None, Parameter(help="Ratings of this; of submissions as a whole if not given.")] = None,
    confidence: Annotated[float, Parameter(help="Confidence of the intervals.")] = 0.95,
    names: Names = False,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Ratings adjusted for reviewer severity, how far reviewers agree, and who deviates.

    Example: steelyard arena ratings fix-race --names
    """
    from steelyard.reports import ratings_parts
    from steelyard.workflow import ratings as rated  # brings SQLAlchemy

    result = rated(store, task, criterion=criterion, confidence=confidence, names=names)
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


COMMANDS = ((rate, "rate"), (assign, "assign"), (assignments, "assignments"), (ratings, "ratings"))
