"""Read-only arena commands: leaderboard, show, history, bias, compare-profiles, watch, task list, task show."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from steelyard.cli._arena_options import (
    AskedPolicy,
    ConfidenceOption,
    LeaderboardFile,
    ResultFile,
    StoreOption,
    TopOption,
)
from steelyard.cli._options import FigureName, FromOne, FromZero, Json, NoCsvEscape, Seconds
from steelyard.cli._output import check_csv_escape, check_drawing, print_written, save_result
from steelyard.cli._print import console, print_findings, print_json, print_text, show_results
from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.pages import FIGURE_ENDINGS, RESULT_ENDINGS, check_file, clean, visible_json
from steelyard.results import (
    AllLeaderboards,
    Leaderboard,
    ProfileComparison,
    Result,
    TaskLeaderboard,
    ToolBias,
)
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from steelyard.pages import TextTable


def leaderboard(
    task: Annotated[str | None, Parameter(help="Task id (default: rank agents and models across all tasks).")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    policy: AskedPolicy = None,
    by: Annotated[
        str | None,
        Parameter(help="Across tasks: comma-separated keys (agent, model, submitter, team; default: agent,model)."),
    ] = None,
    sort: Annotated[
        str | None,
        Parameter(help="For a task: sort by overall, efficiency, speed, cost or correctness."),
    ] = None,
    top: TopOption = None,
    until: Annotated[
        str | None, Parameter(help="For a task: the leaderboard at the end of this day, or just before this time.")
    ] = None,
    submitter: Annotated[str | None, Parameter(help="For a task: only submissions by this submitter.")] = None,
    metrics: Annotated[
        str | None, Parameter(help="For a task: comma-separated agent-specific metrics (tool_metrics in the profile).")
    ] = None,
    agent: Annotated[str | None, Parameter(help="Show the metrics of this agent and rank its own submissions.")] = None,
    confidence: ConfidenceOption = None,
    out: LeaderboardFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """Rank submissions to a task, or agents across tasks.

    The leaderboard of a task shows ranks, percentiles, confidence intervals and flags, and marks default
    values and unverified claims. --out writes the leaderboard of the task, or of all tasks, to a file.

    Example: steelyard arena leaderboard fix-race --top 10
    Example: steelyard arena leaderboard fix-race --until 2026-10-31
    Example: steelyard arena leaderboard --by agent
    Example: steelyard arena leaderboard --agent codex
    Example: steelyard arena leaderboard --out leaderboard.csv
    """
    from steelyard.questions import (  # brings SQLAlchemy
        all_leaderboards,
        leaderboard,
        split_names,
        task_leaderboard,
    )

    if agent is not None:
        given: dict[str, object] = {
            "TASK": task,
            "--by": by,
            "--sort": sort,
            "--top": top,
            "--policy": policy,
            "--until": until,
        }
        given |= {"--submitter": submitter, "--metrics": metrics, "--confidence": confidence, "--out": out}
        return _agent_metrics(
            store, agent, {**given, "--figure": figure, "--no-csv-escape": no_csv_escape or None}, json=json
        )
    is_of_task = task is not None
    kind = TaskLeaderboard if is_of_task else Leaderboard if _is_drawing(out) else AllLeaderboards
    is_drawn = check_out(kind, figure, out, no_csv_escape=no_csv_escape)
    _check_leaderboard(is_of_task=is_of_task, by=by, sort=sort, out=None if is_drawn else out)
    if not is_of_task:
        _reject_task_options({"--until": until, "--submitter": submitter, "--metrics": metrics})
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


def _agent_metrics(store: str, agent: str, given: Mapping[str, object], *, json: bool) -> int:
    from steelyard.questions import tool_metrics  # brings SQLAlchemy
    from steelyard.reports import tool_parts

    for option, value in given.items():
        if value is not None:
            raise UsageError(f"--agent cannot be combined with {option}", hint=f"remove {option}")
    metrics = tool_metrics(store, agent)
    return print_result(metrics, tool_parts(metrics), json=json)


def _check_leaderboard(*, is_of_task: bool, by: str | None, sort: str | None, out: Path | None) -> None:
    """Reject options without effect."""
    if by is not None and (is_of_task or out is not None):
        without = "the task" if is_of_task else "--out"
        raise UsageError("--by ranks agents and models across tasks", hint=f"remove {without} or --by")
    if sort is not None and not is_of_task and out is None:
        raise UsageError("--sort requires a task", hint="name a task or remove --sort")


def _reject_task_options(options: Mapping[str, str | None]) -> None:
    for option, given in options.items():
        if given is not None:
            raise UsageError(f"{option} requires a task", hint=f"name a task or remove {option}")


def _is_drawing(out: Path | None) -> bool:
    return out is not None and out.suffix.lower() in FIGURE_ENDINGS


def check_out(kind: type[Result], figure: str | None, out: Path | None, *, no_csv_escape: bool) -> bool:
    """Return whether a figure is requested; reject an output file that cannot be written."""
    check_csv_escape(no_csv_escape=no_csv_escape, out=out)
    is_drawn = check_drawing(kind, figure, out)
    if out is not None and not is_drawn:
        check_file(out, endings=(*RESULT_ENDINGS, *FIGURE_ENDINGS))
    return is_drawn


def _leaderboard_parts(result: TaskLeaderboard | AllLeaderboards | Leaderboard) -> Iterator[str | TextTable]:
    """Yield the sentence, then the tables; leaderboards of all tasks are only written to a file."""
    from steelyard.reports import leaderboard_line, leaderboard_table, leaders_line, leaders_tables

    if isinstance(result, Leaderboard):
        yield leaders_line(result)
        yield from leaders_tables(result) if result.overall else ()
    elif isinstance(result, TaskLeaderboard):
        yield leaderboard_line(result)
        yield leaderboard_table(result)
    else:
        yield counted(len(result.to_dicts()), "submission")


def print_result(
    result: Result,
    parts: Iterable[str | TextTable],
    *,
    json: bool,
    out: Path | None = None,
    figure: str | None = None,
    no_csv_escape: bool = False,
) -> int:
    """Write the output file and print JSON or, without either, sentences and tables."""
    save_result(result, figure, out, no_csv_escape=no_csv_escape)
    if json:
        print_json(result.to_dict())
    elif out is None:
        show_results(parts)
    else:
        print_written(out, list(islice((part for part in parts if isinstance(part, str)), 1)))
    return 0


def bias(
    *,
    store: StoreOption = DEFAULT_STORE,
    policy: AskedPolicy = None,
    confidence: Annotated[float, Parameter(help="Confidence level, between 0 and 1.")] = 0.95,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """Test agents for systematic advantages across tasks.

    Example: steelyard arena bias --confidence 0.9
    """
    from steelyard.questions import tool_bias  # brings SQLAlchemy
    from steelyard.reports import bias_line, bias_table

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
    first: Annotated[str, Parameter(help="Profile: built-in name or TOML file.")],
    second: Annotated[str, Parameter(help="Profile to compare with the first.")],
    /,
    *,
    task: Annotated[str | None, Parameter(help="Only this task.")] = None,
    movers: Annotated[FromZero, Parameter(help="Number of rank changes to show, largest first.")] = 10,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """Compare the ranks under two profiles.

    Example: steelyard arena compare-profiles arena-1 mine.toml
    """
    from steelyard.questions import compare_profiles as compare  # brings SQLAlchemy
    from steelyard.reports import profile_lines

    check_out(ProfileComparison, figure, out, no_csv_escape=no_csv_escape)
    comparison = compare(store, first, second, task=task, movers=movers)
    print_result(comparison, profile_lines(comparison), json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)
    if not json:
        print_findings(comparison.findings)
    return 0


def watch(
    *,
    store: StoreOption = DEFAULT_STORE,
    poll_interval: Annotated[Seconds, Parameter(help="Seconds between polls.")] = 1.0,
    max_polls: Annotated[FromOne | None, Parameter(help="Maximum number of polls (default: unlimited).")] = None,
    json: Json = False,
) -> int:
    """Print events as they occur.

    Events are evaluations, lost ranks, outliers and exclusions. With --json, prints one object per line.

    Example: steelyard arena watch --poll-interval 5
    """
    import time

    from steelyard.questions import watch_arena  # brings SQLAlchemy

    watched, terminal = watch_arena(store), console()
    polls = 0
    while max_polls is None or polls < max_polls:
        for event in watched.news():
            if json:
                print_text(visible_json(msgspec.json.encode(event).decode()) + "\n", flush=True)
            else:
                terminal.print(clean(event.sentence), flush=True)
        polls += 1
        if max_polls is None or polls < max_polls:
            time.sleep(poll_interval)
    return 0
