from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, Parameter

from steelyard.errors import AbortedError, UsageError
from steelyard.formatting import counted
from steelyard.prices import DEFAULT_PRICE_TABLE
from steelyard.reports import visible_json
from steelyard.results import Receipt
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli import (
    _arena_models as learning,
    _arena_people as people,
    _arena_ratings as ratings,
    _arena_reviews as reviews,
    _arena_seasons as seasons,
    _arena_views as views,
    _arena_weights as weights,
)
from steelyard.surfaces.cli._arena_options import ArenaProfile, PolicyOption, SetOption, StoreOption
from steelyard.surfaces.cli._arena_upgrade import upgrade
from steelyard.surfaces.cli._options import AllowRejected, Json, OnePath, Paths, PricesOption, Quiet, Seconds
from steelyard.surfaces.cli._print import (
    console,
    print_findings,
    print_json,
    print_lines,
    print_text,
    progress_bar,
    show_results,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steelyard.records import Rejected
    from steelyard.workflow import FileTold

arena = App(
    name="arena",
    help="Score and rank submissions against the best values of their task so far.",
    help_format="plaintext",
)
task = App(name="task", help="Tasks of the arena.", help_format="plaintext")
arena.command(task)


@arena.command
def init(
    *,
    store: StoreOption = DEFAULT_STORE,
    profile: ArenaProfile = "arena-1",
    policy: PolicyOption = "current",
    json: Json = False,
) -> int:
    """Make an arena in a store.

    Example: steelyard arena init --store sqlite:///arena.db
    """
    from steelyard.workflow import arena_settings, init_arena  # brings SQLAlchemy

    made = arena_settings(init_arena(store, profile=profile, policy=policy))
    if json:
        print_json(made.to_dict())
    else:
        console().print(f"{made.store}: an arena under {made.profile}, policy {made.policy}")
    return 0


@task.command
def add(
    files: Annotated[Paths, Parameter(help="Tasks as TOML or JSON, one or several to a file; - is stdin.")],
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    allow_rejected: AllowRejected = False,
    json: Json = False,
) -> int:
    """Add tasks. The same task twice is no error; another one of the same id is.

    Example: steelyard arena task add tasks.toml
    """
    from steelyard.workflow import add_tasks  # brings SQLAlchemy

    done = add_tasks(store, list(files))
    if json:
        print_json(done.to_dict())
    else:
        from steelyard.reports import added_lines

        print_lines(added_lines(done))
    print_findings(done.findings, whole_off_terminal=True)
    return 1 if not done.tasks or (done.rejected and not allow_rejected) else 0


task.command(views.list_tasks, name="list")
task.command(views.show_task, name="show")
arena.command(upgrade)


@arena.command
def submit(
    files: Annotated[
        Paths | None,
        Parameter(help="Submissions: JSON lines, JSON, CSV or Parquet, also packed; - is stdin."),
    ] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    from_runs: Annotated[
        Paths | None, Parameter(help="Submit these run records, of any format that is read; - is stdin.")
    ] = None,
    task_map: Annotated[
        OnePath | None, Parameter(help="TOML or JSON: the arena's task for each task of the runs.")
    ] = None,
    map: Annotated[  # noqa: A002 # the user's word for it
        str | None, Parameter(help="Read the runs by this mapping: a TOML file or a shipped mapping's name.")
    ] = None,
    artifacts: Annotated[
        OnePath | None, Parameter(help="The folder in which artifacts lie; beside the file by default.")
    ] = None,
    prices: PricesOption = DEFAULT_PRICE_TABLE,
    submitter: Annotated[str | None, Parameter(help="Who submits the run records.")] = None,
    set: SetOption = (),  # noqa: A002 # the word that every command has for it
    allow_rejected: AllowRejected = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Submit: score, rank and keep. A bad submission is refused with its reason, the others are accepted.

    Example: steelyard arena submit submissions.jsonl
    Example: steelyard arena submit --from-runs runs.parquet --task-map tasks.toml
    """
    from steelyard.workflow import submit_files, submit_runs  # brings SQLAlchemy

    is_for_runs = bool(task_map or map or set or submitter is not None or prices != DEFAULT_PRICE_TABLE)
    _check_options(bool(files), bool(from_runs), is_for_runs=is_for_runs, is_for_files=artifacts is not None)
    with _followed(shown=not quiet) as told:
        if files:
            done = submit_files(store, list(files), artifacts=artifacts, told=told)
        else:
            done = submit_runs(
                store,
                list(from_runs or ()),
                task_map=task_map,
                map=map,
                prices=prices,
                submitter=submitter,
                set=set,
                told=told,
            )
    if json:
        print_json(done.to_dict())
    else:
        from steelyard.reports import receipts_table, submitted_line

        show_results([submitted_line(done), *([receipts_table(done)] if done.receipts else ())])
    if not quiet:
        print_findings(done.findings, whole_off_terminal=True)
    return 1 if not done.receipts or (done.rejected and not allow_rejected) else 0


def _check_options(files: bool, runs: bool, *, is_for_runs: bool, is_for_files: bool) -> None:
    """Refuse options that would have no effect."""
    if files == runs:
        raise UsageError("name files of submissions, or runs with --from-runs", hint="steelyard arena submit --help")
    if files and is_for_runs:
        hint = "--from-runs RUNS, or leave them out"
        raise UsageError("--task-map, --map, --prices, --submitter and --set are for run records", hint=hint)
    if runs and is_for_files:
        raise UsageError("run records have no artifacts", hint="leave --artifacts out, or submit a file of submissions")


@contextmanager
def _followed(*, shown: bool) -> Iterator[FileTold]:
    """Follows submissions with a bar; an interruption becomes an error that says how many were accepted."""
    accepted = 0
    try:
        with progress_bar(shown=shown, doing="submitting", noun="submissions") as advance:

            def told(file: str, outcomes: Sequence[Receipt | Rejected]) -> None:
                nonlocal accepted
                accepted += sum(isinstance(outcome, Receipt) and outcome.status == "accepted" for outcome in outcomes)
                if advance is not None:
                    advance(file, len(outcomes))

            yield told
    except KeyboardInterrupt as error:
        raise AbortedError(
            f"interrupted; {counted(accepted, 'submission')} accepted before, which stay",
            hint="submit the same again: those are known and not counted twice, the others follow",
        ) from error


@arena.command
def rescore(
    tasks: Annotated[list[str] | None, Parameter(help="Only these tasks; all by default.", negative="")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    profile: Annotated[str | None, Parameter(help="Score by this profile from now on.")] = None,
    policy: Annotated[str | None, Parameter(help="Keep leaderboard by this policy from now on.")] = None,
    json: Json = False,
) -> int:
    """Score every submission again, for example under another profile.

    Under the policy as-submitted each keeps the score of its day; baselines and ranks are recomputed, and new
    submissions go by the new profile.

    Example: steelyard arena rescore --profile mine.toml
    """
    from steelyard.reports import rescored_line
    from steelyard.workflow import rescore as score_again  # brings SQLAlchemy

    done = score_again(store, list(tasks or ()), profile=profile, policy=policy)
    if json:
        print_json(done.to_dict())
    else:
        print_lines([rescored_line(done)])
    print_findings(done.findings)
    return 0


@arena.command
def notify(
    *,
    targets: Annotated[OnePath, Parameter(help="TOML file with the targets; nothing is sent anywhere else.")],
    store: StoreOption = DEFAULT_STORE,
    once: Annotated[bool, Parameter(help="Send what is due and end; without it, go on every few seconds.")] = False,
    every: Annotated[Seconds, Parameter(help="Seconds between rounds.")] = 5.0,
    since: Annotated[
        str | None,
        Parameter(help="Never send what is from before this date or time; without it, all that waits is sent."),
    ] = None,
    json: Json = False,
) -> int:
    """Send notifications from the outbox: at least once each, signed, with retries. Exit 1 when one failed.

    What waits is every event since the arena was made that was not sent yet. With --json, one object a round,
    each on a line of its own unless --once is given.

    Example: steelyard arena notify --targets targets.toml --once
    Example: steelyard arena notify --targets targets.toml --since 2026-11-01
    """
    import time

    from steelyard.workflow import notifier  # brings SQLAlchemy

    sender = notifier(store, targets, since=since)
    if sender.skipped:
        console(stderr=True).print(f"{counted(sender.skipped, 'event')} from before {since} will not be sent")
    while True:
        done = sender.send_due()
        if json and once:
            print_json(msgspec.to_builtins(done))
        elif json:
            print_text(visible_json(msgspec.json.encode(done).decode()) + "\n", flush=True)
        elif once or done.sent or done.failed:
            put_off = f" {done.put_off:,} put off," if done.put_off else ""
            due = (done.next_attempt_at or "")[:19].replace("T", " ")
            again = f", next attempt at {due} UTC" if due else ""
            console().print(f"{done.sent:,} sent, {done.failed:,} failed,{put_off} {done.waiting:,} waiting{again}")
        for error in done.errors:
            console(stderr=True).print(error)
        if once:
            return 1 if done.failed else 0
        time.sleep(every)


_ROOMS = (views, reviews, people, ratings, seasons, weights, learning)
for _command, _name in (pair for room in _ROOMS for pair in room.COMMANDS):
    arena.command(_command, name=_name)
