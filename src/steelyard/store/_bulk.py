"""Bulk writes: many rows per statement, and a thread that writes them while the main thread prepares rows.

Rows are passed directly to the driver, because building SQLAlchemy's parameters took longer than writing the rows.
Databases write without the GIL, so the thread does not hold up the main one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import NoneType
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Boolean, Column, Table
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

Given = ParamSpec("Given")
Result = TypeVar("Result")


class BackgroundWriter:
    """Connection whose work runs in another thread, or immediately if there is none."""

    def __init__(self, connection: Connection, pool: ThreadPoolExecutor | None) -> None:
        self._connection = connection
        self._pool = pool
        self._waiting: list[Future[None]] = []

    def later(
        self,
        work: Callable[Concatenate[Connection, Given], None],
        /,
        *given: Given.args,
        **named: Given.kwargs,
    ) -> None:
        """Run the work after all earlier work."""
        if self._pool is None:
            work(self._connection, *given, **named)
        else:
            self._waiting.append(self._pool.submit(work, self._connection, *given, **named))

    def now(
        self,
        work: Callable[Concatenate[Connection, Given], Result],
        /,
        *given: Given.args,
        **named: Given.kwargs,
    ) -> Result:
        """Run the work after all earlier work and return its result."""
        if self._pool is None:
            return work(self._connection, *given, **named)
        return self._pool.submit(work, self._connection, *given, **named).result()

    def finish(self) -> None:
        """Wait until all work is done; raise the first error."""
        for future in self._waiting:
            future.result()


@contextmanager
def background_writer(connection: Connection, *, is_worth_it: bool = True) -> Iterator[BackgroundWriter]:
    """Lend the connection to a thread if that is worthwhile; all work is done when the block ends.

    When the block fails, what has not begun is left undone: the caller's transaction is not kept anyway.
    """
    if not is_worth_it:
        yield BackgroundWriter(connection, None)
        return
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="steelyard-writes")
    try:
        lent = BackgroundWriter(connection, pool)
        yield lent
        lent.finish()
    finally:
        pool.shutdown(cancel_futures=True)


PARAMETERS_AT_ONCE = 32_000
"""Values in one statement. Many rows in each are quicker than one, and other threads run meanwhile."""


COPY_FROM = 100
"""Minimum number of rows for COPY in PostgreSQL."""


_AS_NUMBER = {True: 1, False: 0, None: None}


def insert_columns(
    connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]], *, adding: bool = False
) -> None:
    """Insert rows given as columns of the same length; where a key is there, `adding` adds to it. Any: column values.

    A key may be given once.
    """
    count = len(next(iter(columns.values())))
    if connection.dialect.name != "postgresql":
        _insert_at_once(connection, table, columns, count, adding=adding)
    elif adding:
        _insert_arrays(connection, table, columns)
    elif count < COPY_FROM:
        connection.exec_driver_sql(
            _insertion(connection, table, list(columns)), list(zip(*columns.values(), strict=True))
        )
    else:
        _copy(connection, table, columns)


def _insert_at_once(
    connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]], count: int, *, adding: bool
) -> None:
    """Insert into SQLite with few values handed over: the driver takes them one by one, and holds up other threads.

    What is the same in all rows goes over once, by its number. Any: column values.
    """
    same: dict[str, Any] = {}
    differing: dict[str, Sequence[Any]] = {}
    for name, column in columns.items():
        # Of all types the driver takes booleans by far the slowest.
        values = [*map(_AS_NUMBER.__getitem__, column)] if isinstance(table.c[name].type, Boolean) else column
        if values.count(values[0]) < count or not isinstance(values[0], (int, str, NoneType)):
            differing[name] = values
        elif values[0] is not None:
            same[name] = values[0]
    marks = [f"?{place}" for place in range(1, len(same) + 1)]
    width = len(differing)
    most = max(1, (min(PARAMETERS_AT_ONCE, _parameter_limit(connection)) - len(same)) // max(width, 1))
    conflict = _addition(connection, table, columns) if adding else ""
    for start in range(0, count, most):
        rows = min(most, count - start)
        flat: list[Any] = [None] * (rows * width)
        for place, column in enumerate(differing.values()):
            flat[place::width] = column[start : start + rows]
        text = _insertion(connection, table, [*same, *differing], rows=rows, fixed=marks)
        connection.exec_driver_sql(text + conflict, (*same.values(), *flat))


def _parameter_limit(connection: Connection) -> int:
    driver: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]  # we are on SQLite
    return driver.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)


def _insert_arrays(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> None:
    """Add to rows of PostgreSQL, whose stream knows no conflicts: each column goes over as one array."""
    quote = connection.dialect.identifier_preparer.quote
    listed = ", ".join(quote(table.c[name].name) for name in columns)
    arrays = ", ".join(f"%s::{table.c[name].type.compile(connection.dialect)}[]" for name in columns)
    text = f"INSERT INTO {quote(table.name)} ({listed}) SELECT * FROM unnest({arrays})"  # noqa: S608 - our own names
    connection.exec_driver_sql(text + _addition(connection, table, columns), tuple(map(list, columns.values())))


def _copy(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> None:
    quote = connection.dialect.identifier_preparer.quote
    listed = ", ".join(quote(table.c[name].name) for name in columns)
    text = f"COPY {quote(table.name)} ({listed}) FROM STDIN"
    cursor: Any = connection.connection.cursor()  # Any: psycopg, which is an extra
    driver: Any = connection.dialect.dbapi  # Any: as above
    try:
        with cursor.copy(text) as copying:
            for row in zip(*columns.values(), strict=True):
                copying.write_row(row)
    except driver.Error as error:
        # As SQLAlchemy would raise it: a key that another took meanwhile is tried again.
        raise DBAPIError.instance(text, None, error, driver.Error, dialect=connection.dialect) from error
    finally:
        cursor.close()


def _insertion(
    connection: Connection, table: Table, columns: Sequence[str], *, rows: int = 1, fixed: Sequence[str] = ()
) -> str:
    """Return the statement that inserts `rows` rows, the first columns with `fixed` parameters."""
    quote = connection.dialect.identifier_preparer.quote
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    names = ", ".join(quote(table.c[name].name) for name in columns)
    row = f"({', '.join([*fixed, *[mark] * (len(columns) - len(fixed))])})"
    return f"INSERT INTO {quote(table.name)} ({names}) VALUES {', '.join([row] * rows)}"  # noqa: S608 - our own names


def _addition(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> str:
    """What follows an insertion so that a key that is there has the other columns added to."""
    quote = connection.dialect.identifier_preparer.quote
    keys = [column.name for column in table.primary_key.columns]
    others = [quote(table.c[name].name) for name in columns if name not in keys]
    changes = [f"{name} = {quote(table.name)}.{name} + excluded.{name}" for name in others]
    return f" ON CONFLICT ({', '.join(map(quote, keys))}) DO UPDATE SET {', '.join(changes)}"


def look_up(connection: Connection, key: Column[Any], value: Column[Any], wanted: Sequence[str]) -> dict[str, Any]:
    """Return the value of each existing key, for any number of keys. Any: column values."""
    if not wanted:
        return {}
    quote = connection.dialect.identifier_preparer.quote
    table, name = quote(key.table.name), quote(key.name)
    text = f"SELECT {table}.{name}, {table}.{quote(value.name)} FROM "  # noqa: S608 - our own names
    if connection.dialect.name == "postgresql":
        rows = connection.exec_driver_sql(f"{text}{table} WHERE {name} = ANY(%s)", (list(wanted),))
    else:  # as a join, SQLite goes from key to key; with IN it would sort them first
        text += f"json_each(?) AS wanted CROSS JOIN {table} ON {table}.{name} = wanted.value"
        rows = connection.exec_driver_sql(text, (json.dumps(list(wanted)),))
    return {row[0]: row[1] for row in rows}
