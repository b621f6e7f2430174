"""Recomputed tasks: baselines, tallies and ranks by the current rules, and the events of those who lost a rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Policy
from steelyard.arena.ingest._tasks import load_tasks
from steelyard.arena.notifications._events import LEAD_LOST, RANK_LOST, write_events
from steelyard.arena.scoring._baseline import LowerMedian
from steelyard.arena.scoring._receipts import SUSPECT, outlier_flags
from steelyard.arena.scoring._row_scores import StoredRows, read_stored
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._tallies import (
    RankedRows,
    add_to_tallies,
    bounds_now,
    count_fields,
    each_once,
    forget_scores,
    forget_tallies,
    join_values,
    lost_ranks,
    of_field,
)
from steelyard.arena.scoring._task_state import EXTREMES, UNKNOWN_AT_ZERO, TaskState, load_task_states, save_task_states
from steelyard.errors import UnknownNameError
from steelyard.records import now_microseconds


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


def rescore_tasks(connection: Connection, task_ids: Sequence[str] | None, *, rules: Rules, policy: Policy) -> int:
    """Recompute baselines, scores and tallies of the tasks (default: all); return the number of submissions."""
    every = load_tasks(connection, rules)
    for name in task_ids or ():
        if name not in every:
            raise UnknownNameError("task", name, every)
    chosen = [every[name] for name in task_ids] if task_ids else list(every.values())
    for stored_task in chosen:
        rules.check_task(stored_task.task)
    task_states = list(load_task_states(connection, chosen, rules).values())
    rescore(connection, task_states, policy=policy, now=now_microseconds())
    return sum(state.n for state in task_states)


def rescore(connection: Connection, task_states: Sequence[TaskState], *, policy: Policy, now: int) -> StoredRows | None:
    """Update the baselines from the tallies and recount the scores; return the rows, if any."""
    for state in task_states:
        bounds = bounds_now(connection, state)
        if bounds != state.bounds:
            state.begin(state.version + 1, state.accepted, bounds, now)
    save_task_states(connection, task_states)
    filled = [state for state in task_states if state.n]
    keys = [state.stored_task.key for state in filled]
    forget_scores(connection, keys)
    if not filled:
        return None
    rows = read_stored(connection, filled)
    counted = count_fields(
        each_once(of_field(rows.which, "overall"), rows.overall(filled, policy)),
        len(filled),
    )
    add_to_tallies(connection, keys, counted)
    return rows


def recount(connection: Connection, state: TaskState) -> float:
    """Recompute count, extremes, medians and tallies of a task from its rows; return the median of tokens.

    The result is as if only the rows that count had been submitted. The median is 0 without rows.
    """
    columns = read_stored(connection, [state]).columns
    n = len(columns["ordinal"])
    values = np.array([columns[field] for field in EXTREMES.values()], dtype=float).reshape(len(EXTREMES), n)
    values[UNKNOWN_AT_ZERO, :] = np.where(values[UNKNOWN_AT_ZERO, :] == 0, np.nan, values[UNKNOWN_AT_ZERO, :])
    unknown = np.full((len(EXTREMES), 1), np.nan)  # gives unreported fields an unknown extreme
    stated = np.hstack([values, unknown])
    state.reach(n, np.fmin.reduce(stated, axis=1).tolist(), np.fmax.reduce(stated, axis=1).tolist())
    forget_tallies(connection, state.stored_task.key)
    if not n:
        state.middles = dict.fromkeys(state.middles, LowerMedian(None, 0))
        return 0.0
    task = np.zeros(1, dtype=np.int64)
    turns = [1 if turn is None else turn for turn in columns["iterations"]]
    fields = {"iterations": turns, "total_tokens": columns["total_tokens"]}
    counted = count_fields(
        join_values(
            *(each_once(of_field(np.zeros(n, dtype=np.int64), name), np.array(known)) for name, known in fields.items())
        ),
        1,
    )
    add_to_tallies(connection, [state.stored_task.key], counted)
    medians = {name: counted.lower_medians(of_field(task, name), np.array([n])) for name in fields}
    state.middles = {name: LowerMedian(int(own.values[0]), int(own.below[0])) for name, own in medians.items()}
    return float(medians["total_tokens"].medians[0])
