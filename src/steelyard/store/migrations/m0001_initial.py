"""Initial schema: arena, canons and tokens."""

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
    LargeBinary,
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
Double = Float(53)

settings = Table(
    "arena_settings",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

past_settings = Table(
    "arena_past_settings",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("rules", Text, nullable=False),
    Column("policy", String(64), nullable=False),
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

task_files = Table(
    "arena_task_files",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("folder", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("content", LargeBinary, nullable=False),
)

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
    Column("min_execution_time", Double),
    Column("max_execution_time", Double),
    Column("min_cost", Double),
    Column("max_cost", Double),
    Column("iterations_middle", BigInteger),
    Column("iterations_below", BigInteger, nullable=False),
    Column("tokens_middle", BigInteger),
    Column("tokens_below", BigInteger, nullable=False),
    Column(
        "accepted",
        BigInteger,
        nullable=False,
        server_default=text("0"),
    ),
)

baselines = Table(
    "arena_baselines",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("from_n", BigInteger, nullable=False),
    Column("min_tokens", Double, nullable=False),
    Column("max_tokens", Double, nullable=False),
    Column("min_tool_calls", Double, nullable=False),
    Column("max_tool_calls", Double, nullable=False),
    Column("min_execution_time", Double, nullable=False),
    Column("max_execution_time", Double, nullable=False),
    Column("min_cost", Double, nullable=False),
    Column("max_cost", Double, nullable=False),
    Column("median_iterations", Double, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

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
    Column("execution_time", Double),
    Column("estimated_cost", Double),
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
    Column("baseline_version", Integer, nullable=False),
    Column("overall", SmallInteger, nullable=False),
    Column("efficiency", SmallInteger, nullable=False),
    Column("speed", SmallInteger, nullable=False),
    Column("cost", SmallInteger, nullable=False),
    Column("correctness", SmallInteger, nullable=False),
    Column("adjusted", SmallInteger, nullable=False),
    Column("excluded_at", BigInteger),
    # Clustered by task, so that a whole task is read in one sweep. There is no index on a score: at a million rows it
    # made a rescore three times slower, and ranks come from the tallies.
    sqlite_with_rowid=False,
)

tallies = Table(
    "arena_tallies",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("field", SmallInteger, primary_key=True, autoincrement=False),
    Column("value", BigInteger, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

reviews = Table(
    "arena_reviews",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True),
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("decision", String(64), nullable=False),
    Column("decided_by", Text),
    Column("reason", Text),
    Column("decided_at", BigInteger, nullable=False),
    Column("after_n", BigInteger, nullable=False),
)

Index("arena_reviews_of_submission", reviews.c.task_key, reviews.c.ordinal)

settings_in_effect = Table(
    "arena_settings_in_effect",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("number", Serial, primary_key=True, autoincrement=False),
    Column("after_n", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

outbox = Table(
    "arena_outbox",
    METADATA,
    Column("seq", Serial, Identity(), primary_key=True),
    Column("kind", String(64), nullable=False),
    Column("task_key", Serial, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("overall", SmallInteger, nullable=False),
    Column("overall_ranking", BigInteger, nullable=False),
    Column("percentile", Double, nullable=False),
    Column("baseline_version", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("is_settled", Boolean, nullable=False),
    Column("due_for", String(64)),
    Column("settled_at", BigInteger),
    Column("flags", Text),
    Column("previous_ranking", BigInteger),
    Column("cause_ordinal", BigInteger),
    Column("review_number", BigInteger),
    Column("rating_number", BigInteger),
)

# Of all events only few wait or were settled lately, and those that come in pay for neither of the last two indexes.
Index(
    "arena_outbox_waiting",
    outbox.c.due_at,
    outbox.c.seq,
    sqlite_where=text("is_settled = 0"),
    postgresql_where=text("NOT is_settled"),
)
Index(
    "arena_outbox_due_for",
    outbox.c.due_for,
    sqlite_where=outbox.c.due_for.is_not(None),
    postgresql_where=outbox.c.due_for.is_not(None),
)
Index(
    "arena_outbox_settled_at",
    outbox.c.settled_at,
    sqlite_where=outbox.c.settled_at.is_not(None),
    postgresql_where=outbox.c.settled_at.is_not(None),
)

deliveries = Table(
    "arena_deliveries",
    METADATA,
    Column("seq", Serial, ForeignKey("arena_outbox.seq"), primary_key=True),
    Column("target", String(200), primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("delivered_at", BigInteger),
    Column("last_error", Text),
    Column("due_at", BigInteger, nullable=False, server_default=text("0")),
    sqlite_with_rowid=False,
)

models = Table(
    "arena_models",
    METADATA,
    Column("kind", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("made_at", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("content", Text, nullable=False),
)

canons = Table(
    "canons",
    METADATA,
    Column("canon_key", Serial, Identity(), primary_key=True),
    Column("prompt", String(1024), nullable=False),
    Column("code", Text, nullable=False),
    Column("normalized", Text, nullable=False),
    Column("signature", String(64), nullable=False),
    Column("contract", Text, nullable=False),
    Column("normalization_version", String(200), nullable=False),
    Column("oracle_version", String(200), nullable=False),
    Column("distance_version", String(200), nullable=False),
    Column("origin", Text),
    Column("set_at", BigInteger, nullable=False),
    Column("retired_at", BigInteger),
)

# Rejects a second canon in force, even from concurrent writers.
Index(
    "canons_one_in_force",
    canons.c.prompt,
    unique=True,
    sqlite_where=canons.c.retired_at.is_(None),
    postgresql_where=canons.c.retired_at.is_(None),
)

tokens = Table(
    "tokens",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True),
    Column("id", String(16), nullable=False, unique=True),
    Column("name", String(1024), nullable=False),
    Column("scopes", String(64), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("person", String(1024)),
)

# Rejects a second token of a name, even from concurrent writers.
Index(
    "tokens_one_of_a_name",
    tokens.c.name,
    unique=True,
    sqlite_where=tokens.c.revoked_at.is_(None),
    postgresql_where=tokens.c.revoked_at.is_(None),
)

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
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("reviewer", String(1024), primary_key=True),
    Column("assigned_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

ratings = Table(
    "arena_ratings",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True),
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("reviewer", String(1024), nullable=False),
    Column("criterion", String(1024)),
    Column("score", Double, nullable=False),
    Column("comment", Text),
    Column("rated_at", BigInteger, nullable=False),
)

Index("arena_ratings_of_submission", ratings.c.task_key, ratings.c.ordinal)

seasons = Table(
    "arena_seasons",
    METADATA,
    Column("name", String(1024), primary_key=True),
    Column("frozen_at", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("manifest", LargeBinary, nullable=False),
)


def upgrade(connection: Connection) -> None:
    """Create all tables and indexes."""
    METADATA.create_all(connection, checkfirst=False)
