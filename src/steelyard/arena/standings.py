"""Who leads a task: ranks with ties, percentiles, flags, and everything that casts doubt on a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steelyard.arena.arena import Arena
from steelyard.arena.cents import points
from steelyard.arena.intervals import ScoreInterval, score_interval
from steelyard.arena.known import DEFAULTED, Policy, claimed_criteria, defaulted_fields, lower_bounds
from steelyard.arena.rules import Rules
from steelyard.arena.scoring import KEPT, RANKED
from steelyard.arena.settings import settings_at
from steelyard.arena.suspicion import REVIEW, SUSPECT, outlier_flags, validate
from steelyard.arena.tallies import place
from steelyard.arena.tasks import known_task
from steelyard.arena.view import View, view_task
from steelyard.records.moments import iso

if TYPE_CHECKING:
    import polars as pl


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One submission's place in its task, under the specification's field names."""

    submission_id: str
    task_id: str
    overall_ranking: int
    percentile: float
    overall_score: float
    efficiency_score: float
    speed_score: float
    cost_score: float
    correctness_score: float
    adjusted_score: float
    efficiency_ranking: int
    speed_ranking: int
    cost_ranking: int
    correctness_ranking: int
    baseline_version: int
    defaulted: tuple[str, ...]
    claimed: tuple[str, ...]
    """Types of the criteria that only the submitter's word decided."""
    lower_bounds: tuple[str, ...]
    """Counts of which only a part is known, so that scores made from them are too good."""
    flags: tuple[str, ...]
    recommended_action: str | None
    warnings: tuple[str, ...]
    agent: str | None
    model: str | None
    submitter: str | None
    submitted_at: str
    evaluated_at: str
    total_tokens: int
    tool_calls: int
    iterations: int | None
    execution_time: float | None
    estimated_cost: float | None


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """The standings of a task and what made them."""

    task_id: str
    category: str | None
    profile: str
    policy: Policy
    baseline_version: int
    baseline: dict[str, float]
    breakdown: dict[str, float]
    """The weights of the four scores."""
    n: int
    reliable: bool
    """Whether the task has enough submissions for its ranks to count."""
    confidence_interval: ScoreInterval
    """Of the task's overall scores."""
    standings: tuple[Standing, ...]


def standings(
    arena: Arena,
    task_id: str,
    *,
    policy: Policy | None = None,
    until: int | None = None,
    level: float | None = None,
    top: int | None = None,
) -> Standings:
    """The standings of a task, now or as they stood at a moment; `top` leaves out lower places, not their weight."""
    with arena.read() as connection:
        rules, used = (arena.rules, arena.policy) if until is None else settings_at(connection, until)
        known = known_task(connection, task_id, rules)
        view = view_task(connection, known, policy=policy or used, until=until)
    return standings_of(view, rules, level=level, top=top)


def ranked(view: View) -> pl.DataFrame:
    """The rows with `{score}_ranking`, in the order of standing: later submissions first among equals."""
    import polars as pl  # heavy: a single submission is accepted without it

    ranks = [
        pl.col(name).rank("min", descending=True).cast(pl.Int64).alias(f"{name}_ranking")  # ranks are UInt32
        for name in RANKED
    ]
    order = ["overall", "submitted_at", "id"]
    return view.rows.with_columns(*ranks).sort(order, descending=[True, True, False])


def standings_of(view: View, rules: Rules, *, level: float | None = None, top: int | None = None) -> Standings:
    """The standings that a view shows."""
    rows = ranked(view)
    counts = view.counts()
    n = len(rows)
    baseline = view.baseline(rules.baseline.submissions)
    weights = {f"{name}_weight": view.known.constants[f"{name}_weight"] for name in RANKED[1:]}
    shown = rows if top is None else rows.head(top)
    median_tokens = float(rows["total_tokens"].median() or 0) if n else 0.0  # type: ignore[arg-type]  # of integers
    return Standings(
        task_id=view.known.task.id,
        category=view.known.task.category,
        profile=rules.name,
        policy=view.policy,
        baseline_version=view.version,
        baseline=baseline,
        breakdown=weights,
        n=n,
        reliable=n >= rules.standings.reliable_from,
        confidence_interval=score_interval(counts, rules.interval, level=level),
        standings=tuple(_standing(row, view, counts, median_tokens, rules) for row in shown.iter_rows(named=True)),
    )


def _standing(
    row: dict[str, Any], view: View, counts: dict[int, int], median_tokens: float, rules: Rules
) -> Standing:  # Any: column values
    flags = outlier_flags(rules.outliers, median_tokens, *(row[name] for name in SUSPECT))
    scores = {f"{name}_score": points(row[name]) for name in KEPT}
    rank, percentile = place(row["overall_ranking"] - 1, counts[row["overall"]], len(view.rows))
    return Standing(
        submission_id=row["id"],
        task_id=view.known.task.id,
        overall_ranking=rank,
        percentile=percentile,
        **scores,
        efficiency_ranking=row["efficiency_ranking"],
        speed_ranking=row["speed_ranking"],
        cost_ranking=row["cost_ranking"],
        correctness_ranking=row["correctness_ranking"],
        baseline_version=view.version if view.policy == "current" else row["baseline_version"],
        defaulted=defaulted_fields(*(row[name] for name in DEFAULTED)),
        claimed=claimed_criteria(row["details"]) if row["is_claimed"] else (),
        lower_bounds=lower_bounds(row["details"]),
        flags=flags,
        recommended_action=REVIEW if len(flags) >= rules.outliers.flags_for_review else None,
        warnings=tuple(validate([points(row[name]) for name in RANKED], row["total_tokens"], rules.validation)[1]),
        agent=row["agent"],
        model=row["model"],
        submitter=row["submitter"],
        submitted_at=iso(row["submitted_at"]),
        evaluated_at=iso(row["accepted_at"]),
        total_tokens=row["total_tokens"],
        tool_calls=row["tool_calls"],
        iterations=row["iterations"],
        execution_time=row["execution_time"],
        estimated_cost=row["estimated_cost"],
    )


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A submission with several suspicious marks."""

    submission_id: str
    task_id: str
    flags: tuple[str, ...]
    recommended_action: str


def outliers(arena: Arena, task_id: str) -> list[Outlier]:
    """The submissions of a task that a person should look at, in the order of acceptance."""
    with arena.read() as connection:
        known = known_task(connection, task_id, arena.rules)
        rows = view_task(connection, known, policy="as-submitted").rows
    if not len(rows):
        return []
    median_tokens = float(rows["total_tokens"].median())  # type: ignore[arg-type]  # of integers, and not none
    found = []
    for identity, *values in rows.select("id", *SUSPECT).iter_rows():
        flags = outlier_flags(arena.rules.outliers, median_tokens, *values)
        if len(flags) >= arena.rules.outliers.flags_for_review:
            found.append(Outlier(submission_id=identity, task_id=task_id, flags=flags, recommended_action=REVIEW))
    return found
