"""What goes on beside the tests, found by an argument that only one command line has."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def alive(marker: str) -> list[str]:
    """The programs that run with the marker among their arguments."""
    return list(_found(marker).values())


def end(marker: str) -> None:
    """End what still runs with the marker among its arguments."""
    for process in _found(marker):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _found(marker: str) -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            line = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if entry.name.isdigit() and marker in line:
                found[int(entry.name)] = line[0]
    return found


def until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to it")
