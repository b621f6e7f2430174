"""Which settings of an arena ruled when a submission was accepted: scores of their day go by the rules of their day."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, MetaData, Table, func, insert, select
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import Serial, submissions, tasks
from steelyard.store.migrations.m0012_past_settings import past_settings

METADATA = MetaData()

# How many submissions a task had when settings of that number came into force; no row stands for none. Counts tell
# what clocks cannot, and they are written when settings change: a submission pays nothing for them.
reigns = Table(
    "arena_reigns",
    METADATA,
    Column("task_key", Serial, ForeignKey(tasks.c.task_key), primary_key=True),
    Column("number", Serial, primary_key=True, autoincrement=False),
    Column("after_n", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


def upgrade(connection: Connection) -> None:
    """Make the table. Of earlier changes of the settings only the moment is known, so that decides."""
    METADATA.create_all(connection, checkfirst=False)
    is_change = past_settings.c.number > select(func.min(past_settings.c.number)).scalar_subquery()
    counted = (
        select(submissions.c.task_key, past_settings.c.number, func.max(submissions.c.ordinal))
        .join(past_settings, is_change & (submissions.c.accepted_at <= past_settings.c.since))
        .group_by(submissions.c.task_key, past_settings.c.number)
    )
    connection.execute(insert(reigns).from_select(["task_key", "number", "after_n"], counted))
