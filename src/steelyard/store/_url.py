"""What a user may write after `--store`, and the engine it means."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from steelyard.errors import BadStore
from steelyard.records import is_storable


def read_url(text: str) -> URL:
    """The store's address: `sqlite:///file` or `postgresql://user@host/name`; anything else is refused."""
    if not is_storable(text):
        raise BadStore("the address of a store is text in UTF-8", where=repr(text)[:200], hint="name another file")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise BadStore("this is not the address of a store", hint="sqlite:///file or postgresql://host/name") from error
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise BadStore(
                "a store in memory is lost when the command ends", hint="name a file: sqlite:///steelyard.db"
            )
        return url.set(drivername="sqlite+pysqlite")
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise BadStore(
        f"there is no store of kind {url.get_backend_name()!r}", hint="sqlite:///file or postgresql://host/name"
    )


def shown(url: URL) -> str:
    """The address as its user writes it, without a password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def file_address(path: Path) -> str:
    """The file as SQLite's own addresses write it, which take settings behind a question mark."""
    return f"file:{quote(str(path.absolute()))}"


def lock_path(url: URL) -> Path | None:
    """The lock file beside a SQLite file; None for a server, which queues writers itself."""
    if url.get_backend_name() != "sqlite" or url.database is None:
        return None
    return Path(url.database + ".lock")
