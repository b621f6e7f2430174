"""Who leads a task: ranks with ties, percentiles, flags, and everything that casts doubt on a place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from steelyard.arena.intake import Arena, known_task
from steelyard.arena.scoring import (
    DEFAULTED,
    KEPT,
    RANKED,
    REVIEW,
    SUSPECT,
    Policy,
    Rules,
    RulesHistory,
    RulesInForce,
    ScoredBy,
    ScoreInterval,
    claimed_criteria,
    defaulted_fields,
    lower_bounds,
    outlier_flags,
    place,
    points,
    read_rules_history,
    score_interval,
    scored_by,
    settings_at,
    validate,
)
from steelyard.arena.views._task_view import View, view_task
from steelyard.records import iso

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
    profile: str
    """The profile that made the scores: under `as-submitted` that of their day."""
    breakdown: dict[str, float]
    """The weights of the four scores that the overall score was made with."""


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """The standings of a task and what made them."""

    task_id: str
    category: str | None
    profile: str
    """The profile in force, by which flags, warnings and the interval are made."""
    scored_by: tuple[ScoredBy, ...]
    """The profiles that made the scores; under `current` the one in force."""
    policy: Policy
    baseline_version: int
    baseline: dict[str, float]
    breakdown: dict[str, float]
    """The weights of the four scores by the profile in force."""
    n: int
    reliable: bool
    """Whether the task has enough submissions for its ranks to count."""
    confidence_interval: ScoreInterval
    """Of the task's overall scores."""
    standings: tuple[Standing, ...]


def task_standings(
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
        reigns = read_rules_history(connection, known.key).behind(view.policy, until)
    return standings_of(view, rules, reigns, level=level, top=top)


def ranked(view: View) -> pl.DataFrame:
    """The rows with `{score}_ranking`, in the order of standing: later submissions first among equals."""
    import polars as pl  # heavy: a single submission is accepted without it

    ranks = [
        pl.col(name).rank("min", descending=True).cast(pl.Int64).alias(f"{name}_ranking")  # ranks are UInt32
        for name in RANKED
    ]
    order = ["overall", "submitted_at", "id"]
    return view.rows.with_columns(*ranks).sort(order, descending=[True, True, False])


class _Task(NamedTuple):
    """What the standings of one task have in common."""

    view: View
    rules: Rules
    counts: dict[int, int]
    median_tokens: float
    weights: dict[RulesInForce, dict[str, float]]


def standings_of(
    view: View, rules: Rules, reigns: RulesHistory, *, level: float | None = None, top: int | None = None
) -> Standings:
    """The standings that a view shows; `reigns` tell who made the scores."""
    rows = ranked(view)
    n = len(rows)
    baseline = view.baseline(rules.baseline.submissions)
    shown = rows if top is None else rows.head(top)
    median_tokens = float(rows["total_tokens"].median() or 0) if n else 0.0  # type: ignore[arg-type]  # of integers
    made = [reigns.of(view.known.key, ordinal) for ordinal in rows["ordinal"].to_list()]
    weights = {reign: _weights(reign.rules.constants_of(view.known.task)) for reign in set(made)}
    task = _Task(view, rules, view.counts(), median_tokens, weights)
    return Standings(
        task_id=view.known.task.id,
        category=view.known.task.category,
        profile=rules.name,
        scored_by=scored_by(Counter(made)),
        policy=view.policy,
        baseline_version=view.version,
        baseline=baseline,
        breakdown=_weights(view.known.constants),
        n=n,
        reliable=n >= rules.standings.reliable_from,
        confidence_interval=score_interval(task.counts, rules.interval, level=level),
        standings=tuple(
            _standing(row, task, reign)
            for row, reign in zip(shown.iter_rows(named=True), made[: len(shown)], strict=True)
        ),
    )


def _weights(constants: Mapping[str, float]) -> dict[str, float]:
    return {f"{name}_weight": constants[f"{name}_weight"] for name in RANKED[1:]}


def _standing(row: dict[str, Any], task: _Task, made_in: RulesInForce) -> Standing:  # Any: column values
    view, rules = task.view, task.rules
    flags = outlier_flags(rules.outliers, task.median_tokens, *(row[name] for name in SUSPECT))
    scores = {f"{name}_score": points(row[name]) for name in KEPT}
    rank, percentile = place(row["overall_ranking"] - 1, task.counts[row["overall"]], len(view.rows))
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
        profile=made_in.rules.name,
        breakdown=task.weights[made_in],
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
    flagged = []
    for identity, *values in rows.select("id", *SUSPECT).iter_rows():
        flags = outlier_flags(arena.rules.outliers, median_tokens, *values)
        if len(flags) >= arena.rules.outliers.flags_for_review:
            flagged.append(Outlier(submission_id=identity, task_id=task_id, flags=flags, recommended_action=REVIEW))
    return flagged
