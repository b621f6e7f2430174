"""Tallies of a task with few submissions: whole in one row of the store, whole in memory while it is worked on."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, delete, select
from sqlalchemy.engine import Connection

from steelyard.store import insert_rows, small_tallies

SMALL = 512
"""Up to so many submissions a task's tallies stay in one row; they are then at most 8 KB each."""

KEYS_PER_QUERY = 500
_FORGET = delete(small_tallies).where(small_tallies.c.task_key == bindparam("of_task"))


class Packed(NamedTuple):
    """The tallies of a small task as the store holds them."""

    overall: bytes = b""
    iterations: bytes = b""
    total_tokens: bytes = b""


def pack(counts: Mapping[int, int]) -> bytes:
    """The counts as bytes: values in ascending order, then how often each occurs.

    >>> unpack(pack({7: 1, 3: 2}))
    {3: 2, 7: 1}
    """
    values = sorted(counts)
    return struct.pack(f"<{2 * len(values)}q", *values, *[counts[value] for value in values])


def unpack(packed: bytes) -> dict[int, int]:
    """The counts in the bytes."""
    numbers = struct.unpack(f"<{len(packed) // 8}q", packed)
    half = len(numbers) // 2
    return dict(zip(numbers[:half], numbers[half:], strict=True))


def read_packed(connection: Connection, keys: Sequence[int]) -> dict[int, Packed]:
    """The tallies of those tasks that have them in one row."""
    packed: dict[int, Packed] = {}
    for start in range(0, len(keys), KEYS_PER_QUERY):
        wanted = select(small_tallies).where(small_tallies.c.task_key.in_(keys[start : start + KEYS_PER_QUERY]))
        for row in connection.execute(wanted):
            packed[row.task_key] = Packed(row.overall, row.iterations, row.total_tokens)
    return packed


def write_packed(connection: Connection, packed: Mapping[int, Packed]) -> None:
    """Keep the tallies of these tasks, in place of what was kept of them before."""
    rows = [(key, *packed[key]) for key in sorted(packed)]
    insert_rows(connection, small_tallies, ("task_key", *Packed._fields), rows, on_conflict="replace")


def forget_packed(connection: Connection, keys: Iterable[int]) -> None:
    """Drop the rows of tasks that have grown."""
    chosen = [{"of_task": key} for key in sorted(keys)]
    if chosen:
        connection.execute(_FORGET, chosen)
