"""`schema.py` tells what the migrations make, on SQLite and, where one is given, on PostgreSQL."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Connection

import steelyard.store.migrations as folder
from steelyard.store import Store
from steelyard.store.schema import METADATA
from store_shapes import shape_of


def declared(connection: Connection) -> dict[str, Any]:  # Any: as the database tells it
    """The shape that `schema.py` gives to a database; whatever was there is gone."""
    METADATA.drop_all(connection)
    METADATA.create_all(connection)
    return shape_of(connection)


def test_the_schema_is_what_all_migrations_make(store: Store) -> None:
    with store.write() as connection:
        migrated = shape_of(connection)
        assert migrated == declared(connection)
    assert migrated.keys() == METADATA.tables.keys()


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE canons ADD COLUMN extra TEXT",
        "ALTER TABLE canons RENAME COLUMN normalized TO normal",
        "DROP INDEX canons_one_in_force",
        "DROP INDEX arena_outbox_due_for; CREATE INDEX arena_outbox_due_for ON arena_outbox (due_for)",
        "DROP TABLE arena_deliveries",
        "DROP TABLE arena_seasons; CREATE TABLE arena_seasons (name BIGINT, frozen_at BIGINT)",
    ],
)
def test_the_comparison_sees_a_difference(store: Store, change: str) -> None:
    with store.write() as connection:
        for statement in change.split(";"):
            connection.exec_driver_sql(statement)
        changed = shape_of(connection)
        assert changed != declared(connection)


def test_every_column_says_what_it_holds() -> None:
    bare = [str(column) for table in METADATA.tables.values() for column in table.columns if not column.doc]
    assert bare == []


@pytest.mark.parametrize("path", sorted(Path(folder.__path__[0]).glob("m*.py")), ids=lambda path: path.stem)
def test_a_migration_keeps_its_own_copy_of_the_tables(path: Path) -> None:
    imported = {
        node.module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    ours = {name for name in imported if name.startswith("steelyard")}
    assert all(name.startswith(folder.__name__) for name in ours)
