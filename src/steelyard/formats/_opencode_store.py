"""opencode's own store: a SQLite file with sessions, messages and their parts, each row's content as JSON.

It is read as it stands and never written: not even the files that SQLite itself keeps beside a store are made.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from steelyard.errors import UnreadableFile
from steelyard.settings import LINE_BYTES

STEPS_AT_ONCE = 1_000_000
MOST_STEPS = 20_000
"""A store of ten million parts takes some hundred of these; a schema made to run for ever is stopped."""
Row = tuple[bytes, bytes, bytes]
"""An id, the session's id and the content."""


class Store:
    """An open store; what is wrong with it is told as one unreadable file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # With nothing waiting in its log the file is all there is, and SQLite need not make a lock beside it.
        waiting = Path(f"{path}-wal")
        pending = waiting.exists() and waiting.stat().st_size > 0
        address = f"file:{quote(str(path.resolve()))}?mode=ro{'' if pending else '&immutable=1'}"
        self._steps = 0
        with self._told():
            self._connection = sqlite3.connect(address, uri=True)
            self._connection.text_factory = bytes
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(LINE_BYTES.most, 10**9))
            self._connection.set_progress_handler(self._stepped, STEPS_AT_ONCE)
            self._connection.execute("PRAGMA trusted_schema = OFF")

    def sessions(self) -> Iterator[tuple[bytes, bytes | None, bytes | None]]:
        """Id, parent's id and folder of each session."""
        yield from self._rows("SELECT id, parent_id, directory FROM session ORDER BY id")

    def messages(self) -> Iterator[Row]:
        """Messages, those of a session together and in order."""
        yield from self._rows("SELECT id, session_id, data FROM message ORDER BY session_id, time_created, id")

    def parts(self) -> Iterator[Row]:
        """Parts of messages, those of a session together and in order."""
        yield from self._rows("SELECT id, session_id, data FROM part ORDER BY session_id, time_created, id")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _stepped(self) -> bool:
        self._steps += 1
        return self._steps > MOST_STEPS

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:  # Any: bytes, and None where a column may be empty
        with self._told(), closing(self._connection.execute(query)) as rows:
            for row in rows:
                if all(cell is None or isinstance(cell, bytes) for cell in row):
                    yield row

    def _told(self) -> _Told:
        return _Told(self._path)


class _Told:
    """Turns SQLite's complaints into ours."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            hint = "close opencode, or copy opencode.db together with opencode.db-wal, and read the copy"
            raise UnreadableFile(str(self._path), f"the store cannot be read: {error}", hint=hint) from error
