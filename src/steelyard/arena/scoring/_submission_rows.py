"""Submissions as columns: the one place where many rows are read from the store, and their cache."""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Boolean, ColumnElement, Float, Integer, Select, select
from sqlalchemy.engine import Connection
from sqlalchemy.types import TypeEngine

from steelyard.store.schema import states, submissions

if TYPE_CHECKING:
    import polars as pl


@contextmanager
def collector_resting() -> Iterator[None]:
    """No search for reference cycles in the block: many rows make many objects and no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


ROWS_AT_ONCE = 20_000
"""Rows that are turned from the driver's tuples into columns together, while the processor's cache holds them."""


def _series(name: str, values: Sequence[Any], kind: TypeEngine[Any]) -> pl.Series:  # Any: column values
    import polars as pl  # heavy: a single submission is accepted without it

    if isinstance(kind, Boolean):  # SQLite has 0 and 1
        return pl.Series(name, [None if value is None else bool(value) for value in values], dtype=pl.Boolean)
    if isinstance(kind, Integer):
        return pl.Series(name, values, dtype=pl.Int64)
    if isinstance(kind, Float):  # a whole number is stated where a fraction could be
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    return pl.Series(name, values, dtype=pl.String)


def frame_of(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> pl.DataFrame:
    """Lists in memory as columns of the submissions' types. Any: column values."""
    import polars as pl  # heavy: a single submission is accepted without it

    return pl.DataFrame([_series(name, columns[name], submissions.c[name].type) for name in names])


def read_frame(connection: Connection, statement: Select[Any]) -> pl.DataFrame:
    """What the statement selects, as columns.

    The driver's cursor is read directly: SQLAlchemy's row objects would double the time of a million rows. The
    statement carries only numbers of ours as parameters, written into its text.
    """
    import polars as pl  # heavy: a single submission is accepted without it

    selected = list(statement.selected_columns)
    text = str(statement.compile(connection, compile_kwargs={"literal_binds": True}))
    cursor = connection.connection.cursor()
    parts = []
    try:
        cursor.execute(text)
        with collector_resting():
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                parts.append(_frame(selected, list(zip(*rows, strict=True))))
    finally:
        cursor.close()
    return pl.concat(parts, rechunk=True) if parts else _frame(selected, [()] * len(selected))


def _frame(selected: Sequence[ColumnElement[Any]], values: Sequence[Sequence[Any]]) -> pl.DataFrame:
    import polars as pl  # heavy: a single submission is accepted without it

    return pl.DataFrame(
        [
            _series(str(column.name), column_values, column.type)
            for column, column_values in zip(selected, values, strict=True)
        ]
    )


WORTH_KEEPING = 1_000
"""A task with fewer submissions is read as fast as it is looked up."""
MAX_ROWS = 200_000
"""Of all kept tasks together; a row takes some 300 bytes."""


class KeptRows:
    """Cache of the submissions of large tasks of one arena, for repeated leaderboard requests from any thread.

    A submission is never changed once it is accepted, and its number counts up, so that only those that came since are
    read. What was decided about submissions is read each time and is not taken from here.
    """

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
