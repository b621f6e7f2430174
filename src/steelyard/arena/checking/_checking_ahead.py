"""Checking criteria before anything is written, and handing on in pieces what was checked.

A check that runs commands may take an hour. So such a submission is a piece of its own: it is written as soon as it and
those before it are checked, while others are still running, and whatever ends the work early takes only these along.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import NamedTuple

from steelyard.arena.checking._artifacts import BadArtifacts, locate, staged
from steelyard.arena.checking._checked_submissions import CheckedSubmission
from steelyard.arena.checking._criteria import check_all, runs_commands
from steelyard.arena.checking._task_files import KeptFiles
from steelyard.arena.scoring import KnownTask
from steelyard.errors import said_by
from steelyard.records import Rejected, Submission, submission_digest

STAGED_AT_ONCE = 100
"""Submissions with artifacts that are written together at most, when looking at the artifacts is all there is to do."""


class ArtifactPlaces(NamedTuple):
    """Where checks find what they need."""

    artifacts: Path | None
    """The folder in which artifacts may lie; None when none was named."""
    task_files: KeptFiles


Piece = dict[int, CheckedSubmission | Rejected]
"""What is written together, by number."""


class Waiting(NamedTuple):
    """A submission that is to be checked."""

    submission: Submission
    said: bytes
    known: KnownTask
    is_held: bool
    """Whether the store has its id, so that only its digest is asked for."""

    @property
    def weight(self) -> int:
        """Its share of a piece; the whole piece when its check may take long."""
        if self.submission.artifacts is None:
            return 0
        return STAGED_AT_ONCE if not self.is_held and runs_commands(self.known.task.success_criteria) else 1


def in_pieces(
    numbers: Sequence[int], ready: Mapping[int, CheckedSubmission], todo: Mapping[int, Waiting], places: ArtifactPlaces
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
    todo: Mapping[int, Waiting], places: ArtifactPlaces
) -> Iterator[Callable[[int], CheckedSubmission | Rejected]]:
    """What checking gives, by number. Those with artifacts are checked beside each other, and stopped at the end."""
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


def _check(waiting: Waiting, places: ArtifactPlaces, stop: Event) -> CheckedSubmission | Rejected:
    """The submission with its criteria checked, unless it is in the store already."""
    submission, said, known, is_held = waiting
    criteria = () if is_held else known.task.success_criteria
    if submission.artifacts is None:
        results = check_all(criteria, submission, None) if criteria else ()
        return CheckedSubmission(submission, known, hashlib.sha256(said).hexdigest(), results, None)
    own = places.task_files.of(known) if criteria else {}
    if own is None:
        reason = f"the files that the task {known.task.id[:200]!r} checks by are not kept in the store"
        return Rejected(
            path=submission.id, reason=reason, hint="add the task again under a new id", code="no_task_files"
        )
    try:
        if places.artifacts is None:
            raise BadArtifacts("no folder was named in which artifacts may lie")
        with staged(locate(submission.artifacts, places.artifacts), stop=stop) as artifacts:
            digest = submission_digest(submission, artifacts.sha256)
            results = check_all(criteria, submission, artifacts, files=own, stop=stop)
            return CheckedSubmission(submission, known, digest, results, artifacts.sha256)
    except BadArtifacts as error:
        return Rejected(path=submission.id, reason=error.message, hint=error.hint, code=error.kind)
    except (OSError, MemoryError) as error:  # what this one asked too much of must not take the others along
        reason = f"its artifacts could not be checked: {said_by(error)}"
        return Rejected(path=submission.id, reason=reason, hint="submit it again", code="not_checked")
