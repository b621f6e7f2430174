"""Submissions checked before anything is written, handed on in pieces, as records and as columns."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import astuple
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Receipt
from steelyard.arena.ingest._tasks import KeptFiles
from steelyard.arena.scoring._task_state import StoredTask, TaskState
from steelyard.errors import error_message
from steelyard.grading import ArtifactError, CriterionResult, check_all, locate, runs_commands, staged
from steelyard.records import Rejected, Submission, microseconds_of, submission_digest
from steelyard.store import look_up
from steelyard.store.schema import submissions

AS_GIVEN = (
    "id",
    "total_tokens",
    "tool_calls",
    "iterations",
    "execution_time",
    "estimated_cost",
    "success",
    "agent",
    "model",
    "submitter",
)
"""Columns copied from the submission."""


MORE = ("files_created", "artifacts", "judgments", "lower_bounds", "inputs")
"""Rarely reported fields of a submission, stored together in one column."""


class CheckedSubmission(msgspec.Struct, frozen=True, gc=False):
    """A submission that was checked and waits to be written."""

    submission: Submission
    stored_task: StoredTask
    digest: str
    criteria: tuple[CriterionResult, ...]
    artifacts_sha256: str | None


SubmissionOutcome = Receipt | Rejected

Arrival = tuple[TaskState, list[CheckedSubmission]]
"""A task and the new entries for it, in their order."""


def read_digests(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The digests of those ids that are in the store."""
    return look_up(connection, submissions.c.id, submissions.c.digest, ids)


def columns_of(arrivals: Sequence[Arrival], now: int) -> dict[str, Sequence[Any]]:
    """The entries as columns of the store, those of each task side by side; what depends on scores is not there yet.

    Any: column values.
    """
    entries = [entry for _, group in arrivals for entry in group]
    rows = [astuple(entry.submission) for entry in entries]
    fields = dict(zip(Submission.__struct_fields__, zip(*rows, strict=True), strict=True))
    columns: dict[str, Sequence[Any]] = {name: fields[name] for name in AS_GIVEN}  # Any: as above
    columns["submitted_at"] = [now if at is None else microseconds_of(at) for at in fields["submitted_at"]]
    columns["accepted_at"] = [now] * len(entries)
    columns["digest"] = [entry.digest for entry in entries]
    columns |= _checked_columns(entries, has_more=any(any(fields[name]) for name in MORE))
    columns["task_key"] = [key for state, group in arrivals for key in [state.stored_task.key] * len(group)]
    columns["ordinal"] = [state.accepted + place for state, group in arrivals for place in range(1, len(group) + 1)]
    return columns


def _checked_columns(
    entries: Sequence[CheckedSubmission], *, has_more: bool
) -> dict[str, Sequence[Any]]:  # Any: column values
    """What was found when the criteria were checked."""
    count = len(entries)
    checked = [entry.criteria for entry in entries]
    columns: dict[str, Sequence[Any]] = {  # Any: as above
        "criteria_met": [0] * count,
        "criteria_total": [0] * count,
        "is_claimed": [False] * count,
    }
    if any(checked):
        columns = {
            "criteria_met": [sum(result.met for result in results) for results in checked],
            "criteria_total": list(map(len, checked)),
            "is_claimed": [any(result.claimed for result in results) for results in checked],
        }
    columns["details"] = [_details(entry) for entry in entries] if has_more or any(checked) else [None] * count
    return columns


def _details(entry: CheckedSubmission) -> str | None:
    given = entry.submission
    if not (entry.criteria or any(getattr(given, name) for name in MORE)):
        return None
    details: dict[str, Any] = {  # Any: what is kept only to be shown
        **{name: getattr(given, name) for name in MORE},
        "artifacts_sha256": entry.artifacts_sha256,
        "criteria": entry.criteria,
    }
    return msgspec.json.encode({name: value for name, value in details.items() if value}).decode()


STAGED_AT_ONCE = 100
"""Submissions with artifacts that are written together at most, when looking at the artifacts is all there is to do."""


class ArtifactPlaces(NamedTuple):
    """Where checks find what they need."""

    artifacts: Path | None
    """Artifact directory, if any."""
    task_files: KeptFiles


Piece = dict[int, CheckedSubmission | Rejected]
"""What is written together, by number."""


class UncheckedSubmission(NamedTuple):
    """A submission that is to be checked."""

    submission: Submission
    encoded: bytes
    stored_task: StoredTask
    is_stored: bool
    """Whether the store has its id, so that only its digest is asked for."""

    @property
    def weight(self) -> int:
        """Its fraction of a piece; the whole piece when its check may take long."""
        if self.submission.artifacts is None:
            return 0
        return STAGED_AT_ONCE if not self.is_stored and runs_commands(self.stored_task.task.success_criteria) else 1


def in_pieces(
    numbers: Sequence[int],
    ready: Mapping[int, CheckedSubmission],
    todo: Mapping[int, UncheckedSubmission],
    places: ArtifactPlaces,
) -> Iterator[Piece]:
    """The entries of these numbers in their order: those `ready` already, and those of `todo` once they are checked."""
    piece: Piece = {}
    weight = 0
    with _checks(todo, places) as result_of:
        for number in numbers:
            if number in ready:
                piece[number] = ready[number]
                continue
            if number not in todo:
                continue
            own = todo[number].weight
            if piece and own >= STAGED_AT_ONCE:  # what is there need not wait for it
                yield piece
                piece, weight = {}, 0
            piece[number] = result_of(number)
            weight += own
            if weight >= STAGED_AT_ONCE:
                yield piece
                piece, weight = {}, 0
        if piece:
            yield piece


@contextmanager
def _checks(
    todo: Mapping[int, UncheckedSubmission], places: ArtifactPlaces
) -> Iterator[Callable[[int], CheckedSubmission | Rejected]]:
    """Return a function from number to check result. Submissions with artifacts are checked in parallel."""
    stop = Event()
    with_artifacts = [number for number, waiting in todo.items() if waiting.submission.artifacts is not None]
    if len(with_artifacts) < 2:
        yield lambda number: _check(todo[number], places, stop)
        return
    pool = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
    try:
        coming = {number: pool.submit(_check, todo[number], places, stop) for number in with_artifacts}
        yield lambda number: coming[number].result() if number in coming else _check(todo[number], places, stop)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _check(waiting: UncheckedSubmission, places: ArtifactPlaces, stop: Event) -> CheckedSubmission | Rejected:
    """The submission with its criteria checked, unless it is in the store already."""
    submission, encoded, stored_task, is_stored = waiting
    criteria = () if is_stored else stored_task.task.success_criteria
    if submission.artifacts is None:
        results = check_all(criteria, submission, None) if criteria else ()
        return CheckedSubmission(submission, stored_task, hashlib.sha256(encoded).hexdigest(), results, None)
    own = places.task_files.of(stored_task) if criteria else {}
    if own is None:
        reason = f"the files of task {stored_task.task.id[:200]!r} are missing from the store"
        return Rejected(
            path=submission.id, reason=reason, hint="add the task again under a new id", code="no_task_files"
        )
    try:
        if places.artifacts is None:
            raise ArtifactError("the submission has artifacts, but no artifact directory is set")
        with staged(locate(submission.artifacts, places.artifacts), stop=stop) as artifacts:
            digest = submission_digest(submission, artifacts.sha256)
            results = check_all(criteria, submission, artifacts, files=own, stop=stop)
            return CheckedSubmission(submission, stored_task, digest, results, artifacts.sha256)
    except ArtifactError as error:
        return Rejected(path=submission.id, reason=error.message, hint=error.hint, code=error.kind)
    except (OSError, MemoryError) as error:  # what this one asked too much of must not take the others along
        reason = f"cannot check the artifacts: {error_message(error)}"
        return Rejected(path=submission.id, reason=reason, hint="submit it again", code="not_checked")
