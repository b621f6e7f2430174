"""Temporary directories. Those of a killed process are removed by the next.

Each process locks its directory until it is removed; the system releases the lock when the process ends, however
it ends. A process that gets the lock therefore knows that the owner is dead, even if its process id was reused.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

if sys.platform != "win32":  # Windows has no such lock: what is left there stays
    import fcntl

PREFIX = "steelyard-scratch-"
_OURS = re.compile(rf"{PREFIX}\w{{8}}")
_TRIES, _PAUSE_SECONDS = 50, 0.02
_LEFTOVER_SECONDS = 5.0
"""How long the start of a process may take to remove what others left."""
_THREADS, _MANY_FOLDERS = 16, 200
"""On some systems a process waits a few milliseconds to remove a directory, and many threads wait no longer."""
_locks: dict[Path, int] = {}


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder of its own while the block runs."""
    folder = make_scratch()
    try:
        yield folder
    finally:
        remove_scratch(folder)


def make_scratch(parent: Path | None = None) -> Path:
    """A new folder that only its owner may enter; to be removed by `remove_scratch`.

    In a folder of the caller's own, what a killed process leaves is the caller's to remove.
    """
    if parent is None:
        parent = Path(tempfile.gettempdir())
        _remove_leftovers(parent)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        with contextlib.suppress(FileNotFoundError):
            lock = _locked(folder, wait=True)
            if lock is not None:
                _locks[folder] = lock
            return folder
        # Another starting process removed it before it was locked.


def remove_scratch(folder: Path, *, max_seconds: float | None = None) -> None:
    """Remove the folder however deep it is: deeper than recursion goes, and than the system takes as a path.

    A command that was killed may write on for a moment, so this is tried more than once. What then still cannot be
    removed, or not within `max_seconds`, is left: the result matters more. The next `make_scratch` tries again.
    """
    lock = _locks.pop(folder, None)
    until = None if max_seconds is None else time.monotonic() + max_seconds
    try:
        for _ in range(_TRIES):
            if _removed(folder, until):
                return
            if _is_past(until):
                _remove_leftovers.cache_clear()
                return
            time.sleep(_PAUSE_SECONDS)
    finally:
        if lock is not None:
            os.close(lock)


@cache
def _remove_leftovers(parent: Path) -> None:
    """Remove what dead processes of this user left there: once in the life of a process, or after it left something."""
    until = time.monotonic() + _LEFTOVER_SECONDS
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        names = [entry.name for entry in entries if _OURS.fullmatch(entry.name)]
        for folder in (parent / name for name in names):
            with contextlib.suppress(OSError):
                lock = _locked(folder, wait=False)
                if lock is not None:
                    try:
                        _removed(folder, until)
                    finally:
                        os.close(lock)


def _locked(folder: Path, *, wait: bool) -> int | None:
    """Return a descriptor that locks the folder; None if another process or user has it, or without locks.

    FileNotFoundError if the folder is gone: the previous holder may have removed it.
    """
    if sys.platform == "win32":
        return None
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        is_locked = os.fstat(lock).st_uid == os.geteuid() and _lock(lock, wait=wait)
        if not os.path.samestat(os.fstat(lock), os.lstat(folder)):
            raise FileNotFoundError(folder)
    except OSError:
        os.close(lock)
        raise
    if not is_locked:
        os.close(lock)
        return None
    return lock


def _lock(opened: int, *, wait: bool) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # it is in use, or this file system has no locks
        return False
    return True


def _removed(folder: Path, until: float | None = None) -> bool:
    """Whether the folder is gone after one attempt, which ends at `until`."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            shutil.rmtree(folder)
        else:
            _empty(folder, until)
            folder.rmdir()
    return not folder.exists()


def _is_past(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until


def _empty(root: Path, until: float | None) -> None:
    """Take everything out of the folder. Each inner folder is first moved up to it, so that no path grows."""
    errors: list[OSError] = []
    at_root = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        waiting = deque(_clear(at_root, at_root, until))

        def remove_waiting(most: int | None = None) -> None:
            try:
                while waiting and not errors and (most is None or (most := most - 1) >= 0):
                    _remove_inner(waiting, at_root, until)
            except OSError as error:
                errors.append(error)

        while waiting and not errors:
            helpers = [threading.Thread(target=remove_waiting) for _ in range(_THREADS - 1)]
            helpers = helpers if len(waiting) > _MANY_FOLDERS else []
            for helper in helpers:
                helper.start()
            remove_waiting(None if helpers else _MANY_FOLDERS)
            for helper in helpers:
                helper.join()
    finally:
        os.close(at_root)
    if errors:
        raise errors[0]


def _remove_inner(waiting: deque[str], at_root: int, until: float | None) -> None:
    """Remove one of the folders that were moved to the root; those in it wait from now on."""
    try:
        name = waiting.pop()
    except IndexError:  # another thread took the last one
        return
    here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at_root)
    try:
        waiting += _clear(here, at_root, until)
    finally:
        os.close(here)
    os.rmdir(name, dir_fd=at_root)


def _clear(here: int, at_root: int, until: float | None) -> list[str]:
    """Unlink the folder's files and move its folders to the root; the names these have there."""
    moved: list[str] = []
    with os.scandir(here) as entries:
        listed = list(entries)
    for entry in listed:
        if _is_past(until):
            raise TimeoutError
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=here)
            continue
        _open_up(entry.name, here)
        moved.append(f"removed-{os.urandom(16).hex()}")  # a name that neither a command nor an earlier try has chosen
        os.rename(entry.name, moved[-1], src_dir_fd=here, dst_dir_fd=at_root)
    return moved


def _open_up(name: str, here: int) -> None:
    """Let its owner into a folder that was closed to all; never what a link in its place leads to."""
    if not sys.platform.startswith("linux"):  # no untrusted code runs elsewhere
        os.chmod(name, 0o700, dir_fd=here)
        return
    folder_fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
    try:
        os.chmod(f"/proc/self/fd/{folder_fd}", 0o700)
    finally:
        os.close(folder_fd)
