"""Excludes a submission and reinstates it, killed at the first statement, then at the second, until it gets through.

Run as a program of its own, so that it can fork cheaply: python tests/support/arena_review_kill.py ADDRESS SUBMISSION
Prints how many statements the two decisions took together.
"""

from __future__ import annotations

import os
import sys

from sqlalchemy import event
from sqlalchemy.engine import Engine

from steelyard.arena import Decision, open_arena
from steelyard.store import open_store


def decide(address: str, submission: str, decision: Decision, last: int) -> None:
    """Decide, and end without a word before the statement of that number; status 0 when there are fewer."""
    arena = open_arena(open_store(address, create=False))
    seen = 0

    def count(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == last:
            os._exit(9)

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)
    arena.decide(submission, decision, by="rev", reason="odd")
    os._exit(0)


def main(address: str, submission: str) -> None:
    total = 0
    decisions: tuple[Decision, ...] = ("excluded", "reinstated")
    for decision in decisions:
        statement, status = 0, 9
        while status == 9:
            statement += 1
            child = os.fork()
            if child == 0:
                try:
                    decide(address, submission, decision, statement)
                finally:
                    os._exit(1)
            status = os.waitstatus_to_exitcode(os.wait()[1])
        if status:
            sys.exit(f"{decision} failed before statement {statement}")
        total += statement - 1
    print(total)


if __name__ == "__main__":
    main(*sys.argv[1:])
