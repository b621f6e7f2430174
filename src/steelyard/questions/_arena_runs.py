"""Arena submit --from-runs: run records of any format as submissions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping as AbstractMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from steelyard.arena import Arena, LocatedSubmission, metrics_of, read_task_map
from steelyard.metrics import catalog
from steelyard.prices import DEFAULT_PRICE_TABLE, PriceTable, cost_of, open_price_table
from steelyard.questions._arena import FileProgress, SubmissionTarget, open_arena, submit_located
from steelyard.questions._run_input import open_mapping
from steelyard.questions.arena._common import no_records
from steelyard.questions.arena._submitted import SubmitResult
from steelyard.records import (
    NO_LABELS,
    DecodeError,
    Finding,
    Labels,
    Rejected,
    Run,
    Selection,
    Submission,
    custom_inputs,
    derived_fields,
    labels_of,
    one_a_kind,
    submission_from_run,
)
from steelyard.settings import shown_path
from steelyard.sources import NamedRun, each_once, gather

if TYPE_CHECKING:
    from steelyard.sources import Mapping


def submit_runs(
    arena: SubmissionTarget | str,
    paths: Sequence[Path],
    *,
    task_map: Path | None = None,
    map: str | None = None,  # noqa: A002 # as every command calls it
    prices: str = DEFAULT_PRICE_TABLE,
    submitter: str | None = None,
    set: Selection | Sequence[Selection] = (),  # noqa: A002 # the word that every command has for it
    progress: FileProgress | None = None,
) -> SubmitResult:
    """Submit the runs in the files; tasks are matched by name or by the task map."""
    named = read_task_map(task_map) if task_map is not None else None
    given = FromRuns(named, open_price_table(prices), submitter, labels_of(set), open_mapping(map) if map else None)
    arena = open_arena(arena) if isinstance(arena, str) else arena
    given = given._replace(arena=arena if isinstance(arena, Arena) else None)
    notes: list[Finding] = []
    places: dict[str, None] = {}

    def submissions() -> Iterator[LocatedSubmission | Rejected]:
        for item in submissions_from_runs(paths, given):
            if isinstance(item, Finding):
                notes.append(item)
            else:
                places[item.path] = None
                yield item

    done = submit_located(arena, [(paths[0], submissions())], artifacts=None, what="runs", progress=progress)
    empty = [path for path in paths if not any(_is_in(place, path) for place in places)]
    added = one_a_kind((*(no_records("runs", path) for path in empty), *notes))
    return msgspec.structs.replace(done, findings=(*done.findings, *added))


def _is_in(place: str, path: Path) -> bool:
    shown = shown_path(path).as_posix()
    return place == shown or place.startswith((f"{shown}/", f"{shown}!/"))


class FromRuns(NamedTuple):
    """Inputs of a submission that are not in its run."""

    task_map: AbstractMapping[str, str] | None
    price_table: PriceTable
    submitter: str | None
    labels: Labels = NO_LABELS
    mapping: Mapping | None = None
    arena: Arena | None = None
    """The arena, whose profile may define tool metrics; None for a remote arena."""


def submissions_from_runs(paths: Sequence[Path], given: FromRuns) -> Iterator[LocatedSubmission | Rejected | Finding]:
    """Read runs in any supported format as submissions, and find duplicate records."""
    for item in each_once(gather(paths, mapping=given.mapping, labels=given.labels), given.labels):
        if isinstance(item, NamedRun):
            yield _placed_run(item, given)
        elif isinstance(item, Rejected) or item.code in _SAME:
            yield item


_SAME = frozenset({"file_repeated", "repeated", "alike", "label_replaced"})


def _placed_run(named: NamedRun, given: FromRuns) -> LocatedSubmission | Rejected:
    run, entry = named.run, named.entry
    if given.task_map is not None and run.task not in given.task_map:
        reason = f"task {run.task[:200]!r} is not in the task map"
        return Rejected(
            path=entry.path, line=entry.line, reason=reason, hint="add it to the task map", code="unknown_task"
        )
    task_id = given.task_map[run.task] if given.task_map is not None else run.task
    try:
        submission = submission_of(run, task_id, given)
    except DecodeError as error:
        return Rejected(path=entry.path, line=entry.line, reason=error.reason, hint=error.hint, code="bad_submission")
    return LocatedSubmission(entry.path, entry.line, submission)


def submission_of(run: Run, task_id: str, given: FromRuns) -> Submission:
    """Convert a run to a priced submission; raise DecodeError if required fields are missing."""
    cost = cost_of(run, given.price_table)
    estimate = None if cost.how == "lower_bound" else cost.usd  # what is missing from a lower bound would win
    inputs = None if given.arena is None else _inputs_for(run, metrics_of(given.arena.rules, run.agent))
    return submission_from_run(run, task_id=task_id, estimated_cost=estimate, submitter=given.submitter, inputs=inputs)


def _inputs_for(run: Run, metrics: Sequence[str]) -> dict[str, float | bool] | None:
    """Return the fields of the run that the metrics of its tool use."""
    if not metrics:
        return None
    needed = dict.fromkeys(field for name in metrics for field in catalog().facts_behind(name))
    known = derived_fields(run) | custom_inputs(run.extra or {})
    return {
        field.partition(" as ")[0]: value
        for field in needed
        if isinstance(value := known.get(field), int | float) and math.isfinite(value)
    }
