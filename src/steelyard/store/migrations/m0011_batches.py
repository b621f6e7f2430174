"""What made batches to many tasks slow to write, in fewer rows.

Tallies of small tasks are whole in one row, and the events of a batch lie folded, one row a task, until they are
sent: a row for each value and a row for each event were two thirds of what a batch had to write.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Identity, Integer, LargeBinary, MetaData, String, Table
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import tasks

METADATA = MetaData()

Serial = BigInteger().with_variant(Integer, "sqlite")

# A task has either a row here or rows in arena_tallies. The bytes are its values in ascending order and then how often
# each occurs, all as signed 64-bit numbers, the lowest byte first.
small_tallies = Table(
    "arena_small_tallies",
    METADATA,
    Column("task_key", Serial, ForeignKey(tasks.c.task_key), primary_key=True),
    Column("overall", LargeBinary, nullable=False),
    Column("iterations", LargeBinary, nullable=False),
    Column("total_tokens", LargeBinary, nullable=False),
)

# Events of submissions to one task with consecutive ordinals. They move to arena_outbox before they are sent or shown.
# The bytes are the columns overall, overall_ranking, percentile (in tenths) and baseline_version of the events, one
# column after the other, as signed 64-bit numbers, the lowest byte first.
folded_events = Table(
    "arena_folded_events",
    METADATA,
    Column("fold", Serial, Identity(), primary_key=True),
    Column("kind", String(64), nullable=False),
    Column("task_key", Serial, ForeignKey(tasks.c.task_key), nullable=False),
    Column("first_ordinal", BigInteger, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("places", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)


def upgrade(connection: Connection) -> None:
    """Make the tables. Tasks that have rows in arena_tallies keep them."""
    METADATA.create_all(connection, checkfirst=False)
