"""Cache of the submissions of large tasks, for repeated leaderboard requests.

A submission is never changed once it is accepted, and its number counts up, so that only those that came since are
read. What was decided about submissions is read each time and is not taken from here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring._submission_rows import read_frame
from steelyard.store.schema import states, submissions

if TYPE_CHECKING:
    import polars as pl

WORTH_KEEPING = 1_000
"""A task with fewer submissions is read as fast as it is looked up."""
MAX_ROWS = 200_000
"""Of all kept tasks together; a row takes some 300 bytes."""


class KeptRows:
    """What is kept for one arena, whichever thread asks."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[int, pl.DataFrame] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, connection: Connection, task_key: int) -> pl.DataFrame:
        """Return all submissions of the task as seen by the connection, in order of acceptance."""
        accepted = connection.execute(select(states.c.accepted).where(states.c.task_key == task_key)).scalar_one()
        with self._lock:
            kept = self._tasks.get(task_key)
        if kept is None or not _is_of(connection, task_key, kept):
            rows = _rows_after(connection, task_key, 0)
        elif kept.height > accepted:  # cached by a thread that has seen a later state
            return kept.head(accepted)
        else:
            rows = kept.vstack(_rows_after(connection, task_key, kept.height))
        if len(rows) >= WORTH_KEEPING and rows["ordinal"][-1] == len(rows):
            self._keep(task_key, rows)
        return rows

    def _keep(self, task_key: int, rows: pl.DataFrame) -> None:
        if rows.n_chunks() > 64:  # each request adds one
            rows = rows.rechunk()
        with self._lock:
            self._tasks[task_key] = rows
            self._tasks.move_to_end(task_key)
            while sum(len(each) for each in self._tasks.values()) > MAX_ROWS:
                self._tasks.popitem(last=False)


def _is_of(connection: Connection, task_key: int, kept: pl.DataFrame) -> bool:
    """Whether the store still has what was kept: it may have been put back from a copy, and other submissions come."""
    own = (submissions.c.task_key == task_key) & (submissions.c.ordinal == kept.height)
    digest = connection.execute(select(submissions.c.digest).where(own)).scalar_one_or_none()
    return digest is None or digest == kept["digest"][-1]


def _rows_after(connection: Connection, task_key: int, ordinal: int) -> pl.DataFrame:
    chosen = select(submissions).where(submissions.c.task_key == task_key, submissions.c.ordinal > ordinal)
    return read_frame(connection, chosen.order_by(submissions.c.ordinal))
