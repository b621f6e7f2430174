"""The arena's commands that only look: standings, evaluations, outliers, history, and what other rules would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.reports import clean
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import AskedPolicy, LevelOption, StoreOption, TaskName, TopOption
from steelyard.surfaces.cli._options import FromOne, FromZero, Json, Seconds, split_names
from steelyard.surfaces.cli._print import console, counted, print_findings, print_json, print_lines

if TYPE_CHECKING:
    from rich.table import Table

    from steelyard.arena import Arena, By, Leaderboard, Policy


def standings(
    task: Annotated[str | None, Parameter(help="The task's id; without it, tools and models across all tasks.")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    policy: AskedPolicy = None,
    by: Annotated[
        str | None, Parameter(help="Across tasks: what to rank, of agent, model, submitter; agent,model by default.")
    ] = None,
    sort: Annotated[
        str | None,
        Parameter(help="In a task, the score to order by: overall, efficiency, speed, cost, correctness."),
    ] = None,
    top: TopOption = None,
    level: LevelOption = None,
    json: Json = False,
) -> int:
    """Who leads a task, or all tasks: ranks with ties, percentiles, intervals, flags, what was defaulted or claimed.

    Example: steelyard arena standings fix-race --top 10
    Example: steelyard arena standings --by agent
    """
    from steelyard.arena import leaders  # brings SQLAlchemy
    from steelyard.errors import UsageError
    from steelyard.statistics import check_level
    from steelyard.workflow import open_arena, plain, policy_named

    if level is not None:
        check_level(level)
    if task is not None and by is not None:
        raise UsageError("--by ranks tools and models across tasks", hint="leave out the task, or --by")
    if task is None and sort is not None:
        raise UsageError("--sort orders the submissions to a task", hint="name a task, or leave --sort out")
    opened = open_arena(store)
    used = policy_named(policy) if policy else None
    if task is not None:
        return _print_task(opened, task, policy=used, sort=sort or "overall", top=top, level=level, json=json)
    board = leaders(opened, by=_keys(by or "agent,model"), policy=used, level=level).first(top)
    if json:
        print_json(plain(board))
    else:
        _print_leaders(board)
    return 0


def _print_task(
    opened: Arena, task: str, *, policy: Policy | None, sort: str, top: int | None, level: float | None, json: bool
) -> int:
    from steelyard.arena import (
        RANKED,  # brings SQLAlchemy
        task_standings as stand,
    )
    from steelyard.errors import UnknownName
    from steelyard.surfaces.cli._arena_print import standings_line, standings_table
    from steelyard.workflow import standing_rows

    if sort not in RANKED:
        raise UnknownName("score", sort, RANKED)
    shown = stand(opened, task, policy=policy, level=level, top=top if sort == "overall" else None)
    rows = standing_rows(shown)
    if sort != "overall":
        rows = sorted(rows, key=lambda row: row[f"{sort}_ranking"])[:top]
    if json:
        print_json(rows)
        return 0
    console().print(standings_table(shown, rows, by=sort))
    print_lines([standings_line(shown, least=opened.rules.standings.reliable_from)])
    return 0


def _keys(by: str) -> list[By]:
    from steelyard.errors import UnknownName

    known: dict[str, By] = {"agent": "agent", "model": "model", "submitter": "submitter"}
    for name in split_names(by):
        if name not in known:
            raise UnknownName("key", name, known)
    return [known[name] for name in split_names(by)]


def _print_leaders(board: Leaderboard) -> None:
    from steelyard.surfaces.cli._arena_print import leaders_table, settings_named  # brings rich

    console().print(leaders_table(board.overall, title=f"All tasks, {settings_named(board)}"))
    for category, leaders in board.categories.items():
        console().print(leaders_table(leaders, title=category))


def show(
    submission: Annotated[str, Parameter(help="The submission's id.")],
    score: Annotated[str | None, Parameter(help="Explain only this score.")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """One evaluation, explained: each score with its formula, the numbers put in, and the constants.

    Example: steelyard arena show run-17 speed_score
    """
    from steelyard.arena import evaluation  # brings SQLAlchemy
    from steelyard.surfaces.cli._arena_print import evaluation_lines
    from steelyard.workflow import open_arena, plain

    explained = evaluation(open_arena(store), submission, only=score)
    if json:
        print_json(plain(explained))
        return 0
    print_lines(evaluation_lines(explained))
    return 0


def show_task(task: TaskName, /, *, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """A task with its baseline, overall and of each tool and model.

    Example: steelyard arena task show fix-race
    """
    from steelyard.arena import (
        combination_baselines,  # brings SQLAlchemy
        task_standings as stand,
    )
    from steelyard.workflow import files_of_task, open_arena, plain

    opened = open_arena(store)
    standing = stand(opened, task, top=0)
    kept = files_of_task(opened, task)
    definition = next(known for known in opened.tasks() if known.id == task)
    shown = {
        "task": plain(definition),
        "files": None if kept is None else kept._asdict(),
        "submissions": standing.n,
        "baseline_version": standing.baseline_version,
        "baseline": standing.baseline,
        "breakdown": standing.breakdown,
        "combinations": plain(combination_baselines(opened, task)),
    }
    if json:
        print_json(shown)
        return 0
    print_lines([f"{definition.id}  {definition.title or ''}".rstrip()])
    if kept is not None:
        print_lines([f"{kept.n} files of its own, SHA-256 {kept.sha256}"])
    console().print(_baselines(shown))
    return 0


def _baselines(shown: dict[str, object]) -> Table:
    from steelyard.surfaces.cli._arena_print import baselines_table  # brings rich

    return baselines_table(shown)


def outliers(
    task: Annotated[str | None, Parameter(help="The task's id; all by default.")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Submissions that look too good and that a person should look at.

    Example: steelyard arena outliers fix-race
    """
    from steelyard.arena import outliers as suspicious  # brings SQLAlchemy
    from steelyard.workflow import open_arena, plain

    opened = open_arena(store)
    names = [task] if task is not None else [known.id for known in opened.tasks()]
    flagged = [outlier for name in names for outlier in suspicious(opened, name)]
    if json:
        print_json(plain(flagged))
        return 0
    print_lines(
        f"{outlier.task_id}  {outlier.submission_id}  {', '.join(outlier.flags)}: {outlier.recommended_action}"
        for outlier in flagged
    )
    return 0


def history(
    *,
    task: Annotated[str | None, Parameter(help="Scores of this task.")] = None,
    submitter: Annotated[str | None, Parameter(help="Scores of this submitter.")] = None,
    since: Annotated[str | None, Parameter(help="What changed in the standings since this date or time.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """How scores went, with their trend; or with --since, what changed in the standings.

    Example: steelyard arena history --submitter ada
    Example: steelyard arena history --since 2026-11-01 --task fix-race
    """
    from steelyard.arena import (
        changes,  # brings SQLAlchemy
        history as past,
    )
    from steelyard.errors import UsageError
    from steelyard.records import microseconds_of
    from steelyard.surfaces.cli._arena_print import change_lines, history_lines
    from steelyard.workflow import moment_of, open_arena, plain

    if since is not None and submitter is not None:
        raise UsageError("--since tells of the standings of tasks, not of a submitter", hint="leave one of them out")
    asked = None if since is None else microseconds_of(moment_of(since, option="--since"))
    opened = open_arena(store)
    if since is not None and asked is not None:
        changed = changes(opened, since=asked, task_id=task)
        lines, shown = change_lines(changed, since), plain(changed)
    else:
        score_history = past(opened, task_id=task, submitter=submitter)
        lines, shown = history_lines(score_history), plain(score_history)
    if json:
        print_json(shown)
        return 0
    print_lines(lines)
    return 0


def bias(
    *,
    store: StoreOption = DEFAULT_STORE,
    policy: AskedPolicy = None,
    level: Annotated[float, Parameter(help="Level of the intervals.")] = 0.95,
    json: Json = False,
) -> int:
    """Whether a tool does systematically better or worse than the others across tasks, with its interval.

    Example: steelyard arena bias --level 0.9
    """
    from steelyard.arena import bias as advantage  # brings SQLAlchemy
    from steelyard.workflow import open_arena, plain, policy_named

    advantages = advantage(open_arena(store), policy=policy_named(policy) if policy else None, level=level)
    if json:
        print_json(plain(advantages))
        return 0
    for tool in advantages:
        if tool.low is None or tool.high is None or tool.mean_difference is None:
            line = f"{tool.agent}  no interval: {tool.reason}"
        else:
            verdict = "systematic" if tool.systematic else "not shown"
            interval = f"{tool.low:+.2f} to {tool.high:+.2f}, {counted(tool.tasks, 'task')}"
            line = f"{tool.agent}  {tool.mean_difference:+.2f} points ({interval}): {verdict}"
        print_lines([line])
    return 0


def compare_profiles(
    first: Annotated[str, Parameter(help="A shipped profile or a TOML file.")],
    second: Annotated[str, Parameter(help="Another one.")],
    /,
    *,
    task: Annotated[str | None, Parameter(help="Only this task.")] = None,
    movers: Annotated[FromZero, Parameter(help="How many of the largest moves to show.")] = 10,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """How ranks would move from one profile to another, on the submissions that are there.

    Example: steelyard arena compare-profiles arena-1 mine.toml
    """
    from steelyard.arena import compare_profiles as compare  # brings SQLAlchemy
    from steelyard.profiles import load_profile
    from steelyard.surfaces.cli._arena_print import comparison_lines
    from steelyard.workflow import open_arena, plain

    comparison = compare(open_arena(store), load_profile(first), load_profile(second), task_id=task, movers=movers)
    if json:
        print_json(plain(comparison))
        return 0
    print_lines(comparison_lines(comparison))
    print_findings(comparison.findings)
    return 0


def watch(
    *,
    store: StoreOption = DEFAULT_STORE,
    every: Annotated[Seconds, Parameter(help="Seconds between looks.")] = 1.0,
    looks: Annotated[FromOne | None, Parameter(help="End after so many looks; without it, go on.")] = None,
    json: Json = False,
) -> int:
    """Print each submission as it is evaluated, with its place at that moment. With --json, one object a line.

    Example: steelyard arena watch --every 5
    """
    import time

    from steelyard.arena import Watch  # brings SQLAlchemy
    from steelyard.workflow import open_arena

    watched = Watch(open_arena(store))
    seen = 0
    while looks is None or seen < looks:
        for line in watched.news(as_json=json):
            print(line if json else clean(line), flush=True)
        seen += 1
        if looks is None or seen < looks:
            time.sleep(every)
    return 0


COMMANDS = (
    (standings, "standings"),
    (show, "show"),
    (outliers, "outliers"),
    (history, "history"),
    (bias, "bias"),
    (compare_profiles, "compare-profiles"),
    (watch, "watch"),
)
