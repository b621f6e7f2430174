"""Submits to an arena that learns, killed before its n-th statement or after some moments, until all is in.

Run as a program of its own, so that it can fork cheaply: python tests/support/arena_model_kill.py ADDRESS COUNT
Prints how often it was killed by the statement and by the moment.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from sqlalchemy import event
from sqlalchemy.engine import Engine

from model_arenas import made_submissions
from steelyard.arena import fit_if_due, open_arena
from steelyard.store import open_store


def submit(address: str, count: int, last: int | None) -> None:
    """Submit all of them in one batch, and be killed before the statement of that number."""
    arena = open_arena(open_store(address, create=False))
    arena.fitter = fit_if_due
    seen = 0

    def count_statement(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count_statement)
    event.listen(Engine, "commit", count_statement)
    arena.submit(made_submissions(count))
    arena.submit(made_submissions(1))  # whoever comes next learns what a kill left


def main(address: str, count: int) -> None:
    kills, last, pause, status = [0, 0], 1, 0.02, -signal.SIGKILL
    while status == -signal.SIGKILL:
        is_timed = sum(kills) % 2
        child = os.fork()
        if child == 0:
            try:
                submit(address, count, None if is_timed else last)
                os._exit(0)
            finally:
                os._exit(1)
        if is_timed:
            time.sleep(pause)
            os.kill(child, signal.SIGKILL)
            pause *= 1.2
        else:
            last += 4
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        kills[is_timed] += status == -signal.SIGKILL
    if status:
        sys.exit(f"failed after {kills} kills")
    print(*kills)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
