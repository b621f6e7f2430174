"""Submit run records or logs in any supported format as submissions.

Valid submissions are accepted. Invalid ones are rejected with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping as AbstractMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from steelyard.arena import Arena, LocatedSubmission, metrics_of, read_task_map
from steelyard.metrics import catalog
from steelyard.prices import PriceTable, cost_of, open_price_table
from steelyard.questions._options import FilePaths, MapOptions, PriceOptions, paths_of
from steelyard.questions._question import arena_action, doc
from steelyard.questions.arena._common import no_records
from steelyard.questions.arena._submitted import SubmissionTarget, SubmitResult, submit_located
from steelyard.records import (
    NO_LABELS,
    DecodeError,
    Finding,
    Labels,
    Rejected,
    Run,
    Submission,
    custom_inputs,
    derived_fields,
    one_a_kind,
    submission_from_run,
)
from steelyard.settings import shown_path
from steelyard.sources import NamedRun, each_once, gather

if TYPE_CHECKING:
    from steelyard.sources import Mapping


class SubmitRunsOptions(PriceOptions, MapOptions):
    """Options of `arena submit --from-runs`."""

    from_runs: FilePaths = doc("Run records or logs in any supported format; - for stdin.", kw_only=False, local=True)
    task_map: Path | None = doc(
        "TOML or JSON file that maps tasks in the runs to arena tasks.", default=None, local=True
    )
    submitter: str | None = doc("Submitter id of the submissions.", default=None, local=True)


@arena_action(
    SubmitRunsOptions,
    scope="submit",
    sends="submissions",
    command="arena submit --from-runs {from_runs}",
    examples=({"from_runs": "runs.parquet", "task_map": "tasks.toml"},),
)
def arena_submit_runs(arena: SubmissionTarget, options: SubmitRunsOptions) -> SubmitResult:
    """Submit the runs in the files; tasks are matched by name or by the task map."""
    paths = paths_of(options.from_runs)
    given = FromRuns(
        read_task_map(options.task_map) if options.task_map is not None else None,
        open_price_table(options.prices),
        options.submitter,
        options.labels(),
        options.mapping(),
        arena if isinstance(arena, Arena) else None,  # a server names no metrics of tools
    )
    notes: list[Finding] = []
    places: dict[str, None] = {}

    def submissions() -> Iterator[LocatedSubmission | Rejected]:
        for item in submissions_from_runs(paths, given):
            if isinstance(item, Finding):
                notes.append(item)
            else:
                places[item.path] = None
                yield item

    done = submit_located(arena, [(paths[0], submissions())], artifacts=None, what="runs")
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
