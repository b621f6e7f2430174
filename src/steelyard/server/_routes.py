"""All routes of the API. The docstring of the package explains how to declare one."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path, PurePath
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Annotated, Any, ClassVar

import anyio.to_thread
import msgspec
from msgspec import Meta, structs
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from steelyard.arena import Receipt
from steelyard.errors import RequestError, UsageError
from steelyard.pages import SCHEMA_VERSION, Page, PageTable, json_bytes, text_column
from steelyard.profiles import DEFAULT
from steelyard.questions import (
    ARENA,
    Answer,
    ArenaSource,
    Intake,
    MeasureOptions,
    NumberedLine,
    RankOptions,
    Rows,
    RunList,
    RunsSource,
    add_task_from,
    list_runs,
    question_named,
    question_names,
    refusal_status,
)
from steelyard.questions.arena.leaderboard import Leaderboard, arena_leaderboard
from steelyard.questions.arena.task_add import AddedTasks
from steelyard.questions.compare import CompareOptions, Comparison, compare
from steelyard.questions.failures import FailuresOptions, FailureSummary, failures_of
from steelyard.questions.find import FindOptions, Matches, matches_in
from steelyard.questions.integrity import IntegrityOptions, IntegritySummary, integrity_of
from steelyard.questions.rank import Ranking, rank
from steelyard.questions.repeatability import Repeatability, RepeatabilityOptions, repeatability
from steelyard.questions.show import RunDetail, RunOutput, RunRecords, ShowOptions
from steelyard.questions.show_steps import RunSteps, ShowStepsOptions, steps_shown
from steelyard.questions.speedup import SpeedupOptions, SpeedupResult, speedup
from steelyard.records import Run, Submission, Task
from steelyard.server._guard import BODY_BYTES, JSON, NDJSON, too_large
from steelyard.server._openapi import openapi_document
from steelyard.server._problems import Problem, problem_of
from steelyard.server._question_routes import arena_of, content_type, json_text, question_route, written
from steelyard.server._route import API, PageQuery, Query, Repeated, Route, address, options_of, query_of
from steelyard.server._site import client_of
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.records import Rejected
    from steelyard.server._site import Call

Values = Mapping[str, str]

ShowQuery = query_of(ShowOptions, without=("run", "redact", "where", "since", "until"))
StepsQuery = query_of(ShowStepsOptions, without=("run", "redact", "where", "since", "until"))
FindQuery = query_of(FindOptions, without=("redact", "where", "since", "until"))
IntegrityQuery = query_of(IntegrityOptions, without=("redact", "where", "since", "until"))
FailuresQuery = query_of(FailuresOptions, without=("redact", "where", "since", "until"))


class OutputQuery(Query, frozen=True, kw_only=True):
    """Part of an output."""

    offset: Annotated[int, Meta(ge=0, description="Offset of the first character to return, from 0.")] = 0


class RunsQuery(PageQuery, frozen=True, kw_only=True):
    """Filters for runs."""

    filters: ClassVar[tuple[str, ...]] = ("task", "agent", "model", "outcome")
    profile: Annotated[str, Meta(description="Built-in profile.")] = DEFAULT
    task: Annotated[Repeated, Meta(description="Only runs on these tasks.")] = ()
    agent: Annotated[Repeated, Meta(description="Only runs of these agents.")] = ()
    model: Annotated[Repeated, Meta(description="Only runs of these models.")] = ()
    outcome: Annotated[Repeated, Meta(description="Only passed, failed, errored or not_scored runs.")] = ()


def _rank_of_arena(source: ArenaSource, _values: Values, query: Any) -> Leaderboard:  # Any: made from the options
    return arena_leaderboard(source.arena, by=query.by or ("agent", "model"), confidence=query.confidence)


def _compare(source: RunsSource, _values: Values, query: Any) -> Comparison:  # Any: as above
    named = {} if query.baseline or query.candidate else _leaders(source, query)
    return compare(source.table(), options=options_of(CompareOptions, query, **named))


def _leaders(source: RunsSource, query: Query) -> dict[str, Any]:  # Any: options
    """Return the runner-up as the baseline and the leader as the candidate."""
    shared = CompareOptions.declared.keys() & RankOptions.declared.keys()
    asked = {name: getattr(query, name) for name in shared & {*query.__struct_fields__} - {"metrics"}}
    ranking = rank(source.table(), options=RankOptions(**asked))
    if len(ranking.groups) < 2:
        raise UsageError("fewer than two ranked groups", hint="name both: ?baseline=agent=ant&candidate=agent=bee")
    second, first = (
        {name: str(value) for name, value in place.key.items() if value is not None} for place in ranking.groups[1::-1]
    )
    return {"baseline": second, "candidate": [first]}


def _runs(source: RunsSource, _values: Values, query: RunsQuery) -> RunList:
    return list_runs(source.table(), options_of(MeasureOptions, query).outcome_profile())


def _run(source: RunsSource, values: Values, query: Query) -> RunDetail:
    """Return a run; secrets are redacted, and the source path is reduced to the file name."""
    options = options_of(ShowOptions, query, run=values["run"])
    detail = _run_records(source).detail(options)
    origin = detail.record.source
    if origin is None or origin.path is None:
        return detail
    short = structs.replace(origin, path=PurePath(origin.path).name)
    logs = tuple(structs.replace(log, path=PurePath(log.path).name) for log in detail.transcript)
    return structs.replace(detail, record=structs.replace(detail.record, source=short), transcript=logs)


def _run_records(source: RunsSource) -> RunRecords:
    return RunRecords(source.entries())


def _steps(source: RunsSource, values: Values, query: Query) -> RunSteps:
    options = options_of(ShowStepsOptions, query, **values)
    options.check()
    return steps_shown(source.entries(), options)


def _find(source: RunsSource, values: Values, query: Query) -> Matches:
    options = options_of(FindOptions, query, **values)
    options.check()
    return matches_in(source.entries().items(), options)


def _integrity(source: RunsSource, values: Values, query: Query) -> IntegritySummary:
    return integrity_of(source.entries().items(), options_of(IntegrityOptions, query, **values))


def _failures(source: RunsSource, values: Values, query: Query) -> FailureSummary:
    return failures_of(source.entries().items(), options_of(FailuresOptions, query, **values))


def _run_output(source: RunsSource, values: Values, query: OutputQuery) -> RunOutput:
    detail = _run_records(source).detail(ShowOptions(run=values["run"], offset=query.offset))
    if detail.output is None:
        raise RequestError(404, "no_output", f"run {values['run'][:200]!r} has no output")
    return RunOutput(run=detail.run, output=detail.output)


def _repeatability(source: RunsSource, values: Values, query: Query) -> Repeatability:
    """Return the repeatability without executing code: canons come from the experiments, nothing is repaired."""
    answered = [run for run in source.records().values() if run.output is not None and run.output.text]
    outputs: list[Path | Run] = [*source.sorted_inputs().experiments, *answered]
    return repeatability(outputs, options=options_of(RepeatabilityOptions, query, repair=False, **values))


def _speedup(source: RunsSource, values: Values, query: Query) -> SpeedupResult:
    return speedup(list(source.sorted_inputs().timings), options=options_of(SpeedupOptions, query, **values))


RUN_ROUTES = (
    question_route(
        "rank",
        arena_command="arena leaderboard",
        arena_query=("by", "confidence"),
        result=Ranking | Leaderboard,
        page="/",
        over_arena=_rank_of_arena,
    ),
    question_route("measure"),
    question_route(
        "compare",
        defaults={"baseline": "", "candidate": ()},
        sentence="Paired comparison of a candidate with a baseline (default: the top two).",
        over_runs=_compare,
    ),
    question_route("gate"),
    Route(
        path="/runs",
        sentence="Every run with its verdict, score, cost and time.",
        command="read",
        result=RunList,
        query=RunsQuery,
        rows="runs",
        over_runs=_runs,
    ),
    question_route("show", command="show --run {run}", query=ShowQuery, over_runs=_run),
    Route(
        path="/runs/{run}/output",
        sentence="Output of one run, 64,000 characters per request, with secrets redacted.",
        command="show --run {run}",
        result=RunOutput,
        query=OutputQuery,
        page="",
        over_runs=_run_output,
    ),
    question_route("show_steps", command="show --run {run} --steps", query=StepsQuery, over_runs=_steps),
    question_route("find", query=FindQuery, over_runs=_find),
    question_route("integrity", query=IntegrityQuery, over_runs=_integrity),
    question_route("failures", query=FailuresQuery, over_runs=_failures),
    question_route("judges"),
    question_route(
        "repeatability",
        sentence="Repeatability of the outputs for each prompt.",
        fixed=(("repair", False),),
        over_runs=_repeatability,
    ),
    question_route(
        "repeatability",
        path="/repeatability/{prompt}",
        sentence="Repeatability of the outputs for one prompt.",
        command="repeatability --prompt {prompt}",
        fixed=(("repair", False),),
        over_runs=_repeatability,
    ),
    question_route("speedup", over_runs=_speedup),
    question_route(
        "speedup",
        path="/speedup/{task}",
        sentence="Speedups on one task.",
        command="speedup --task {task}",
        over_runs=_speedup,
    ),
    question_route("matrix"),
    question_route("usage"),
    question_route("completeness"),
)
"""Routes for run files; `rank` also supports an arena."""


TASK = question_route("arena_task_show", page="")
SUBMISSION = question_route("arena_show")

ARENA_ROUTES = (
    question_route("arena_task_list"),
    TASK,
    question_route("arena_task_leaderboard", page="/tasks/{task}"),
    question_route("arena_history"),
    question_route("arena_history", path="/tasks/{task}/history"),
    question_route("arena_changes"),
    SUBMISSION,
    question_route("arena_leaderboard", page="", sentence="Leaderboard across all tasks and within each category."),
    question_route("arena_bias"),
    question_route("arena_model_abilities"),
    question_route("arena_model_predict"),
    question_route("arena_model_correctness"),
    question_route("arena_review_log"),
    question_route("arena_user_list"),
    question_route("arena_rating_pending"),
    question_route("arena_rating_list"),
    question_route("arena_season_list"),
    question_route("arena_season_show"),
    question_route("arena_agent"),
    question_route("arena_model_weights"),
    question_route("arena_review_list", page="/review"),
)
"""Routes for an arena, in the order of the documentation and of the navigation."""


LINES_AT_ONCE = 1_000
BYTES_AT_ONCE = 1 << 20
MAX_LINES = 100_000
MAX_LINE_BYTES = BODY_BYTES[JSON]
IN_MEMORY = 4 << 20
_PIECE = 64 << 10


class ReceiptResponse(Receipt, frozen=True, gc=False, tag_field="schema_version", tag=SCHEMA_VERSION):
    """Receipt of the only submission of a request."""


class LineProblem(Problem, frozen=True, kw_only=True):
    """Problem details of a rejected line."""

    line: int
    """Line number, from 1."""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Number of lines by outcome."""

    lines: int
    accepted: int
    known: int
    """Lines that had been accepted before; they are not counted again."""
    excluded: int
    """Lines that had been accepted before and were excluded since."""
    rejected: int


class LastLine(msgspec.Struct, frozen=True, kw_only=True):
    """Last line of a response; if it is missing, the response is truncated."""

    totals: Totals


def refusal_of(rejected: Rejected) -> RequestError:
    """Return the error of a rejected record."""
    error = RequestError(refusal_status(rejected), rejected.code, rejected.reason, hint=rejected.hint)
    error.where = rejected.path or None
    return error


async def lines_response(call: Call, intake: Intake) -> Response:
    """Return the result of each NDJSON line, in order, and the totals at the end."""
    answers: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 # closed when it has been sent
    counts: Counter[str] = Counter()
    try:
        async for portion in _portions(call.request.stream()):
            await anyio.to_thread.run_sync(_take_lines, call, intake, portion, answers, counts)
    except (RequestError, ClientDisconnect) as error:
        answers.close()
        if isinstance(error, RequestError) and counts:
            error.hint = f"{counts.total():,} lines were processed; send the request again (accepted lines count once)"
        raise
    except BaseException:
        answers.close()
        raise
    statuses = {status: counts[status] for status in ("accepted", "known", "excluded", "rejected")}
    last = LastLine(totals=Totals(lines=counts.total(), **statuses))
    answers.write(msgspec.json.encode(last) + b"\n")
    answers.seek(0)
    headers = {"Content-Type": NDJSON, "Cache-Control": "no-store"}
    return StreamingResponse(_sent(answers), headers=headers)


def _take_lines(
    call: Call, intake: Intake, portion: list[NumberedLine], answers: IO[bytes], counts: Counter[str]
) -> None:
    for (number, _), outcome in zip(portion, intake.take(portion), strict=True):
        if isinstance(outcome, Receipt):
            counts[outcome.status] += 1
            answers.write(msgspec.json.encode(outcome) + b"\n")
        else:
            counts["rejected"] += 1
            problem = problem_of(refusal_of(outcome), call.request.scope["raw_path"].decode("ascii", "replace"))
            answers.write(msgspec.json.encode(LineProblem(line=number, **msgspec.structs.asdict(problem))) + b"\n")


def _sent(answers: IO[bytes]) -> Iterator[bytes]:
    with answers:
        while piece := answers.read(_PIECE):
            yield piece


async def _portions(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[NumberedLine]]:
    """Yield non-empty lines with their numbers, in batches of bounded number and size."""
    portion: list[NumberedLine] = []
    rest = b""
    number = size = 0
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number += 1
            if number > MAX_LINES:
                hint = f"send at most {MAX_LINES:,} lines per request"
                raise RequestError(413, "too_large", "too many lines in the request", hint=hint)
            if line.strip():
                portion.append((number, line))
                size += len(line)
            if len(portion) >= LINES_AT_ONCE or size >= BYTES_AT_ONCE:
                yield portion
                portion, size = [], 0
        if len(rest) > MAX_LINE_BYTES:
            raise too_large(MAX_LINE_BYTES)
    if rest.strip():
        portion.append((number + 1, rest))
    if portion:
        yield portion


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
    receipt = ReceiptResponse(**structs.asdict(outcome))
    return written(call, msgspec.to_builtins(receipt), status=status, at=at)


async def _submissions(call: Call) -> Response:
    return await _take(call, Intake(arena_of(call).arena, "submissions", token=call.token))


async def _submit_runs(call: Call) -> Response:
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
        result=ReceiptResponse,
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
        result=ReceiptResponse,
        query=RunsBody,
        body=Run,
        many=True,
        scope="submit",
        makes=True,
        respond=_submit_runs,
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
"""Routes that write to an arena: submissions, runs, tasks and review decisions."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Health of the server."""

    status: str
    """`ok` if the source responds."""
    version: str
    """Version of the source."""
    steelyard: str
    """Version of steelyard."""


async def _health(call: Call) -> Response:
    health = Health(status="ok", version=await call.site.views.version(), steelyard=__version__)
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    return Response(json_bytes(msgspec.to_builtins(health)), headers=headers)


class ApiInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Title and version of the API."""

    title: str
    version: str
    summary: str
    license: dict[str, str]


class ApiOperation(msgspec.Struct, frozen=True, kw_only=True):
    """Operation of the API, with its parameters and responses as OpenAPI objects."""

    operationId: str  # noqa: N815 # as OpenAPI spells it
    summary: str


class ApiComponents(msgspec.Struct, frozen=True, kw_only=True):
    """Schemas of answers as JSON Schema, and how a request authenticates."""

    securitySchemes: dict[str, dict[str, str]]  # noqa: N815 # as above


class ApiDocument(msgspec.Struct, frozen=True, kw_only=True):
    """OpenAPI document."""

    openapi: str
    """Version of OpenAPI."""
    info: ApiInfo
    paths: dict[str, dict[str, ApiOperation]]
    """Operations by path and method."""
    components: ApiComponents


async def _openapi(call: Call) -> Response:  # noqa: ARG001 # as every route answers
    headers = {"Content-Type": "application/json", "Cache-Control": "no-cache"}
    return Response(json_bytes(openapi_document(ROUTES)), headers=headers)


async def _events(call: Call) -> Response:
    return call.site.live.response(call.request.headers.get("last-event-id"), client_of(call.request))


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A route of the API."""

    method: str
    path: str
    sentence: str
    """Description."""
    query: tuple[str, ...]
    """Query parameters."""
    page: str | None
    """Web page; None if there is none."""
    command: str | None
    """Equivalent command; None if there is none."""
    scope: str | None
    """Required scope of the token; None for reading."""


API_NOTES = (
    "Each response equals the JSON output of the corresponding command; append `.csv` to a path to get its table.",
    "Lists are paginated: pass the `next` value of a response as the `after` parameter of the next request.",
    "Errors are application/problem+json (RFC 9457).",
)


class ApiRoutes(Answer, frozen=True, kw_only=True):
    """All routes of the API."""

    rows: ClassVar[Rows] = Rows("routes", joined=("query",))
    is_shared: ClassVar[bool] = True
    routes: tuple[ApiRoute, ...]

    @property
    def about(self) -> str:
        """Number of routes."""
        return f"{len(self.routes)} addresses"

    def page(self) -> Page:
        """Return one row per route."""
        routes = self.routes
        writing = sum(route.scope is not None for route in routes)
        columns = (
            text_column("method", "method", [route.method for route in routes]),
            text_column("path", "path", [route.path for route in routes]),
            text_column("sentence", "answers", [route.sentence for route in routes]),
            text_column("query", "query", [", ".join(route.query) or None for route in routes]),
            text_column(
                "page",
                "page",
                [route.page for route in routes],
                links=[route.page if route.page is not None and "{" not in route.page else None for route in routes],
            ),
            text_column("command", "command", [route.command for route in routes]),
            text_column("scope", "token", [route.scope for route in routes]),
        )
        return Page(
            name="api",
            title="How do I script this?",
            answer=f"{len(routes):,} endpoints; {writing:,} of them need a token.",
            notes=API_NOTES,
            table=PageTable(caption="Addresses", columns=columns),
        )


def routes_listed(*_asked: object) -> ApiRoutes:
    """Return all routes, for any source."""
    return ApiRoutes(
        routes=tuple(
            ApiRoute(
                method=route.method,
                path=f"{API}{route.path}",
                sentence=route.sentence,
                query=route.query.__struct_fields__,
                page=route.page_path,
                command=f"steelyard {route.command}" if route.command else None,
                scope=route.scope,
            )
            for route in ROUTES
        )
    )


OWN_ROUTES = (
    question_route("formats"),
    question_route("metrics"),
    question_route("prices"),
    question_route("profiles"),
    Route(
        path="/routes",
        sentence="All routes of this API.",
        command="",
        result=ApiRoutes,
        page="/api",
        over_arena=routes_listed,
        over_runs=routes_listed,
    ),
    Route(
        path="/openapi.json",
        sentence="This API as an OpenAPI 3.1 document.",
        command="",
        result=ApiDocument,
        respond=_openapi,
    ),
    Route(
        path="/healthz",
        sentence="Health check.",
        command="",
        result=Health,
        page="/healthz",
        respond=_health,
    ),
    Route(
        path="/events",
        sentence="Server-sent events: a `changed` event with the new version within two seconds of a change.",
        command="arena watch",
        result=str,
        respond=_events,
    ),
)
"""Routes about the server and about what is built in."""

_LISTED = {route.question.name for route in (*RUN_ROUTES, *ARENA_ROUTES, *OWN_ROUTES) if route.question}
OTHER_ROUTES = tuple(
    question_route(name)
    for name in question_names()
    if name not in _LISTED and question_named(name).path and question_named(name).scope is None
)
"""Routes of the questions that no list above places."""

ROUTES: tuple[Route, ...] = (*RUN_ROUTES, *ARENA_ROUTES, *OTHER_ROUTES, *WRITE_ROUTES, *OWN_ROUTES)
