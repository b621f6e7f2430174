"""A task as it stands, or stood: every submission scored by one yardstick, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring import (
    KEPT_SCORES,
    BaselineBounds,
    Decisions,
    Facts,
    StoredTask,
    Yardstick,
    baseline_of,
    decisions_after,
    read_frame,
    read_reviews,
    score_cents_columns,
    with_yardsticks,
)
from steelyard.records import iso
from steelyard.results import Policy
from steelyard.store.schema import baselines, submissions

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class View:
    """The submissions of a task with their scores in cents, in the order of acceptance."""

    stored_task: StoredTask
    policy: Policy
    version: int
    """The baseline that holds; under `as-submitted` each row names its own."""
    bounds: BaselineBounds
    last_updated: int
    """When its baseline last took in or lost a submission, or was made anew by other rules."""
    decisions: Decisions
    """What was decided about its submissions up to that moment."""
    rows: pl.DataFrame
    """Without those that are excluded."""

    def facts(self) -> Facts:
        """What a baseline is made from."""
        return Facts(*(self.rows[name].to_list() for name in Facts._fields))

    def baseline(self, least: int) -> dict[str, float | str]:
        """The baseline as the specification lists it."""
        numbers = baseline_of(self.facts(), defaults=self.stored_task.defaults, least=least)
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
        statement = statement.where((baselines.c.version == 1) | (baselines.c.created_at <= until))
        statement = statement.where(baselines.c.from_n <= n)
    row = connection.execute(statement.order_by(baselines.c.version.desc()).limit(1)).mappings().one()
    bounds = BaselineBounds(*(row[name] for name in BaselineBounds._fields))
    return Baseline(row["version"], bounds, row["created_at"])


def view_task(
    connection: Connection,
    stored_task: StoredTask,
    *,
    policy: Policy,
    until: int | None = None,
    yardstick: Yardstick | None = None,
) -> View:
    """The task now, or as it stood at a moment; with a yardstick, as it would stand under that."""
    version, bounds, created_at = baseline_at(connection, stored_task, until)
    statement = select(submissions).where(submissions.c.task_key == stored_task.key).order_by(submissions.c.ordinal)
    if until is not None:
        statement = statement.where(submissions.c.accepted_at <= until)
    rows = read_frame(connection, statement)
    log = read_reviews(connection, stored_task.key)
    if until is not None:
        log = [logged for logged in log if logged.decided_at <= until]
    decisions = decisions_after(log)
    changing = [logged.decided_at for logged in log if logged.review.decision != "accepted"]
    last_updated = max([created_at, *rows["accepted_at"].tail(1), *changing])
    if decisions.excluded:
        rows = rows.filter(~rows["ordinal"].is_in(list(decisions.excluded)))
    if policy == "current" or yardstick is not None:
        used = yardstick or Yardstick(bounds, stored_task.constants)
        scored = score_cents_columns(with_yardsticks(rows.drop(KEPT_SCORES), [used], [0] * len(rows)), used.constants)
        rows = rows.with_columns(**scored)
        bounds = used.bounds
    return View(stored_task, policy, version, bounds, last_updated, decisions, rows)
