"""Arena: the commands that make, fill and change an arena, and that send its notifications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from steelyard.arena import (
    DEFAULT_PROFILE,
    POLICIES,
    Arena,
    LocatedSubmission,
    SubmissionOutcome,
    create_arena,
    fit_if_due,
    notify_once,
    open_arena as arena_in,
    read_rules,
    read_submissions,
    read_targets,
    read_tasks,
    skip_before,
)
from steelyard.errors import UnknownNameError, UnreadableFileError, UsageError
from steelyard.option_names import option
from steelyard.profiles import load_profile
from steelyard.records import Finding, Rejected, Submission, Task, microseconds_of, moment_of, now_microseconds
from steelyard.results import (
    AddedTasks,
    ArenaSettings,
    Policy,
    Receipt,
    SendingRound,
    Submitted,
)
from steelyard.settings import DEFAULT_STORE, shown_path
from steelyard.store import open_store

Placed = TypeVar("Placed", LocatedSubmission, Task)

AT_ONCE = 100_000
"""Submissions per batch in memory."""

FileProgress = Callable[[str, Sequence[SubmissionOutcome]], None]
"""Called with a file and the final outcomes of some of its submissions."""


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


class Submitting(Protocol):
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


def add_tasks(arena: Arena | str, paths: Sequence[Path]) -> AddedTasks:
    """Add the tasks in the files; invalid ones are rejected with a reason."""
    arena = opened(arena)
    added: list[tuple[Task, bool]] = []
    rejected: list[Rejected] = []
    notes: list[Finding] = []
    for path in paths:
        before = len(added) + len(rejected)
        for task in _or_rejected(path, read_tasks(path)):
            if isinstance(task, Rejected):
                rejected.append(task)
                continue
            try:
                added.append((task, arena.add_task(task, base_dir=path.parent)))
            except UsageError as error:
                reason = f"task {task.id!r}: {error.message}"
                rejected.append(Rejected(path=str(shown_path(path)), reason=reason, hint=error.hint, code="bad_task"))
        if len(added) + len(rejected) == before:
            notes.append(holds_no("tasks", path))
    notes += doubts_about(arena, [task for task, _ in added])
    return AddedTasks(tasks=tuple(added), rejected=tuple(rejected), notes=tuple(notes))


def doubts_about(arena: Arena, tasks: Iterable[Task]) -> list[Finding]:
    """Return warnings about tasks under the rules of the arena."""
    return [doubt for task in tasks if (doubt := arena.rules.finding_about(task)) is not None]


def holds_no(what: str, path: Path) -> Finding:
    """Return the finding for a file or directory without records."""
    kind = "directory" if path.is_dir() else "file"
    return Finding(code="no_records", message=f"the {kind} contains no {what}", where=str(shown_path(path)))


def submit_files(
    arena: Submitting | str,
    paths: Sequence[Path],
    *,
    artifacts: Path | None = None,
    progress: FileProgress | None = None,
) -> Submitted:
    """Submit the submissions in the files. Artifacts are in `artifacts` (default: next to each file)."""
    files = ((path, read_submissions(path)) for path in paths)
    return submit_each(
        arena, files, artifacts=lambda path: artifacts or path.parent, what="submissions", progress=progress
    )


def submit_each(
    arena: Submitting | str,
    files: Iterable[tuple[Path, Iterator[LocatedSubmission | Rejected]]],
    *,
    artifacts: Callable[[Path], Path] | None,
    what: str,
    progress: FileProgress | None,
) -> Submitted:
    """Submit the records of each file; `artifacts` returns the artifact directory of a file."""
    taking = open_arena(arena) if isinstance(arena, str) else arena
    return _joined(
        [
            _submit(
                taking, path, _or_rejected(path, placed), artifacts and artifacts(path), what=what, progress=progress
            )
            for path, placed in files
        ]
    )


def _or_rejected(path: Path, items: Iterator[Placed | Rejected]) -> Iterator[Placed | Rejected]:
    """Yield the items; an unreadable file becomes one rejection."""
    try:
        yield from items
    except UnreadableFileError as error:
        yield Rejected(path=str(shown_path(path)), reason=error.message, hint=error.hint, code="unreadable_file")


def _submit(
    arena: Submitting,
    path: Path,
    placed: Iterator[LocatedSubmission | Rejected],
    root: Path | None,
    *,
    what: str,
    progress: FileProgress | None,
) -> Submitted:
    file_progress = None if progress is None else partial(progress, str(shown_path(path)))
    receipts: list[Receipt] = []
    rejected: list[Rejected] = []
    while portion := list(islice(placed, AT_ONCE)):
        given = [record if isinstance(record, Rejected) else record.submission for record in portion]
        for record, outcome in zip(
            portion, arena.submit(given, artifacts_root=root, progress=file_progress), strict=True
        ):
            if isinstance(outcome, Receipt):
                receipts.append(outcome)
            elif isinstance(record, LocatedSubmission):
                reason = f"submission {record.submission.id[:200]!r}: {outcome.reason}"
                place = {"path": record.path, "line": record.line, "item": record.item}
                rejected.append(msgspec.structs.replace(outcome, **place, reason=reason))
            else:
                rejected.append(record)
    notes = () if receipts or rejected else (holds_no(what, path),)
    return Submitted(receipts=tuple(receipts), rejected=tuple(rejected), notes=notes)


def _joined(parts: Iterable[Submitted]) -> Submitted:
    submitted = list(parts)
    return Submitted(
        receipts=tuple(receipt for part in submitted for receipt in part.receipts),
        rejected=tuple(rejection for part in submitted for rejection in part.rejected),
        notes=tuple(note for part in submitted for note in part.notes),
    )


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
    return Notifier(skipped, partial(notify_once, store, chosen))


def _past(since: str) -> int:
    moment = microseconds_of(moment_of(since, option="since"))
    if moment > now_microseconds():
        raise UsageError(f"{option('since', since)} is in the future", hint="use a date or time in the past")
    return moment
