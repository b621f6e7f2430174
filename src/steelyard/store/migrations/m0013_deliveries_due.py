"""When each target is to be tried again: one that is dead must not make the others wait for its retries."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, String, Table, Text
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import Serial, outbox

METADATA = MetaData()

# A row for each event that was sent, or is being sent, to a target. What is being sent is due when its sender must have
# died.
deliveries = Table(
    "arena_deliveries",
    METADATA,
    Column("seq", Serial, ForeignKey(outbox.c.seq), primary_key=True),
    Column("target", String(200), primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("delivered_at", BigInteger),
    Column("last_error", Text),
    Column("due_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


def upgrade(connection: Connection) -> None:
    """Add the moment. What failed before is due as soon as its event is."""
    connection.exec_driver_sql("ALTER TABLE arena_deliveries ADD COLUMN due_at BIGINT NOT NULL DEFAULT 0")
