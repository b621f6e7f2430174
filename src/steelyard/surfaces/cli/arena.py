from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, Parameter

from steelyard.errors import Interrupted, UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.reports import clean
from steelyard.results import Receipt
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli import _arena_views as views
from steelyard.surfaces.cli._arena_options import PolicyOption, StoreOption
from steelyard.surfaces.cli._options import Json, OnePath, Paths, PricesOption, ProfileOption, Quiet, Seconds, SkipBad
from steelyard.surfaces.cli._print import console, counted, print_findings, print_json, print_lines, progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steelyard.arena import Arena, SubmissionOutcome
    from steelyard.records import Task
    from steelyard.workflow import FileTold, Submitted

RECEIPTS_SHOWN = 20

arena = App(
    name="arena",
    help="Score submissions against the living baseline of their task, rank them, and lose none.",
    help_format="plaintext",
)
task = App(name="task", help="Tasks of the arena.", help_format="plaintext")
arena.command(task)


@arena.command
def init(
    *,
    store: StoreOption = DEFAULT_STORE,
    profile: ProfileOption = "arena-1",
    policy: PolicyOption = "current",
    json: Json = False,
) -> int:
    """Make an arena in a store.

    Example: steelyard arena init --store sqlite:///arena.db
    """
    from steelyard.workflow import init_arena  # brings SQLAlchemy

    made = init_arena(store, profile=profile, policy=policy)
    if json:
        print_json({"store": made.store.address, "profile": made.rules.name, "policy": made.policy})
    else:
        console().print(f"{made.store.address}: an arena under {made.rules.name}, policy {made.policy}")
    return 0


@task.command
def add(
    files: Annotated[Paths, Parameter(help="Tasks as TOML or JSON, one or several to a file; - is stdin.")],
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    skip_bad: SkipBad = False,
    json: Json = False,
) -> int:
    """Add tasks. The same task twice is no error; another one of the same id is.

    Example: steelyard arena task add tasks.toml
    """
    from steelyard.workflow import add_tasks, open_arena, plain  # brings SQLAlchemy

    done = add_tasks(open_arena(store), list(files))
    refused = [rejection.as_finding() for rejection in done.rejected]
    if json:
        shown = [{"id": definition.id, "new": new} for definition, new in done.tasks]
        print_json({"tasks": shown, "refused": plain(refused), "findings": plain(done.notes)})
    else:
        print_lines(f"{definition.id}  {'added' if new else 'is there already'}" for definition, new in done.tasks)
    print_findings([*refused, *done.notes], whole_off_terminal=True)
    return 1 if not done.tasks or (refused and not skip_bad) else 0


@task.command(name="list")
def list_(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """List the tasks.

    Example: steelyard arena task list
    """
    from steelyard.workflow import open_arena, plain  # brings SQLAlchemy

    definitions = open_arena(store).tasks()
    if json:
        print_json(plain(definitions))
        return 0
    print_lines(_task_line(definition) for definition in definitions)
    return 0


def _task_line(definition: Task) -> str:
    parts = [
        definition.id,
        definition.category or "-",
        definition.difficulty or "-",
        f"{len(definition.success_criteria)} criteria",
    ]
    return "  ".join([*parts, definition.title or ""]).rstrip()


task.command(views.show_task, name="show")


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
    artifacts: Annotated[
        OnePath | None, Parameter(help="The folder in which artifacts lie; beside the file by default.")
    ] = None,
    prices: PricesOption = DEFAULT_BOOK,
    submitter: Annotated[str | None, Parameter(help="Who submits the run records.")] = None,
    skip_bad: SkipBad = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Submit: score, rank and keep. A bad submission is refused with its reason, the others are accepted.

    Example: steelyard arena submit submissions.jsonl
    Example: steelyard arena submit --from-runs runs.parquet --task-map tasks.toml
    """
    from steelyard.workflow import open_arena, plain, submit_files, submit_runs  # brings SQLAlchemy

    is_for_runs = task_map is not None or prices != DEFAULT_BOOK or submitter is not None
    _check_options(bool(files), bool(from_runs), is_for_runs=is_for_runs, is_for_files=artifacts is not None)
    opened = open_arena(store)
    with _followed(shown=not quiet) as told:
        if files:
            done = submit_files(opened, list(files), artifacts=artifacts, told=told)
        else:
            done = submit_runs(
                opened, list(from_runs or ()), task_map=task_map, prices=prices, submitter=submitter, told=told
            )
    if json:
        refused = plain([rejection.as_finding() for rejection in done.rejected])
        print_json({"receipts": plain(done.receipts), "refused": refused, "findings": plain(done.notes)})
    else:
        _print_receipts(done)
    if not quiet:
        print_findings(done.findings, whole_off_terminal=True)
    return 1 if not done.receipts or (done.rejected and not skip_bad) else 0


def _check_options(files: bool, runs: bool, *, is_for_runs: bool, is_for_files: bool) -> None:
    """Refuse options that would have no effect."""
    if files == runs:
        raise UsageError("name files of submissions, or runs with --from-runs", hint="steelyard arena submit --help")
    if files and is_for_runs:
        hint = "--from-runs RUNS, or leave them out"
        raise UsageError("--task-map, --prices and --submitter are for run records", hint=hint)
    if runs and is_for_files:
        raise UsageError("run records have no artifacts", hint="leave --artifacts out, or submit a file of submissions")


@contextmanager
def _followed(*, shown: bool) -> Iterator[FileTold]:
    """Follows submissions with a bar; an interruption becomes an error that says how many were accepted."""
    accepted = 0
    try:
        with progress_bar(shown=shown, doing="submitting", noun="submissions") as advance:

            def told(file: str, outcomes: Sequence[SubmissionOutcome]) -> None:
                nonlocal accepted
                accepted += sum(isinstance(outcome, Receipt) and outcome.status == "accepted" for outcome in outcomes)
                if advance is not None:
                    advance(file, len(outcomes))

            yield told
    except KeyboardInterrupt as error:
        raise Interrupted(
            f"interrupted; {counted(accepted, 'submission')} accepted before, which stay",
            hint="submit the same again: those are known and not counted twice, the others follow",
        ) from error


def _print_receipts(done: Submitted) -> None:
    print_lines(
        f"{receipt.submission_id}  {receipt.task_id}  {receipt.overall_score:.2f}"
        f"  rank {receipt.overall_ranking}  percentile {receipt.percentile}  [{receipt.status}]"
        for receipt in done.receipts[:RECEIPTS_SHOWN]
    )
    rest = len(done.receipts) - RECEIPTS_SHOWN
    if rest > 0:
        console().print(f"... and {rest:,} more")
    known = len(done.receipts) - done.accepted
    console().print(f"{done.accepted:,} accepted, {known:,} known before, {len(done.rejected):,} refused")


@arena.command
def rescore(
    tasks: Annotated[list[str] | None, Parameter(help="Only these tasks; all by default.", negative="")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    profile: Annotated[str | None, Parameter(help="Score by this profile from now on.")] = None,
    policy: Annotated[str | None, Parameter(help="Keep standings by this policy from now on.")] = None,
    json: Json = False,
) -> int:
    """Score every submission again, for example under another profile.

    Under the policy as-submitted each keeps the score of its day; baselines and ranks are made anew, and new
    submissions go by the new profile.

    Example: steelyard arena rescore --profile mine.toml
    """
    from steelyard.profiles import load_profile
    from steelyard.workflow import doubts_about, open_arena, plain, policy_named  # brings SQLAlchemy

    opened = open_arena(store)
    count = opened.rescore(
        list(tasks or ()) or None,
        profile=load_profile(profile) if profile else None,
        policy=policy_named(policy) if policy else None,
    )
    doubts = doubts_about(opened, [definition for definition in opened.tasks() if not tasks or definition.id in tasks])
    if json:
        rescored = count if opened.policy == "current" else 0
        shown = {"submissions": count, "rescored": rescored, "profile": opened.rules.name, "policy": opened.policy}
        print_json({**shown, "findings": plain(doubts)})
    else:
        print_lines([_rescored_line(count, opened)])
    print_findings(doubts)
    return 0


def _rescored_line(count: int, opened: Arena) -> str:
    shown, profile = counted(count, "submission"), opened.rules.name
    if opened.policy == "current":
        return f"{shown} scored by {profile}, policy current"
    return (
        f"policy as-submitted: {shown} ranked anew by the scores of their day, which stay; new ones are scored by"
        f" {profile}, and baselines follow it"
    )


@arena.command
def export(
    out: Annotated[OnePath, Parameter(help="Write to this file: .json, .jsonl, .csv or .parquet.")],
    tasks: Annotated[list[str] | None, Parameter(help="Only these tasks; all by default.", negative="")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    policy: Annotated[str | None, Parameter(help="current or as-submitted; the arena's by default.")] = None,
    json: Json = False,
) -> int:
    """Write the standings of all tasks to a file.

    Example: steelyard arena export standings.csv
    """
    from steelyard.arena import task_standings  # brings SQLAlchemy
    from steelyard.reports import check_file
    from steelyard.workflow import EXPORTED, open_arena, policy_named, write_standings

    check_file(out, endings=EXPORTED)
    opened = open_arena(store)
    chosen = list(tasks or ()) or [definition.id for definition in opened.tasks()]
    used = policy_named(policy) if policy else None
    count = write_standings([task_standings(opened, name, policy=used) for name in chosen], out)
    if json:
        print_json({"standings": count, "file": str(out)})
    else:
        console(stderr=True).print(clean(f"{counted(count, 'standing')} written to {out}"))
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

    What waits is every submission since the arena was made that was not sent yet. With --json, one object a round,
    each on a line of its own unless --once is given.

    Example: steelyard arena notify --targets targets.toml --once
    Example: steelyard arena notify --targets targets.toml --since 2026-11-01
    """
    import time

    from steelyard.arena import (
        notify_once,  # brings SQLAlchemy
        read_targets,
        skip_before,
    )
    from steelyard.workflow import open_arena, plain

    first = None if since is None else _past(since)
    known = read_targets(targets)
    opened = open_arena(store)
    for target in known:
        target.check_environment()
    if first is not None and (skipped := skip_before(opened.store, first)):
        console(stderr=True).print(f"{counted(skipped, 'event')} from before {since} will not be sent")
    while True:
        done = notify_once(opened.store, known)
        if json and once:
            print_json(plain(done))
        elif json:
            print(msgspec.json.encode(done).decode(), flush=True)
        elif once or done.sent or done.failed:
            put_off = f" {done.put_off:,} put off," if done.put_off else ""
            console().print(f"{done.sent:,} sent, {done.failed:,} failed,{put_off} {done.waiting:,} waiting")
        for error in done.errors:
            console(stderr=True).print(error)
        if once:
            return 1 if done.failed else 0
        time.sleep(every)


def _past(since: str) -> int:
    from steelyard.arena import now_microseconds  # brings SQLAlchemy
    from steelyard.records import microseconds_of
    from steelyard.workflow import moment_of

    moment = microseconds_of(moment_of(since, option="--since"))
    if moment > now_microseconds():
        raise UsageError(f"--since {since} is in the future", hint="name a date or time that has been")
    return moment


for _view, _name in views.COMMANDS:
    arena.command(_view, name=_name)
