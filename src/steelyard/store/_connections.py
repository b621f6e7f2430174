"""Store URLs, connections, and the lock file for SQLite writers."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError

from steelyard.errors import MissingExtraError, StoreError
from steelyard.records import is_storable


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


if sys.platform != "win32":  # Windows has no flock; SQLite's busy timeout is the only queue
    import fcntl


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
    # with synchronous=NORMAL a power cut may take back what was acknowledged
    return _connect(path, "mode=rwc", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


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
