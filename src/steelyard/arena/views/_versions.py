"""Which state of an arena is shown: a text that changes with whatever its views are made of."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, select

from steelyard.arena.ingest import Arena
from steelyard.store.schema import (
    assignments,
    models,
    parties,
    past_settings,
    ratings,
    reviews,
    seasons,
    states,
    tasks,
)

_COUNTED = (reviews, tasks, past_settings, ratings, assignments, models)


class ArenaVersion(NamedTuple):
    """The same in every process that looks at the same state. Each number only grows.

    Counts, not highest numbers: PostgreSQL hands numbers out before it shows the row, so that a row may come late with
    a lower number than one that was seen.
    """

    submissions: int
    """How many were ever accepted."""
    decisions: int
    tasks: int
    settings: int
    ratings: int
    assignments: int
    models: int
    """Number of model versions."""
    registered: int
    """The moment of the last registration or change of one."""
    seasons: int

    def __str__(self) -> str:
        return "-".join(str(count) for count in self)


def arena_version(arena: Arena) -> ArenaVersion:
    """The version of what the arena holds now."""
    accepted = select(func.coalesce(func.sum(states.c.accepted), 0)).scalar_subquery()
    counts = [select(func.count()).select_from(table).scalar_subquery() for table in _COUNTED]
    counts.append(select(func.coalesce(func.max(parties.c.registered_at), 0)).scalar_subquery())
    counts.append(select(func.count()).select_from(seasons).scalar_subquery())
    with arena.store.read() as connection:
        return ArenaVersion(*(int(count) for count in connection.execute(select(accepted, *counts)).one()))
