"""People, teams and tools; whose a token is; who is to rate which submission, and every rating."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Identity, Index, MetaData, String, Table, Text
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import Serial, tasks

METADATA = MetaData()

parties = Table(
    "arena_parties",
    METADATA,
    Column("kind", String(16), primary_key=True),
    Column("id", String(1024), primary_key=True),
    Column("display_name", Text),
    Column("team", String(1024)),
    Column("registered_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

assignments = Table(
    "arena_assignments",
    METADATA,
    Column("task_key", Serial, ForeignKey(tasks.c.task_key), primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("reviewer", String(1024), primary_key=True),
    Column("assigned_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

ratings = Table(
    "arena_ratings",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True),
    Column("task_key", Serial, ForeignKey(tasks.c.task_key), nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("reviewer", String(1024), nullable=False),
    Column("criterion", String(1024)),
    Column("score", Float(53), nullable=False),
    Column("comment", Text),
    Column("rated_at", BigInteger, nullable=False),
)
Index("arena_ratings_of_submission", ratings.c.task_key, ratings.c.ordinal)


def upgrade(connection: Connection) -> None:
    """Make the tables. A token from before belongs to nobody but its name."""
    METADATA.create_all(connection, checkfirst=False)
    connection.exec_driver_sql("ALTER TABLE tokens ADD COLUMN person VARCHAR(1024)")
