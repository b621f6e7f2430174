"""Every counted submission of all tasks as columns: scores as on the leaderboard, and the inputs of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.arena.ingest import Arena, load_tasks
from steelyard.arena.scoring import (
    KEPT_SCORES,
    ScoringContext,
    columns_in_cents,
    score_metrics,
    with_contexts,
)
from steelyard.arena.views._task_view import View, view_task
from steelyard.records import PROVIDED_MODEL

if TYPE_CHECKING:
    import polars as pl

_FIELD_NAMES = {"estimated_cost": "reported_cost_usd", "execution_time": "stated_duration_seconds"}
"""What a submission and a run both have, under the names of a run's inputs. An arena takes 0 for unknown."""
_SAME = ("id", "agent", "total_tokens", "tool_calls", "iterations")


def submission_table(arena: Arena) -> pl.DataFrame:
    """One row a submission, by task and order of acceptance; each task under one baseline, as its leaderboard is."""
    import polars as pl  # heavy: a single submission is accepted without it

    with arena.read() as connection:
        views = [
            view_task(connection, task, policy=arena.policy) for task in load_tasks(connection, arena.rules).values()
        ]
    return pl.concat([_columns(view) for view in views]) if views else pl.DataFrame({"task": []}, {"task": pl.String})


def _columns(view: View) -> pl.DataFrame:
    import polars as pl  # heavy: a single submission is accepted without it

    scores = {name: view.rows[name] for name in KEPT_SCORES} | _unstored_scores(view)
    known = {field: pl.when(pl.col(field) > 0).then(pl.col(field)) for field in _FIELD_NAMES}
    return view.rows.with_columns(**scores).select(
        pl.lit(view.stored_task.task.id).alias("task"),
        *(pl.col(name) for name in _SAME),
        pl.col("model").str.replace(PROVIDED_MODEL, "$1"),
        # an exact division: Polars divides by a constant through its reciprocal
        (pl.col("submitted_at") / (pl.col("submitted_at") * 0 + 1_000_000)).alias("start_time"),
        *(expression.cast(pl.Float64).alias(_FIELD_NAMES[field]) for field, expression in known.items()),
        *((pl.col(name) / (pl.col(name) * 0 + 100)).cast(pl.Float64).alias(f"{name}_score") for name in scores),
    )


def _unstored_scores(view: View) -> dict[str, pl.Series]:
    """Return the scores that an evaluation does not store, in cents.

    They are missing under the policy `as-submitted`, where each submission has its own baseline and rules.
    """
    import polars as pl  # heavy: a single submission is accepted without it

    names = [declared.name.removesuffix("_score") for declared in score_metrics()]
    names = [name for name in names if name not in KEPT_SCORES]
    if view.policy != "current":
        return {name: pl.Series([None] * len(view.rows), dtype=pl.Int64) for name in names}
    context = ScoringContext(view.bounds, view.stored_task.constants)
    rows = with_contexts(view.rows.drop(KEPT_SCORES), [context], [0] * len(view.rows))
    return {name: pl.Series(cents) for name, cents in columns_in_cents(rows, context.constants, names).items()}
