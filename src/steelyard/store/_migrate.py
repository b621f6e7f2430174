"""Numbered migrations: each is a module `m<number>_<name>` with `upgrade(connection)`, found by standing in the folder.

What shipped is never edited, and a migration keeps its own copy of the tables it works on: `schema.py` is the present
and goes on changing. A new store is made by running all of them, so that it cannot differ from one that was upgraded.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from sqlalchemy import insert, inspect, select, text
from sqlalchemy.engine import Connection

import steelyard.store.migrations as folder
from steelyard.errors import DeclarationError, StoreError
from steelyard.records import now_microseconds
from steelyard.store.schema import applied

MIGRATION_LOCK = 7_301_905_142
"""Number of the PostgreSQL advisory lock under which migrations run, so that two first users do not collide."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of the schema. Its module is imported when it runs: reading a store needs none of them."""

    number: int
    name: str

    def upgrade(self, connection: Connection) -> None:
        """Change the schema, inside the caller's transaction."""
        importlib.import_module(f"{folder.__name__}.m{self.number:04}_{self.name}").upgrade(connection)


def migrations() -> list[Migration]:
    """All migrations in the order of their numbers."""
    by_number: dict[int, Migration] = {}
    for info in pkgutil.iter_modules(folder.__path__):
        match = re.fullmatch(r"m(\d{4})_([a-z_]+)", info.name)
        if match is None:
            continue
        number = int(match[1])
        if number in by_number:
            raise DeclarationError(f"migration {number} is there twice: {by_number[number].name} and {match[2]}")
        by_number[number] = Migration(number, match[2])
    return [by_number[number] for number in sorted(by_number)]


def applied_numbers(connection: Connection) -> frozenset[int]:
    """The migrations that the store has seen; none when the database holds no store."""
    if not inspect(connection).has_table(applied.name):
        return frozenset()
    return frozenset(connection.execute(select(applied.c.number)).scalars())


def pending(seen: Collection[int]) -> list[Migration]:
    """Migrations that the store has not seen. A store that has seen one we do not know is newer than this program."""
    known = migrations()
    unknown = set(seen) - {migration.number for migration in known}
    if unknown:
        raise StoreError(
            f"the store has migration {max(unknown)}, which this version of steelyard does not know",
            hint="use the version of steelyard that made it, or a newer one",
        )
    return [migration for migration in known if migration.number not in seen]


def version_of(seen: Collection[int]) -> int:
    """The version of a store's schema: the last migration up to which it has seen all."""
    todo = pending(seen)
    return max(number for number in seen if not todo or number < todo[0].number)


def migrate(connection: Connection, told: Callable[[Migration], None] | None = None) -> list[Migration]:
    """Apply what is pending, inside the caller's transaction, and say what was applied; `told` before each."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MIGRATION_LOCK})
    todo = pending(applied_numbers(connection))
    if todo:
        applied.create(connection, checkfirst=True)
    for migration in todo:
        if told is not None:
            told(migration)
        migration.upgrade(connection)
        row = {"number": migration.number, "name": migration.name, "applied_at": now_microseconds()}
        connection.execute(insert(applied), row)
    return todo
