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
"""How often a transaction that met another one is tried again."""
RETRIED_STATES = frozenset({"40001", "40P01", "23505"})
"""PostgreSQL: serialization failure, deadlock, and a key that another took between our look and our write."""
WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted AND relation = CAST(:name AS regclass)
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""PostgreSQL: who writes to a table. The lock is taken before a row gets its number and held until others see it."""

TOO_LARGE_STATE = "54000"
"""PostgreSQL: something is larger than it can hold, as a key is that does not fit its index."""


class Store:
    """A database with our schema: SQLite in one file, or PostgreSQL. Use `write` and `read` for transactions."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.reading, self.writing = make_engines(url)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._lock: Path | None = lock_path(url)
        self._idle: sqlite3.Connection | None = None
        self._seen_stamps: tuple[tuple[int, int] | None, ...] | None = None
        # Whoever lets go of a store lets go of its connections, also when a command ends in an error.
        weakref.finalize(self, _dispose, self.reading, self.writing)

    def __repr__(self) -> str:
        return f"Store({self.address!r})"

    @property
    def address(self) -> str:
        """The store's address as its user writes it, without a password."""
        return shown(self.url)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that may write: all of it is kept, or nothing. On SQLite writers queue up, one at a time."""
        queue = exclusive(self._lock) if self._lock else nullcontext()
        with queue, self.writing.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that sees a single moment of the store and writes nothing."""
        try:
            with self.reading.connect() as connection:
                if not self.is_sqlite:
                    connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                with connection.begin():
                    yield connection
        except (DataError, OperationalError, ProgrammingError) as error:
            raise self._unavailable(error) from error

    def in_transaction(self, work: Callable[[Connection], Result]) -> Result:
        """What `work` gives, run in one writing transaction; run again when another transaction was in the way."""
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
        """The open transactions that write to a table, each under a name that no other ever has.

        None on SQLite, where a transaction that writes has ended before the next begins.
        """
        if self.is_sqlite:
            return frozenset()
        with self.read() as connection:
            return frozenset(connection.execute(text(WRITERS), {"name": table.name}).scalars())

    def signal(self) -> object | None:
        """What changes when anybody writes to the file; None on PostgreSQL, where asking takes a query.

        It comes from a connection that does nothing else, takes microseconds, and means nothing to another process.
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
        """Time and size of the file and of its log.

        Who may only read the file opens it, while it has no log, as one that nobody changes: such a connection must be
        opened anew when somebody does.
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
        """The SQLite file; None on a server."""
        return Path(self.url.database) if self.is_sqlite and self.url.database else None

    def applied(self) -> frozenset[int]:
        """The numbers of the migrations that it has seen; none when there is nothing yet, an error for foreign tables.

        An empty file is one that another process is about to fill: SQLite is kept away from it.
        """
        if self.file is not None and (not self.file.exists() or self.file.stat().st_size == 0):
            return frozenset()
        with self.read() as connection:
            numbers = applied_numbers(connection)
            if not numbers and self.is_sqlite and inspect(connection).get_table_names():
                hint = "name a file of its own"
                raise StoreError("the file holds another program's tables", where=self.address, hint=hint)
        return numbers

    def close(self) -> None:
        """Let go of every connection. The store can be used again afterwards."""
        self._close_reading()
        _dispose(self.reading, self.writing)


def _dispose(reading: Engine, writing: Engine) -> None:
    """Close what writes last: only that can move what stands in SQLite's log to the file, and remove the log."""
    reading.dispose()
    writing.dispose()


def _worth_retrying(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    return state in RETRIED_STATES


def open_store(address: str, *, create: bool = True) -> Store:
    """The store at `sqlite:///file` or `postgresql://...`; made when there is none.

    Without `create`, a SQLite file that is not there, or a database without our tables, is an error: a misspelled name
    must not silently become an empty arena. A store of an older schema is never changed by opening it: the error names
    the command that upgrades it.
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
    """The store at the address, whatever its schema; nothing is opened yet. The folder must be there, and the file."""
    url = read_url(address)
    store = Store(url)
    if store.file is not None and not create and not store.file.exists():
        raise StoreError("store not found", where=shown(url), hint="steelyard arena init --store ... makes one")
    if store.file is not None and not store.file.parent.is_dir():
        folder = store.file.parent
        raise UsageError(f"no such directory: {folder}", where=shown(url), hint=f"create it: mkdir -p {folder}")
    return store


@contextmanager
def closed_on_error(store: Store) -> Iterator[None]:
    """Let go of the store when the block fails; an error of the database becomes ours."""
    try:
        yield
    except DBAPIError as error:
        store.close()
        raise StoreUnavailableError(store.address, str(error.orig).strip()) from error
    except BaseException:
        store.close()
        raise


def no_store(store: Store) -> StoreError:
    """The error for a database without our tables."""
    return StoreError(
        "this database holds no steelyard store", where=store.address, hint="steelyard arena init makes one"
    )


def _check_version(store: Store, numbers: frozenset[int]) -> None:
    """Refuse a store of another schema than ours."""
    if pending(numbers):
        command = f"steelyard arena upgrade --store {shlex.quote(store.address)}"
        raise StoreError(
            f"the store has schema version {version_of(numbers)}; this version of steelyard needs"
            f" {migrations()[-1].number}",
            where=store.address,
            hint=command if store.is_sqlite else f"make a backup with pg_dump, then: {command}",
        )
