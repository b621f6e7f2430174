"""Ratings as the store keeps them, and what holds of them: of one reviewer on one thing, the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.store.schema import ratings


class StoredRating(NamedTuple):
    """A rating that holds."""

    task_key: int
    ordinal: int
    reviewer: str
    criterion: str | None
    """None for the submission as a whole."""
    score: float
    comment: str | None
    rated_at: int


def read_ratings(connection: Connection, task_key: int | None = None) -> Iterator[StoredRating]:
    """Every rating that holds, of a task or of all, in no particular order."""
    wanted = select(*(ratings.c[name] for name in StoredRating._fields)).order_by(ratings.c.number)
    if task_key is not None:
        wanted = wanted.where(ratings.c.task_key == task_key)
    held = {(row[0], row[1], row[2], row[3]): row for row in connection.execute(wanted)}
    return (StoredRating(*row) for row in held.values())


def latest_ratings(connection: Connection, task_key: int, ordinal: int) -> dict[tuple[str, str | None], StoredRating]:
    """The ratings of one submission that hold, by reviewer and criterion."""
    own = (ratings.c.task_key == task_key) & (ratings.c.ordinal == ordinal)
    wanted = select(*(ratings.c[name] for name in StoredRating._fields)).where(own).order_by(ratings.c.number)
    return {(row[2], row[3]): StoredRating(*row) for row in connection.execute(wanted)}
