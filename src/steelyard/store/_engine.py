"""SQLAlchemy engines, set up so that a commit survives a crash and writers do not starve each other."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, Connection

from steelyard.errors import MissingExtra
from steelyard.store._url import file_address

BUSY_MILLISECONDS = 30_000


def make_engine(url: URL) -> Engine:
    """An engine for the store. Nothing is opened before the first connection."""
    if url.get_backend_name() == "postgresql":
        if importlib.util.find_spec("psycopg") is None:
            raise MissingExtra("psycopg", extra="postgres", purpose="a store on PostgreSQL")
        return create_engine(url, pool_pre_ping=True)
    engine = create_engine(_readable(url), connect_args={"timeout": BUSY_MILLISECONDS / 1000})
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _readable(url: URL) -> URL:
    """The same file, opened for reading only where this user may not write: WAL mode would want to write beside it."""
    path = Path(url.database or "")
    if not path.exists() or is_writable(path):
        return url
    query = {"uri": "true", "mode": "ro"}
    log = Path(f"{path}-wal")
    if not log.exists() or log.stat().st_size == 0:  # else what stands in the log would be left out
        query["immutable"] = "1"
    return url.set(database=file_address(path), query=query)


def is_writable(path: Path) -> bool:
    """Whether this user may write the file, and others beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _set_up_sqlite(connection: Any, _record: Any) -> None:  # Any: SQLAlchemy hands over the driver's own objects
    connection.isolation_level = None  # the driver would open transactions late; `_begin_sqlite` opens them
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")  # under NORMAL a power cut may take back what was acknowledged
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA temp_store=MEMORY")
    cursor.execute("PRAGMA cache_size=-65536")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later could not be retried by SQLite: writers take the lock at once.
    writes = connection.get_execution_options().get("steelyard_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
