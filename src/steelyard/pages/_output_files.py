"""Where results are written. Asked before the work, so that no long work ends at a folder that is not there."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import UsageError


def check_file(path: Path, *, endings: Collection[str] = ()) -> None:
    """Reject a file with an unknown extension or in a folder that does not exist."""
    if endings and path.suffix.lower() not in endings:
        *most, last = (f".{ending.removeprefix('.')}" for ending in endings)
        hint = f"end it with {', '.join(most)} or {last}"
        raise UsageError(f"unsupported file type: {path.name!r}", hint=hint)
    if path.is_dir():
        raise UsageError(f"{path} is a directory", hint="specify a file in it")
    _check_place(path)


def check_folder(path: Path) -> None:
    """Reject a folder that can be neither written to nor created."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file", hint="specify a directory")
    _check_place(path)


def _check_place(path: Path) -> None:
    if not path.parent.is_dir():
        raise UsageError(
            f"no such directory: {path.parent}", where=str(path), hint=f"create it: mkdir -p {path.parent}"
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: permission denied", hint="choose another path")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What goes wrong with the file while it is written, as one kind of error."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
