"""Submissions of a task as columns: the one place where many rows are read from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Boolean, ColumnElement, Float, Integer, Select
from sqlalchemy.engine import Connection
from sqlalchemy.types import TypeEngine

from steelyard.arena.scoring._collector import collector_resting
from steelyard.store.schema import submissions

if TYPE_CHECKING:
    import polars as pl

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
