"""Current schema of the store: every table, column and index.

Code that reads or writes the store imports its tables from here. A schema change is made twice: here, and as a new
migration for existing stores; a test compares the two on both databases. Migrations have their own copies of the tables
and never import this module.

Scores are stored in hundredths (two decimals in 0..100 are 10,001 values), timestamps in microseconds since 1970.
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
    Column("number", Integer, primary_key=True, autoincrement=False, doc="Migration number."),
    Column("name", String(200), nullable=False, doc="Migration name."),
    Column("applied_at", BigInteger, nullable=False, doc="Time at which it was applied."),
)
"""Applied migrations; the highest number is the schema version."""

settings = Table(
    "arena_settings",
    METADATA,
    Column("name", String(64), primary_key=True, doc="`rules` or `policy`."),
    Column("value", Text, nullable=False, doc="Rules as JSON, or the policy name."),
)
"""Current settings. A store without these rows contains no arena."""

past_settings = Table(
    "arena_past_settings",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True, doc="Number of the change."),
    Column("since", BigInteger, nullable=False, doc="Time at which the settings took effect; 0 if unknown."),
    Column("rules", Text, nullable=False, doc="Rules as JSON."),
    Column("policy", String(64), nullable=False, doc="Policy name."),
)
"""History of the settings; the last row equals `settings`."""

tasks = Table(
    "arena_tasks",
    METADATA,
    Column("task_key", Serial, Identity(), primary_key=True, doc="Task number in this store."),
    Column("id", String(1024), nullable=False, unique=True, doc="Task id."),
    Column("definition", Text, nullable=False, doc="Task as JSON."),
    Column("category", Text, doc="Category; NULL if there is none."),
    Column("created_at", BigInteger, nullable=False, doc="Time at which the task was added."),
)

task_files = Table(
    "arena_task_files",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="Task."),
    Column("number", Integer, primary_key=True, autoincrement=False, doc="File number within the task."),
    Column("folder", Text, nullable=False, doc="Directory name in the task definition."),
    Column("path", Text, nullable=False, doc="Path relative to the directory."),
    Column("sha256", String(64), nullable=False, doc="SHA-256 of the content."),
    Column("content", LargeBinary, nullable=False, doc="File content."),
)
"""Files used by the criteria of a task."""

states = Table(
    "arena_states",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="Task."),
    Column("n", BigInteger, nullable=False, doc="Number of submissions, without excluded ones."),
    Column("version", Integer, nullable=False, doc="Current baseline version."),
    Column("min_tokens", BigInteger, doc="Minimum total tokens; NULL without submissions."),
    Column("max_tokens", BigInteger, doc="Maximum total tokens."),
    Column("min_tool_calls", BigInteger, doc="Minimum number of tool calls."),
    Column("max_tool_calls", BigInteger, doc="Maximum number of tool calls."),
    Column("min_execution_time", Double, doc="Minimum time in seconds; NULL if no time is known."),
    Column("max_execution_time", Double, doc="Maximum time in seconds."),
    Column("min_cost", Double, doc="Minimum cost in USD; NULL if no cost is known."),
    Column("max_cost", Double, doc="Maximum cost in USD."),
    Column("iterations_middle", BigInteger, doc="Lower median of iterations; NULL if none are known."),
    Column("iterations_below", BigInteger, nullable=False, doc="Number of values strictly below the median."),
    Column("tokens_middle", BigInteger, doc="Lower median of total tokens."),
    Column("tokens_below", BigInteger, nullable=False, doc="Number of values strictly below the median."),
    Column(
        "accepted",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        doc="Number of submissions accepted so far, which is the last ordinal.",
    ),
)
"""Aggregates of the earlier submissions of a task. The row also serves as the lock of the task."""

baselines = Table(
    "arena_baselines",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="Task."),
    Column("version", Integer, primary_key=True, doc="Baseline version of the task."),
    Column("from_n", BigInteger, nullable=False, doc="Number of accepted submissions at which the version starts."),
    Column("min_tokens", Double, nullable=False, doc="Minimum total tokens."),
    Column("max_tokens", Double, nullable=False, doc="Maximum total tokens."),
    Column("min_tool_calls", Double, nullable=False, doc="Minimum number of tool calls."),
    Column("max_tool_calls", Double, nullable=False, doc="Maximum number of tool calls."),
    Column("min_execution_time", Double, nullable=False, doc="Minimum time in seconds."),
    Column("max_execution_time", Double, nullable=False, doc="Maximum time in seconds."),
    Column("min_cost", Double, nullable=False, doc="Minimum cost in USD."),
    Column("max_cost", Double, nullable=False, doc="Maximum cost in USD."),
    Column("median_iterations", Double, nullable=False, doc="Median number of iterations."),
    Column("created_at", BigInteger, nullable=False, doc="Time at which it took effect."),
    sqlite_with_rowid=False,
)
"""One row per baseline version."""

submissions = Table(
    "arena_submissions",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="Task."),
    Column(
        "ordinal",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        doc="Sequence number of the submission within its task, from 1.",
    ),
    Column("id", String(1024), nullable=False, unique=True, doc="Submission id."),
    Column(
        "digest",
        String(64),
        nullable=False,
        doc="Digest of the content, to detect a different submission with this id.",
    ),
    Column("total_tokens", BigInteger, nullable=False, doc="Total tokens."),
    Column("tool_calls", BigInteger, nullable=False, doc="Number of tool calls."),
    Column("iterations", BigInteger, doc="Number of iterations; NULL if not reported."),
    Column("execution_time", Double, doc="Time in seconds; NULL if not reported."),
    Column("estimated_cost", Double, doc="Cost in USD; NULL if not reported."),
    Column("success", Boolean, doc="Success as claimed by the submitter; NULL if not reported."),
    Column("agent", Text, doc="Agent; NULL if not reported."),
    Column("model", Text, doc="Model; NULL if not reported."),
    Column("submitter", Text, doc="Submitter id; NULL if not reported."),
    Column("submitted_at", BigInteger, nullable=False, doc="Submission time, as reported."),
    Column("accepted_at", BigInteger, nullable=False, doc="Time of acceptance."),
    Column("criteria_met", Integer, nullable=False, doc="Number of success criteria met."),
    Column("criteria_total", Integer, nullable=False, doc="Number of success criteria of the task."),
    Column("is_claimed", Boolean, nullable=False, doc="Whether a criterion is based only on a claim of the submitter."),
    Column("details", Text, doc="Other fields of the submission as JSON; NULL if there are none."),
    Column("baseline_version", Integer, nullable=False, doc="Baseline version of the scores."),
    Column("overall", SmallInteger, nullable=False, doc="Original overall score, in hundredths."),
    Column("efficiency", SmallInteger, nullable=False, doc="Efficiency score, in hundredths."),
    Column("speed", SmallInteger, nullable=False, doc="Speed score, in hundredths."),
    Column("cost", SmallInteger, nullable=False, doc="Cost score, in hundredths."),
    Column("correctness", SmallInteger, nullable=False, doc="Correctness score, in hundredths."),
    Column("adjusted", SmallInteger, nullable=False, doc="Overall score adjusted for difficulty, in hundredths."),
    Column("excluded_at", BigInteger, doc="Time of the exclusion; NULL if it is included."),
    # Clustered by task, so that a whole task is read sequentially. Scores have no index: with a million rows, it
    # made rescoring three times slower, and ranks are computed from the tallies.
    sqlite_with_rowid=False,
)
"""Accepted submissions with their scores."""

tallies = Table(
    "arena_tallies",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="Task."),
    Column("field", SmallInteger, primary_key=True, autoincrement=False, doc="Code of the counted field."),
    Column("value", BigInteger, primary_key=True, autoincrement=False, doc="Value of the field."),
    Column("n", BigInteger, nullable=False, doc="Number of submissions with this value."),
    sqlite_with_rowid=False,
)
"""Number of submissions of a task per value: gives ranks and medians in constant time."""

reviews = Table(
    "arena_reviews",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True, doc="Number of the decision."),
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), nullable=False, doc="Task of the submission."),
    Column("ordinal", BigInteger, nullable=False, doc="Sequence number of the submission within its task."),
    Column("decision", String(64), nullable=False, doc="`accepted`, `excluded`, `withdrawn` or `reinstated`."),
    Column("decided_by", Text, doc="Reviewer; NULL if not given."),
    Column("reason", Text, doc="Reason; NULL if not given."),
    Column("decided_at", BigInteger, nullable=False, doc="Time of the decision."),
    Column("after_n", BigInteger, nullable=False, doc="Number of submissions to the task accepted by then."),
)
"""Review decisions; append-only. `submissions.excluded_at` is derived from them."""

Index("arena_reviews_of_submission", reviews.c.task_key, reviews.c.ordinal)

settings_in_effect = Table(
    "arena_settings_in_effect",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="Task."),
    Column("number", Serial, primary_key=True, autoincrement=False, doc="Number in `past_settings`."),
    Column("after_n", BigInteger, nullable=False, doc="Number of submissions accepted before they took effect."),
    sqlite_with_rowid=False,
)
"""Settings in effect when a submission was accepted; no row means no submissions.

Counts are exact where clocks are not. They are written only when settings change, at no cost per submission.
"""

outbox = Table(
    "arena_outbox",
    METADATA,
    Column("seq", Serial, Identity(), primary_key=True, doc="Event number."),
    Column("kind", String(64), nullable=False, doc="Kind of event."),
    Column("task_key", Serial, nullable=False, doc="Task of the submission."),
    Column("ordinal", BigInteger, nullable=False, doc="Sequence number of the submission within its task."),
    Column("overall", SmallInteger, nullable=False, doc="Overall score at that time, in hundredths."),
    Column("overall_ranking", BigInteger, nullable=False, doc="Rank at that time."),
    Column("percentile", Double, nullable=False, doc="Percentile at that time."),
    Column("baseline_version", Integer, nullable=False, doc="Baseline version of the score."),
    Column("created_at", BigInteger, nullable=False, doc="Time of the event."),
    Column("due_at", BigInteger, nullable=False, doc="Time of the next delivery attempt to any target."),
    Column("is_settled", Boolean, nullable=False, doc="Whether all deliveries are done."),
    Column("due_for", String(64), doc="Digest of the targets to which `due_at` applies; NULL if there are none."),
    Column("settled_at", BigInteger, doc="Time at which all deliveries were done; NULL until then."),
    Column("flags", Text, doc="Outlier flags at that time, separated by semicolons; NULL if there are none."),
    Column("previous_ranking", BigInteger, doc="Rank that was lost; NULL for other events."),
    Column(
        "cause_ordinal",
        BigInteger,
        doc="Submission whose acceptance or rating caused the event; NULL if it is the same one.",
    ),
    Column("review_number", BigInteger, doc="Decision in `reviews` that caused the event; NULL otherwise."),
    Column("rating_number", BigInteger, doc="Rating in `ratings` that caused the event; NULL otherwise."),
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
    Column("seq", Serial, ForeignKey("arena_outbox.seq"), primary_key=True, doc="Event."),
    Column("target", String(200), primary_key=True, doc="Target name."),
    Column("attempts", Integer, nullable=False, doc="Number of delivery attempts."),
    Column("delivered_at", BigInteger, doc="Time of the delivery; NULL until then."),
    Column("last_error", Text, doc="Error of the last attempt; NULL if it succeeded."),
    Column("due_at", BigInteger, nullable=False, server_default=text("0"), doc="Time of the next attempt."),
    sqlite_with_rowid=False,
)
"""One row per event and target, sent or being sent.

While an event is being sent, it is leased. It becomes due again when the lease expires.
"""

models = Table(
    "arena_models",
    METADATA,
    Column("kind", String(64), primary_key=True, doc="Kind of model, such as `abilities`."),
    Column("number", Integer, primary_key=True, autoincrement=False, doc="Version of this kind of model, from 1."),
    Column("made_at", BigInteger, nullable=False, doc="Time of the fit."),
    Column("seen", BigInteger, nullable=False, doc="Number of submissions (or ratings) by then."),
    Column("digest", String(64), nullable=False, doc="Digest of the data in the fit."),
    Column("content", Text, nullable=False, doc="Fitted model as JSON."),
)
"""Every version of the models fitted to submissions or ratings; append-only. No score depends on it."""

canons = Table(
    "canons",
    METADATA,
    Column("canon_key", Serial, Identity(), primary_key=True, doc="Canon number."),
    Column("prompt", String(1024), nullable=False, doc="Prompt: the id of its contract."),
    Column("code", Text, nullable=False, doc="Output that became the canon."),
    Column("normalized", Text, nullable=False, doc="Normalized output."),
    Column("signature", String(64), nullable=False, doc="Digest of the normalized output."),
    Column("contract", Text, nullable=False, doc="Contract at the time, as JSON."),
    Column("normalization_version", String(200), nullable=False, doc="Version of the normalization."),
    Column("oracle_version", String(200), nullable=False, doc="Version of the contract check."),
    Column("distance_version", String(200), nullable=False, doc="Version of the distance measure."),
    Column("origin", Text, doc="Run that produced the output; NULL if unknown."),
    Column("set_at", BigInteger, nullable=False, doc="Time at which it was set."),
    Column("retired_at", BigInteger, doc="Time at which it was retired; NULL if it is active."),
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
    Column("number", Serial, Identity(), primary_key=True, doc="Token number."),
    Column("id", String(16), nullable=False, unique=True, doc="Public part of the token."),
    Column("name", String(1024), nullable=False, doc="Person or program that uses it."),
    Column("scopes", String(64), nullable=False, doc="Scopes, comma-separated."),
    Column("sha256", String(64), nullable=False, doc="SHA-256 of the token."),
    Column("created_at", BigInteger, nullable=False, doc="Time of creation."),
    Column("expires_at", BigInteger, nullable=False, doc="Expiration time."),
    Column("last_used_at", BigInteger, doc="Time of the last use, accurate to the minute; NULL before the first use."),
    Column("revoked_at", BigInteger, doc="Time of revocation; NULL if it is not revoked."),
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
    Column("registered_at", BigInteger, nullable=False, doc="Time of the first registration."),
    sqlite_with_rowid=False,
)
"""Registered people, teams and tools. Registration is optional."""

assignments = Table(
    "arena_assignments",
    METADATA,
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), primary_key=True, doc="Task of the submission."),
    Column(
        "ordinal",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        doc="Sequence number of the submission within its task.",
    ),
    Column("reviewer", String(1024), primary_key=True, doc="Reviewer."),
    Column("assigned_at", BigInteger, nullable=False, doc="Time of the assignment."),
    sqlite_with_rowid=False,
)
"""Assignments of reviewers to submissions."""

ratings = Table(
    "arena_ratings",
    METADATA,
    Column("number", Serial, Identity(), primary_key=True, doc="Rating number."),
    Column("task_key", Serial, ForeignKey("arena_tasks.task_key"), nullable=False, doc="Task of the submission."),
    Column("ordinal", BigInteger, nullable=False, doc="Sequence number of the submission within its task."),
    Column("reviewer", String(1024), nullable=False, doc="Reviewer."),
    Column("criterion", String(1024), doc="Rated criterion; NULL for the whole submission."),
    Column("score", Double, nullable=False, doc="Rating from 0 to 100."),
    Column("comment", Text, doc="Comment of the reviewer; NULL if there is none."),
    Column("rated_at", BigInteger, nullable=False, doc="Time of the rating."),
)
"""All ratings; append-only. The last rating per reviewer, submission and criterion counts."""

Index("arena_ratings_of_submission", ratings.c.task_key, ratings.c.ordinal)

seasons = Table(
    "arena_seasons",
    METADATA,
    Column("name", String(1024), primary_key=True, doc="Season name."),
    Column("frozen_at", BigInteger, nullable=False, doc="Time of creation."),
    Column("sha256", String(64), nullable=False, doc="SHA-256 of the manifest."),
    Column("manifest", LargeBinary, nullable=False, doc="Manifest as JSON, compressed with zlib."),
)
"""Frozen leaderboards with their manifests; never changed."""
