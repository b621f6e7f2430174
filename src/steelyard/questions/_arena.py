"""Arena: the commands that create, upgrade, fill and watch an arena, and that send its notifications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import msgspec

from steelyard import pages
from steelyard.arena import (
    DEFAULT_PROFILE,
    POLICIES,
    Arena,
    LocatedSubmission,
    Policy,
    Receipt,
    SubmissionOutcome,
    Watch,
    create_arena,
    fit_if_due,
    notify_once,
    open_arena as arena_in,
    read_rules,
    read_submissions,
    read_targets,
    skip_before,
)
from steelyard.errors import UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.profiles import load_profile
from steelyard.questions._answer import Answer, Rows
from steelyard.questions.arena._common import ArenaAnswer, no_records, or_rejected
from steelyard.questions.arena._submitted import SubmitResult, submitted
from steelyard.records import Finding, Rejected, Submission, microseconds_of, moment_of, now_microseconds
from steelyard.settings import DEFAULT_STORE, shown_path
from steelyard.store import Migration, open_store, upgrade_store

if TYPE_CHECKING:
    from steelyard.pages import Page

AT_ONCE = 100_000
"""Submissions per batch in memory."""

FileProgress = Callable[[str, Sequence[SubmissionOutcome]], None]
"""Called with a file and the final outcomes of some of its submissions."""


class ArenaSettings(Answer, frozen=True, kw_only=True):
    """An arena with its store, profile and policy."""

    rows: ClassVar[Rows] = Rows(keep=("store", "profile", "policy"))
    is_shared: ClassVar[bool] = True
    store: str
    profile: str
    policy: Policy

    @property
    def about(self) -> str:
        """Store, profile and policy."""
        return f"{self.store}: {self.profile}, policy {self.policy}"

    def page(self) -> Page:
        """Return one sentence."""
        return pages.Page(name="settings", title="Which rules does this arena have?", answer=f"{self.about}.")


class AppliedMigration(msgspec.Struct, frozen=True):
    """One step of the store's schema."""

    number: int
    """Version of the schema that it creates."""
    name: str
    """Subject, in a few words."""


class StoreUpgrade(Answer, frozen=True, kw_only=True):
    """Upgrade of a store."""

    rows: ClassVar[Rows] = Rows("migrations", keep=("store",))
    store: str
    """URL of the store, without a password."""
    store_version_before: int
    """Version of the schema before the upgrade."""
    store_version_after: int
    """Version of the schema now."""
    migrations: tuple[AppliedMigration, ...]
    """Applied migrations, in order; empty if the store was up to date."""
    copy: str | None
    """Backup of the store; None if no migration was applied, and for PostgreSQL."""

    @property
    def about(self) -> str:
        """Versions before and after."""
        return f"schema version {self.store_version_before} -> {self.store_version_after}"

    def page(self) -> Page:
        """Return the versions and the backup."""
        if not self.migrations:
            answer = f"{self.store}: already up to date (schema version {self.store_version_after})"
            notes: tuple[str, ...] = ()
        else:
            answer = f"{self.store}: upgraded, {self.about}"
            notes = (f"backup: {self.copy}" if self.copy else "no backup was made (use pg_dump)",)
        return pages.Page(name="upgrade", title="Is the store up to date?", answer=answer, notes=notes)


def init_arena(address: str = DEFAULT_STORE, *, profile: str = DEFAULT_PROFILE, policy: str = "current") -> Arena:
    """Create an arena in the store, or open an existing one with the same rules."""
    chosen, kept = load_profile(profile), policy_named(policy)
    read_rules(chosen)  # reject an invalid profile before a file is created
    return _with_models(create_arena(open_store(address), chosen, policy=kept))


def open_arena(address: str = DEFAULT_STORE) -> Arena:
    """Open the arena in a store."""
    return _with_models(arena_in(open_store(address, create=False)))


def _with_models(arena: Arena) -> Arena:
    """Return the arena with models fitted when due by its profile."""
    arena.fitter = fit_if_due
    return arena


class SubmissionTarget(Protocol):
    """Local or remote arena that accepts submissions."""

    def submit(
        self,
        given: Sequence[Submission | Rejected],
        *,
        artifacts_root: Path | None = None,
        progress: Callable[[Sequence[SubmissionOutcome]], None] | None = None,
    ) -> list[SubmissionOutcome]:
        """Return the outcome of each submission, in order."""
        ...


def opened(arena: Arena | str) -> Arena:
    """Return the arena, opened if an address is given."""
    return open_arena(arena) if isinstance(arena, str) else arena


def arena_settings(arena: Arena | str) -> ArenaSettings:
    """Return the store, profile and policy of the arena."""
    arena = opened(arena)
    return ArenaSettings(store=arena.store.address, profile=arena.rules.name, policy=arena.policy)


def policy_named(name: str) -> Policy:
    """Return the policy with this name."""
    if name not in POLICIES:
        raise UnknownNameError("policy", name, POLICIES)
    return "current" if name == "current" else "as-submitted"


def submit_files(
    arena: SubmissionTarget | str,
    paths: Sequence[Path],
    *,
    artifacts: Path | None = None,
    progress: FileProgress | None = None,
) -> SubmitResult:
    """Submit the submissions in the files. Artifacts are in `artifacts` (default: next to each file)."""
    files = ((path, read_submissions(path)) for path in paths)
    return submit_located(
        arena, files, artifacts=lambda path: artifacts or path.parent, what="submissions", progress=progress
    )


def submit_located(
    arena: SubmissionTarget | str,
    files: Iterable[tuple[Path, Iterator[LocatedSubmission | Rejected]]],
    *,
    artifacts: Callable[[Path], Path] | None,
    what: str,
    progress: FileProgress | None,
) -> SubmitResult:
    """Submit the records of each file in batches; add to each rejection where its record is.

    `artifacts` returns the artifact directory of a file.
    """
    taking = open_arena(arena) if isinstance(arena, str) else arena
    receipts: list[Receipt] = []
    rejected: list[Rejected] = []
    notes: list[Finding] = []
    for path, located in files:
        before = len(receipts) + len(rejected)
        root = None if artifacts is None else artifacts(path)
        file_progress = None if progress is None else partial(progress, str(shown_path(path)))
        records = or_rejected(path, located)
        while batch := list(islice(records, AT_ONCE)):
            given = [record if isinstance(record, Rejected) else record.submission for record in batch]
            outcomes = taking.submit(given, artifacts_root=root, progress=file_progress)
            for record, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, Receipt):
                    receipts.append(outcome)
                elif isinstance(record, LocatedSubmission):
                    reason = f"submission {record.submission.id[:200]!r}: {outcome.reason}"
                    place = {"path": record.path, "line": record.line, "item": record.item}
                    rejected.append(msgspec.structs.replace(outcome, **place, reason=reason))
                else:
                    rejected.append(record)
        if len(receipts) + len(rejected) == before:
            notes.append(no_records(what, path))
    return submitted(receipts, rejected, notes)


class SendingRound(ArenaAnswer, frozen=True, kw_only=True):
    """Result of one round of deliveries."""

    rows: ClassVar[Rows] = Rows(keep=("sent", "failed", "put_off", "settled", "waiting", "next_attempt_at"))

    sent: int
    failed: int
    put_off: int
    """Due deliveries that were postponed because the target did not respond."""
    settled: int
    waiting: int
    """Number of events that are not done."""
    next_attempt_at: str | None
    """Time of the next retry; None if there is none."""
    errors: tuple[str, ...]

    @property
    def about(self) -> str:
        """Number of sent, failed, postponed and waiting deliveries."""
        postponed = f" {self.put_off:,} postponed," if self.put_off else ""
        return f"{self.sent:,} sent, {self.failed:,} failed,{postponed} {self.waiting:,} waiting"

    @property
    def exit_status(self) -> int:
        """1 if a delivery failed."""
        return 1 if self.failed else 0

    def page(self) -> Page:
        """Return the result in a sentence."""
        due = (self.next_attempt_at or "")[:19].replace("T", " ")
        again = f", next attempt at {due} UTC" if due else ""
        return pages.Page(name="notify", title="Which notifications were sent?", answer=f"{self.about}{again}.")


class Notifier(NamedTuple):
    """Sender of events to webhook targets."""

    skipped: int
    """Number of discarded events before `since`."""
    send_due: Callable[[], SendingRound]
    """Send all due events once."""


def notifier(arena: Arena | str, targets: Path, *, since: str | None = None) -> Notifier:
    """Return a sender for the targets in a file; events before `since` are discarded."""
    first = None if since is None else _past(since)
    chosen = read_targets(targets)
    store = opened(arena).store
    for target in chosen:
        target.check_environment()
    skipped = 0 if first is None else skip_before(store, first)
    return Notifier(skipped, lambda: SendingRound(**notify_once(store, chosen)._asdict()))


def _past(since: str) -> int:
    moment = microseconds_of(moment_of(since, option="since"))
    if moment > now_microseconds():
        raise UsageError(f"{option('since', since)} is in the future", hint="use a date or time in the past")
    return moment


def watch_arena(arena: Arena | str) -> Watch:
    """Watch the arena from now on; `news()` returns the events since the last call."""
    return Watch(opened(arena))


def upgrade_arena(
    address: str = DEFAULT_STORE, *, progress: Callable[[AppliedMigration], None] | None = None
) -> StoreUpgrade:
    """Upgrade the schema of a store; call `progress` before each migration.

    A SQLite file is copied first. If a migration fails, the store is unchanged.
    """

    def step(migration: Migration) -> AppliedMigration:
        return AppliedMigration(migration.number, migration.name.replace("_", " "))

    done = upgrade_store(address, progress=None if progress is None else lambda migration: progress(step(migration)))
    steps = tuple(step(migration) for migration in done.migrations)
    return StoreUpgrade(
        store=done.address,
        store_version_before=done.version,
        store_version_after=steps[-1].number if steps else done.version,
        migrations=steps,
        copy=None if done.copy is None else str(done.copy),
    )
