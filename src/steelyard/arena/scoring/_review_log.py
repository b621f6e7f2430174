"""Append-only log of decisions on submissions, and their state at a given time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.records import iso
from steelyard.results import Review
from steelyard.store.schema import reviews, submissions, tasks

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
