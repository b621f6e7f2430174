"""A task as it stands, or stood: every submission scored by one yardstick, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from steelyard.arena.scoring import (
    KEPT,
    BaselineBounds,
    Facts,
    KnownTask,
    Policy,
    Yardstick,
    baseline_of,
    cents_columns,
    read_frame,
    with_yardsticks,
)
from steelyard.store import baselines, submissions

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class View:
    """The submissions of a task with their scores in cents, in the order of acceptance."""

    known: KnownTask
    policy: Policy
    version: int
    """The baseline that holds; under `as-submitted` each row names its own."""
    bounds: BaselineBounds
    rows: pl.DataFrame

    def facts(self) -> Facts:
        """What a baseline is made from."""
        return Facts(*(self.rows[name].to_list() for name in Facts._fields))

    def baseline(self, least: int) -> dict[str, float]:
        """The baseline as the specification lists it."""
        return baseline_of(self.facts(), defaults=self.known.defaults, least=least)

    def counts(self, score: str = "overall") -> dict[int, int]:
        """How often each score occurs."""
        return dict(self.rows.group_by(score).len().iter_rows())


def baseline_at(connection: Connection, known: KnownTask, until: int | None) -> tuple[int, BaselineBounds]:
    """The version and the bounds that held at a moment (now when None)."""
    statement = select(baselines).where(baselines.c.task_key == known.key)
    if until is not None:
        count = select(func.count()).where(submissions.c.task_key == known.key, submissions.c.accepted_at <= until)
        n = connection.execute(count).scalar_one()
        statement = statement.where((baselines.c.version == 1) | (baselines.c.created_at <= until))
        statement = statement.where(baselines.c.from_n <= n)
    row = connection.execute(statement.order_by(baselines.c.version.desc()).limit(1)).mappings().one()
    return row["version"], BaselineBounds(*(row[name] for name in BaselineBounds._fields))


def view_task(
    connection: Connection,
    known: KnownTask,
    *,
    policy: Policy,
    until: int | None = None,
    yardstick: Yardstick | None = None,
) -> View:
    """The task now, or as it stood at a moment; with a yardstick, as it would stand under that."""
    version, bounds = baseline_at(connection, known, until)
    statement = select(submissions).where(submissions.c.task_key == known.key).order_by(submissions.c.ordinal)
    if until is not None:
        statement = statement.where(submissions.c.accepted_at <= until)
    rows = read_frame(connection, statement)
    if policy == "current" or yardstick is not None:
        used = yardstick or Yardstick(bounds, known.constants)
        scored = cents_columns(with_yardsticks(rows.drop(KEPT), [used], [0] * len(rows)), used.constants)
        rows = rows.with_columns(**scored)
        return View(known, policy, version, used.bounds, rows)
    return View(known, policy, version, bounds, rows)
