"""The outbox: events, written in the transaction in which they happened."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import ArenaEvent
from steelyard.arena.scoring._scores import points
from steelyard.arena.scoring._tallies import NOTIFIED_RANKS
from steelyard.records import iso
from steelyard.store import insert_columns
from steelyard.store.schema import outbox, reviews, submissions, tasks

EVALUATED = "submission.evaluated"
OUTLIER = "submission.outlier"
RANK_LOST = "submission.rank_lost"
LEAD_LOST = "submission.lead_lost"
EXCLUDED = "submission.excluded"
REINSTATED = "submission.reinstated"
_CAUSES = "a new submission, a review decision or a rating"
KINDS = {
    EVALUATED: "a submission was accepted and scored",
    OUTLIER: "a submission was accepted and flagged for review",
    RANK_LOST: f"a submission in the top {NOTIFIED_RANKS} lost its rank because of {_CAUSES}",
    LEAD_LOST: f"the leader of a task lost the lead because of {_CAUSES}",
    EXCLUDED: "a reviewer excluded a submission, or its submitter withdrew it",
    REINSTATED: "a reviewer reinstated a submission",
}
"""The kinds of events that there are, and when one comes to be."""

EVENTS_AT_ONCE = 100
"""Events that are read in one question."""


def event_id(kind: str, submission_id: str, cause: str | None = None) -> str:
    """Return the event id, derived from the submission and its cause (except its own acceptance).

    >>> event_id("submission.rank_lost", "a", "submission b") == event_id("submission.rank_lost", "a", "submission c")
    False
    """
    parts = (kind, submission_id) if cause is None else (kind, submission_id, cause)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def write_events(connection: Connection, kind: str, columns: Mapping[str, Sequence[Any]], now: int) -> None:
    """Add an event per row to the outbox, in the same transaction. Any: values."""
    count = len(columns["task_key"])
    same = {"kind": kind, "created_at": now, "due_at": now, "is_settled": False}
    insert_columns(connection, outbox, {**columns, **{name: [value] * count for name, value in same.items()}})


def count_waiting(connection: Connection) -> int:
    """How many events are not settled."""
    count: int = connection.execute(select(func.count()).where(~outbox.c.is_settled)).scalar_one()
    return count


def next_due(connection: Connection, after: int) -> int | None:
    """When the first of the events that are not settled is due; None where none is due later than `after`."""
    wanted = select(func.min(outbox.c.due_at)).where(~outbox.c.is_settled, outbox.c.due_at > after)
    due: int | None = connection.execute(wanted).scalar_one()
    return due


def read_events(connection: Connection, taken: Sequence[int]) -> list[tuple[int, ArenaEvent]]:
    """Return the events with these numbers."""
    same = (submissions.c.task_key == outbox.c.task_key) & (submissions.c.ordinal == outbox.c.ordinal)
    cause = submissions.alias()
    causing = (cause.c.task_key == outbox.c.task_key) & (cause.c.ordinal == outbox.c.cause_ordinal)
    query = (
        select(
            outbox,
            submissions.c.id.label("submission_id"),
            submissions.c.submitter,
            submissions.c.agent,
            submissions.c.model,
            tasks.c.id.label("task_id"),
            cause.c.id.label("cause_submission_id"),
            reviews.c.decision,
            reviews.c.decided_by,
            reviews.c.reason,
        )
        .join(submissions, same)
        .join(tasks, tasks.c.task_key == outbox.c.task_key)
        .outerjoin(cause, causing)
        .outerjoin(reviews, reviews.c.number == outbox.c.review_number)
        .order_by(outbox.c.seq)
    )
    events: list[tuple[int, ArenaEvent]] = []
    for start in range(0, len(taken), EVENTS_AT_ONCE):
        some = query.where(outbox.c.seq.in_(taken[start : start + EVENTS_AT_ONCE]))
        events += [(row["seq"], _event(row)) for row in connection.execute(some).mappings()]
    return events


def _event(row: Any) -> ArenaEvent:  # Any: a row of the store
    cause = None
    if row["review_number"] is not None:
        cause = f"review {row['review_number']}"
    elif row["rating_number"] is not None:
        cause = f"rating {row['rating_number']}"
    elif row["cause_submission_id"] is not None:
        cause = f"submission {row['cause_submission_id']}"
    return ArenaEvent(
        event_id=event_id(row["kind"], row["submission_id"], cause),
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
        flags=tuple(row["flags"].split(";")) if row["flags"] else (),
        previous_ranking=row["previous_ranking"],
        cause_submission_id=row["cause_submission_id"],
        rating_number=row["rating_number"],
        decision=row["decision"],
        by=row["decided_by"],
        reason=row["reason"],
    )
