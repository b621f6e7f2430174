"""The shape of a database: what its tables, keys and indexes are, told in a form that two databases are compared by."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.engine import Connection


def shape_of(connection: Connection) -> dict[str, Any]:  # Any: as the database tells it
    """Every table with its columns, types, nullability, defaults, keys, and indexes with their WHERE."""
    seen = inspect(connection)
    shape: dict[str, Any] = {}
    for name in seen.get_table_names():
        columns = [
            (column["name"], str(column["type"]), column["nullable"], column["default"], column.get("identity"))
            for column in seen.get_columns(name)
        ]
        foreign = [(key["constrained_columns"], key["referred_table"]) for key in seen.get_foreign_keys(name)]
        shape[name] = {
            "columns": columns,
            "key": seen.get_pk_constraint(name)["constrained_columns"],
            "foreign": sorted(foreign),
            "unique": sorted(unique["column_names"] for unique in seen.get_unique_constraints(name)),
            "options": seen.get_table_options(name),
            "indexes": _indexes(connection, name),
        }
    return shape


def _indexes(connection: Connection, table: str) -> list[str]:
    """The statements that make the indexes, without the schema of PostgreSQL that the table is in."""
    if connection.dialect.name == "postgresql":
        text = f"SELECT indexdef FROM pg_indexes WHERE tablename = '{table}' AND schemaname = current_schema()"  # noqa: S608 - our own names
    else:
        text = f"SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = '{table}' AND sql IS NOT NULL"  # noqa: S608 - our own names
    statements = connection.exec_driver_sql(text).scalars()
    return sorted(re.sub(r" ON \w+\.", " ON ", " ".join(statement.split())) for statement in statements)
