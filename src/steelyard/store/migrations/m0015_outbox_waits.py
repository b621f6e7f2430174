"""For whom an event waits, and since when it is settled.

`due_at` of an event is when the first of its targets is to be tried again. It holds for the targets it was found for:
one that is added later has nothing to wait for.
"""

from __future__ import annotations

import time

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    text as sql,
)
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import Serial

METADATA = MetaData()

outbox = Table(
    "arena_outbox",
    METADATA,
    Column("seq", Serial, Identity(), primary_key=True),
    Column("kind", String(64), nullable=False),
    Column("task_key", Serial, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("overall", SmallInteger, nullable=False),
    Column("overall_ranking", BigInteger, nullable=False),
    Column("percentile", Float(53), nullable=False),
    Column("baseline_version", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("is_settled", Boolean, nullable=False),
    # Stands for the targets that `due_at` was found for; NULL when it was found for none.
    Column("due_for", String(64)),
    # NULL until it is settled.
    Column("settled_at", BigInteger),
)

# Of all events only few wait or were settled lately, and those that come in pay for neither index.
INDEXES = (
    Index(
        "arena_outbox_due_for",
        outbox.c.due_for,
        sqlite_where=sql("due_for IS NOT NULL"),
        postgresql_where=sql("due_for IS NOT NULL"),
    ),
    Index(
        "arena_outbox_settled_at",
        outbox.c.settled_at,
        sqlite_where=sql("settled_at IS NOT NULL"),
        postgresql_where=sql("settled_at IS NOT NULL"),
    ),
)


def upgrade(connection: Connection) -> None:
    """Add both. What waits is looked at anew: when each target is to be tried again is noted beside it."""
    connection.exec_driver_sql("ALTER TABLE arena_outbox ADD COLUMN due_for VARCHAR(64)")
    connection.exec_driver_sql("ALTER TABLE arena_outbox ADD COLUMN settled_at BIGINT")
    connection.execute(outbox.update().where(~outbox.c.is_settled).values(due_at=outbox.c.created_at))
    connection.execute(outbox.update().where(outbox.c.is_settled).values(settled_at=time.time_ns() // 1000))
    for index in INDEXES:
        index.create(connection)
