"""Routes for run files; `rank` also supports an arena."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar

from msgspec import Meta, structs

from steelyard.errors import RequestError, UsageError
from steelyard.profiles import DEFAULT
from steelyard.questions import (
    ArenaSource,
    MeasureOptions,
    RankOptions,
    RunList,
    RunsSource,
    list_runs,
)
from steelyard.questions.arena.leaderboard import Leaderboard, arena_leaderboard
from steelyard.questions.compare import CompareOptions, Comparison, compare
from steelyard.questions.rank import Ranking, rank
from steelyard.questions.repeatability import Repeatability, RepeatabilityOptions, repeatability
from steelyard.questions.show import RunDetail, RunOutput, RunRecords, ShowOptions
from steelyard.questions.speedup import SpeedupOptions, SpeedupResult, speedup
from steelyard.records import Run
from steelyard.server._question_routes import question_route
from steelyard.server._route import Paged, Query, Repeated, Route, options_of, query_of

Values = Mapping[str, str]

ShowQuery = query_of(ShowOptions, without=("run", "redact", "where", "since", "until"))


class OutputQuery(Query, frozen=True, kw_only=True):
    """Part of an output."""

    offset: Annotated[int, Meta(ge=0, description="Offset of the first character to return, from 0.")] = 0


class RunsQuery(Paged, frozen=True, kw_only=True):
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
    return structs.replace(detail, record=structs.replace(detail.record, source=short))


def _run_records(source: RunsSource) -> RunRecords:
    return RunRecords(source.entries())


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
)
