"""A file lock taken before SQLite is asked to write.

SQLite's own waiting is unfair: with four busy writers some wait past any reasonable timeout and fail with "database is
locked". Queueing on a lock of the operating system first gave no failure in the same trial. The kernel drops the lock
when its holder dies, however it dies.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":  # Windows has no such lock; SQLite's busy timeout is then the only queue
    import fcntl


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file at `path` while the block runs. Threads queue like processes: each opens the file anew."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
