from __future__ import annotations

import shlex
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Engine, Table, inspect, text
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, ProgrammingError

from steelyard.errors import StoreError, StoreUnavailableError, UnsupportedValueError, UsageError
from steelyard.store._connections import (
    connect_for_reading,
    exclusive,
    is_writable,
    lock_path,
    make_engines,
    read_url,
    shown,
)
from steelyard.store._migrate import applied_numbers, migrate, migrations, pending, version_of

Result = TypeVar("Result")

ATTEMPTS = 12
"""Attempts per transaction that conflicts with another one."""
RETRIED_STATES = frozenset({"40001", "40P01", "23505"})
"""PostgreSQL: serialization failure, deadlock, and unique violation by a concurrent insert."""
WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted AND relation = CAST(:name AS regclass)
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""PostgreSQL: transactions that write to a table. The lock is taken before a row is numbered and held until commit."""

TOO_LARGE_STATE = "54000"
"""PostgreSQL: program limit exceeded, such as a key too large for its index."""


class Store:
    """Database with the Steelyard schema: a SQLite file or PostgreSQL. Use `write` and `read` for transactions."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.reading, self.writing = make_engines(url)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._lock: Path | None = lock_path(url)
        self._idle: sqlite3.Connection | None = None
        self._seen_stamps: tuple[tuple[int, int] | None, ...] | None = None
        # Close the connections when the store is garbage-collected, also after an error.
        weakref.finalize(self, _dispose, self.reading, self.writing)

    def __repr__(self) -> str:
        return f"Store({self.address!r})"

    @property
    def address(self) -> str:
        """Return the store URL without a password."""
        return shown(self.url)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a read-write transaction. On SQLite, writers queue up, one at a time."""
        queue = exclusive(self._lock) if self._lock else nullcontext()
        with queue, self.writing.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a read-only transaction with a consistent snapshot."""
        try:
            with self.reading.connect() as connection:
                if not self.is_sqlite:
                    connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                with connection.begin():
                    yield connection
        except (DataError, OperationalError, ProgrammingError) as error:
            raise self._unavailable(error) from error

    def in_transaction(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in a read-write transaction and return its result; retry on conflicts with other transactions."""
        for attempt in range(ATTEMPTS):
            try:
                with self.write() as connection:
                    return work(connection)
            except (DataError, IntegrityError, OperationalError, ProgrammingError) as error:
                if attempt < ATTEMPTS - 1 and _worth_retrying(error):
                    continue
                if isinstance(error, IntegrityError):
                    raise
                raise self._unavailable(error) from error
            except OSError as error:  # the lock file
                raise StoreUnavailableError(self.address, error.strerror or str(error)) from error
        raise AssertionError("the last attempt either returns or raises")

    def writers(self, table: Table) -> frozenset[str]:
        """Return unique names of the open transactions that write to a table.

        Always empty on SQLite, where writing transactions do not overlap.
        """
        if self.is_sqlite:
            return frozenset()
        with self.read() as connection:
            return frozenset(connection.execute(text(WRITERS), {"name": table.name}).scalars())

    def signal(self) -> object | None:
        """Return a value that changes with every write to the file; None on PostgreSQL, where this needs a query.

        It comes from a dedicated connection, takes microseconds, and is meaningless in other processes.
        """
        if self.file is None:
            return None
        stamps = None if is_writable(self.file) else self._stamps(self.file)
        if stamps != self._seen_stamps:
            self._seen_stamps = stamps
            self._close_reading()
        try:
            if self._idle is None:
                self._idle = connect_for_reading(self.file)
            (number,) = self._idle.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            raise StoreUnavailableError(self.address, str(error)) from error
        return number, stamps

    @staticmethod
    def _stamps(file: Path) -> tuple[tuple[int, int] | None, ...]:
        """Return time and size of the file and its WAL.

        Without write permission and without a WAL, the file is opened as immutable: the connection must be reopened
        after a change.
        """
        stamps: list[tuple[int, int] | None] = []
        for path in (file, Path(f"{file}-wal")):
            try:
                stat = path.stat()
            except FileNotFoundError:
                stamps.append(None)
            else:
                stamps.append((stat.st_mtime_ns, stat.st_size))
        return tuple(stamps)

    def _close_reading(self) -> None:
        self.reading.dispose()
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def _unavailable(self, error: DBAPIError) -> StoreUnavailableError:
        is_value = isinstance(error, DataError) or getattr(error.orig, "sqlstate", None) == TOO_LARGE_STATE
        return (UnsupportedValueError if is_value else StoreUnavailableError)(self.address, str(error.orig).strip())

    @property
    def file(self) -> Path | None:
        """Path of the SQLite file; None on a server."""
        return Path(self.url.database) if self.is_sqlite and self.url.database else None

    def applied(self) -> frozenset[int]:
        """Return the numbers of the applied migrations; empty for a new store, an error for foreign tables.

        An empty file is not opened: another process may be about to fill it.
        """
        if self.file is not None and (not self.file.exists() or self.file.stat().st_size == 0):
            return frozenset()
        with self.read() as connection:
            numbers = applied_numbers(connection)
            if not numbers and self.is_sqlite and inspect(connection).get_table_names():
                hint = "use a separate file"
                raise StoreError("the file contains tables created by another program", where=self.address, hint=hint)
        return numbers

    def close(self) -> None:
        """Close all connections. The store can be used again afterwards."""
        self._close_reading()
        _dispose(self.reading, self.writing)


def _dispose(reading: Engine, writing: Engine) -> None:
    """Close the writing engine last: only it can checkpoint and remove the SQLite WAL."""
    reading.dispose()
    writing.dispose()


def _worth_retrying(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    return state in RETRIED_STATES


def open_store(address: str, *, create: bool = True) -> Store:
    """Open the store at `sqlite:///FILE` or `postgresql://...`; create it if it does not exist.

    Without `create`, a missing SQLite file or a database without our tables is an error, so that a misspelled name does
    not create an empty arena. A store with an older schema is rejected; the error names the upgrade command.
    """
    store = find_store(address, create=create)
    with closed_on_error(store):
        numbers = store.applied()
        if numbers:
            _check_version(store, numbers)
        elif create:
            store.in_transaction(migrate)
        else:
            raise no_store(store)
    return store


def find_store(address: str, *, create: bool = False) -> Store:
    """Return the store at the address without opening it or checking its schema; its directory must exist."""
    url = read_url(address)
    store = Store(url)
    if store.file is not None and not create and not store.file.exists():
        raise StoreError(
            "store not found",
            where=shown(url),
            hint=f"create it with: steelyard arena init --store {shlex.quote(shown(url))}",
        )
    if store.file is not None and not store.file.parent.is_dir():
        folder = store.file.parent
        raise UsageError(f"no such directory: {folder}", where=shown(url), hint=f"create it: mkdir -p {folder}")
    return store


@contextmanager
def closed_on_error(store: Store) -> Iterator[None]:
    """Close the store if the block fails; convert database errors."""
    try:
        yield
    except DBAPIError as error:
        store.close()
        raise StoreUnavailableError(store.address, str(error.orig).strip()) from error
    except BaseException:
        store.close()
        raise


def no_store(store: Store) -> StoreError:
    """Return the error for a database without our tables."""
    return StoreError(
        "the database contains no steelyard store",
        where=store.address,
        hint=f"create it with: steelyard arena init --store {shlex.quote(store.address)}",
    )


def _check_version(store: Store, numbers: frozenset[int]) -> None:
    """Reject a store with an older schema."""
    if pending(numbers):
        command = f"steelyard arena upgrade --store {shlex.quote(store.address)}"
        raise StoreError(
            f"the store has schema version {version_of(numbers)}; this version of steelyard requires"
            f" {migrations()[-1].number}",
            where=store.address,
            hint=command if store.is_sqlite else f"back up with pg_dump, then: {command}",
        )
