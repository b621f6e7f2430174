"""SQLite files in which a tool keeps its sessions, read as they are and never written.

Not even SQLite's own files next to a store are created. The schema is hostile input: only plain columns of
plain tables are read, so nothing that it declares (views, virtual tables, generated columns, functions) is ever run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from shutil import copyfile
from typing import Any
from urllib.parse import quote

from steelyard.errors import UnreadableFileError
from steelyard.scratch import scratch_folder
from steelyard.settings import LINE_BYTES

STEPS_AT_ONCE = 1_000_000
MAX_STEPS = 20_000
"""A store of ten million parts takes some hundred of these; a schema made to run for ever is stopped."""
Cell = bytes | int | float | None
_COLUMNS = """
SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_xinfo(m.name) AS c
WHERE m.type = 'table' AND m.rootpage > 0 AND c.hidden = 0
"""
"""Virtual tables have no page of their own; generated columns are hidden."""


class SqliteStore:
    """Open store; any error in it is raised as UnreadableFileError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._steps = 0
        with ExitStack() as opened, _StoreErrors(self._path):
            address = self._address(opened)
            self._connection = opened.enter_context(closing(sqlite3.connect(address, uri=True)))
            self._connection.text_factory = bytes
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(LINE_BYTES.most, 10**9))
            self._connection.set_progress_handler(self._stepped, STEPS_AT_ONCE)
            # An index on an expression (Kilo has one) makes SQLite reject the whole schema otherwise.
            self._connection.execute("PRAGMA trusted_schema = ON")
            self.tables = self._tables()
            self._connection.set_authorizer(self._allowed)
            self._opened = opened.pop_all()

    def _address(self, opened: ExitStack) -> str:
        """How SQLite is to open the store: with nothing waiting in its log, the file is all there is."""
        path, waiting = self._path, Path(f"{self._path}-wal")
        if not waiting.exists() or not waiting.stat().st_size:
            return f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        if not Path(f"{path}-shm").exists():  # no process has it open; SQLite would create that file and leave it there
            folder = opened.enter_context(scratch_folder())
            path = Path(copyfile(path, folder / path.name))
            copyfile(waiting, f"{path}-wal")
        return f"file:{quote(str(path.resolve()))}?mode=ro"

    def _tables(self) -> dict[str, frozenset[str]]:
        tables: dict[str, set[str]] = {}
        for table, column in self._connection.execute(_COLUMNS):
            tables.setdefault(table.decode("utf-8", "replace"), set()).add(column.decode("utf-8", "replace"))
        return {table: frozenset(columns) for table, columns in tables.items()}

    def rows(self, table: str, columns: Sequence[str], *, order: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
        """The rows with these columns; a column that the store does not have is empty."""
        there = self.tables.get(table, frozenset())
        wanted = ", ".join(f'"{name}"' if name in there else "NULL" for name in columns)
        ordered = ", ".join(f'"{name}"' for name in order if name in there) or "1"
        query = f'SELECT {wanted} FROM "{table}" ORDER BY {ordered}'  # noqa: S608 # names that our own formats give
        with _StoreErrors(self._path), closing(self._connection.execute(query)) as rows:
            yield from rows

    def close(self) -> None:
        """Let go of the file."""
        self._opened.close()

    def _allowed(self, action: int, table: str | None, column: str | None, *_: Any) -> int:  # Any: names of no use here
        """Whether a query may do this: only reading the plain columns of plain tables."""
        plain = action == sqlite3.SQLITE_READ and (not column or column in self.tables.get(table or "", ()))
        return sqlite3.SQLITE_OK if plain or action == sqlite3.SQLITE_SELECT else sqlite3.SQLITE_DENY

    def _stepped(self) -> bool:
        self._steps += 1
        return self._steps > MAX_STEPS


class _StoreErrors:
    """Context that turns SQLite's errors into UnreadableFileError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, (sqlite3.Error, UnicodeDecodeError)):  # a complaint may quote what is no text
            name = self._path.name
            hint = f"close the tool that uses it, or copy {name} together with {name}-wal and read the copy"
            raise UnreadableFileError(str(self._path), f"cannot read the database: {error}", hint=hint) from error
