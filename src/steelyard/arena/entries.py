"""Submissions that were checked and wait to be written, as records and as columns."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from steelyard.arena.board import Board, KnownTask
from steelyard.arena.receipts import CriterionResult, Receipt
from steelyard.records.finding import Rejected
from steelyard.records.moments import microseconds_of
from steelyard.records.submission import Submission

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


class Entry(msgspec.Struct, frozen=True):
    """A submission that was checked and waits to be written."""

    submission: Submission
    known: KnownTask
    digest: str
    criteria: tuple[CriterionResult, ...]
    artifacts_sha256: str | None


Outcome = Receipt | Rejected

Arrival = tuple[Board, list[Entry]]
"""A task and the new entries for it, in their order."""


def columns_of(arrivals: Sequence[Arrival], now: int) -> dict[str, list[Any]]:
    """The entries as columns of the store, those of each task side by side; what depends on scores is not there yet.

    Any: column values.
    """
    entries = [entry for _, group in arrivals for entry in group]
    given = [entry.submission for entry in entries]
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), given)) for name in AS_GIVEN}  # Any: as above
    columns["submitted_at"] = [now if one.submitted_at is None else microseconds_of(one.submitted_at) for one in given]
    columns["accepted_at"] = [now] * len(given)
    columns["digest"] = list(map(attrgetter("digest"), entries))
    columns |= _checked_columns(entries)
    columns["task_key"] = [key for board, group in arrivals for key in [board.known.key] * len(group)]
    columns["ordinal"] = [n for board, group in arrivals for n in range(board.n + 1, board.n + 1 + len(group))]
    return columns


def _checked_columns(entries: Sequence[Entry]) -> dict[str, list[Any]]:  # Any: column values
    """What was found when the criteria were checked."""
    count = len(entries)
    checked = list(map(attrgetter("criteria"), entries))
    columns: dict[str, list[Any]] = {  # Any: as above
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
    has_more = any(checked) or any(any(map(attrgetter(f"submission.{name}"), entries)) for name in MORE)
    columns["details"] = [_details(entry) for entry in entries] if has_more else [None] * count
    return columns


def _details(entry: Entry) -> str | None:
    given = entry.submission
    if not (entry.criteria or any(getattr(given, name) for name in MORE)):
        return None
    found: dict[str, Any] = {  # Any: what is kept only to be shown
        **{name: getattr(given, name) for name in MORE},
        "artifacts_sha256": entry.artifacts_sha256,
        "criteria": entry.criteria,
    }
    return msgspec.json.encode({name: value for name, value in found.items() if value}).decode()
