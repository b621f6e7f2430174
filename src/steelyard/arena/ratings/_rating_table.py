"""Ratings as a table of submissions and reviewers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring import read_ratings
from steelyard.store.schema import submissions, tasks


class RatingTable(NamedTuple):
    """Ratings of submissions that count, in an order that does not depend on when they came."""

    submissions: list[tuple[str, str]]
    """The task and the id of each submission, by which its code is its place."""
    keys: list[tuple[int, int]]
    """The task's key and the ordinal of each."""
    reviewers: list[str]
    units: np.ndarray
    raters: np.ndarray
    scores: np.ndarray


def rating_table(connection: Connection, task_key: int | None, criterion: str | None) -> RatingTable:
    """The ratings that hold of a task (of all) on one criterion; None is the submission as a whole."""
    held = [rating for rating in read_ratings(connection, task_key) if rating.criterion == criterion]
    wanted = (
        select(submissions.c.task_key, submissions.c.ordinal, submissions.c.id, tasks.c.id.label("task_id"))
        .join(tasks)
        .where(submissions.c.excluded_at.is_(None))
    )
    if task_key is not None:
        wanted = wanted.where(submissions.c.task_key == task_key)
    rated = {(rating.task_key, rating.ordinal) for rating in held}
    names = {
        (row.task_key, row.ordinal): (row.task_id, row.id)
        for row in connection.execute(wanted)
        if (row.task_key, row.ordinal) in rated
    }
    rows = sorted(
        (names[rating.task_key, rating.ordinal], rating.reviewer, rating.score)
        for rating in held
        if (rating.task_key, rating.ordinal) in names
    )
    units = {name: place for place, name in enumerate(sorted({name for name, _, _ in rows}))}
    raters = {name: place for place, name in enumerate(sorted({reviewer for _, reviewer, _ in rows}))}
    by_name = {name: key for key, name in names.items()}
    return RatingTable(
        list(units),
        [by_name[name] for name in units],
        list(raters),
        np.array([units[name] for name, _, _ in rows], dtype=np.int64),
        np.array([raters[reviewer] for _, reviewer, _ in rows], dtype=np.int64),
        np.array([score for _, _, score in rows], dtype=float),
    )
