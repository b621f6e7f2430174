"""Many rows at once, straight to the driver: building SQLAlchemy's parameters took longer than writing the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Column, Table
from sqlalchemy.engine import Connection


OnConflict = Literal["add", "replace"]
"""What becomes of a key that is there: the other columns are added to, or replaced."""


def insert_columns(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows given as columns. Any: column values."""
    insert_rows(connection, table, list(columns), list(zip(*columns.values(), strict=True)))


def insert_rows(
    connection: Connection,
    table: Table,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    *,
    on_conflict: OnConflict | None = None,
) -> None:
    """Insert rows given as tuples in the order of the columns.

    Any: column values. Names in the statement are the table's own, never a user's.
    """
    if not rows:
        return
    quote = connection.dialect.identifier_preparer.quote
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    names = ", ".join(quote(table.c[name].name) for name in columns)
    text = f"INSERT INTO {quote(table.name)} ({names}) VALUES ({', '.join([mark] * len(columns))})"  # noqa: S608 - our own names
    if on_conflict is not None:
        text += _conflict_clause(table, columns, on_conflict, quote)
    connection.exec_driver_sql(text, rows)


def _conflict_clause(
    table: Table, columns: Sequence[str], on_conflict: OnConflict, quote: Callable[[str], str]
) -> str:
    keys = {column.name for column in table.primary_key.columns}
    others = [quote(table.c[name].name) for name in columns if name not in keys]
    if on_conflict == "add":
        changes = [f"{name} = {quote(table.name)}.{name} + excluded.{name}" for name in others]
    else:
        changes = [f"{name} = excluded.{name}" for name in others]
    return f" ON CONFLICT ({', '.join(quote(name) for name in sorted(keys))}) DO UPDATE SET {', '.join(changes)}"


def look_up(connection: Connection, key: Column[Any], value: Column[Any], wanted: Sequence[str]) -> dict[str, Any]:
    """The value beside each key that is there, whatever the number of keys. Any: column values."""
    if not wanted:
        return {}
    quote = connection.dialect.identifier_preparer.quote
    columns = f"{quote(key.name)}, {quote(value.name)}"
    text = f"SELECT {columns} FROM {quote(key.table.name)} WHERE {quote(key.name)} "  # noqa: S608 - our own names
    if connection.dialect.name == "postgresql":
        found = connection.exec_driver_sql(text + "= ANY(%s)", (list(wanted),))
    else:
        text += "IN (SELECT value FROM json_each(?))"
        found = connection.exec_driver_sql(text, (json.dumps(list(wanted)),))
    return {row[0]: row[1] for row in found}
