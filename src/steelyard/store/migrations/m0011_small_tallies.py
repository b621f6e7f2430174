"""Tallies of tasks with few submissions, whole in one row.

A row for each value of each field was half of what a batch to many small tasks had to write.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, LargeBinary, MetaData, Table
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import tasks

METADATA = MetaData()

# A task has either a row here or rows in arena_tallies. The bytes are its values in ascending order and then how often
# each occurs, all as signed 64-bit numbers, the lowest byte first.
small_tallies = Table(
    "arena_small_tallies",
    METADATA,
    Column(
        "task_key", BigInteger().with_variant(Integer, "sqlite"), ForeignKey(tasks.c.task_key), primary_key=True
    ),
    Column("overall", LargeBinary, nullable=False),
    Column("iterations", LargeBinary, nullable=False),
    Column("total_tokens", LargeBinary, nullable=False),
)


def upgrade(connection: Connection) -> None:
    """Make the table. Tasks that have rows in arena_tallies keep them."""
    METADATA.create_all(connection, checkfirst=False)
