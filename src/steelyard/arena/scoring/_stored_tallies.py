"""Tallies at rest: how many submissions of a task have each value of a field."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import BindParameter, bindparam, delete, func, select
from sqlalchemy.engine import Connection

from steelyard.store import insert_rows
from steelyard.store.schema import small_tallies, tallies

PACKED_UP_TO = 512
"""Up to so many submissions a task's tallies stay in one row; they are then at most 8 KB each."""

KEYS_PER_QUERY = 500
_FORGET = delete(small_tallies).where(small_tallies.c.task_key == bindparam("of_task"))


class PackedTallies(NamedTuple):
    """The tallies of a task as one row of the store holds them."""

    overall: bytes = b""
    iterations: bytes = b""
    total_tokens: bytes = b""


def pack_tally(counts: Mapping[int, int]) -> bytes:
    """The counts as bytes: values in ascending order, then how often each occurs.

    >>> unpack_tally(pack_tally({7: 1, 3: 2}))
    {3: 2, 7: 1}
    """
    values = sorted(counts)
    return struct.pack(f"<{2 * len(values)}q", *values, *[counts[value] for value in values])


def unpack_tally(packed: bytes) -> dict[int, int]:
    """The counts in the bytes."""
    numbers = struct.unpack(f"<{len(packed) // 8}q", packed)
    half = len(numbers) // 2
    return dict(zip(numbers[:half], numbers[half:], strict=True))


def read_packed(connection: Connection, keys: Sequence[int]) -> dict[int, PackedTallies]:
    """The tallies of those tasks that have them in one row."""
    packed: dict[int, PackedTallies] = {}
    for start in range(0, len(keys), KEYS_PER_QUERY):
        wanted = select(small_tallies).where(small_tallies.c.task_key.in_(keys[start : start + KEYS_PER_QUERY]))
        for row in connection.execute(wanted):
            packed[row.task_key] = PackedTallies(row.overall, row.iterations, row.total_tokens)
    return packed


def write_packed(connection: Connection, packed: Mapping[int, PackedTallies]) -> None:
    """Keep the tallies of these tasks, in place of what was kept of them before."""
    rows = [(key, *packed[key]) for key in sorted(packed)]
    insert_rows(connection, small_tallies, ("task_key", *PackedTallies._fields), rows, on_conflict="replace")


def forget_packed(connection: Connection, keys: Iterable[int]) -> None:
    """Drop the rows of tasks that have grown."""
    chosen = [{"of_task": key} for key in sorted(keys)]
    if chosen:
        connection.execute(_FORGET, chosen)


FIELDS = {"overall": 0, "iterations": 1, "total_tokens": 2}
"""The number under which each field's tally is kept; numbers are never reused."""

_KEY: BindParameter[int] = bindparam("task_key")
_FIELD: BindParameter[int] = bindparam("of_field")
_VALUE: BindParameter[int] = bindparam("of_value")
_OWN = (tallies.c.task_key == _KEY) & (tallies.c.field == _FIELD)
_COUNT = select(tallies.c.n).where(_OWN, tallies.c.value == _VALUE)
_BEFORE = select(tallies.c.value).where(_OWN, tallies.c.value < _VALUE).order_by(tallies.c.value.desc()).limit(1)
_AFTER = select(tallies.c.value).where(_OWN, tallies.c.value > _VALUE).order_by(tallies.c.value).limit(1)
_ABOVE = select(func.coalesce(func.sum(tallies.c.n), 0)).where(_OWN, tallies.c.value > _VALUE)
_ALL = select(tallies.c.value, tallies.c.n).where(_OWN)


class StoredTally:
    """Looks counts of one task and field up in the store."""

    def __init__(self, connection: Connection, task_key: int, field: str) -> None:
        self._connection = connection
        self._own = {"task_key": task_key, "of_field": FIELDS[field]}

    def count(self, value: int) -> int:
        """How many there are of this value."""
        return self._connection.execute(_COUNT, {**self._own, "of_value": value}).scalar() or 0

    def before(self, value: int) -> int | None:
        """The next smaller value."""
        return self._connection.execute(_BEFORE, {**self._own, "of_value": value}).scalar()

    def after(self, value: int) -> int | None:
        """The next larger value."""
        return self._connection.execute(_AFTER, {**self._own, "of_value": value}).scalar()

    def above(self, value: int) -> int:
        """How many lie strictly above the value."""
        return int(self._connection.execute(_ABOVE, {**self._own, "of_value": value}).scalar() or 0)

    def all(self) -> dict[int, int]:
        """Every value with its count."""
        return {row.value: row.n for row in self._connection.execute(_ALL, self._own)}


class Ranks:
    """Competition ranks and percentiles from counts of score cents."""

    def __init__(self, counts: Mapping[int, int]) -> None:
        self.n = sum(counts.values())
        self._above: dict[int, int] = {}
        passed = 0
        for value in sorted(counts, reverse=True):
            self._above[value] = passed
            passed += counts[value]
        self._counts = counts

    def around(self, value: int) -> tuple[int, int]:
        """How many scores lie strictly above the value, and how many equal it."""
        return self._above[value], self._counts[value]


def rank_and_percentile(above: int, equal: int, n: int) -> tuple[int, float]:
    """Competition rank, and the share strictly below in percent with one decimal."""
    return above + 1, round((n - above - equal) / n * 100, 1)


LOOK_UP_TO = 8
"""Up to this many scores are looked up one by one; for more, a task's whole tally is read."""


def ranks_and_percentiles(
    values: Sequence[int], stored: StoredTally, n: int, counts: Mapping[int, int] | None
) -> list[tuple[int, float]]:
    """Rank and percentile of each score, from the counts in hand or else from the store."""
    if counts is None and len(values) <= LOOK_UP_TO:
        return [rank_and_percentile(stored.above(value), stored.count(value), n) for value in values]
    ranks = Ranks(stored.all() if counts is None else counts)
    places = {value: rank_and_percentile(*ranks.around(value), n) for value in set(values)}
    return [places[value] for value in values]


def add_to_tallies(connection: Connection, counts: Mapping[tuple[int, str], Mapping[int, int]]) -> None:
    """Add the counts, given by task and field, to the store."""
    rows: list[tuple[int, int, int, int]] = []
    for (key, field), values in sorted(counts.items()):
        number = FIELDS[field]
        rows += [(key, number, value, n) for value, n in sorted(values.items())]
    insert_rows(connection, tallies, ("task_key", "field", "value", "n"), rows, on_conflict="add")


def forget_scores(connection: Connection, task_keys: Iterable[int]) -> None:
    """Drop the tallies of the scores of these tasks, so that they can be made anew."""
    statement = delete(tallies).where(tallies.c.task_key == _KEY, tallies.c.field == FIELDS["overall"])
    keys = [{"task_key": key} for key in sorted(task_keys)]
    if keys:
        connection.execute(statement, keys)
