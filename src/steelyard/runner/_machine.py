"""Who may use this machine: trials run side by side, and measuring wants it for itself.

A lock of the kernel on one file a user: it is gone with the process that held it, however that ended.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import UsageError


@contextmanager
def trials_running() -> Iterator[None]:
    """Lock held while trials run here; fails while speed is measured."""
    message = "speed is being measured on this machine, and trials would distort the timings"
    with _locked(fcntl.LOCK_SH, message):
        yield


@contextmanager
def measuring() -> Iterator[None]:
    """Lock held while speed is measured here; fails while trials run."""
    message = "trials are running on this machine and would distort the timings"
    with _locked(fcntl.LOCK_EX, message):
        yield


@contextmanager
def _locked(kind: int, message: str) -> Iterator[None]:
    path = Path(tempfile.gettempdir(), f"steelyard-{os.getuid()}.lock")
    # Others may write to that folder: a link of theirs is not followed, and nothing is written to the file.
    handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(message, hint="wait until they end, then run the same command again") from None
        yield
    finally:
        os.close(handle)
