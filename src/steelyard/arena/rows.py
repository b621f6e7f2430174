"""Submissions of a task as columns: the one place where many rows are read from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select
from sqlalchemy.engine import Connection

if TYPE_CHECKING:
    import polars as pl

INTEGERS = frozenset(
    {
        "task_key",
        "ordinal",
        "total_tokens",
        "tool_calls",
        "iterations",
        "submitted_at",
        "accepted_at",
        "criteria_met",
        "criteria_total",
        "baseline_version",
        "version",
        "from_n",
        "overall",
        "efficiency",
        "speed",
        "cost",
        "correctness",
        "adjusted",
    }
)
FLAGS = frozenset({"success", "is_claimed"})
TEXTS = frozenset({"id", "agent", "model", "submitter", "details", "task_id", "category"})


def dtype_of(name: str) -> Any:  # Any: a Polars data type class
    """The Polars type of a column of the arena's tables."""
    import polars as pl  # heavy: a single submission is accepted without it

    if name in INTEGERS:
        return pl.Int64
    if name in FLAGS:
        return pl.Boolean
    return pl.String if name in TEXTS else pl.Float64


def frame_of(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> pl.DataFrame:
    """Lists in memory as columns. Any: column values."""
    import polars as pl  # heavy: a single submission is accepted without it

    return pl.DataFrame([pl.Series(name, columns[name], dtype=dtype_of(name), strict=False) for name in names])


def read_frame(connection: Connection, statement: Select[Any]) -> pl.DataFrame:
    """What the statement selects, as columns.

    The driver's cursor is read directly: SQLAlchemy's row objects would double the time of a million rows. The
    statement carries only numbers of ours as parameters, written into its text.
    """
    import polars as pl  # heavy: a single submission is accepted without it

    names = [column.name for column in statement.selected_columns]
    text = str(statement.compile(connection, compile_kwargs={"literal_binds": True}))
    cursor = connection.connection.cursor()
    try:
        cursor.execute(text)
        rows = cursor.fetchall()
    finally:
        cursor.close()
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pl.DataFrame(
        [_series(name, values) for name, values in zip(names, columns, strict=True)],
    )


def _series(name: str, values: Sequence[Any]) -> pl.Series:  # Any: column values
    import polars as pl  # heavy: a single submission is accepted without it

    dtype = dtype_of(name)
    if dtype == pl.Boolean:  # SQLite has 0 and 1
        return pl.Series(name, [None if value is None else bool(value) for value in values], dtype=dtype)
    return pl.Series(name, values, dtype=dtype)
