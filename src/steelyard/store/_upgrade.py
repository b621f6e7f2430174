"""Bringing a store of an older schema up to date, with a copy of a SQLite file made first."""

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
    """What upgrading did to a store."""

    address: str
    version: int
    """The version of its schema before."""
    migrations: tuple[Migration, ...]
    """What was applied, in order; nothing when it was up to date."""
    copy: Path | None
    """The file as it was; None when nothing was applied, and on a server."""


def upgrade_store(address: str, *, told: Callable[[Migration], None] | None = None) -> Upgraded:
    """Apply to the store what it has not seen, all of it or nothing; `told` before each migration.

    A SQLite file is copied first, while nobody else can write to it. When the upgrade fails the file is as it was, and
    the copy is removed: trying again on a disk that is full must not fill it with copies.
    """
    store = find_store(address)
    copies: list[Path] = []

    def work(connection: Connection) -> list[Migration]:
        # Asked anew: another may have upgraded it while this one waited for its turn.
        if store.file is not None and pending(applied_numbers(connection)):
            copies.append(_copied(store, store.file, version))
        return migrate(connection, told)

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
    """A copy beside the file, what stands in its log included, under a name that nobody has."""
    copy = _new_file(file, version)
    try:
        with closing(connect_for_reading(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        shutil.copymode(file, copy)
    except sqlite3.Error as error:
        copy.unlink()
        raise StoreUnavailableError(store.address, f"the file cannot be copied to {copy}: {error}") from error
    return copy


def _new_file(file: Path, version: int) -> Path:
    for number in count(1):
        path = Path(f"{file}.before-upgrade-{version}{'' if number == 1 else f'.{number}'}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers do not end")
