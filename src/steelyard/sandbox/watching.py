"""How much a running command uses, seen from outside."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

_MOST_FILES = 20_000
"""More files than this count as a full disk: an endless row of empty ones fills it too."""
_LONGEST_PATH = 2_000
"""So do folders further down than this: beyond twice as much the system takes no path, and nobody could look."""


def descendants(pid: int) -> Iterator[int]:
    """The process and all it started, as far as they live."""
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        yield current
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{current}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{current}/task/{task}/children", "rb") as listed:
                    waiting += [int(child) for child in listed.read().split()]


def memory_bytes(pid: int) -> int:
    """Resident memory of the process and all it started that is not a file's; 0 when it has ended."""
    total = 0
    for process in descendants(pid):
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{process}/status", "rb") as status:
            for line in status:
                if line.startswith((b"RssAnon:", b"RssShmem:")):
                    total += int(line.split()[1]) * 1024
    return total


def disk_bytes(folder: Path, *, most: int | None) -> int:
    """Space that the folder's files take; counting stops once it is more than `most`, or cannot go on."""
    total = seen = 0
    waiting = [str(folder)]
    longest = len(waiting[0]) + _LONGEST_PATH
    while waiting:
        here = waiting.pop()
        found = _entries(here) if len(here) <= longest else None
        if found is None and most is not None:
            return most + 1
        for entry in found or ():
            seen += 1
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
        if most is not None and (total > most or seen > _MOST_FILES):
            return max(total, most + 1)
    return total


def _entries(folder: str) -> list[os.DirEntry[str]] | None:
    """What lies in the folder, nothing when it is gone; None when it may not be looked into."""
    try:
        with os.scandir(folder) as found:
            return list(itertools.islice(found, _MOST_FILES + 1))
    except FileNotFoundError:
        return []
    except OSError:
        return None
