"""Arena submit --from-runs: run records of any format as submissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from steelyard.arena import Arena, PlacedSubmission, read_task_map
from steelyard.formats import PlacedRun
from steelyard.prices import DEFAULT_BOOK, PriceBook, open_book, price_run
from steelyard.records import (
    Missing,
    Refused,
    Rejected,
    Run,
    Submission,
    content_digest,
    content_id,
    submission_from_run,
)
from steelyard.results import Submitted
from steelyard.tables import gather
from steelyard.workflow._arena import FileTold, opened, submit_each


def submit_runs(
    arena: Arena | str,
    paths: Sequence[Path],
    *,
    task_map: Path | None = None,
    prices: str = DEFAULT_BOOK,
    submitter: str | None = None,
    told: FileTold | None = None,
) -> Submitted:
    """Submit the runs in the files; their tasks are the arena's by name or through a map."""
    named = read_task_map(task_map) if task_map is not None else None
    given = FromRuns(named, open_book(prices), submitter)
    files = ((path, submissions_from_runs(path, given)) for path in paths)
    return submit_each(opened(arena), files, artifacts=None, what="runs", told=told)


class FromRuns(NamedTuple):
    """What a submission takes from elsewhere than its run."""

    task_map: Mapping[str, str] | None
    book: PriceBook
    submitter: str | None


def submissions_from_runs(path: Path, given: FromRuns) -> Iterator[PlacedSubmission | Rejected]:
    """The runs in a file or folder of any format that `read` knows, as submissions."""
    seen: dict[tuple[str, bytes], int] = {}
    for entry in gather([path]):
        if isinstance(entry, Rejected):
            yield entry
        elif isinstance(entry, PlacedRun):
            yield _placed_run(entry, given, seen)


def _placed_run(entry: PlacedRun, given: FromRuns, seen: dict[tuple[str, bytes], int]) -> PlacedSubmission | Rejected:
    run = entry.run
    if run.id is None:
        digest = content_digest(run)
        occurrence = seen.get((entry.path, digest), 0)
        seen[entry.path, digest] = occurrence + 1
        run = msgspec.structs.replace(run, id=content_id(digest, occurrence))
    if given.task_map is not None and run.task not in given.task_map:
        reason = f"the task map does not name the run's task {run.task[:200]!r}"
        return Rejected(path=entry.path, line=entry.line, reason=reason, hint="add it to the map", code="unknown_task")
    task_id = given.task_map[run.task] if given.task_map is not None else run.task
    try:
        submission = _as_submission(run, task_id, given)
    except Refused as error:
        return Rejected(path=entry.path, line=entry.line, reason=error.reason, hint=error.hint, code="bad_submission")
    return PlacedSubmission(entry.path, entry.line, submission)


def _as_submission(run: Run, task_id: str, given: FromRuns) -> Submission:
    cost = run.cost_usd
    if (run.provenance or {}).get("cost_usd") == "lower_bound":
        cost = None  # what is missing from it would win
    elif cost is None:
        priced = price_run(run, given.book)
        cost = None if isinstance(priced, Missing) else priced
    return submission_from_run(run, task_id=task_id, estimated_cost=cost, submitter=given.submitter)
