"""The one way to open a path that a user named."""

from __future__ import annotations

import errno
import os
import stat
from io import FileIO
from pathlib import Path
from typing import IO

from steelyard.errors import UnreadableFileError


def open_file(path: Path, *, buffered: bool = True) -> IO[bytes]:
    """The file for reading."""
    handle, _ = open_handle(path)
    return os.fdopen(handle, "rb") if buffered else FileIO(handle)


def open_handle(path: Path) -> tuple[int, os.stat_result]:
    """The file's descriptor for reading, for a caller who closes it, and its state.

    A pipe, which would be waited for, or a device, which may have no end, is rejected.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    status = os.fstat(handle)
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return handle, status
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a device"
    raise UnreadableFileError(str(path), f"is {kind}, not a regular file", hint="pipe it to stdin and pass -")
