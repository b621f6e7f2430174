"""The arena: tasks, submissions with the score of their day, baselines by version, tallies, and the outbox.

Scores are kept as cents (two decimals in 0..100 are 10,001 values), moments as microseconds since 1970.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.engine import Connection

METADATA = MetaData()

# SQLite counts rows only under the type INTEGER.
Serial = BigInteger().with_variant(Integer, "sqlite")

settings = Table(
    "arena_settings",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

tasks = Table(
    "arena_tasks",
    METADATA,
    Column("task_key", Serial, Identity(), primary_key=True),
    Column("id", String(1024), nullable=False, unique=True),
    Column("definition", Text, nullable=False),
    Column("category", Text),
    Column("created_at", BigInteger, nullable=False),
)

# What the next submission of a task needs to know of all earlier ones. Its row is also the lock of the task.
states = Table(
    "arena_states",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("n", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("min_tokens", BigInteger),
    Column("max_tokens", BigInteger),
    Column("min_tool_calls", BigInteger),
    Column("max_tool_calls", BigInteger),
    Column("min_execution_time", Float(53)),
    Column("max_execution_time", Float(53)),
    Column("min_cost", Float(53)),
    Column("max_cost", Float(53)),
    # The lower middle value of iterations (tokens) and how many lie strictly below it.
    Column("iterations_middle", BigInteger),
    Column("iterations_below", BigInteger, nullable=False),
    Column("tokens_middle", BigInteger),
    Column("tokens_below", BigInteger, nullable=False),
)

# One row for each set of numbers that scores were made with, and the count of submissions from which it holds.
baselines = Table(
    "arena_baselines",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("from_n", BigInteger, nullable=False),
    Column("min_tokens", Float(53), nullable=False),
    Column("max_tokens", Float(53), nullable=False),
    Column("min_tool_calls", Float(53), nullable=False),
    Column("max_tool_calls", Float(53), nullable=False),
    Column("min_execution_time", Float(53), nullable=False),
    Column("max_execution_time", Float(53), nullable=False),
    Column("min_cost", Float(53), nullable=False),
    Column("max_cost", Float(53), nullable=False),
    Column("median_iterations", Float(53), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Clustered by task on SQLite, so that a whole task is read in one sweep. There is no index on a score: at a million
# rows it made a rescore three times slower, and ranks come from the tallies.
submissions = Table(
    "arena_submissions",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("id", String(1024), nullable=False, unique=True),
    Column("digest", String(64), nullable=False),
    Column("total_tokens", BigInteger, nullable=False),
    Column("tool_calls", BigInteger, nullable=False),
    Column("iterations", BigInteger),
    Column("execution_time", Float(53)),
    Column("estimated_cost", Float(53)),
    Column("success", Boolean),
    Column("agent", Text),
    Column("model", Text),
    Column("submitter", Text),
    Column("submitted_at", BigInteger, nullable=False),
    Column("accepted_at", BigInteger, nullable=False),
    Column("criteria_met", Integer, nullable=False),
    Column("criteria_total", Integer, nullable=False),
    Column("is_claimed", Boolean, nullable=False),
    Column("details", Text),
    # The evaluation of the day: under which baseline, and its scores in cents.
    Column("baseline_version", Integer, nullable=False),
    Column("overall", SmallInteger, nullable=False),
    Column("efficiency", SmallInteger, nullable=False),
    Column("speed", SmallInteger, nullable=False),
    Column("cost", SmallInteger, nullable=False),
    Column("correctness", SmallInteger, nullable=False),
    Column("adjusted", SmallInteger, nullable=False),
    sqlite_with_rowid=False,
)

# How many submissions of a task have each value of a field: ranks, percentiles and ties from score cents, medians from
# tokens and iterations, whatever the number of submissions.
tallies = Table(
    "arena_tallies",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("field", SmallInteger, primary_key=True, autoincrement=False),
    Column("value", BigInteger, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# What is to be told, written with the submission it tells of. The message is put together when it is sent.
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
)
Index(
    "arena_outbox_waiting",
    outbox.c.due_at,
    outbox.c.seq,
    sqlite_where=text("is_settled = 0"),
    postgresql_where=text("NOT is_settled"),
)

deliveries = Table(
    "arena_deliveries",
    METADATA,
    Column("seq", Serial, ForeignKey("arena_outbox.seq"), primary_key=True),
    Column("target", String(200), primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("delivered_at", BigInteger),
    Column("last_error", Text),
    sqlite_with_rowid=False,
)


def upgrade(connection: Connection) -> None:
    """Make the arena's tables."""
    METADATA.create_all(connection, checkfirst=False)
