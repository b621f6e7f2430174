"""Submissions as columns: of one task, now or at a time, scored in one context; and of all tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.engine import Connection, RowMapping

from steelyard.arena._answer_parts import CombinationBaseline, Policy
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.ingest._tasks import FIRST_VERSION, find_task, load_tasks
from steelyard.arena.scoring._baseline import BaselineBounds, BaselineInputs, baseline_of, own_baseline
from steelyard.arena.scoring._review_log import Decisions, LoggedReview, decisions_after, read_reviews
from steelyard.arena.scoring._row_scores import ScoringContext, with_contexts
from steelyard.arena.scoring._rules import score_metrics
from steelyard.arena.scoring._scores import KEPT_SCORES, columns_in_cents
from steelyard.arena.scoring._settings import RulesHistory, read_rules_history
from steelyard.arena.scoring._submission_rows import KeptRows, read_frame
from steelyard.arena.scoring._task_state import StoredTask
from steelyard.records import PROVIDED_MODEL, Missing, iso
from steelyard.store.schema import baselines, states, submissions

if TYPE_CHECKING:
    import polars as pl

ROWS_TOGETHER = 100_000
TASKS_TOGETHER = 500
"""Limits of one read: submissions (exceeded by at most one task) and tasks."""


@dataclass(frozen=True, slots=True)
class View:
    """The submissions of a task with their scores in cents, in the order of acceptance."""

    stored_task: StoredTask
    policy: Policy
    version: int
    """The baseline that holds; under `as-submitted` each row names its own."""
    bounds: BaselineBounds
    last_updated: int
    """When its baseline last took in or lost a submission, or was recomputed by other rules."""
    decisions: Decisions
    """What was decided about its submissions up to that moment."""
    rows: pl.DataFrame
    """Without those that are excluded."""

    def inputs(self) -> BaselineInputs:
        """What a baseline is made from."""
        return BaselineInputs(*(self.rows[name].to_list() for name in BaselineInputs._fields))

    def baseline(self, least: int) -> dict[str, float | str]:
        """The baseline as the specification lists it."""
        numbers = baseline_of(self.inputs(), defaults=self.stored_task.defaults, least=least)
        return {**numbers, "last_updated": iso(self.last_updated)}

    def counts(self, score: str = "overall") -> dict[int, int]:
        """How often each score occurs."""
        return dict(self.rows.group_by(score).len().iter_rows())


class Baseline(NamedTuple):
    """A version of a task's baseline."""

    version: int
    bounds: BaselineBounds
    created_at: int


def baseline_at(connection: Connection, stored_task: StoredTask, until: int | None) -> Baseline:
    """The baseline that held at a moment (now when None)."""
    statement = select(baselines).where(baselines.c.task_key == stored_task.key)
    if until is not None:
        count = select(func.count()).where(
            submissions.c.task_key == stored_task.key, submissions.c.accepted_at <= until
        )
        n = connection.execute(count).scalar_one()
        statement = statement.where((baselines.c.version == FIRST_VERSION) | (baselines.c.created_at <= until))
        statement = statement.where(baselines.c.from_n <= n)
    return _baseline(connection.execute(statement.order_by(baselines.c.version.desc()).limit(1)).mappings().one())


def view_task(
    connection: Connection,
    stored_task: StoredTask,
    *,
    policy: Policy,
    until: int | None = None,
    context: ScoringContext | None = None,
    kept: KeptRows | None = None,
) -> View:
    """Return the task now or at a time; with a context, as scored in it.

    With what is kept, only submissions that came since are read.
    """
    version, bounds, created_at = baseline_at(connection, stored_task, until)
    if until is None:
        rows = (kept or KeptRows()).read(connection, stored_task.key)
    else:
        chosen = select(submissions).where(submissions.c.task_key == stored_task.key)
        rows = read_frame(connection, chosen.where(submissions.c.accepted_at <= until).order_by(submissions.c.ordinal))
    log = read_reviews(connection, stored_task.key)
    if until is not None:
        log = [logged for logged in log if logged.decided_at <= until]
    if policy == "current" or context is not None:
        used = context or ScoringContext(bounds, stored_task.constants)
        rows = _scored(rows, [used], [0] * len(rows))
        bounds = used.bounds
    return _view(stored_task, policy, Baseline(version, bounds, created_at), rows, log)


def view_tasks(
    connection: Connection, stored_tasks: Iterable[StoredTask], *, policy: Policy, until: int | None = None
) -> Iterator[View]:
    """The tasks that have submissions now or had some at a moment, each as `view_task` gives it, by their keys.

    They are read and scored some hundred at a time: a thousand small tasks took seven times as long one by one.
    """
    accepted = _accepted_at(connection, until)
    filled = sorted((task for task in stored_tasks if accepted.get(task.key)), key=lambda task: task.key)
    logs: dict[int, list[LoggedReview]] = {}
    for logged in read_reviews(connection):
        if until is None or logged.decided_at <= until:
            logs.setdefault(logged.task_key, []).append(logged)
    for together in _portions(filled, accepted):
        keys = [task.key for task in together]
        statement = select(submissions).where(submissions.c.task_key.in_(keys))
        if until is not None:
            statement = statement.where(submissions.c.accepted_at <= until)
        rows = read_frame(connection, statement.order_by(submissions.c.task_key, submissions.c.ordinal))
        current = _baselines_at(connection, keys, accepted, until)
        if policy == "current":
            which = np.searchsorted(keys, rows["task_key"].to_numpy())
            rows = _scored(rows, [ScoringContext(current[task.key].bounds, task.constants) for task in together], which)
        parts = rows.partition_by("task_key", as_dict=True, maintain_order=True)
        for task in together:
            yield _view(task, policy, current[task.key], parts[(task.key,)], logs.get(task.key, []))


def _portions(stored_tasks: Sequence[StoredTask], accepted: Mapping[int, int]) -> Iterator[list[StoredTask]]:
    """The tasks in groups of bounded size."""
    together: list[StoredTask] = []
    count = 0
    for task in stored_tasks:
        together.append(task)
        count += accepted[task.key]
        if count >= ROWS_TOGETHER or len(together) == TASKS_TOGETHER:
            yield together
            together, count = [], 0
    if together:
        yield together


def _accepted_at(connection: Connection, until: int | None) -> dict[int, int]:
    """How many submissions each task had at a moment (now when None)."""
    counts = select(states.c.task_key, states.c.accepted)
    if until is not None:
        counts = select(submissions.c.task_key, func.count().label("accepted")).where(
            submissions.c.accepted_at <= until
        )
        counts = counts.group_by(submissions.c.task_key)
    return {row.task_key: row.accepted for row in connection.execute(counts)}


def _baselines_at(
    connection: Connection, keys: Sequence[int], accepted: Mapping[int, int], until: int | None
) -> dict[int, Baseline]:
    """The baseline of each of these tasks that held at a moment, as `baseline_at` chooses it."""
    statement = select(baselines).where(baselines.c.task_key.in_(keys)).order_by(baselines.c.version)
    if until is not None:
        statement = statement.where((baselines.c.version == FIRST_VERSION) | (baselines.c.created_at <= until))
    return {
        row["task_key"]: _baseline(row)
        for row in connection.execute(statement).mappings()
        if until is None or row["from_n"] <= accepted[row["task_key"]]
    }


def _baseline(row: RowMapping) -> Baseline:
    return Baseline(row["version"], BaselineBounds(*(row[name] for name in BaselineBounds._fields)), row["created_at"])


def _scored(rows: pl.DataFrame, contexts: Sequence[ScoringContext], which: Sequence[int] | np.ndarray) -> pl.DataFrame:
    """The rows with their scores by these contexts."""
    measured = with_contexts(rows.drop(KEPT_SCORES), contexts, which)
    return rows.with_columns(**columns_in_cents(measured, contexts[0].constants))


def _view(
    stored_task: StoredTask, policy: Policy, baseline: Baseline, rows: pl.DataFrame, log: Sequence[LoggedReview]
) -> View:
    """The view of one task from its rows, the excluded ones among them, and its log."""
    decisions = decisions_after(log)
    changing = [logged.decided_at for logged in log if logged.review.decision != "accepted"]
    last_updated = max([baseline.created_at, *rows["accepted_at"].tail(1), *changing])
    if decisions.excluded:
        rows = rows.filter(~rows["ordinal"].is_in(list(decisions.excluded)))
    return View(stored_task, policy, baseline.version, baseline.bounds, last_updated, decisions, rows)


def scored_views(arena: Arena, policy: Policy | None = None) -> Iterator[tuple[View, RulesHistory]]:
    """Yield every task that has submissions, with the profiles of its scores."""
    with arena.read() as connection:
        rules_history = read_rules_history(connection).behind(policy or arena.policy)
        every = load_tasks(connection, arena.rules).values()
        for view in view_tasks(connection, every, policy=policy or arena.policy):
            if len(view.rows):
                yield view, rules_history


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


def combination_baselines(arena: Arena, task_id: str) -> tuple[CombinationBaseline, ...]:
    """The baseline of each agent and model alone; none, with the reason, where there are too few submissions."""
    with arena.read() as connection:
        stored_task = find_task(connection, task_id, arena.rules)
        rows = view_task(connection, stored_task, policy="as-submitted").rows
    combinations = []
    for (agent, model), part in rows.group_by("agent", "model"):
        inputs = BaselineInputs(*(part[name].to_list() for name in BaselineInputs._fields))
        own = own_baseline(inputs, least=arena.rules.baseline.submissions)
        combinations.append(
            CombinationBaseline(
                agent=agent,
                model=model,
                submissions=len(part),
                baseline=None if isinstance(own, Missing) else {**own, "last_updated": iso(max(part["accepted_at"]))},
                reason=str(own.reason) if isinstance(own, Missing) else None,
            )
        )
    return tuple(sorted(combinations, key=lambda combination: (combination.agent or "", combination.model or "")))
