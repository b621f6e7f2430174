"""Current schema of the store: every table, column and index.

Code that reads or writes the store imports its tables from here. A schema change is made twice: here, and as a new
migration for existing stores; a test compares the two on both databases. Migrations have their own copies of the tables
and never import this module.

Scores are stored in cents (two decimals in 0..100 are 10,001 values), timestamps in microseconds since 1970.
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
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    text,
)

METADATA = MetaData()

Serial = BigInteger().with_variant(Integer, "sqlite")
"""Auto-increment key. SQLite requires the type INTEGER."""
Double = Float(53)

applied = Table(
    "steelyard_migrations",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False, doc="The migration's number."),
    Column("name", String(200), nullable=False, doc="The migration's name, for people."),
    Column("applied_at", BigInteger, nullable=False, doc="When it was applied to this store."),
)
"""Applied migrations; the highest number is the schema version."""

settings = Table(
    "arena_settings",
    METADATA,
    Column("name", String(64), primary_key=True, doc="`rules` or `policy`."),
    Column("value", Text, nullable=False, doc="The rules as JSON, or the policy's name."),
)
"""Current settings. A store without these rows contains no arena."""

past_settings = Table(
    "arena_past_settings",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True, doc="Counts the changes."),
    Column("since", BigInteger, nullable=False, doc="When they came into force; 0 where that is not known."),
    Column("rules", Text, nullable=False, doc="The rules as JSON."),
    Column("policy", String(64), nullable=False, doc="The policy's name."),
)
"""History of the settings; the last row equals `settings`."""

tasks = Table(
    "arena_tasks",
    METADATA,
    Column("task_key", Serial, Identity(), primary_key=True, doc="The task's number in this store."),
    Column("id", String(1024), nullable=False, unique=True, doc="The task's id, as its author wrote it."),
    Column("definition", Text, nullable=False, doc="The task as JSON."),
    Column("category", Text, doc="The task's category; NULL when it has none."),
    Column("created_at", BigInteger, nullable=False, doc="When it was added."),
)

task_files = Table(
    "arena_task_files",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="The task."),
    Column("number", Integer, primary_key=True, autoincrement=False, doc="Counts the task's files."),
    Column("folder", Text, nullable=False, doc="The folder as the task names it."),
    Column("path", Text, nullable=False, doc="The file's path in that folder."),
    Column("sha256", String(64), nullable=False, doc="The digest of the content."),
    Column("content", LargeBinary, nullable=False, doc="The file itself."),
)
"""Files used by the criteria of a task."""

states = Table(
    "arena_states",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="The task."),
    Column("n", BigInteger, nullable=False, doc="How many submissions count, those that are excluded left out."),
    Column("version", Integer, nullable=False, doc="The version of the baseline in force."),
    Column("min_tokens", BigInteger, doc="The least total tokens; NULL while there is no submission."),
    Column("max_tokens", BigInteger, doc="The most total tokens."),
    Column("min_tool_calls", BigInteger, doc="The fewest tool calls."),
    Column("max_tool_calls", BigInteger, doc="The most tool calls."),
    Column("min_execution_time", Double, doc="The shortest time in seconds; NULL while none is known."),
    Column("max_execution_time", Double, doc="The longest time in seconds."),
    Column("min_cost", Double, doc="The lowest cost in US dollars; NULL while none is known."),
    Column("max_cost", Double, doc="The highest cost in US dollars."),
    Column("iterations_middle", BigInteger, doc="The lower middle value of iterations; NULL while none is known."),
    Column("iterations_below", BigInteger, nullable=False, doc="How many lie strictly below it."),
    Column("tokens_middle", BigInteger, doc="The lower middle value of total tokens."),
    Column("tokens_below", BigInteger, nullable=False, doc="How many lie strictly below it."),
    Column(
        "accepted",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        doc="How many submissions were ever accepted: the last ordinal.",
    ),
)
"""Aggregates of the earlier submissions of a task. The row also serves as the lock of the task."""

baselines = Table(
    "arena_baselines",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="The task."),
    Column("version", Integer, primary_key=True, doc="Counts the baselines of the task."),
    Column("from_n", BigInteger, nullable=False, doc="From how many accepted submissions on it holds."),
    Column("min_tokens", Double, nullable=False, doc="The least total tokens."),
    Column("max_tokens", Double, nullable=False, doc="The most total tokens."),
    Column("min_tool_calls", Double, nullable=False, doc="The fewest tool calls."),
    Column("max_tool_calls", Double, nullable=False, doc="The most tool calls."),
    Column("min_execution_time", Double, nullable=False, doc="The shortest time in seconds."),
    Column("max_execution_time", Double, nullable=False, doc="The longest time in seconds."),
    Column("min_cost", Double, nullable=False, doc="The lowest cost in US dollars."),
    Column("max_cost", Double, nullable=False, doc="The highest cost in US dollars."),
    Column("median_iterations", Double, nullable=False, doc="The median of iterations."),
    Column("created_at", BigInteger, nullable=False, doc="When it came into force."),
    sqlite_with_rowid=False,
)
"""One row per baseline version."""

submissions = Table(
    "arena_submissions",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="The task."),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False, doc="Counts the task's submissions from 1."),
    Column("id", String(1024), nullable=False, unique=True, doc="The submission's id."),
    Column("digest", String(64), nullable=False, doc="What tells another submission of the same id from a repetition."),
    Column("total_tokens", BigInteger, nullable=False, doc="Tokens of all kinds."),
    Column("tool_calls", BigInteger, nullable=False, doc="How many tools were called."),
    Column("iterations", BigInteger, doc="NULL when not stated."),
    Column("execution_time", Double, doc="Seconds; NULL when not stated."),
    Column("estimated_cost", Double, doc="US dollars; NULL when not stated."),
    Column("success", Boolean, doc="What the submitter says; NULL when not stated."),
    Column("agent", Text, doc="NULL when not stated."),
    Column("model", Text, doc="NULL when not stated."),
    Column("submitter", Text, doc="NULL when not stated."),
    Column("submitted_at", BigInteger, nullable=False, doc="When it was submitted, as the submission says."),
    Column("accepted_at", BigInteger, nullable=False, doc="When it was accepted here."),
    Column("criteria_met", Integer, nullable=False, doc="How many success criteria count as met."),
    Column("criteria_total", Integer, nullable=False, doc="How many the task has."),
    Column("is_claimed", Boolean, nullable=False, doc="Whether a criterion is only claimed by the submitter."),
    Column("details", Text, doc="Anything else that was stated, as JSON; NULL when there is nothing."),
    Column("baseline_version", Integer, nullable=False, doc="The baseline that the scores below were made with."),
    Column("overall", SmallInteger, nullable=False, doc="The overall score of the day it was accepted, in cents."),
    Column("efficiency", SmallInteger, nullable=False, doc="The efficiency score, in cents."),
    Column("speed", SmallInteger, nullable=False, doc="The speed score, in cents."),
    Column("cost", SmallInteger, nullable=False, doc="The cost score, in cents."),
    Column("correctness", SmallInteger, nullable=False, doc="The correctness score, in cents."),
    Column("adjusted", SmallInteger, nullable=False, doc="The overall score adjusted for difficulty, in cents."),
    Column("excluded_at", BigInteger, doc="When it was excluded; NULL while it counts."),
    # Clustered by task, so that a whole task is read in one sweep. There is no index on a score: at a million rows it
    # made a rescore three times slower, and ranks come from the tallies.
    sqlite_with_rowid=False,
)
"""Every submission that was accepted, with its evaluation."""

tallies = Table(
    "arena_tallies",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="The task."),
    Column("field", SmallInteger, primary_key=True, autoincrement=False, doc="Which field is counted."),
    Column("value", BigInteger, primary_key=True, autoincrement=False, doc="A value of the field."),
    Column("n", BigInteger, nullable=False, doc="How many submissions have it."),
    sqlite_with_rowid=False,
)
"""Number of submissions of a task per value: gives ranks and medians in constant time."""

reviews = Table(
    "arena_reviews",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True, doc="Counts the decisions."),
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), nullable=False, doc="The submission's task."),
    Column("ordinal", BigInteger, nullable=False, doc="The submission's number in its task."),
    Column("decision", String(64), nullable=False, doc="`accepted`, `excluded`, `withdrawn` or `reinstated`."),
    Column("decided_by", Text, doc="Who decided; NULL when not stated."),
    Column("reason", Text, doc="Why; NULL when not stated."),
    Column("decided_at", BigInteger, nullable=False, doc="When."),
    Column("after_n", BigInteger, nullable=False, doc="How many submissions the task had accepted by then."),
)
"""Review decisions; append-only. `submissions.excluded_at` is derived from them."""

Index("arena_reviews_of_submission", reviews.c.task_key, reviews.c.ordinal)

settings_in_effect = Table(
    "arena_settings_in_effect",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="The task."),
    Column("number", Serial, primary_key=True, autoincrement=False, doc="The number in `past_settings`."),
    Column("after_n", BigInteger, nullable=False, doc="How many the task had accepted when they came into force."),
    sqlite_with_rowid=False,
)
"""Settings in effect when a submission was accepted; no row means no submissions.

Counts are exact where clocks are not. They are written only when settings change, at no cost per submission.
"""

outbox = Table(
    "arena_outbox",
    METADATA,
    Column("seq", Serial, Identity(), primary_key=True, doc="Counts the events."),
    Column("kind", String(64), nullable=False, doc="What happened."),
    Column("task_key", Serial, nullable=False, doc="The submission's task."),
    Column("ordinal", BigInteger, nullable=False, doc="The submission's number in its task."),
    Column("overall", SmallInteger, nullable=False, doc="Its overall score at that moment, in cents."),
    Column("overall_ranking", BigInteger, nullable=False, doc="Its rank at that moment."),
    Column("percentile", Double, nullable=False, doc="Its percentile at that moment."),
    Column("baseline_version", Integer, nullable=False, doc="The baseline that the score was made with."),
    Column("created_at", BigInteger, nullable=False, doc="When it happened."),
    Column("due_at", BigInteger, nullable=False, doc="When the first of its targets is to be tried (again)."),
    Column("is_settled", Boolean, nullable=False, doc="Whether nothing is left to send."),
    Column("due_for", String(64), doc="A digest of the targets that `due_at` was found for; NULL when for none."),
    Column("settled_at", BigInteger, doc="When it was settled; NULL until then."),
    Column("flags", Text, doc="The submission's flags at that moment, joined by semicolons; NULL without any."),
    Column("previous_ranking", BigInteger, doc="The rank that was lost; NULL for other events."),
    Column("cause_ordinal", BigInteger, doc="The submission whose acceptance or rating caused it; NULL: its own."),
    Column("review_number", BigInteger, doc="The decision in `reviews` that caused it; NULL when none did."),
    Column("rating_number", BigInteger, doc="The rating in `ratings` that caused it; NULL when none did."),
)
"""Events to send, written with the submission they refer to. The message is assembled when it is sent."""

# Partial indexes: few events are pending or recently settled, and new events are in neither of the last two indexes.
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
    Column("seq", Serial, ForeignKey("arena_outbox.seq"), primary_key=True, doc="The event."),
    Column("target", String(200), primary_key=True, doc="The target's name."),
    Column("attempts", Integer, nullable=False, doc="How often it was tried."),
    Column("delivered_at", BigInteger, doc="When the target accepted it; NULL until then."),
    Column("last_error", Text, doc="Error of the last attempt; NULL if it succeeded."),
    Column("due_at", BigInteger, nullable=False, server_default=text("0"), doc="When it is to be tried again."),
    sqlite_with_rowid=False,
)
"""One row per event and target, sent or being sent.

An event being sent becomes due again when its sender must have died.
"""

models = Table(
    "arena_models",
    METADATA,
    Column("kind", String(64), primary_key=True, doc="Kind of model, such as `abilities`."),
    Column("number", Integer, primary_key=True, autoincrement=False, doc="Counts the versions of this kind from 1."),
    Column("made_at", BigInteger, nullable=False, doc="When it was fitted."),
    Column("seen", BigInteger, nullable=False, doc="How many submissions (or ratings) there had been by then."),
    Column("digest", String(64), nullable=False, doc="Digest of the data it was fitted to."),
    Column("content", Text, nullable=False, doc="The fitted model as JSON."),
)
"""Every version of the models fitted to submissions or ratings; append-only. No score depends on it."""

canons = Table(
    "canons",
    METADATA,
    Column("canon_key", Serial, Identity(), primary_key=True, doc="Counts the canons."),
    Column("prompt", String(1024), nullable=False, doc="The prompt: its contract's id."),
    Column("code", Text, nullable=False, doc="The output that became the canon."),
    Column("normalized", Text, nullable=False, doc="The same in normal form."),
    Column("signature", String(64), nullable=False, doc="The digest of the normal form."),
    Column("contract", Text, nullable=False, doc="The contract it was set under, as JSON."),
    Column("normalization_version", String(200), nullable=False, doc="What made the normal form."),
    Column("oracle_version", String(200), nullable=False, doc="What checked it against the contract."),
    Column("distance_version", String(200), nullable=False, doc="What distances to it are measured by."),
    Column("origin", Text, doc="The run it came from; NULL when not known."),
    Column("set_at", BigInteger, nullable=False, doc="When it was set."),
    Column("retired_at", BigInteger, doc="When it was retired; NULL while it is in force."),
)
"""Canons of repeatability: at most one active per prompt; retired ones are kept."""

# The index prevents a second active canon per prompt, also under concurrent writes.
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
    Column("number", Serial, Identity(), primary_key=True, doc="Counts the tokens."),
    Column("id", String(16), nullable=False, unique=True, doc="Public part of the token."),
    Column("name", String(1024), nullable=False, doc="Person or program that uses it."),
    Column("scopes", String(64), nullable=False, doc="Scopes, comma-separated."),
    Column("sha256", String(64), nullable=False, doc="SHA-256 of the token."),
    Column("created_at", BigInteger, nullable=False, doc="When it was created."),
    Column("expires_at", BigInteger, nullable=False, doc="When it expires."),
    Column("last_used_at", BigInteger, doc="When it was last used, accurate to minutes; NULL before its first use."),
    Column("revoked_at", BigInteger, doc="When it was revoked; NULL if it was not."),
    Column("person", String(1024), doc="Id of the registered owner; NULL if there is none."),
)
"""Access tokens of the server. The token itself is shown once and is not stored."""

# The index prevents a second active token with the same name, also under concurrent writes.
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
    Column("kind", String(16), primary_key=True, doc="`person`, `team` or `tool`."),
    Column("id", String(1024), primary_key=True, doc="Id in submissions, tokens and ratings."),
    Column("display_name", Text, doc="Display name, not unique; NULL if there is none."),
    Column("team", String(1024), doc="Team id of a person; NULL if there is none."),
    Column("registered_at", BigInteger, nullable=False, doc="When it was first registered."),
    sqlite_with_rowid=False,
)
"""Registered people, teams and tools. Registration is optional."""

assignments = Table(
    "arena_assignments",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="The submission's task."),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False, doc="The submission's number in its task."),
    Column("reviewer", String(1024), primary_key=True, doc="Reviewer."),
    Column("assigned_at", BigInteger, nullable=False, doc="When."),
    sqlite_with_rowid=False,
)
"""Assignments of reviewers to submissions."""

ratings = Table(
    "arena_ratings",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True, doc="Counts the ratings."),
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), nullable=False, doc="The submission's task."),
    Column("ordinal", BigInteger, nullable=False, doc="The submission's number in its task."),
    Column("reviewer", String(1024), nullable=False, doc="Reviewer."),
    Column("criterion", String(1024), doc="Rated criterion; NULL for the whole submission."),
    Column("score", Double, nullable=False, doc="0 to 100."),
    Column("comment", Text, doc="The reviewer's comment; NULL when there is none."),
    Column("rated_at", BigInteger, nullable=False, doc="When."),
)
"""All ratings; append-only. The last rating per reviewer, submission and criterion counts."""

Index("arena_ratings_of_submission", ratings.c.task_key, ratings.c.ordinal)

seasons = Table(
    "arena_seasons",
    METADATA,
    Column("name", String(1024), primary_key=True, doc="The season's name."),
    Column("frozen_at", BigInteger, nullable=False, doc="When it was created."),
    Column("sha256", String(64), nullable=False, doc="The digest of the manifest."),
    Column("manifest", LargeBinary, nullable=False, doc="The manifest as JSON, compressed with zlib."),
)
"""Frozen leaderboards with their manifests; never changed."""
