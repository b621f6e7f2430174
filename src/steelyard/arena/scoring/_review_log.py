"""Append-only logs of decisions on submissions and of ratings, and what is valid after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import Review
from steelyard.records import iso
from steelyard.store.schema import ratings, reviews, submissions, tasks


class LoggedRating(NamedTuple):
    """A rating that holds."""

    task_key: int
    ordinal: int
    reviewer: str
    criterion: str | None
    """None for the submission as a whole."""
    score: float
    comment: str | None
    rated_at: int


def read_ratings(connection: Connection, task_key: int | None = None) -> Iterator[LoggedRating]:
    """Every rating that holds, of a task or of all, in no particular order."""
    wanted = select(*(ratings.c[name] for name in LoggedRating._fields)).order_by(ratings.c.number)
    if task_key is not None:
        wanted = wanted.where(ratings.c.task_key == task_key)
    held = {(row[0], row[1], row[2], row[3]): row for row in connection.execute(wanted)}
    return (LoggedRating(*row) for row in held.values())


def latest_ratings(connection: Connection, task_key: int, ordinal: int) -> dict[tuple[str, str | None], LoggedRating]:
    """The ratings of one submission that hold, by reviewer and criterion."""
    own = (ratings.c.task_key == task_key) & (ratings.c.ordinal == ordinal)
    wanted = select(*(ratings.c[name] for name in LoggedRating._fields)).where(own).order_by(ratings.c.number)
    return {(row[2], row[3]): LoggedRating(*row) for row in connection.execute(wanted)}


EXCLUDING = ("excluded", "withdrawn")


class LoggedReview(NamedTuple):
    """A decision, with the numbers by which the store knows it and its submission."""

    number: int
    task_key: int
    ordinal: int
    decided_at: int
    after_n: int
    """How many submissions the task had accepted by then."""
    review: Review


class Decisions(NamedTuple):
    """What holds after some decisions, by the ordinals of submissions to one task."""

    excluded: dict[int, LoggedReview]
    """The decision that took each of these out."""
    accepted: dict[int, LoggedReview]
    """Return the decision that accepted each submission, which closes its review."""


def read_reviews(connection: Connection, task_key: int | None = None, ordinal: int | None = None) -> list[LoggedReview]:
    """All decisions, or those about a task or about one submission to it, in their order."""
    same = (submissions.c.task_key == reviews.c.task_key) & (submissions.c.ordinal == reviews.c.ordinal)
    wanted = (
        select(reviews, submissions.c.id.label("submission_id"), tasks.c.id.label("task_id"))
        .join(submissions, same)
        .join(tasks, tasks.c.task_key == reviews.c.task_key)
        .order_by(reviews.c.number)
    )
    if task_key is not None:
        wanted = wanted.where(reviews.c.task_key == task_key)
    if ordinal is not None:
        wanted = wanted.where(reviews.c.ordinal == ordinal)
    return [
        LoggedReview(
            row["number"],
            row["task_key"],
            row["ordinal"],
            row["decided_at"],
            row["after_n"],
            msgspec.convert(
                {
                    "submission_id": row["submission_id"],
                    "task_id": row["task_id"],
                    "decision": row["decision"],
                    "by": row["decided_by"],
                    "reason": row["reason"],
                    "decided_at": iso(row["decided_at"]),
                },
                Review,
            ),
        )
        for row in connection.execute(wanted).mappings()
    ]


def decisions_after(log: Iterable[LoggedReview]) -> Decisions:
    """What holds after these decisions. Reinstated, a submission is what it was before it was excluded."""
    excluded: dict[int, LoggedReview] = {}
    accepted: dict[int, LoggedReview] = {}
    for logged in log:
        if logged.review.decision in EXCLUDING:
            excluded[logged.ordinal] = logged
        elif logged.review.decision == "reinstated":
            excluded.pop(logged.ordinal, None)
        else:
            accepted[logged.ordinal] = logged
    return Decisions(excluded, accepted)
