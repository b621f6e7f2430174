"""The files that a task's criteria name: kept with the task, so that nobody's disk can change what a score means."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, LargeBinary, MetaData, String, Table, Text
from sqlalchemy.engine import Connection

from steelyard.store.migrations.m0001_arena import tasks

METADATA = MetaData()

# A task that names folders has a row for each file in them. One of an older store has none: its files were never kept.
task_files = Table(
    "arena_task_files",
    METADATA,
    Column("task_key", BigInteger().with_variant(Integer, "sqlite"), ForeignKey(tasks.c.task_key), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    # The folder as the task names it, and the file's path in it.
    Column("folder", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("content", LargeBinary, nullable=False),
)


def upgrade(connection: Connection) -> None:
    """Make the table."""
    METADATA.create_all(connection, checkfirst=False)
