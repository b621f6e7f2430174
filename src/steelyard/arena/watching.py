"""What came in since the last look."""

from __future__ import annotations

from collections import deque

import msgspec
from sqlalchemy import func, select

from steelyard.arena.arena import Arena
from steelyard.arena.events import read_events, unfold_events
from steelyard.store.migrations.m0001_arena import outbox

OVERLAP = 1_000
"""PostgreSQL hands out numbers before it commits them: so many before the last are looked at again."""


class Watch:
    """Remembers what was shown, and gives what is new. It starts with what comes after it was made."""

    def __init__(self, arena: Arena) -> None:
        self._store = arena.store
        unfold_events(self._store)
        with self._store.read() as connection:
            self._last: int = connection.execute(select(func.coalesce(func.max(outbox.c.seq), 0))).scalar_one()
            start = select(outbox.c.seq).where(outbox.c.seq > self._last - OVERLAP)
            self._seen = deque(connection.execute(start).scalars(), maxlen=4 * OVERLAP)

    def news(self, *, as_json: bool = False) -> list[str]:
        """A line for each evaluation that was not shown before."""
        unfold_events(self._store)
        with self._store.read() as connection:
            wanted = select(outbox.c.seq).where(outbox.c.seq > self._last - OVERLAP).order_by(outbox.c.seq)
            fresh = sorted(set(connection.execute(wanted).scalars()) - set(self._seen))
            events = read_events(connection, fresh)
        self._seen.extend(fresh)
        self._last = max([self._last, *fresh])
        if as_json:
            return [msgspec.json.encode(event).decode() for _, event in events]
        return [
            f"{event.task_id}  {event.submission_id}  {event.overall_score:.2f}  rank {event.overall_ranking}"
            f"  percentile {event.percentile}"
            for _, event in events
        ]
