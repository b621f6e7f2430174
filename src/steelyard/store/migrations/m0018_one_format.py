"""One format of tallies and one of events.

Small tasks had their tallies packed in one row, and the events of a batch lay folded, one row a task. Both are rows
of their own now, as those of single submissions have always been.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import tallies
from steelyard.store.migrations.m0011_batches import folded_events, small_tallies
from steelyard.store.migrations.m0015_outbox_waits import outbox

FIELDS = ("overall", "iterations", "total_tokens")
"""The packed tallies in the order of the numbers that stand for them."""
ROWS_AT_ONCE = 1_000


def upgrade(connection: Connection) -> None:
    """Unpack the tallies, move the events to the outbox in the order in which they were written, drop both tables."""
    for task in connection.execute(select(small_tallies).order_by(small_tallies.c.task_key)).all():
        for field, name in enumerate(FIELDS):
            values, counts = _halves(getattr(task, name))
            pairs = zip(values, counts, strict=True)
            rows = [{"task_key": task.task_key, "field": field, "value": value, "n": n} for value, n in pairs]
            _insert(connection, tallies, rows)
    small_tallies.drop(connection)
    for fold in connection.execute(select(folded_events).order_by(folded_events.c.fold)).all():
        _insert(connection, outbox, _events(fold))
    folded_events.drop(connection)


def _halves(packed: bytes) -> tuple[Sequence[int], Sequence[int]]:
    numbers = struct.unpack(f"<{len(packed) // 8}q", packed)
    return numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]


def _events(fold: Any) -> list[dict[str, Any]]:  # Any: a row of the store, and column values
    numbers = struct.unpack(f"<{4 * fold.n}q", fold.places)
    overall, ranks, tenths, versions = (numbers[part * fold.n : (part + 1) * fold.n] for part in range(4))
    return [
        {
            "kind": fold.kind,
            "task_key": fold.task_key,
            "ordinal": fold.first_ordinal + place,
            "overall": overall[place],
            "overall_ranking": ranks[place],
            "percentile": tenths[place] / 10,
            "baseline_version": versions[place],
            "created_at": fold.created_at,
            "due_at": fold.created_at,
            "is_settled": False,
        }
        for place in range(fold.n)
    ]


def _insert(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:  # Any: as above
    for start in range(0, len(rows), ROWS_AT_ONCE):
        connection.execute(insert(table), rows[start : start + ROWS_AT_ONCE])
