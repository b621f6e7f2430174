"""Numbered migrations: each is a module `m<number>_<name>` with `upgrade(connection)`, found by standing in the folder.

What shipped is never edited. A migration declares the tables it makes; code imports them from there, so the tables are
written down once. One that changes a table of an earlier number declares it anew, and code imports the newer.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, insert, inspect, select
from sqlalchemy.engine import Connection

import steelyard.store.migrations as folder
from steelyard.errors import BadDeclaration, BadStore

applied = Table(
    "steelyard_migrations",
    MetaData(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", String(200), nullable=False),
    Column("applied_at", BigInteger, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of the schema."""

    number: int
    name: str
    upgrade: Callable[[Connection], None]


def migrations() -> list[Migration]:
    """All migrations in the order of their numbers."""
    by_number: dict[int, Migration] = {}
    for info in pkgutil.iter_modules(folder.__path__):
        match = re.fullmatch(r"m(\d{4})_([a-z_]+)", info.name)
        if match is None:
            continue
        module = importlib.import_module(f"{folder.__name__}.{info.name}")
        number = int(match[1])
        if number in by_number:
            raise BadDeclaration(f"migration {number} is there twice: {by_number[number].name} and {match[2]}")
        by_number[number] = Migration(number, match[2], module.upgrade)
    return [by_number[number] for number in sorted(by_number)]


def pending(connection: Connection) -> list[Migration]:
    """Migrations that the store has not seen. A store that has seen one we do not know is newer than this program."""
    known = migrations()
    if not inspect(connection).has_table(applied.name):
        return known
    seen = set(connection.execute(select(applied.c.number)).scalars())
    unknown = seen - {migration.number for migration in known}
    if unknown:
        raise BadStore(
            f"the store has migration {max(unknown)}, which this version of steelyard does not know",
            hint="use the version of steelyard that made it, or a newer one",
        )
    return [migration for migration in known if migration.number not in seen]


def migrate(connection: Connection) -> list[Migration]:
    """Apply what is pending, inside the caller's transaction, and say what was applied."""
    todo = pending(connection)
    if not todo:
        return []
    applied.create(connection, checkfirst=True)
    for migration in todo:
        migration.upgrade(connection)
        row = {"number": migration.number, "name": migration.name, "applied_at": time.time_ns() // 1000}
        connection.execute(insert(applied), row)
    return todo
