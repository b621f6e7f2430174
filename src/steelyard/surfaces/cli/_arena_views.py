"""The arena's commands that only look: leaderboard, evaluations, outliers, history, and what other rules would do."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.reports import FIGURE_ENDINGS, RESULT_ENDINGS, check_file, clean, visible_json
from steelyard.results import (
    AllLeaderboards,
    Evaluation,
    Leaderboard,
    LeaderboardChanges,
    ProfileComparison,
    Result,
    ScoreHistory,
    TaskLeaderboard,
    ToolBias,
)
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import (
    AskedPolicy,
    ConfidenceOption,
    LeaderboardFile,
    ResultFile,
    StoreOption,
    TaskName,
    TopOption,
)
from steelyard.surfaces.cli._options import FigureName, FromOne, FromZero, Json, NoCsvEscape, Seconds
from steelyard.surfaces.cli._output import check_csv_escape, check_drawing, save_result, tell_written
from steelyard.surfaces.cli._print import console, print_findings, print_json, print_text, show_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from steelyard.reports import TextTable


def leaderboard(
    task: Annotated[str | None, Parameter(help="The task's id; without it, tools and models across all tasks.")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    policy: AskedPolicy = None,
    by: Annotated[
        str | None,
        Parameter(help="Across tasks: what to rank, of agent, model, submitter, team; agent,model by default."),
    ] = None,
    sort: Annotated[
        str | None,
        Parameter(help="In a task, the score to order by: overall, efficiency, speed, cost, correctness."),
    ] = None,
    top: TopOption = None,
    until: Annotated[
        str | None, Parameter(help="In a task: as they stood at the end of this day, or before this time.")
    ] = None,
    submitter: Annotated[str | None, Parameter(help="In a task: only the places of this submitter.")] = None,
    metrics: Annotated[
        str | None, Parameter(help="In a task: these metrics that the profile names for tools, by commas.")
    ] = None,
    confidence: ConfidenceOption = None,
    out: LeaderboardFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """Who leads a task, or all tasks: ranks with ties, percentiles, intervals, flags, what was defaulted or claimed.

    With --out, the leaderboard of the task, or of every task, are written to a file.

    Example: steelyard arena leaderboard fix-race --top 10
    Example: steelyard arena leaderboard fix-race --until 2026-10-31
    Example: steelyard arena leaderboard --by agent
    Example: steelyard arena leaderboard --out leaderboard.csv
    """
    from steelyard.workflow import (  # brings SQLAlchemy
        all_leaderboards,
        leaderboard,
        split_names,
        task_leaderboard,
    )

    is_of_task = task is not None
    kind = TaskLeaderboard if is_of_task else Leaderboard if _is_drawing(out) else AllLeaderboards
    is_drawn = check_out(kind, figure, out, no_csv_escape=no_csv_escape)
    _check_leaderboard(is_of_task=is_of_task, by=by, sort=sort, out=None if is_drawn else out)
    if not is_of_task:
        _refuse_of_task({"--until": until, "--submitter": submitter, "--metrics": metrics})
    order = sort or "overall"
    result: TaskLeaderboard | AllLeaderboards | Leaderboard
    if task is not None:
        result = task_leaderboard(
            store,
            task,
            policy=policy,
            confidence=confidence,
            sort=order,
            top=top,
            until=until,
            submitter=submitter,
            metrics=split_names(metrics or ""),
        )
    elif out is not None and not is_drawn:
        result = all_leaderboards(store, policy=policy, confidence=confidence, sort=order, top=top)
    else:
        keys = split_names(by or "agent,model")
        result = leaderboard(store, by=keys, policy=policy, confidence=confidence, top=top)
    return print_result(
        result, _leaderboard_parts(result), json=json, out=out, figure=figure, no_csv_escape=no_csv_escape
    )


def _check_leaderboard(*, is_of_task: bool, by: str | None, sort: str | None, out: Path | None) -> None:
    """Refuse options that would have no effect, and a file that cannot be written."""
    if by is not None and (is_of_task or out is not None):
        without = "the task" if is_of_task else "--out"
        raise UsageError("--by ranks tools and models across tasks", hint=f"leave out {without}, or --by")
    if sort is not None and not is_of_task and out is None:
        raise UsageError("--sort orders the submissions to a task", hint="name a task, or leave --sort out")


def _refuse_of_task(options: Mapping[str, str | None]) -> None:
    for option, given in options.items():
        if given is not None:
            raise UsageError(f"{option} is for the leaderboard of one task", hint=f"name a task, or leave {option} out")


def _is_drawing(out: Path | None) -> bool:
    return out is not None and out.suffix.lower() in FIGURE_ENDINGS


def check_out(kind: type[Result], figure: str | None, out: Path | None, *, no_csv_escape: bool) -> bool:
    """Whether a figure is asked for; refuses a file that cannot be written."""
    check_csv_escape(no_csv_escape=no_csv_escape, out=out)
    is_drawn = check_drawing(kind, figure, out)
    if out is not None and not is_drawn:
        check_file(out, endings=(*RESULT_ENDINGS, *FIGURE_ENDINGS))
    return is_drawn


def _leaderboard_parts(result: TaskLeaderboard | AllLeaderboards | Leaderboard) -> Iterator[str | TextTable]:
    """The sentence, then the tables; the leaderboard of every task are only written."""
    from steelyard.reports import leaderboard_line, leaderboard_table, leaders_line, leaders_tables

    if isinstance(result, Leaderboard):
        yield leaders_line(result)
        yield from leaders_tables(result) if result.overall else ()
    elif isinstance(result, TaskLeaderboard):
        yield leaderboard_line(result)
        yield leaderboard_table(result)
    else:
        yield counted(len(result.to_dicts()), "submission")


def show(
    submission: Annotated[str, Parameter(help="The submission's id.")],
    score: Annotated[str | None, Parameter(help="Explain only this score.")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """One evaluation, explained: each score with its formula, inputs and constants.

    Example: steelyard arena show run-17 speed_score
    """
    from steelyard.reports import evaluation_lines
    from steelyard.workflow import show_submission  # brings SQLAlchemy

    check_out(Evaluation, figure, out, no_csv_escape=no_csv_escape)
    evaluation = show_submission(store, submission, score=score)
    return print_result(
        evaluation, evaluation_lines(evaluation), json=json, out=out, figure=figure, no_csv_escape=no_csv_escape
    )


def print_result(
    result: Result,
    parts: Iterable[str | TextTable],
    *,
    json: bool,
    out: Path | None = None,
    figure: str | None = None,
    no_csv_escape: bool = False,
) -> int:
    """Write the file, and print what was asked for; sentences and tables where nothing else was."""
    save_result(result, figure, out, no_csv_escape=no_csv_escape)
    if json:
        print_json(result.to_dict())
    elif out is None:
        show_results(parts)
    else:
        tell_written(out, list(islice((part for part in parts if isinstance(part, str)), 1)))
    return 0


def list_tasks(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """List the tasks.

    Example: steelyard arena task list
    """
    from steelyard.reports import tasks_table
    from steelyard.workflow import list_tasks as every_task  # brings SQLAlchemy

    tasks = every_task(store)
    return print_result(tasks, [f"{counted(len(tasks.tasks), 'task')}.", tasks_table(tasks)], json=json)


def show_task(task: TaskName, /, *, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """A task with its baseline, overall and of each tool and model.

    Example: steelyard arena task show fix-race
    """
    from steelyard.workflow import show_task as details_of  # brings SQLAlchemy

    details = details_of(store, task)
    if json:
        print_json(details.to_dict())
        return 0
    from steelyard.reports import baselines_table, task_heading_lines

    show_results([*task_heading_lines(details), baselines_table(details)])
    return 0


def outliers(
    task: Annotated[str | None, Parameter(help="The task's id; all by default.")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Submissions that look too good and wait for a review (arena review).

    Example: steelyard arena outliers fix-race
    """
    from steelyard.reports import outliers_line, outliers_table
    from steelyard.workflow import outliers as suspicious  # brings SQLAlchemy

    flagged = suspicious(store, task)
    tables = [outliers_table(flagged)] if flagged.outliers else []
    return print_result(flagged, [outliers_line(flagged), *tables], json=json)


def reviews(
    task: Annotated[str | None, Parameter(help="The task's id; all by default.")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """The log of decisions about submissions: accepted, excluded, withdrawn, reinstated; by whom, when and why.

    Example: steelyard arena reviews fix-race
    """
    from steelyard.reports import review_line
    from steelyard.workflow import review_log  # brings SQLAlchemy

    log = review_log(store, task)
    return print_result(log, map(review_line, log.reviews), json=json)


def history(
    *,
    task: Annotated[str | None, Parameter(help="Scores of this task.")] = None,
    submitter: Annotated[str | None, Parameter(help="Scores of this submitter.")] = None,
    team: Annotated[str | None, Parameter(help="Scores of the people of this team.")] = None,
    since: Annotated[str | None, Parameter(help="What changed on the leaderboard since this date or time.")] = None,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """How scores went, with their trend; or with --since, what changed on the leaderboard.

    Example: steelyard arena history --submitter ada
    Example: steelyard arena history --since 2026-11-01 --task fix-race
    """
    from steelyard.reports import change_lines, history_line, history_lines, history_table
    from steelyard.workflow import leaderboard_changes, score_history  # brings SQLAlchemy

    if since is not None and (submitter or team) is not None:
        hint = "leave --since out, or --submitter and --team"
        raise UsageError("--since is for the leaderboard of tasks, not for a submitter or a team", hint=hint)
    check_out(ScoreHistory if since is None else LeaderboardChanges, figure, out, no_csv_escape=no_csv_escape)
    if since is not None:
        changed = leaderboard_changes(store, since=since, task=task)
        return print_result(
            changed, change_lines(changed, since=since), json=json, out=out, no_csv_escape=no_csv_escape
        )
    scores = score_history(store, task=task, submitter=submitter, team=team)
    parts: list[str | TextTable] = [history_line(scores), history_table(scores), *history_lines(scores)]
    return print_result(scores, parts, json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)


def bias(
    *,
    store: StoreOption = DEFAULT_STORE,
    policy: AskedPolicy = None,
    confidence: Annotated[float, Parameter(help="Confidence of the intervals.")] = 0.95,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """Whether a tool does systematically better or worse than the others across tasks, with its interval.

    Example: steelyard arena bias --confidence 0.9
    """
    from steelyard.reports import bias_line, bias_table
    from steelyard.workflow import tool_bias  # brings SQLAlchemy

    check_out(ToolBias, figure, out, no_csv_escape=no_csv_escape)
    advantages = tool_bias(store, policy=policy, confidence=confidence)
    return print_result(
        advantages,
        [bias_line(advantages), bias_table(advantages)],
        json=json,
        out=out,
        figure=figure,
        no_csv_escape=no_csv_escape,
    )


def compare_profiles(
    first: Annotated[str, Parameter(help="A shipped profile or a TOML file.")],
    second: Annotated[str, Parameter(help="Another one.")],
    /,
    *,
    task: Annotated[str | None, Parameter(help="Only this task.")] = None,
    movers: Annotated[FromZero, Parameter(help="How many of the largest moves to show.")] = 10,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """How ranks would move from one profile to another, on the submissions that are there.

    Example: steelyard arena compare-profiles arena-1 mine.toml
    """
    from steelyard.reports import profile_lines
    from steelyard.workflow import compare_profiles as compare  # brings SQLAlchemy

    check_out(ProfileComparison, figure, out, no_csv_escape=no_csv_escape)
    comparison = compare(store, first, second, task=task, movers=movers)
    print_result(comparison, profile_lines(comparison), json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)
    if not json:
        print_findings(comparison.findings)
    return 0


def watch(
    *,
    store: StoreOption = DEFAULT_STORE,
    every: Annotated[Seconds, Parameter(help="Seconds between checks.")] = 1.0,
    looks: Annotated[FromOne | None, Parameter(help="Stop after this many checks; without it, continue.")] = None,
    json: Json = False,
) -> int:
    """Print what happens to submissions: evaluations, lost ranks, outliers, exclusions. With --json, one object a line.

    Example: steelyard arena watch --every 5
    """
    import time

    from steelyard.reports import event_line
    from steelyard.workflow import watch_arena  # brings SQLAlchemy

    watched, terminal = watch_arena(store), console()
    seen = 0
    while looks is None or seen < looks:
        for event in watched.news():
            if json:
                print_text(visible_json(msgspec.json.encode(event).decode()) + "\n", flush=True)
            else:
                terminal.print(clean(event_line(event)), flush=True)
        seen += 1
        if looks is None or seen < looks:
            time.sleep(every)
    return 0


COMMANDS = (
    (leaderboard, "leaderboard"),
    (show, "show"),
    (outliers, "outliers"),
    (reviews, "reviews"),
    (history, "history"),
    (bias, "bias"),
    (compare_profiles, "compare-profiles"),
    (watch, "watch"),
)
