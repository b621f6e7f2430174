"""Stores: URLs, connections, transactions, and numbered migrations of the schema.

Migrations are modules `m<number>_<name>` with `upgrade(connection)` in the package `migrations`. A released migration
is never edited and has its own copy of the tables it uses: `schema.py` is the current schema and keeps changing. A new
store is created by running all migrations, so that it equals an upgraded one.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
import shlex
import shutil
import sqlite3
import sys
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from sqlalchemy import Engine, Table, create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, OperationalError, ProgrammingError

if sys.platform != "win32":  # Windows has no flock; SQLite's busy timeout is the only queue
    import fcntl

from steelyard.errors import (
    DeclarationError,
    MissingExtraError,
    StoreError,
    StoreUnavailableError,
    UnsupportedValueError,
    UsageError,
)
from steelyard.records import is_storable, now_microseconds
from steelyard.store import migrations as migration_package
from steelyard.store.schema import applied


def read_url(text: str) -> URL:
    """Parse a store URL: `sqlite:///FILE` or `postgresql://USER@HOST/NAME`."""
    if not is_storable(text):
        raise StoreError("the store URL is not valid UTF-8", where=repr(text)[:200], hint="use another file name")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        # a URL may contain a password: do not repeat it
        hint = "use sqlite:///FILE or postgresql://HOST/NAME" if "://" in text else f"for a file: sqlite:///{text}"
        raise StoreError("invalid store URL", hint=hint) from error
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise StoreError("in-memory stores are not supported", hint="use a file: sqlite:///steelyard.db")
        if url.query:
            raise StoreError(
                "query parameters are not supported in SQLite URLs",
                hint="write %3F for a question mark in the file name",
            )
        return url.set(drivername="sqlite+pysqlite")
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(
        f"unsupported database {url.get_backend_name()!r}", hint="use sqlite:///FILE or postgresql://HOST/NAME"
    )


def shown(url: URL) -> str:
    """Return the URL without a password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def file_address(path: Path) -> str:
    """Return the SQLite file URI of a path."""
    return f"file:{quote(str(path.absolute()))}"


def lock_path(url: URL) -> Path | None:
    """Return the lock file of a SQLite file; None for a server, which queues writers itself."""
    if url.get_backend_name() != "sqlite" or url.database is None:
        return None
    return Path(url.database + ".lock")


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Lock the file at `path` while the block runs. Threads queue like processes: each opens the file itself."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


BUSY_MILLISECONDS = 30_000


def make_engines(url: URL) -> tuple[Engine, Engine]:
    """Return the reading and the writing engine. Nothing is opened before the first connection."""
    if url.get_backend_name() == "postgresql":
        if importlib.util.find_spec("psycopg") is None:
            raise MissingExtraError("psycopg", extra="postgres", purpose="a store on PostgreSQL")
        engine = create_engine(url, pool_pre_ping=True)
        return engine, engine
    path = Path(url.database or "")
    reading = create_engine(url, creator=partial(connect_for_reading, path))
    event.listen(reading, "begin", _begin_reading)
    writing = create_engine(url, creator=partial(_connect_for_writing, path))
    event.listen(writing, "begin", _begin_writing)
    return reading, writing


def is_writable(path: Path) -> bool:
    """Return whether this user can write the file and its directory."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def connect_for_reading(path: Path) -> sqlite3.Connection:
    """Connect to an existing file without changing the file or its WAL.

    An ordinary connection moves the log to the file when it is the last to close, and one that is
    opened with `mode=ro` leaves an empty log behind where there was none: which of the two is used depends on the log.
    """
    if not is_writable(path):
        # Without a log there is no writer, and SQLite need not create files; with one, it must be read too.
        return _connect(path, "mode=ro" if _has_log(path) else "mode=ro&immutable=1")
    return _connect(path, "mode=ro" if _has_log(path) else "mode=rw", "query_only=ON")


def _connect_for_writing(path: Path) -> sqlite3.Connection:
    if path.exists() and not is_writable(path):
        return connect_for_reading(path)  # the first write fails with the reason
    with suppress(OSError):  # SQLite would let all users read it, and names errors itself
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    # with synchronous=NORMAL a power cut may take back what was acknowledged
    return _connect(path, "mode=rwc", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def _has_log(path: Path) -> bool:
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except FileNotFoundError:  # the last connection to close removes it, at any time
        return False


def _connect(path: Path, mode: str, *pragmas: str) -> sqlite3.Connection:
    timeout = BUSY_MILLISECONDS / 1000
    # The driver would open transactions late; the engines' own listeners open them.
    connection = sqlite3.connect(
        f"{file_address(path)}?{mode}", uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    try:
        for pragma in ("temp_store=MEMORY", "cache_size=-65536", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:  # a file that is no database shows itself only now
        connection.close()
        raise
    return connection


def _begin_reading(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _begin_writing(connection: Connection) -> None:
    # A transaction that reads first and writes later could not be retried by SQLite: writers take the lock at once.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


MIGRATION_LOCK = 7_301_905_142
"""PostgreSQL advisory lock that serializes migrations."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Numbered step of the schema. Its module is imported only when it runs."""

    number: int
    name: str

    def upgrade(self, connection: Connection) -> None:
        """Change the schema inside the caller's transaction."""
        importlib.import_module(f"{migration_package.__name__}.m{self.number:04}_{self.name}").upgrade(connection)


def migrations() -> list[Migration]:
    """Return all migrations, ordered by number."""
    by_number: dict[int, Migration] = {}
    for info in pkgutil.iter_modules(migration_package.__path__):
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


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """Result of an upgrade."""

    address: str
    version: int
    """Schema version before the upgrade."""
    migrations: tuple[Migration, ...]
    """Applied migrations, in order; empty if the store was up to date."""
    copy: Path | None
    """Copy of the file before the upgrade; None if nothing was applied, and on a server."""


def upgrade_store(address: str, *, progress: Callable[[Migration], None] | None = None) -> UpgradeResult:
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
    return UpgradeResult(store.address, version, tuple(done), copies[0] if copies else None)


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
