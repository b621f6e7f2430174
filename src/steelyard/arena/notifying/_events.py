"""The outbox: one event for each evaluation, written with the submissions it tells of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring import points
from steelyard.records import iso
from steelyard.results import ArenaEvent
from steelyard.store import insert_columns
from steelyard.store.schema import outbox, submissions, tasks

EVALUATED = "submission.evaluated"
KINDS = {EVALUATED: "a submission was accepted and scored"}
"""The kinds of events that there are, and when one comes to be."""

EVENTS_AT_ONCE = 100
"""Events that are read in one question."""


def event_id(kind: str, submission_id: str) -> str:
    """The id of an event: made from what it tells of.

    >>> event_id("submission.evaluated", "a") == event_id("submission.evaluated", "a")
    True
    """
    return hashlib.sha256(f"{kind}\0{submission_id}".encode()).hexdigest()[:40]


def write_events(connection: Connection, columns: Mapping[str, Sequence[Any]], now: int) -> None:
    """Put one event for each evaluation into the outbox, in the transaction of the submissions. Any: column values."""
    count = len(columns["task_key"])
    same = {"kind": EVALUATED, "created_at": now, "due_at": now, "is_settled": False}
    insert_columns(connection, outbox, {**columns, **{name: [value] * count for name, value in same.items()}})


def count_waiting(connection: Connection) -> int:
    """How many events are not settled."""
    count: int = connection.execute(select(func.count()).where(~outbox.c.is_settled)).scalar_one()
    return count


def read_events(connection: Connection, taken: Sequence[int]) -> list[tuple[int, ArenaEvent]]:
    """The events of these numbers, put together from what they tell of."""
    same = (submissions.c.task_key == outbox.c.task_key) & (submissions.c.ordinal == outbox.c.ordinal)
    told = (
        select(
            outbox,
            submissions.c.id.label("submission_id"),
            submissions.c.submitter,
            submissions.c.agent,
            submissions.c.model,
            tasks.c.id.label("task_id"),
        )
        .join(submissions, same)
        .join(tasks, tasks.c.task_key == outbox.c.task_key)
        .order_by(outbox.c.seq)
    )
    events: list[tuple[int, ArenaEvent]] = []
    for start in range(0, len(taken), EVENTS_AT_ONCE):
        some = told.where(outbox.c.seq.in_(taken[start : start + EVENTS_AT_ONCE]))
        events += [(row["seq"], _event(row)) for row in connection.execute(some).mappings()]
    return events


def _event(row: Any) -> ArenaEvent:  # Any: a row of the store
    return ArenaEvent(
        event_id=event_id(row["kind"], row["submission_id"]),
        kind=row["kind"],
        created_at=iso(row["created_at"]),
        submission_id=row["submission_id"],
        task_id=row["task_id"],
        submitter=row["submitter"],
        agent=row["agent"],
        model=row["model"],
        overall_score=points(row["overall"]),
        overall_ranking=row["overall_ranking"],
        percentile=row["percentile"],
        baseline_version=row["baseline_version"],
    )
