"""Routes that write to an arena: submissions, runs, tasks and review decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import anyio.to_thread
import msgspec
from msgspec import Meta
from starlette.responses import Response

from steelyard.questions import ARENA, Intake, add_task_from, question_named, question_names
from steelyard.questions.arena.task_add import AddedTasks
from steelyard.records import Run, Submission, Task
from steelyard.results import Receipt, versioned
from steelyard.server._arena_routes import SUBMISSION, TASK
from steelyard.server._guard import NDJSON
from steelyard.server._question_routes import arena_of, content_type, json_text, question_route, written
from steelyard.server._route import Query, Route, address
from steelyard.server._taking import lines_response, refusal_of

if TYPE_CHECKING:
    from steelyard.server._site import Call


class RunsBody(Query, frozen=True, kw_only=True):
    """Submitter of runs."""

    submitter: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1024)] | None, Meta(description="Submitter id.")
    ] = None


async def _take(call: Call, intake: Intake) -> Response:
    """Return the receipt of one record, or one line per record."""
    if content_type(call) == NDJSON:
        return await lines_response(call, intake)
    text = await call.request.body()
    (outcome,) = await anyio.to_thread.run_sync(intake.take, [(1, text)])
    if not isinstance(outcome, Receipt):
        raise refusal_of(outcome)
    status = 201 if outcome.status == "accepted" else 200
    at = address(SUBMISSION, {"submission": outcome.submission_id})
    return written(call, versioned(msgspec.to_builtins(outcome)), status=status, at=at)


async def _submissions(call: Call) -> Response:
    return await _take(call, Intake(arena_of(call).arena, "submissions", token=call.token))


async def _runs(call: Call) -> Response:
    assert isinstance(call.query, RunsBody)
    return await _take(call, Intake(arena_of(call).arena, "runs", submitter=call.query.submitter, token=call.token))


async def _tasks(call: Call) -> Response:
    arena, text = arena_of(call).arena, await json_text(call)
    added = await anyio.to_thread.run_sync(add_task_from, arena, text)
    (task,) = added.tasks
    return written(call, added.to_dict(), status=201 if task.new else 200, at=address(TASK, {"task": task.id}))


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
    *(
        question_route(name)
        for name in question_names()
        if name.startswith(ARENA) and question_named(name).scope is not None and question_named(name).path
    ),
)
