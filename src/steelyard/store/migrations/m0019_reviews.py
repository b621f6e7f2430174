"""Decisions about submissions: which no longer count, the log of who decided what, and events with their cause."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Identity, Index, MetaData, String, Table, Text
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import Serial, tasks

METADATA = MetaData()

reviews = Table(
    "arena_reviews",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True),
    Column("task_key", Serial, ForeignKey(tasks.c.task_key), nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("decision", String(64), nullable=False),
    Column("decided_by", Text),
    Column("reason", Text),
    Column("decided_at", BigInteger, nullable=False),
    Column("after_n", BigInteger, nullable=False),
)
Index("arena_reviews_of_submission", reviews.c.task_key, reviews.c.ordinal)


def upgrade(connection: Connection) -> None:
    """Add them. Every submission counts, so as many were accepted as there are."""
    METADATA.create_all(connection, checkfirst=False)
    for statement in (
        "ALTER TABLE arena_submissions ADD COLUMN excluded_at BIGINT",
        "ALTER TABLE arena_states ADD COLUMN accepted BIGINT NOT NULL DEFAULT 0",
        "UPDATE arena_states SET accepted = n",
        "ALTER TABLE arena_outbox ADD COLUMN flags TEXT",
        "ALTER TABLE arena_outbox ADD COLUMN previous_ranking BIGINT",
        "ALTER TABLE arena_outbox ADD COLUMN cause_ordinal BIGINT",
        "ALTER TABLE arena_outbox ADD COLUMN review_number BIGINT",
    ):
        connection.exec_driver_sql(statement)
