"""The outbox: events, written in the transaction in which they happened, settled once sent, and removed later."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import and_, delete, func, not_, or_, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.sql import ColumnElement

from steelyard.arena.notifications._targets import Target
from steelyard.arena.scoring import NOTIFIED_RANKS, points
from steelyard.records import DAY, iso, now_microseconds
from steelyard.results import ArenaEvent
from steelyard.store import Store, insert_columns
from steelyard.store.schema import deliveries, outbox, reviews, submissions, tasks

CHANGED_AT_ONCE = 10_000
"""Events that are changed in one transaction: those who submit come in between."""
KEPT_DAYS = 30
"""How long settled events are kept."""
FORGOTTEN_AT_ONCE = 500
PORTIONS_FORGOTTEN = 20
"""Maximum number of portions removed per round, each in a separate transaction."""


def stands_for(targets: Sequence[Target]) -> str:
    """A text that is the same for the same targets that want the same."""
    wanted = sorted(
        (target.name, [None if names is None else sorted(set(names)) for names in _chosen(target)])
        for target in targets
    )
    return hashlib.sha256(msgspec.json.encode(wanted)).hexdigest()


def _chosen(target: Target) -> tuple[tuple[str, ...] | None, ...]:
    """Return the target's filter; teams only if given, for compatibility with stored filters."""
    wanted = (target.kinds, target.submitters)
    return wanted if target.teams is None else (*wanted, target.teams)


def wake(store: Store, targets: Sequence[Target]) -> None:
    """Let no event wait for the retries of other targets than these: one of them may not have been offered it."""
    own = stands_for(targets)
    _change(store, or_(outbox.c.due_for < own, outbox.c.due_for > own), due_at=outbox.c.created_at, due_for=None)


def skip_before(store: Store, moment: int) -> int:
    """Settle what was created before a moment, sent or not; how many events."""
    is_old = and_(~outbox.c.is_settled, outbox.c.created_at < moment)
    return _change(store, is_old, is_settled=True, settled_at=now_microseconds(), due_for=None)


def _change(store: Store, which: ColumnElement[bool], **values: object) -> int:
    """Change events of which afterwards none is left; how many."""
    some = select(outbox.c.seq).where(which).limit(CHANGED_AT_ONCE)
    changing = update(outbox).where(outbox.c.seq.in_(some)).values(values)

    def work(connection: Connection) -> int:
        return connection.execute(changing).rowcount

    count = 0
    while changed := store.in_transaction(work):
        count += changed
    return count


def settle(store: Store, targets: Sequence[Target], began: int) -> int:
    """Settle the events that every target which wants them has taken; how many.

    Those that all of these targets were offered and not all have taken are due with the first retry.
    """
    is_open = and_(~outbox.c.is_settled, outbox.c.due_at <= began)
    of_event = deliveries.c.seq == outbox.c.seq
    own = deliveries.c.target.in_([target.name for target in targets])
    open_retries = select(func.min(deliveries.c.due_at)).where(of_event, own, deliveries.c.delivered_at.is_(None))
    retry = open_retries.scalar_subquery()
    settled = {"is_settled": True, "settled_at": began, "due_for": None}
    waits = {"due_at": retry, "due_for": stands_for(targets)}
    took = [_is_done(target, deliveries.c.delivered_at.is_not(None)) for target in targets]
    offered = [_is_done(target) for target in targets]

    def work(connection: Connection) -> int:
        count: int = connection.execute(update(outbox).where(is_open, *took).values(settled)).rowcount
        connection.execute(update(outbox).where(is_open, *offered, retry > began).values(waits))
        return count

    return store.in_transaction(work)


def _is_done(target: Target, *how: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether the target has a delivery of the event, such as is asked for, or does not want it."""
    own = and_(deliveries.c.seq == outbox.c.seq, deliveries.c.target == target.name, *how)
    has_one = select(1).where(own).exists()
    return or_(not_(target.wants()), has_one)


def forget(store: Store, now: int) -> None:
    """Remove events that were settled long ago, with what is known of their deliveries; a bounded number a time.

    The last event stays: SQLite would give its number to the next, and watchers would skip that one as already seen.
    """
    is_old = outbox.c.settled_at < now - KEPT_DAYS * DAY
    last = select(func.max(outbox.c.seq)).scalar_subquery()
    some = select(outbox.c.seq).where(is_old, outbox.c.seq < last).order_by(outbox.c.settled_at, outbox.c.seq)

    def work(connection: Connection) -> int:
        # Locked: two who forget the same must not come between each other's deliveries and events.
        gone = connection.execute(some.limit(FORGOTTEN_AT_ONCE).with_for_update()).scalars().all()
        connection.execute(delete(deliveries).where(deliveries.c.seq.in_(gone)))
        connection.execute(delete(outbox).where(outbox.c.seq.in_(gone)))
        return len(gone)

    for _ in range(PORTIONS_FORGOTTEN):
        if store.in_transaction(work) < FORGOTTEN_AT_ONCE:
            break


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
