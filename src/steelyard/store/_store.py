from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Engine, Table, text
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, ProgrammingError

from steelyard.errors import BadStore, StoreUnavailable, UsageError, ValueNotTaken
from steelyard.store._engine import make_engine
from steelyard.store._lock import exclusive
from steelyard.store._migrate import applied, migrate, pending
from steelyard.store._url import file_address, lock_path, read_url, shown

Result = TypeVar("Result")

MIGRATION_LOCK = 7_301_905_142
"""Number of the PostgreSQL advisory lock under which migrations run, so that two first users do not collide."""
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

    def __init__(self, url: URL, engine: Engine) -> None:
        self.url = url
        self.engine = engine
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._lock: Path | None = lock_path(url)
        # Whoever lets go of a store lets go of its connections, also when a command ends in an error.
        weakref.finalize(self, engine.dispose)

    def __repr__(self) -> str:
        return f"Store({self.address!r})"

    @property
    def address(self) -> str:
        """The store's address as its user writes it, without a password."""
        return shown(self.url)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that may write: all of it is kept, or nothing. On SQLite writers queue up, one at a time."""
        with exclusive(self._lock) if self._lock else nullcontext(), self.engine.connect() as connection:
            connection.execution_options(steelyard_writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that sees a single moment of the store and writes nothing."""
        try:
            with self.engine.connect() as connection:
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
                raise StoreUnavailable(self.address, error.strerror or str(error)) from error
        raise AssertionError("the last attempt either returns or raises")

    def writers(self, table: Table) -> frozenset[str]:
        """The open transactions that write to a table, each under a name that no other ever has.

        None on SQLite, where a transaction that writes has ended before the next begins.
        """
        if self.is_sqlite:
            return frozenset()
        with self.read() as connection:
            return frozenset(connection.execute(text(WRITERS), {"name": table.name}).scalars())

    def _unavailable(self, error: DBAPIError) -> StoreUnavailable:
        is_value = isinstance(error, DataError) or getattr(error.orig, "sqlstate", None) == TOO_LARGE_STATE
        return (ValueNotTaken if is_value else StoreUnavailable)(self.address, str(error.orig).strip())

    def queue_if_new(self) -> AbstractContextManager[None]:
        """Hold the lock while a SQLite file is being made: switching it to WAL does not wait for others by itself."""
        if self._lock is None or (self.url.database and Path(self.url.database).exists()):
            return nullcontext()
        return exclusive(self._lock)

    def close(self) -> None:
        """Let go of every connection. The store can be used again afterwards."""
        self.engine.dispose()


def _is_foreign(url: URL) -> bool:
    """Whether a SQLite file holds tables and none of ours."""
    path = Path(url.database or "")
    if url.get_backend_name() != "sqlite" or not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{file_address(path)}?mode=ro", uri=True)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:  # whoever opens it in earnest will say what is wrong
        return False
    return bool(tables) and applied.name not in tables


def _worth_retrying(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    return state in RETRIED_STATES


def open_store(address: str, *, create: bool = True) -> Store:
    """The store at `sqlite:///file` or `postgresql://...`, its schema brought up to date.

    Without `create`, a SQLite file that is not there, or a database without our tables, is an error: a misspelled name
    must not silently become an empty arena.
    """
    url = read_url(address)
    where = shown(url)
    file = Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
    if file is not None and not create and not file.exists():
        raise BadStore("there is no such store", where=where, hint="steelyard arena init --store ... makes one")
    if file is not None and not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}", where=where, hint=f"make it: mkdir -p {file.parent}")
    if _is_foreign(url):  # found out before a connection of ours changes how the file is written
        raise BadStore("the file holds another program's tables", where=where, hint="name a file of its own")
    store = Store(url, make_engine(url))
    try:
        _bring_up_to_date(store, create=create)
    except DBAPIError as error:
        store.close()
        raise StoreUnavailable(where, str(error.orig).strip()) from error
    except BadStore:
        store.close()
        raise
    return store


def _bring_up_to_date(store: Store, *, create: bool) -> None:
    with store.queue_if_new(), store.engine.connect() as connection, connection.begin():
        todo = pending(connection)
        is_new = bool(todo) and todo[0].number == 1
    if not todo:
        return
    if is_new and not create:
        where = store.address
        raise BadStore("this database holds no steelyard store", where=where, hint="steelyard arena init makes one")
    with store.write() as connection:
        if not store.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MIGRATION_LOCK})
        migrate(connection)
