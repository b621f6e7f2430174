"""Arena: the verbs of the arena, where stores, files and the pipeline are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from steelyard.arena import (
    DEFAULT_PROFILE,
    POLICIES,
    Arena,
    FilesKept,
    FromRuns,
    PlacedSubmission,
    Policy,
    Standing,
    Standings,
    SubmissionOutcome,
    create_arena,
    files_kept,
    known_task,
    open_arena as arena_in,
    read_rules,
    read_submissions,
    read_task_map,
    read_tasks,
    submissions_from_runs,
)
from steelyard.errors import UnknownName, UnreadableFile, UsageError
from steelyard.prices import DEFAULT_BOOK, open_book
from steelyard.profiles import load_profile
from steelyard.records import Finding, Rejected, Task
from steelyard.reports import check_file, writing
from steelyard.results import Receipt
from steelyard.settings import DEFAULT_STORE, shown_path
from steelyard.store import open_store

Found = TypeVar("Found", PlacedSubmission, Task)

EXPORTED = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
AT_ONCE = 100_000
"""Submissions that are held in memory together."""

FileTold = Callable[[str, Sequence[SubmissionOutcome]], None]
"""Called with a file and what became of some of its submissions, once that is settled for good."""


def init_arena(address: str = DEFAULT_STORE, *, profile: str = DEFAULT_PROFILE, policy: str = "current") -> Arena:
    """Make an arena in the store, or open the one that is there under the same rules."""
    chosen, kept = load_profile(profile), policy_named(policy)
    read_rules(chosen)  # what cannot be used is refused before there is a file
    return create_arena(open_store(address), chosen, policy=kept)


def open_arena(address: str = DEFAULT_STORE) -> Arena:
    """The arena in the store; an error when there is none."""
    return arena_in(open_store(address, create=False))


def policy_named(name: str) -> Policy:
    """The policy of that name, else an error with the nearest."""
    if name not in POLICIES:
        raise UnknownName("policy", name, POLICIES)
    return "current" if name == "current" else "as-submitted"


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the submissions of some files."""

    receipts: tuple[Receipt, ...]
    rejected: tuple[Rejected, ...]
    notes: tuple[Finding, ...] = ()
    """A finding for each file that held nothing."""

    @property
    def accepted(self) -> int:
        """How many are new in the store."""
        return sum(receipt.status == "accepted" for receipt in self.receipts)

    @property
    def findings(self) -> list[Finding]:
        """A finding for each that was refused, and for each file that held nothing."""
        return [*(rejection.as_finding() for rejection in self.rejected), *self.notes]


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the tasks of some files."""

    tasks: tuple[tuple[Task, bool], ...]
    """Each task that is in the arena now, and whether it is new."""
    rejected: tuple[Rejected, ...]
    notes: tuple[Finding, ...]
    """A finding for each file that held nothing, and for each category without weights."""


def add_tasks(arena: Arena, paths: Sequence[Path]) -> Added:
    """Add the tasks of the files; a bad one is refused with its reason, the others are added."""
    added: list[tuple[Task, bool]] = []
    refused: list[Rejected] = []
    notes: list[Finding] = []
    for path in paths:
        before = len(added) + len(refused)
        for task in _or_refused(path, read_tasks(path)):
            if isinstance(task, Rejected):
                refused.append(task)
                continue
            try:
                added.append((task, arena.add_task(task, beside=path.parent)))
            except UsageError as error:
                reason = f"task {task.id!r}: {error.message}"
                refused.append(Rejected(path=str(shown_path(path)), reason=reason, hint=error.hint, code="bad_task"))
        if len(added) + len(refused) == before:
            notes.append(_holds_no("tasks", path))
    notes += doubts_about(arena, [task for task, _ in added])
    return Added(tasks=tuple(added), rejected=tuple(refused), notes=tuple(notes))


def files_of_task(arena: Arena, name: str) -> FilesKept | None:
    """How many files of its own the arena keeps of a task, and their digest; None when it keeps none."""
    with arena.read() as connection:
        return files_kept(connection, known_task(connection, name, arena.rules).key)


def doubts_about(arena: Arena, tasks: Iterable[Task]) -> list[Finding]:
    """What whoever defines or rescores the tasks should know of them under the arena's rules."""
    return [doubt for task in tasks if (doubt := arena.rules.finding_about(task)) is not None]


def _holds_no(what: str, path: Path) -> Finding:
    kind = "folder" if path.is_dir() else "file"
    return Finding(code="no_records", message=f"the {kind} holds no {what}", where=str(shown_path(path)))


def submit_files(
    arena: Arena, paths: Sequence[Path], *, artifacts: Path | None = None, told: FileTold | None = None
) -> Submitted:
    """Submit what the files hold. Artifacts lie in `artifacts`, else beside the file that names them."""
    files = ((path, _or_refused(path, read_submissions(path))) for path in paths)
    return _joined(
        [
            _submit(arena, path, placed, artifacts or path.parent, what="submissions", told=told)
            for path, placed in files
        ]
    )


def submit_runs(
    arena: Arena,
    paths: Sequence[Path],
    *,
    task_map: Path | None = None,
    prices: str = DEFAULT_BOOK,
    submitter: str | None = None,
    told: FileTold | None = None,
) -> Submitted:
    """Submit the runs in the files; their tasks are the arena's by name or through a map."""
    known = read_task_map(task_map) if task_map is not None else None
    given = FromRuns(known, open_book(prices), submitter)
    files = ((path, _or_refused(path, submissions_from_runs(path, given))) for path in paths)
    return _joined([_submit(arena, path, placed, None, what="runs", told=told) for path, placed in files])


def _or_refused(path: Path, items: Iterator[Found | Rejected]) -> Iterator[Found | Rejected]:
    """The same, with a file that breaks off as one refusal."""
    try:
        yield from items
    except UnreadableFile as error:
        yield Rejected(path=str(shown_path(path)), reason=error.message, hint=error.hint, code="unreadable_file")


def _submit(
    arena: Arena,
    path: Path,
    placed: Iterator[PlacedSubmission | Rejected],
    root: Path | None,
    *,
    what: str,
    told: FileTold | None,
) -> Submitted:
    told_here = None if told is None else partial(told, str(shown_path(path)))
    receipts: list[Receipt] = []
    rejected: list[Rejected] = []
    while portion := list(islice(placed, AT_ONCE)):
        given = [record if isinstance(record, Rejected) else record.submission for record in portion]
        for record, outcome in zip(portion, arena.submit(given, artifacts_root=root, told=told_here), strict=True):
            if isinstance(outcome, Receipt):
                receipts.append(outcome)
            elif isinstance(record, PlacedSubmission):
                reason = f"submission {record.submission.id[:200]!r}: {outcome.reason}"
                place = {"path": record.path, "line": record.line, "item": record.item}
                rejected.append(msgspec.structs.replace(outcome, **place, reason=reason))
            else:
                rejected.append(record)
    notes = () if receipts or rejected else (_holds_no(what, path),)
    return Submitted(receipts=tuple(receipts), rejected=tuple(rejected), notes=notes)


def _joined(parts: Iterable[Submitted]) -> Submitted:
    submitted = list(parts)
    return Submitted(
        receipts=tuple(receipt for part in submitted for receipt in part.receipts),
        rejected=tuple(rejection for part in submitted for rejection in part.rejected),
        notes=tuple(note for part in submitted for note in part.notes),
    )


def plain(value: object) -> Any:  # Any: JSON values
    """A result as JSON values."""
    return msgspec.to_builtins(value)


def standing_rows(standings: Standings) -> list[dict[str, Any]]:  # Any: JSON values
    """The standings as the JSON contract lists them: one object for each submission, best first."""
    interval = standings.confidence_interval
    shared = {
        "arena_profile": standings.profile,
        "policy": standings.policy,
        "confidence_interval": [interval.low, interval.high],
        "confidence_level": interval.level,
        "confidence_method": interval.method,
        "reliable": standings.reliable,
    }
    return [{**plain(standing), **shared} for standing in standings.standings]


def write_standings(all_standings: Sequence[Standings], path: Path) -> int:
    """Write every standing to .json, .jsonl, .csv or .parquet; how many."""
    check_file(path, endings=EXPORTED)
    rows = [row for standings in all_standings for row in standing_rows(standings)]
    ending = path.suffix.lower()
    with writing(path):
        if ending == ".json":
            path.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=2) + b"\n")
        elif ending in (".csv", ".parquet"):
            _write_table(rows, path)
        else:
            path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return len(rows)


def _write_table(rows: Sequence[dict[str, Any]], path: Path) -> None:  # Any: JSON values
    import polars as pl  # heavy: only tables need it

    own = [name for name in Standing.__struct_fields__ if name != "breakdown"]
    names = [*own, "arena_profile", "policy", "confidence_level", "confidence_method", "reliable"]
    lists = {"defaulted", "claimed", "lower_bounds", "flags", "warnings"}
    columns = {name: [";".join(row[name]) if name in lists else row[name] for row in rows] for name in names}
    for place, side in enumerate(("low", "high")):
        columns[f"confidence_{side}"] = [row["confidence_interval"][place] for row in rows]
    columns |= {name: [row["breakdown"][name] for row in rows] for name in (rows[0]["breakdown"] if rows else ())}
    frame = pl.DataFrame(columns, infer_schema_length=None)
    with path.open("wb") as file:  # Polars itself does not take every name that a file may have
        if path.suffix.lower() == ".csv":
            frame.write_csv(file)
        else:
            frame.write_parquet(file)
