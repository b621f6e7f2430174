"""Numbered migrations: modules `m<number>_<name>` with `upgrade(connection)` in the package `migrations`.

A released migration is never edited and has its own copy of the tables it uses: `schema.py` is the current schema and
keeps changing. A new store is created by running all migrations, so that it equals an upgraded one.
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
"""PostgreSQL advisory lock that serializes migrations."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Numbered step of the schema. Its module is imported only when it runs."""

    number: int
    name: str

    def upgrade(self, connection: Connection) -> None:
        """Change the schema inside the caller's transaction."""
        importlib.import_module(f"{folder.__name__}.m{self.number:04}_{self.name}").upgrade(connection)


def migrations() -> list[Migration]:
    """Return all migrations, ordered by number."""
    by_number: dict[int, Migration] = {}
    for info in pkgutil.iter_modules(folder.__path__):
        match = re.fullmatch(r"m(\d{4})_([a-z_]+)", info.name)
        if match is None:
            continue
        number = int(match[1])
        if number in by_number:
            raise DeclarationError(f"duplicate migration {number}: {by_number[number].name} and {match[2]}")
        by_number[number] = Migration(number, match[2])
    return [by_number[number] for number in sorted(by_number)]


def applied_numbers(connection: Connection) -> frozenset[int]:
    """Return the numbers of the applied migrations; empty if the database contains no store."""
    if not inspect(connection).has_table(applied.name):
        return frozenset()
    return frozenset(connection.execute(select(applied.c.number)).scalars())


def pending(seen: Collection[int]) -> list[Migration]:
    """Return the migrations that are not applied yet; raise if the store is newer than this version."""
    known = migrations()
    unknown = set(seen) - {migration.number for migration in known}
    if unknown:
        raise StoreError(
            f"the store was created by a newer version of steelyard (migration {max(unknown)})",
            hint="upgrade steelyard",
        )
    return [migration for migration in known if migration.number not in seen]


def version_of(seen: Collection[int]) -> int:
    """Return the schema version: the last migration up to which all are applied."""
    todo = pending(seen)
    return max(number for number in seen if not todo or number < todo[0].number)


def migrate(connection: Connection, progress: Callable[[Migration], None] | None = None) -> list[Migration]:
    """Apply and return the pending migrations inside the caller's transaction; call `progress` before each."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MIGRATION_LOCK})
    todo = pending(applied_numbers(connection))
    if todo:
        applied.create(connection, checkfirst=True)
    for migration in todo:
        if progress is not None:
            progress(migration)
        migration.upgrade(connection)
        row = {"number": migration.number, "name": migration.name, "applied_at": now_microseconds()}
        connection.execute(insert(applied), row)
    return todo
