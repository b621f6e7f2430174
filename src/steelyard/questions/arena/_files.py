"""Files whose records are sent to an arena."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from steelyard.errors import UnreadableFileError
from steelyard.records import Finding, Rejected
from steelyard.settings import shown_path

Record = TypeVar("Record")


def or_rejected(path: Path, items: Iterator[Record | Rejected]) -> Iterator[Record | Rejected]:
    """Yield the items; an unreadable file becomes one rejection."""
    try:
        yield from items
    except UnreadableFileError as error:
        yield Rejected(path=str(shown_path(path)), reason=error.message, hint=error.hint, code="unreadable_file")


def no_records(what: str, path: Path) -> Finding:
    """Return the finding for a file or directory without records."""
    kind = "directory" if path.is_dir() else "file"
    return Finding(code="no_records", message=f"the {kind} contains no {what}", where=str(shown_path(path)))
