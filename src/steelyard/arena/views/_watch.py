"""What came in since the last look.

PostgreSQL hands out an event's number long before the event is there for others to see, so an event may come with a
lower number than one that was shown. Numbers that were passed over are therefore remembered as gaps, and asked for
again until every transaction that was open when they were passed over has ended. No event can fill them after that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import BigInteger, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import ArenaEvent
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.notifications._events import read_events
from steelyard.store.schema import (
    assignments,
    models,
    outbox,
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


class Gap(NamedTuple):
    """Numbers of events that were not there, between two that were."""

    after: int
    before: int


class Watch:
    """Remembers what was shown, and gives what is new. It starts with what comes after it was made."""

    def __init__(self, arena: Arena) -> None:
        self._store = arena.store
        with self._store.read() as connection:
            self._mark = _highest(connection)
        self._writers = self._store.writers(outbox)
        with self._store.read() as connection:
            self._last = _highest(connection)
            if self._store.is_sqlite:
                self.gaps: list[Gap] = []  # on PostgreSQL, where events may still come
            else:  # no writer is active: missing numbers up to the mark never appear
                self.gaps = _stored_gaps(connection, above=0 if self._writers else self._mark)

    def news(self) -> list[ArenaEvent]:
        """The events that were not shown before."""
        # Read before the events: transactions that have ended by now have all their events.
        is_complete = self._writers.isdisjoint(self._store.writers(outbox))
        with self._store.read() as connection:
            late = _in_gaps(connection, self.gaps)
            new = list(connection.execute(select(outbox.c.seq).where(outbox.c.seq > self._last)).scalars())
            events = read_events(connection, sorted([*late, *new]))
        self._remember(sorted(late), sorted(new), is_complete=is_complete)
        return [event for _, event in events]

    def _remember(self, late: Sequence[int], new: Sequence[int], *, is_complete: bool) -> None:
        """Note what is shown now; gaps up to the mark are closed when all who wrote at the mark's time have ended."""
        if self._store.is_sqlite:
            self._last = max([self._last, *new])
            return
        floor = self._mark if is_complete else 0
        left = [gap for old in self.gaps if old.before > floor for gap in _split(old, late)]
        self.gaps = left + _between([self._last, *new])
        self._last = max([self._last, *new])
        if is_complete:
            # Read after the events: every number up to here is among them or has ended.
            self._mark, self._writers = self._last, self._store.writers(outbox)


def _highest(connection: Connection) -> int:
    highest: int = connection.execute(select(func.coalesce(func.max(outbox.c.seq), 0))).scalar_one()
    return highest


def _between(numbers: Sequence[int]) -> list[Gap]:
    """The gaps in ascending numbers.

    >>> _between([2, 3, 7])
    [Gap(after=3, before=7)]
    """
    return [Gap(low, high) for low, high in pairwise(numbers) if high > low + 1]


def _split(gap: Gap, numbers: Sequence[int]) -> list[Gap]:
    """What is left of a gap when some ascending numbers are there.

    >>> _split(Gap(3, 9), [1, 5, 6, 12])
    [Gap(after=3, before=5), Gap(after=6, before=9)]
    """
    inside = numbers[bisect_left(numbers, gap.after) : bisect_left(numbers, gap.before)]
    return _between([gap.after, *inside, gap.before])


def _stored_gaps(connection: Connection, *, above: int) -> list[Gap]:
    before = func.lag(outbox.c.seq, 1, above).over(order_by=outbox.c.seq).label("before")
    numbers = select(outbox.c.seq, before).where(outbox.c.seq > above).subquery()
    jumps = select(numbers.c.before, numbers.c.seq).where(numbers.c.seq > numbers.c.before + 1)
    return [Gap(low, high) for low, high in connection.execute(jumps.order_by(numbers.c.seq))]


def _in_gaps(connection: Connection, gaps: Sequence[Gap]) -> list[int]:
    """The numbers of events that are in gaps by now. SQLite has none, so it need not know PostgreSQL's arrays."""
    if not gaps:
        return []
    ends = [bindparam(None, list(side), type_=ARRAY(BigInteger)) for side in zip(*gaps, strict=True)]
    asked = func.unnest(*ends).table_valued("after", "before").render_derived()
    inside = select(outbox.c.seq).join(asked, (outbox.c.seq > asked.c.after) & (outbox.c.seq < asked.c.before))
    return list(connection.execute(inside).scalars())
