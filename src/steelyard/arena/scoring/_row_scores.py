"""Scores of many rows: of those that came in, and of all rows of a task whose baseline changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Policy
from steelyard.arena.scoring._baseline import BaselineBounds
from steelyard.arena.scoring._scores import KEPT_SCORES, OWN_CONSTANTS, SCORE_INPUTS, columns_in_cents, scores_in_cents
from steelyard.arena.scoring._submission_rows import frame_of, read_frame
from steelyard.arena.scoring._task_state import KEYS_PER_QUERY, TaskState
from steelyard.store.schema import submissions

if TYPE_CHECKING:
    import polars as pl

COLUMNS_FROM = 200
"""From this many rows on, columns are quicker than row by row; both use the same formulas and give the same cents."""

Columns = Mapping[str, Any]  # Any: column values, in a list or in a column of Polars
Scores = dict[str, np.ndarray]
"""The kept scores in cents, one column each."""


class ScoringContext(NamedTuple):
    """What a row is scored by: a task's bounds at some version, and the task's constants."""

    bounds: BaselineBounds
    constants: Mapping[str, float]


class ScoresOfTasks(NamedTuple):
    """Overall scores in cents, each with the place of its task."""

    which: np.ndarray
    overall: np.ndarray


def rows_in_cents(inputs: Columns, contexts: Sequence[ScoringContext], which: np.ndarray) -> Scores:
    """Score each row in its context; `which` contains the indices of the contexts."""
    if len(which) < COLUMNS_FROM:
        rows = [
            scores_in_cents({name: inputs[name][row] for name in SCORE_INPUTS}, *contexts[place])
            for row, place in enumerate(which.tolist())
        ]
        return {name: np.array([row[name] for row in rows], dtype=np.int64) for name in KEPT_SCORES}
    frame = with_contexts(frame_of(inputs, SCORE_INPUTS), contexts, which)
    return columns_in_cents(frame, contexts[0].constants)


def with_contexts(
    frame: pl.DataFrame, contexts: Sequence[ScoringContext], which: Sequence[int] | np.ndarray
) -> pl.DataFrame:
    """Add the bounds and constants of each row's context as columns."""
    import polars as pl  # heavy: a few submissions are scored without it

    numbers = {
        name: [float(context.bounds[place]) for context in contexts]
        for place, name in enumerate(BaselineBounds._fields)
    }
    numbers |= {name: [float(context.constants[name]) for context in contexts] for name in OWN_CONSTANTS}
    if len(contexts) == 1:
        return frame.with_columns(
            *(pl.lit(values[0], dtype=pl.Float64).alias(name) for name, values in numbers.items())
        )
    places = pl.Series("which", which, dtype=pl.UInt32)
    return frame.hstack(pl.DataFrame(numbers)[places])


class StoredRows(NamedTuple):
    """Stored submissions that count: the place of each one's task, and what is kept of it."""

    which: np.ndarray
    columns: Columns

    def by_task(self, tasks: int) -> list[np.ndarray]:
        """Return the rows of each task."""
        order = np.argsort(self.which, kind="stable")
        return np.split(order, np.searchsorted(self.which[order], np.arange(1, tasks)))

    def overall(self, task_states: Sequence[TaskState], policy: Policy, *, before: bool = False) -> np.ndarray:
        """Their overall scores in cents now, or as they were before the transaction."""
        if policy == "as-submitted":
            return np.array(self.columns["overall"], dtype=np.int64)
        bounds = [state.bounds_before if before else state.bounds for state in task_states]
        contexts = [
            ScoringContext(own, state.stored_task.constants) for own, state in zip(bounds, task_states, strict=True)
        ]
        return rows_in_cents(self.columns, contexts, self.which)["overall"]


def read_stored(connection: Connection, task_states: Sequence[TaskState]) -> StoredRows:
    """The stored submissions of these tasks, those that are excluded left out."""
    keys = [state.stored_task.key for state in task_states]
    columns = _read_columns(connection, keys, count=sum(state.n_before for state in task_states))
    in_order = np.argsort(keys)
    which = in_order[np.searchsorted(keys, np.array(columns["task_key"], dtype=np.int64), sorter=in_order)]
    return StoredRows(which, columns)


def _read_columns(connection: Connection, keys: Sequence[int], *, count: int) -> Columns:
    """What scores, ranks and flags take from the submissions of these tasks, about `count` in all."""
    names = ("task_key", "ordinal", "overall", "baseline_version", *SCORE_INPUTS)
    wanted = select(*(submissions.c[name] for name in names)).where(submissions.c.excluded_at.is_(None))
    parts = [
        wanted.where(submissions.c.task_key.in_(keys[start : start + KEYS_PER_QUERY]))
        for start in range(0, len(keys), KEYS_PER_QUERY)
    ]
    if count < COLUMNS_FROM:
        rows = [row for part in parts for row in connection.execute(part)]
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}
    import polars as pl  # heavy: a few submissions are scored without it

    return pl.concat([read_frame(connection, part) for part in parts]).to_dict()
