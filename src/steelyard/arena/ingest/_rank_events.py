"""Events of those who lost a rank, or the lead, by what came in, was decided or was rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy.engine import Connection

from steelyard.arena.notifications import LEAD_LOST, RANK_LOST, write_events
from steelyard.arena.scoring import (
    SUSPECT,
    RankedRows,
    Rules,
    StoredRows,
    TaskState,
    lost_ranks,
    outlier_flags,
)
from steelyard.results import Policy


class Change(NamedTuple):
    """A task with ranks before and after a change, and its cause."""

    state: TaskState
    before: RankedRows
    after: RankedRows
    rows: np.ndarray
    """Which of the stored rows `after` begins with; newcomers follow."""
    median_tokens: float
    cause_ordinal: int | None = None
    """The submission whose acceptance or rating caused it; None when a decision did."""
    review_number: int | None = None
    rating_number: int | None = None


def ranked_rows(rows: StoredRows, state: TaskState, policy: Policy) -> RankedRows:
    """Return the current rows of one task."""
    return RankedRows(np.array(rows.columns["ordinal"], dtype=np.int64), rows.overall([state], policy))


def write_losses(
    connection: Connection, changes: Sequence[Change], rows: StoredRows, *, rules: Rules, policy: Policy, now: int
) -> None:
    """Add an event for each top submission that lost its rank; the former leader gets only a lead event.

    `rows` hold those that lost.
    """
    by_kind: dict[str, list[dict[str, Any]]] = {LEAD_LOST: [], RANK_LOST: []}  # Any: column values
    for change in changes:
        for lost in lost_ranks(change.before, change.after):
            at = int(change.rows[np.flatnonzero(change.after.ordinals == lost.ordinal)[0]])
            by_kind[LEAD_LOST if lost.previous_ranking == 1 else RANK_LOST].append(
                {
                    "task_key": change.state.stored_task.key,
                    **lost._asdict(),
                    "baseline_version": _version(change.state, rows.columns, at, policy),
                    "flags": _flags(rules, change.median_tokens, rows.columns, at),
                    "cause_ordinal": change.cause_ordinal,
                    "review_number": change.review_number,
                    "rating_number": change.rating_number,
                }
            )
    for kind, events in by_kind.items():
        if events:
            write_events(connection, kind, {name: [event[name] for event in events] for name in events[0]}, now)


def _version(state: TaskState, columns: Mapping[str, Any], at: int, policy: Policy) -> int:  # Any: column values
    return state.version if policy == "current" else int(columns["baseline_version"][at])


def _flags(rules: Rules, median_tokens: float, columns: Mapping[str, Any], at: int) -> str | None:  # Any: as above
    return ";".join(outlier_flags(rules.outliers, median_tokens, *(columns[name][at] for name in SUSPECT))) or None
