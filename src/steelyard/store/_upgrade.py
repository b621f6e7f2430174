"""Upgrade of stores with an older schema; SQLite files are copied first."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from sqlalchemy.engine import Connection

from steelyard.errors import StoreUnavailableError
from steelyard.store._connections import connect_for_reading
from steelyard.store._migrate import Migration, applied_numbers, migrate, pending, version_of
from steelyard.store._store import Store, closed_on_error, find_store, no_store


@dataclass(frozen=True, slots=True)
class Upgraded:
    """Result of an upgrade."""

    address: str
    version: int
    """Schema version before the upgrade."""
    migrations: tuple[Migration, ...]
    """Applied migrations, in order; empty if the store was up to date."""
    copy: Path | None
    """Copy of the file before the upgrade; None if nothing was applied, and on a server."""


def upgrade_store(address: str, *, progress: Callable[[Migration], None] | None = None) -> Upgraded:
    """Apply all pending migrations in one transaction; call `progress` before each.

    A SQLite file is copied first, while other writers are locked out. If the upgrade fails, the file is unchanged and
    the copy is removed, so that retries do not fill the disk.
    """
    store = find_store(address)
    copies: list[Path] = []

    def work(connection: Connection) -> list[Migration]:
        # Check again: another process may have upgraded the store while this one waited for the lock.
        if store.file is not None and pending(applied_numbers(connection)):
            copies.append(_copied(store, store.file, version))
        return migrate(connection, progress)

    with closed_on_error(store):
        numbers = store.applied()
        if not numbers:
            raise no_store(store)
        version = version_of(numbers)
        done: list[Migration] = []
        try:
            if pending(numbers):
                done = store.in_transaction(work)
        except BaseException:
            for copy in copies:
                copy.unlink(missing_ok=True)
            raise
    store.close()
    return Upgraded(store.address, version, tuple(done), copies[0] if copies else None)


def _copied(store: Store, file: Path, version: int) -> Path:
    """Copy the file, including its WAL, to an unused name next to it."""
    copy = _new_file(file, version)
    try:
        with closing(connect_for_reading(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        shutil.copymode(file, copy)
    except sqlite3.Error as error:
        copy.unlink()
        raise StoreUnavailableError(store.address, f"cannot copy the file to {copy}: {error}") from error
    return copy


def _new_file(file: Path, version: int) -> Path:
    for number in count(1):
        path = Path(f"{file}.before-upgrade-{version}{'' if number == 1 else f'.{number}'}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")
