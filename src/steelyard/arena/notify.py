"""Emptying the outbox: every event to every target at least once, however often anything crashes on the way.

An event is written with the submission it tells of. To send it, its next attempt is first moved into the future (a
lease), so that no two senders work on it at once; it is settled when every target has taken it. A sender that dies in
between leaves the lease to run out, and the event is sent again under the same id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import select, update
from sqlalchemy.engine import Connection

from steelyard.arena.arena import now_microseconds
from steelyard.arena.cents import points
from steelyard.arena.events import count_waiting, unfold_events
from steelyard.arena.targets import Target
from steelyard.arena.webhook import send
from steelyard.store import Store
from steelyard.store.migrations.m0001_arena import deliveries, outbox, submissions, tasks

SECOND = 1_000_000
LEASE_SECONDS = 120
FIRST_WAIT_SECONDS = 5
LONGEST_WAIT_SECONDS = 3600
EVENTS_AT_ONCE = 100

Sender = Callable[..., str | None]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What a target is told."""

    event_id: str
    """The same event has the same id, however often it is sent."""
    kind: str
    created_at: int
    """Microseconds since 1970."""
    submission_id: str
    task_id: str
    submitter: str | None
    agent: str | None
    model: str | None
    overall_score: float
    overall_ranking: int
    """At the moment of acceptance, as are the score, the percentile and the version."""
    percentile: float
    baseline_version: int


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """What one round of sending did."""

    sent: int
    failed: int
    settled: int
    waiting: int
    """Events that are not settled yet."""
    errors: tuple[str, ...]


def event_id(kind: str, submission_id: str) -> str:
    """The id of an event: made from what it tells of.

    >>> event_id("submission.evaluated", "a") == event_id("submission.evaluated", "a")
    True
    """
    return hashlib.sha256(f"{kind}\0{submission_id}".encode()).hexdigest()[:40]


def waits_seconds(attempts: int) -> int:
    """How long to wait after so many failed attempts: doubling, up to an hour. Nothing is ever given up."""
    return min(FIRST_WAIT_SECONDS << min(attempts - 1, 20), LONGEST_WAIT_SECONDS)


def waiting(store: Store) -> int:
    """How many events are not settled."""
    with store.read() as connection:
        return count_waiting(connection)


def notify_once(store: Store, targets: Sequence[Target], *, sender: Sender = send, now: int | None = None) -> Round:
    """Send everything that is due, once. A target that cannot be sent to is an error before any event is taken."""
    for target in targets:
        target.check_environment()
    unfold_events(store)
    sent = failed = settled = 0
    errors: dict[str, None] = {}
    while due := _lease(store, now_microseconds() if now is None else now):
        for seq, event in due:
            done, problems = _deliver(store, seq, event, targets, sender)
            sent += done
            failed += len(problems)
            settled += not problems
            errors |= dict.fromkeys(problems)
    return Round(sent=sent, failed=failed, settled=settled, waiting=waiting(store), errors=tuple(errors)[:20])


def _lease(store: Store, now: int) -> list[tuple[int, Event]]:
    """Events that are due, taken so that no other sender takes them for a while."""

    def work(connection: Connection) -> list[tuple[int, Event]]:
        wanted = (
            select(outbox.c.seq)
            .where(~outbox.c.is_settled, outbox.c.due_at <= now)
            .order_by(outbox.c.due_at, outbox.c.seq)
            .limit(EVENTS_AT_ONCE)
            .with_for_update(skip_locked=True)
        )
        taken = list(connection.execute(wanted).scalars())
        if not taken:
            return []
        later = now + LEASE_SECONDS * SECOND
        connection.execute(update(outbox).where(outbox.c.seq.in_(taken)).values(due_at=later))
        return read_events(connection, taken)

    return store.in_transaction(work)


def read_events(connection: Connection, taken: Sequence[int]) -> list[tuple[int, Event]]:
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
    found: list[tuple[int, Event]] = []
    for start in range(0, len(taken), EVENTS_AT_ONCE):
        some = told.where(outbox.c.seq.in_(taken[start : start + EVENTS_AT_ONCE]))
        found += [(row["seq"], _event(row)) for row in connection.execute(some).mappings()]
    return found


def _event(row: Any) -> Event:  # Any: a row of the store
    return Event(
        event_id=event_id(row["kind"], row["submission_id"]),
        kind=row["kind"],
        created_at=row["created_at"],
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


def _deliver(store: Store, seq: int, event: Event, targets: Sequence[Target], sender: Sender) -> tuple[int, list[str]]:
    """Send the event to each target that has not taken it, and remember what each said."""
    with store.read() as connection:
        held = {row.target: row for row in connection.execute(select(deliveries).where(deliveries.c.seq == seq))}
    body = msgspec.json.encode(event)
    answers: dict[str, str | None] = {}
    for target in targets:
        taken = target.name in held and held[target.name].delivered_at is not None
        if taken or (target.kinds is not None and event.kind not in target.kinds):
            continue
        moment = now_microseconds() // SECOND
        answers[target.name] = sender(target, event_id=event.event_id, kind=event.kind, body=body, timestamp=moment)
    problems = [f"{name}: {answer}" for name, answer in answers.items() if answer is not None]

    def work(connection: Connection) -> None:
        now = now_microseconds()
        most = 0
        for name, answer in answers.items():
            attempts = (held[name].attempts if name in held else 0) + 1
            values = {
                "attempts": attempts,
                "delivered_at": now if answer is None else None,
                "last_error": answer,
            }
            own = (deliveries.c.seq == seq) & (deliveries.c.target == name)
            if connection.execute(update(deliveries).where(own).values(values)).rowcount == 0:
                connection.execute(deliveries.insert().values(seq=seq, target=name, **values))
            most = max(most, attempts if answer is not None else 0)
        done = {"is_settled": True} if not problems else {"due_at": now + waits_seconds(most) * SECOND}
        connection.execute(update(outbox).where(outbox.c.seq == seq).values(done))

    store.in_transaction(work)
    return len(answers) - len(problems), problems
