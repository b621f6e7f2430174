"""Many rows at once, straight to the driver: building SQLAlchemy's parameters took longer than writing the rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Table
from sqlalchemy.engine import Connection


def insert_columns(
    connection: Connection,
    table: Table,
    columns: Mapping[str, Sequence[Any]],
    *,
    add_on_conflict: str | None = None,
) -> None:
    """Insert rows given as columns; with `add_on_conflict`, a key that is there has that column added to.

    Any: column values. Names in the statement are the table's own, never a user's.
    """
    insert_rows(
        connection, table, list(columns), list(zip(*columns.values(), strict=True)), add_on_conflict=add_on_conflict
    )


def insert_rows(
    connection: Connection,
    table: Table,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    *,
    add_on_conflict: str | None = None,
) -> None:
    """The same with rows as tuples in the order of the columns. Any: column values."""
    if not rows:
        return
    quote = connection.dialect.identifier_preparer.quote
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    names = ", ".join(quote(table.c[name].name) for name in columns)
    text = f"INSERT INTO {quote(table.name)} ({names}) VALUES ({', '.join([mark] * len(columns))})"  # noqa: S608 - our own names
    if add_on_conflict is not None:
        keys = ", ".join(quote(column.name) for column in table.primary_key.columns)
        target = quote(add_on_conflict)
        text += f" ON CONFLICT ({keys}) DO UPDATE SET {target} = {quote(table.name)}.{target} + excluded.{target}"
    connection.exec_driver_sql(text, rows)


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
