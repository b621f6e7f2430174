"""Routes that write to an arena: submissions, runs, tasks and review decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import anyio.to_thread
import msgspec
from msgspec import Meta
from starlette.responses import Response

from steelyard.errors import InputError, RequestError, UsageError
from steelyard.pages import json_bytes
from steelyard.questions import (
    ArenaSource,
    Intake,
    add_rating,
    add_task_from,
    add_user,
    assign_reviewers,
    create_season,
    review_submission,
    weights,
    withdraw_as,
)
from steelyard.questions.arena.rating_pending import Assignments
from steelyard.questions.arena.season_show import Season
from steelyard.questions.arena.user_list import Registry
from steelyard.records import JSON_ERRORS, PartyKind, Run, Submission, Task, json_problem, problem_text
from steelyard.results import (
    ASSIGNMENT_SEED,
    AddedTasks,
    Rated,
    Receipt,
    Reviewed,
    WeightVersions,
    versioned,
)
from steelyard.server._arena_routes import SEASON, SUBMISSION, TASK
from steelyard.server._guard import JSON, NDJSON
from steelyard.server._route import Query, Route, address
from steelyard.server._taking import lines_response, refusal_of

if TYPE_CHECKING:
    from steelyard.server._site import Call

Body = TypeVar("Body")


class RunsBody(Query, frozen=True, kw_only=True):
    """Submitter of runs."""

    submitter: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1024)] | None, Meta(description="Submitter id.")
    ] = None


class RegisterBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Person, team or tool to register."""

    kind: PartyKind
    id: str
    """Id used in submissions, tokens and ratings."""
    name: str | None = None
    """Display name; an empty string removes it, None keeps it."""
    team: str | None = None
    """Team id of a person; an empty string removes it, None keeps it."""


class RateBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rating by the owner of the token."""

    score: Annotated[float, Meta(ge=0, le=100)]
    criterion: str | None = None
    """Rated criterion; None for the whole submission."""
    comment: str | None = None


class AssignBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Assignment of reviewers to a task."""

    task: str
    reviewers: tuple[str, ...] = ()
    """Reviewer ids (default: all registered people)."""
    per_submission: Annotated[int, Meta(ge=1, le=100)] | None = None
    """Reviewers per submission (default: the profile's)."""
    seed: int = ASSIGNMENT_SEED
    """Random seed for the assignment."""


class FreezeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Season to create."""

    name: str
    tasks: tuple[str, ...] = ()
    """Task ids (default: all tasks)."""


class FitBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Empty object."""


class ReviewBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Review decision, logged under the name of the token."""

    decision: Literal["accept", "exclude", "reinstate"]
    reason: str | None = None
    """Reason; required for an exclusion."""


class WithdrawBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Withdrawal of a submission."""

    reason: str | None = None


def _written(call: Call) -> ArenaSource:
    """Return the arena to write to; run files are read-only."""
    source = call.site.source
    if not isinstance(source, ArenaSource):
        hint = "serve an arena: steelyard serve --store URL --write"
        raise RequestError(403, "read_only", "this server serves run files, which are read-only", hint=hint)
    return source


def _content_type(call: Call) -> str:
    return call.request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _answer(call: Call, value: Any, *, status: int = 200, at: str | None = None) -> Response:  # Any: a JSON value
    headers = {"Content-Type": JSON, "Cache-Control": "no-store"}
    if at is not None:
        headers["Location"] = call.site.root_path + at
    return Response(json_bytes(value), status_code=status, headers=headers)


async def _take(call: Call, intake: Intake) -> Response:
    """Return the receipt of one record, or one line per record."""
    if _content_type(call) == NDJSON:
        return await lines_response(call, intake)
    text = await call.request.body()
    (outcome,) = await anyio.to_thread.run_sync(intake.take, [(1, text)])
    if not isinstance(outcome, Receipt):
        raise refusal_of(outcome)
    status = 201 if outcome.status == "accepted" else 200
    at = address(SUBMISSION, {"submission": outcome.submission_id})
    return _answer(call, versioned(msgspec.to_builtins(outcome)), status=status, at=at)


async def _submissions(call: Call) -> Response:
    return await _take(call, Intake(_written(call).arena, "submissions", token=call.token))


async def _runs(call: Call) -> Response:
    assert isinstance(call.query, RunsBody)
    return await _take(call, Intake(_written(call).arena, "runs", submitter=call.query.submitter, token=call.token))


async def _tasks(call: Call) -> Response:
    arena, text = _written(call).arena, await _json_text(call)
    added = await anyio.to_thread.run_sync(add_task_from, arena, text)
    ((task, is_new),) = added.tasks
    return _answer(call, added.to_dict(), status=201 if is_new else 200, at=address(TASK, {"task": task.id}))


async def _register(call: Call) -> Response:
    arena, body = _written(call).arena, _decoded(await _json_text(call), RegisterBody)
    registered = await anyio.to_thread.run_sync(
        lambda: add_user(arena, body.kind, body.id, name=body.name, team=body.team)
    )
    return _answer(call, registered.to_dict())


async def _rate(call: Call) -> Response:
    arena, body = _written(call).arena, _decoded(await _json_text(call), RateBody)
    assert call.holder is not None  # the route has a scope
    reviewer = call.holder
    rated = await anyio.to_thread.run_sync(
        lambda: add_rating(
            arena,
            call.values["submission"],
            reviewer=reviewer,
            score=body.score,
            criterion=body.criterion,
            comment=body.comment,
        )
    )
    return _answer(call, rated.to_dict())


async def _assign(call: Call) -> Response:
    arena, body = _written(call).arena, _decoded(await _json_text(call), AssignBody)
    made = await anyio.to_thread.run_sync(
        lambda: assign_reviewers(
            arena, body.task, reviewers=body.reviewers, per_submission=body.per_submission, seed=body.seed
        )
    )
    return _answer(call, made.to_dict())


async def _freeze(call: Call) -> Response:
    arena, body = _written(call).arena, _decoded(await _json_text(call), FreezeBody)
    frozen = await anyio.to_thread.run_sync(lambda: create_season(arena, body.name, tasks=body.tasks))
    return _answer(call, frozen.to_dict(), status=201, at=address(SEASON, {"season": body.name}))


async def _fit_weights(call: Call) -> Response:
    arena = _written(call).arena
    _decoded(await _json_text(call), FitBody)
    fitted = await anyio.to_thread.run_sync(lambda: weights(arena, fit=True))
    return _answer(call, fitted.to_dict())


async def _review(call: Call) -> Response:
    arena, body = _written(call).arena, _decoded(await _json_text(call), ReviewBody)
    reviewed = await anyio.to_thread.run_sync(
        lambda: review_submission(arena, call.values["submission"], body.decision, by=call.holder, reason=body.reason)
    )
    return _answer(call, reviewed.to_dict())


async def _withdraw(call: Call) -> Response:
    arena, body = _written(call).arena, _decoded(await _json_text(call), WithdrawBody)
    assert call.holder is not None  # the route has a scope
    submitter = call.holder
    reviewed = await anyio.to_thread.run_sync(
        lambda: withdraw_as(arena, call.values["submission"], submitter, reason=body.reason)
    )
    return _answer(call, reviewed.to_dict())


async def _json_text(call: Call) -> bytes:
    if _content_type(call) != JSON:
        raise RequestError(415, "content_type", "expected one JSON object", hint=f"send Content-Type: {JSON}")
    return await call.request.body()


def _decoded(text: bytes, kind: type[Body]) -> Body:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise InputError(problem_text(error), hint="see /api/v1/openapi.json") from error
    except JSON_ERRORS as error:
        raise UsageError(json_problem(error), hint="send one JSON object") from error


WRITE_ROUTES = (
    Route(
        path="/submissions",
        method="POST",
        sentence="Submit one submission as JSON or several as NDJSON; returns a receipt or problem for each, in order.",
        command="arena submit",
        result=Receipt,
        body=Submission,
        many=True,
        scope="submit",
        makes=True,
        respond=_submissions,
    ),
    Route(
        path="/runs",
        method="POST",
        sentence="Submit one run record as JSON or several as NDJSON; tasks are matched by name.",
        command="arena submit --from-runs",
        result=Receipt,
        query=RunsBody,
        body=Run,
        many=True,
        scope="submit",
        makes=True,
        respond=_runs,
    ),
    Route(
        path="/tasks",
        method="POST",
        sentence="Add a task; local directories are not supported.",
        command="arena task add",
        result=AddedTasks,
        body=Task,
        scope="admin",
        makes=True,
        respond=_tasks,
    ),
    Route(
        path="/users",
        method="POST",
        sentence="Register or update a person, team or tool.",
        command="arena user add",
        result=Registry,
        body=RegisterBody,
        scope="admin",
        respond=_register,
    ),
    Route(
        path="/submissions/{submission}/ratings",
        method="POST",
        sentence="Rate a submission from 0 to 100, by its id or the blinded name in an assignment.",
        command="arena rating add {submission}",
        result=Rated,
        body=RateBody,
        scope="review",
        respond=_rate,
    ),
    Route(
        path="/assignments",
        method="POST",
        sentence="Assign reviewers to every submission for a task; existing assignments are kept.",
        command="arena rating assign",
        result=Assignments,
        body=AssignBody,
        scope="admin",
        respond=_assign,
    ),
    Route(
        path="/seasons",
        method="POST",
        sentence="Freeze the current leaderboard as a season.",
        command="arena season create",
        result=Season,
        body=FreezeBody,
        scope="admin",
        makes=True,
        respond=_freeze,
    ),
    Route(
        path="/weights",
        method="POST",
        sentence="Fit a new version of the weights to the current ratings.",
        command="arena model weights --fit",
        result=WeightVersions,
        body=FitBody,
        scope="admin",
        respond=_fit_weights,
    ),
    Route(
        path="/submissions/{submission}/review",
        method="POST",
        sentence="Accept, exclude or reinstate a submission.",
        command="arena review accept {submission}",
        result=Reviewed,
        body=ReviewBody,
        scope="review",
        respond=_review,
    ),
    Route(
        path="/submissions/{submission}/withdraw",
        method="POST",
        sentence="Withdraw a submission as its submitter.",
        command="arena withdraw {submission}",
        result=Reviewed,
        body=WithdrawBody,
        scope="submit",
        respond=_withdraw,
    ),
)
