"""The outbox: one event for each evaluation, written with the submissions it tells of.

The events of a batch lie folded, one row a task. Whoever wants to send or show events unfolds them first, which moves
them to the outbox in one transaction: an event is in one of the two places, never in both.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring import points
from steelyard.records import iso
from steelyard.results import ArenaEvent
from steelyard.store import Store, insert_columns, insert_rows
from steelyard.store.schema import folded_events, outbox, submissions, tasks

EVALUATED = "submission.evaluated"
KINDS = {EVALUATED: "a submission was accepted and scored"}
"""The kinds of events that there are, and when one comes to be."""

FOLDS_AT_ONCE = 200
"""Folded rows that are moved in one transaction."""
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
    insert_columns(connection, outbox, {**columns, **_waiting(EVALUATED, now, len(columns["task_key"]))})


def _waiting(kind: str, created_at: int, count: int) -> dict[str, list[Any]]:  # Any: column values
    return {
        "kind": [kind] * count,
        "created_at": [created_at] * count,
        "due_at": [created_at] * count,
        "is_settled": [False] * count,
    }


def fold_events(connection: Connection, folds: Sequence[tuple[int, int, int, bytes]], now: int) -> None:
    """Put the events of many evaluations down folded: task, first ordinal, how many, and their places as bytes."""
    names = ("kind", "task_key", "first_ordinal", "n", "places", "created_at")
    insert_rows(connection, folded_events, names, [(EVALUATED, *fold, now) for fold in folds])


def unfold_events(store: Store) -> None:
    """Move all folded events to the outbox, in the order in which they were written."""
    while _is_any_folded(store):  # asked anew each time: another sender may be moving them too
        store.in_transaction(_unfold)


def _is_any_folded(store: Store) -> bool:
    with store.read() as connection:
        return connection.execute(select(folded_events.c.fold).limit(1)).first() is not None


def _unfold(connection: Connection) -> None:
    """Move some folded events."""
    wanted = select(folded_events).order_by(folded_events.c.fold).limit(FOLDS_AT_ONCE).with_for_update()
    rows = connection.execute(wanted).all()
    for row in rows:
        numbers = struct.unpack(f"<{4 * row.n}q", row.places)
        overall, ranks, tenths, versions = (numbers[part * row.n : (part + 1) * row.n] for part in range(4))
        columns: dict[str, Sequence[Any]] = {  # Any: column values
            "task_key": [row.task_key] * row.n,
            "ordinal": range(row.first_ordinal, row.first_ordinal + row.n),
            "overall": overall,
            "overall_ranking": ranks,
            "percentile": [value / 10 for value in tenths],
            "baseline_version": versions,
        }
        insert_columns(connection, outbox, {**columns, **_waiting(row.kind, row.created_at, row.n)})
    moved = folded_events.c.fold.in_([row.fold for row in rows])
    connection.execute(delete(folded_events).where(moved))


def count_waiting(connection: Connection) -> int:
    """How many events are not settled."""
    in_outbox: int = connection.execute(select(func.count()).where(~outbox.c.is_settled)).scalar_one()
    folded = connection.execute(select(func.coalesce(func.sum(folded_events.c.n), 0))).scalar_one()
    return in_outbox + int(folded)


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
