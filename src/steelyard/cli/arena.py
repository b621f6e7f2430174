"""Manage a leaderboard: tasks, submissions, reviews."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, Group, Parameter

from steelyard import questions
from steelyard.arena import Receipt
from steelyard.cli import add_question
from steelyard.cli._options import FromOne, Json, OnePath, Paths, PricesOption, ProfileOption, Seconds, StoreOption
from steelyard.cli._output import OUTPUT, Output
from steelyard.cli._print import console, print_findings, print_json, print_text, progress_bar
from steelyard.cli._question_commands import deliver
from steelyard.errors import AbortedError, UsageError
from steelyard.formatting import counted
from steelyard.plain_text import clean, visible_json
from steelyard.prices import DEFAULT_PRICE_TABLE
from steelyard.questions import unplaced_arena_questions
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steelyard.questions import AppliedMigration, FileProgress
    from steelyard.records import Rejected


SET_UP, SUBMIT, LEADERBOARD, MODERATE, PEER_REVIEW, MODELS, SEASONS, NOTIFY = (
    Group(title, sort_key=position)
    for position, title in enumerate(
        ("Set up", "Submit", "Leaderboard", "Moderate", "Peer review", "Models", "Seasons", "Notify")
    )
)
"""Groups of `steelyard arena --help`."""


def upgrade(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """Upgrade the schema of a store.

    Upgrades a store created by an older version, including its canons. SQLite files are backed up first. Back up
    PostgreSQL databases with pg_dump. If the upgrade fails, the store is unchanged.

    Example: steelyard arena upgrade --store sqlite:///arena.db
    """
    done = questions.upgrade_arena(store, progress=_print_step)
    if json:
        print_json(done.to_dict())
    else:
        console().print_page(done.page())
    return 0


def _print_step(step: AppliedMigration) -> None:
    console(stderr=True).print(clean(f"migration {step.number}: {step.name}"))


def watch(
    *,
    store: StoreOption = DEFAULT_STORE,
    poll_interval: Annotated[Seconds, Parameter(help="Seconds between polls.")] = 1.0,
    max_polls: Annotated[FromOne | None, Parameter(help="Maximum number of polls (default: unlimited).")] = None,
    json: Json = False,
) -> int:
    """Print events as they occur.

    Events are evaluations, drops in rank, outliers and exclusions. With --json, prints one object per line.

    Example: steelyard arena watch --poll-interval 5
    """
    watched, terminal = questions.watch_arena(store), console()
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


arena = App(
    name="arena",
    help=__doc__,
    help_format="plaintext",
)
task = App(name="task", help="Add, list or show tasks.", help_format="plaintext")
user = App(name="user", help="Register or list people, teams and tools.", help_format="plaintext")
review = App(name="review", help="Accept, exclude or reinstate submissions.", help_format="plaintext")
rating = App(name="rating", help="Assign reviewers, and add or list ratings.", help_format="plaintext")
model = App(name="model", help="Fit models and show their results.", help_format="plaintext")
season = App(name="season", help="Create, list, show or verify seasons.", help_format="plaintext")
_placed = set()
for _app, _names in (
    (task, ("add", "list", "show")),
    (user, ("add", "list")),
    (review, ("list", "accept", "exclude", "reinstate", "log")),
    (rating, ("assign", "pending", "add", "list")),
    (model, ("fit", "abilities", "predict", "correctness", "weights")),
    (season, ("create", "list", "show", "verify")),
):
    for _name in _names:
        _placed.add(f"arena_{_app.name[0]}_{_name}")
        add_question(_app, f"arena_{_app.name[0]}_{_name}")


def init(
    *,
    store: StoreOption = DEFAULT_STORE,
    profile: ProfileOption = "arena-1",
    policy: Annotated[
        str,
        Parameter(help="Baseline policy: current (one baseline for all) or as-submitted (the one at submission time)."),
    ] = "current",
    json: Json = False,
) -> int:
    """Create an arena in a store.

    Example: steelyard arena init --store sqlite:///arena.db
    """
    made = questions.arena_settings(questions.init_arena(store, profile=profile, policy=policy))
    if json:
        print_json(made.to_dict())
    else:
        console().print(f"{made.store}: created arena with profile {made.profile}, policy {made.policy}")
    return 0


def submit(
    files: Annotated[
        Paths | None,
        Parameter(help="Submissions: JSONL, JSON, CSV or Parquet, optionally compressed; - for stdin."),
    ] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    from_runs: Annotated[
        Paths | None, Parameter(help="Submit run records or logs in any supported format; - for stdin.")
    ] = None,
    task_map: Annotated[
        OnePath | None, Parameter(help="TOML or JSON file that maps tasks in the runs to arena tasks.")
    ] = None,
    map: Annotated[  # noqa: A002 # the user's word for it
        str | None,
        Parameter(help="Mapping for custom CSV/JSON: a TOML file or a built-in name (see: steelyard mapping)."),
    ] = None,
    artifacts: Annotated[
        OnePath | None, Parameter(help="Artifact directory (default: the directory of the submissions file).")
    ] = None,
    prices: PricesOption = DEFAULT_PRICE_TABLE,
    submitter: Annotated[
        str | None, Parameter(help="Submitter id for submissions made from run records (--from-runs).")
    ] = None,
    set: Annotated[  # noqa: A002 # the word that every command has for it
        tuple[str, ...],
        Parameter(help="Set a field on every run (see: steelyard read --help); repeatable.", negative=""),
    ] = (),
    output: Output = OUTPUT,
) -> int:
    """Submit results to be scored and ranked.

    Valid submissions are accepted. Invalid ones are rejected with a reason.

    Example: steelyard arena submit submissions.jsonl
    Example: steelyard arena submit --from-runs runs.parquet --task-map tasks.toml
    """
    output.check()
    is_for_runs = bool(task_map or map or set or submitter is not None or prices != DEFAULT_PRICE_TABLE)
    _check_options(bool(files), bool(from_runs), is_for_runs=is_for_runs, is_for_files=artifacts is not None)
    with _followed(shown=not output.quiet) as progress:
        if files:
            done = questions.submit_files(store, list(files), artifacts=artifacts, progress=progress)
        else:
            done = questions.submit_runs(
                store,
                list(from_runs or ()),
                task_map=task_map,
                map=map,
                prices=prices,
                submitter=submitter,
                set=set,
                progress=progress,
            )
    deliver(done, output)
    if not output.quiet:
        print_findings(done.findings, whole_off_terminal=True)
    return output.status(done.rejected_count, useless=done.is_empty)


def _check_options(files: bool, runs: bool, *, is_for_runs: bool, is_for_files: bool) -> None:
    """Reject options without effect."""
    if files == runs:
        raise UsageError("submit requires either submission files or --from-runs", hint="steelyard arena submit --help")
    if files and is_for_runs:
        hint = "add --from-runs RUNS"
        raise UsageError("--task-map, --map, --prices, --submitter and --set require --from-runs", hint=hint)
    if runs and is_for_files:
        raise UsageError("--artifacts cannot be combined with --from-runs", hint="remove --artifacts")


@contextmanager
def _followed(*, shown: bool) -> Iterator[FileProgress]:
    """Show a progress bar; turn an interruption into an error with the number of accepted submissions."""
    accepted = 0
    try:
        with progress_bar(shown=shown, doing="submitting", noun="submissions") as advance:

            def progress(file: str, outcomes: Sequence[Receipt | Rejected]) -> None:
                nonlocal accepted
                accepted += sum(isinstance(outcome, Receipt) and outcome.status == "accepted" for outcome in outcomes)
                if advance is not None:
                    advance(file, len(outcomes))

            yield progress
    except KeyboardInterrupt as error:
        raise AbortedError(
            f"interrupted; accepted so far: {counted(accepted, 'submission')}",
            hint="run the same command again; accepted submissions are not counted twice",
        ) from error


def notify(
    *,
    targets: Annotated[OnePath, Parameter(help="TOML file with the notification targets.")],
    store: StoreOption = DEFAULT_STORE,
    once: Annotated[bool, Parameter(help="Send due notifications once and exit.")] = False,
    poll_interval: Annotated[Seconds, Parameter(help="Seconds between polls.")] = 5.0,
    since: Annotated[
        str | None,
        Parameter(help="Discard events before this date or time (default: send all pending events)."),
    ] = None,
    json: Json = False,
) -> int:
    """Send pending notifications to webhook targets.

    Failed deliveries are retried until every event is delivered at least once. Notifications are signed if the target
    names a secret. All events since the arena was created are pending until they are sent. With --json, prints one
    object per poll. Exits with status 1 if a notification fails.

    Example: steelyard arena notify --targets targets.toml --once
    Example: steelyard arena notify --targets targets.toml --since 2026-11-01
    """
    sender = questions.notifier(store, targets, since=since)
    if sender.skipped:
        console(stderr=True).print(f"discarded {counted(sender.skipped, 'event')} before {since}")
    while True:
        done = sender.send_due()
        if json and once:
            print_json(done.to_dict())
        elif json:
            print_text(visible_json(msgspec.json.encode(done).decode()) + "\n", flush=True)
        elif once or done.sent or done.failed:
            console().print_page(done.page())
        for error in done.errors:
            console(stderr=True).print(error)
        if once:
            return done.exit_status
        time.sleep(poll_interval)


for _command, _group in (
    (init, SET_UP),
    (upgrade, SET_UP),
    (task, SET_UP),
    (user, SET_UP),
    (submit, SUBMIT),
    ("arena_withdraw", SUBMIT),
    ("arena_show", SUBMIT),
    (watch, SUBMIT),
    ("arena_leaderboard", LEADERBOARD),
    ("arena_history", LEADERBOARD),
    ("arena_changes", LEADERBOARD),
    ("arena_rescore", LEADERBOARD),
    ("arena_compare_profiles", LEADERBOARD),
    ("arena_bias", LEADERBOARD),
    (review, MODERATE),
    (rating, PEER_REVIEW),
    (model, MODELS),
    (season, SEASONS),
    (notify, NOTIFY),
):
    if isinstance(_command, str):
        _placed.add(_command)
        add_question(arena, _command, group=_group)
    elif isinstance(_command, App):
        _command.group = _group
        arena.command(_command)
    else:
        arena.command(_command, group=_group)

for _question in unplaced_arena_questions(_placed):
    add_question(arena, _question)
