"""Submissions that were checked and wait to be written, as records and as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import astuple

from steelyard.arena.scoring import KnownTask, TaskState
from steelyard.records import Rejected, Submission, microseconds_of
from steelyard.results import CriterionResult, Receipt

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
"""Columns that hold what the submission says."""


MORE = ("files_created", "artifacts", "judgments", "lower_bounds")
"""What else a submission says; few say any of it, and it is kept in one column."""


class CheckedSubmission(msgspec.Struct, frozen=True, gc=False):
    """A submission that was checked and waits to be written."""

    submission: Submission
    known: KnownTask
    digest: str
    criteria: tuple[CriterionResult, ...]
    artifacts_sha256: str | None


SubmissionOutcome = Receipt | Rejected

Arrival = tuple[TaskState, list[CheckedSubmission]]
"""A task and the new entries for it, in their order."""


def columns_of(arrivals: Sequence[Arrival], now: int) -> dict[str, Sequence[Any]]:
    """The entries as columns of the store, those of each task side by side; what depends on scores is not there yet.

    Any: column values.
    """
    entries = [entry for _, group in arrivals for entry in group]
    rows = [astuple(entry.submission) for entry in entries]
    said = dict(zip(Submission.__struct_fields__, zip(*rows, strict=True), strict=True))
    columns: dict[str, Sequence[Any]] = {name: said[name] for name in AS_GIVEN}  # Any: as above
    columns["submitted_at"] = [now if at is None else microseconds_of(at) for at in said["submitted_at"]]
    columns["accepted_at"] = [now] * len(entries)
    columns["digest"] = [entry.digest for entry in entries]
    columns |= _checked_columns(entries, has_more=any(any(said[name]) for name in MORE))
    columns["task_key"] = [key for board, group in arrivals for key in [board.known.key] * len(group)]
    columns["ordinal"] = [n for board, group in arrivals for n in range(board.n + 1, board.n + 1 + len(group))]
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
