"""How long events stay in the outbox: who they wait for, when they are settled, and when they are forgotten."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from sqlalchemy import and_, delete, func, not_, or_, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.sql import ColumnElement

from steelyard.arena.notifications._targets import Target
from steelyard.records import DAY, now_microseconds
from steelyard.store import Store
from steelyard.store.schema import deliveries, outbox

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
