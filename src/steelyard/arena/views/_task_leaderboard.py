"""Leaderboard of a task: ranks with ties, percentiles, flags and warnings."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from steelyard.arena.ingest import Arena, find_task, load_tasks
from steelyard.arena.scoring import (
    COMMUNITY_SCORE,
    DEFAULTED,
    KEPT_SCORES,
    PARTS,
    RANKED_SCORES,
    REVIEW,
    SHRUNKEN_SCORE,
    SUSPECT,
    AbilitiesInForce,
    CommunityWeights,
    Rules,
    RulesHistory,
    RulesInForce,
    abilities_in_force,
    claimed_of,
    collector_resting,
    community_score,
    defaulted_of,
    flags_of,
    lower_bounds_of,
    outlier_flags,
    points,
    rank_and_percentile,
    read_rules_history,
    score_interval,
    scored_by,
    settings_at,
    shrunken_score,
    sparse_task,
    warnings_of,
    weights_in_force,
)
from steelyard.arena.views._task_view import View, view_task, view_tasks
from steelyard.arena.views._tool_metrics import Brought, asked_metrics, inputs_in, metrics_of, ranked_within
from steelyard.records import iso
from steelyard.results import LeaderboardEntry, Outlier, Policy, RankedScore, TaskLeaderboard

if TYPE_CHECKING:
    import polars as pl


def task_leaderboard(
    arena: Arena,
    task_id: str,
    *,
    policy: Policy | None = None,
    until: int | None = None,
    confidence: float | None = None,
    sort: RankedScore = "overall",
    top: int | None = None,
    metrics: Sequence[str] = (),
) -> TaskLeaderboard:
    """Return the leaderboard of a task, now or at a time, sorted by one score.

    `top` leaves out lower places, not their weight.
    """
    with arena.read() as connection:
        rules, used = (arena.rules, arena.policy) if until is None else settings_at(connection, until)
        stored_task = find_task(connection, task_id, rules)
        view = view_task(connection, stored_task, policy=policy or used, until=until, kept=arena.kept_rows)
        rules_history = read_rules_history(connection, stored_task.key).behind(view.policy, until)
        community = weights_in_force(connection, rules, until)
        abilities = abilities_in_force(connection, rules, until)
    wanted = asked_metrics(rules, metrics)
    shown = leaderboard_of(view, rules, rules_history, confidence=confidence, sort=sort, top=top)
    shown = _with_tool_metrics(shown, view, rules, wanted) if wanted else shown
    shown = shown if community is None else _with_community(shown, view, community)
    return shown if abilities is None else _with_shrunken(shown, abilities)


def _with_tool_metrics(shown: TaskLeaderboard, view: View, rules: Rules, wanted: Sequence[str]) -> TaskLeaderboard:
    """The leaderboard with metrics of each one's tool, and its rank among that tool's submissions to the task."""
    by_tool: dict[str, list[Brought]] = {}
    for identity, tool, details in view.rows.select("id", "agent", "details").iter_rows():
        by_tool.setdefault(tool or "", []).append(Brought(identity, shown.task_id, inputs_in(details)))
    scores_of: dict[str, dict[str, float | None]] = {}
    for tool, brought in by_tool.items():
        own = [name for name in wanted if name in metrics_of(rules, tool)]
        for row in ranked_within(brought, own):
            scores_of[row.submission_id] = row.values | {f"{name}_ranking": rank for name, rank in row.ranks.items()}
    blank = dict.fromkeys([*wanted, *(f"{name}_ranking" for name in wanted)])
    return dataclasses.replace(
        shown,
        leaderboard=tuple(
            msgspec.structs.replace(one, extra_scores=one.extra_scores | blank | scores_of[one.submission_id])
            for one in shown.leaderboard
        ),
    )


def _with_community(shown: TaskLeaderboard, view: View, community: CommunityWeights) -> TaskLeaderboard:
    """Add the community score of each entry."""
    weights = community.of(view.stored_task.task, view.stored_task.constants)

    def extra_scores(entry: LeaderboardEntry) -> dict[str, float | None]:
        parts = {name: getattr(entry, f"{name}_score") for name in PARTS}
        return entry.extra_scores | {COMMUNITY_SCORE: community_score(weights, parts)}

    return dataclasses.replace(
        shown,
        leaderboard=tuple(msgspec.structs.replace(one, extra_scores=extra_scores(one)) for one in shown.leaderboard),
        extra_score_versions=shown.extra_score_versions | {COMMUNITY_SCORE: community.fitted.version},
    )


def _with_shrunken(shown: TaskLeaderboard, abilities: AbilitiesInForce) -> TaskLeaderboard:
    """Add shrunken scores if the task has few submissions and the model was fitted under the same policy."""
    task = sparse_task(abilities.fitted, shown.task_id) if abilities.fitted.policy == shown.policy else None

    def extra_scores(entry: LeaderboardEntry) -> dict[str, float | None]:
        return entry.extra_scores | {
            SHRUNKEN_SCORE: None if task is None else shrunken_score(task, entry.overall_score)
        }

    return dataclasses.replace(
        shown,
        leaderboard=tuple(msgspec.structs.replace(one, extra_scores=extra_scores(one)) for one in shown.leaderboard),
        extra_score_versions=shown.extra_score_versions | {SHRUNKEN_SCORE: abilities.version},
    )


def ranked(view: View) -> pl.DataFrame:
    """The rows with `{score}_ranking`, in the order of entry: later submissions first among equals."""
    ranks = {f"{name}_ranking": _ranks(view.rows[name].to_numpy()) for name in RANKED_SCORES}
    order = ["overall", "submitted_at", "id"]
    return view.rows.with_columns(**ranks).sort(order, descending=[True, True, False])


def _ranks(cents: np.ndarray) -> pl.Series:
    """Competition ranks, the highest score first: one more than there are above. Scores are at most 10,001 values."""
    import polars as pl  # heavy: a single submission is accepted without it

    counts = np.bincount(cents)
    above = len(cents) - np.cumsum(counts)
    return pl.Series(above[cents] + 1, dtype=pl.Int64)


class _Task(NamedTuple):
    """What the leaderboard of one task have in common."""

    view: View
    rules: Rules
    counts: dict[int, int]
    median_tokens: float
    weights: dict[RulesInForce, dict[str, float]]


def leaderboard_of(
    view: View,
    rules: Rules,
    rules_history: RulesHistory,
    *,
    confidence: float | None,
    sort: RankedScore,
    top: int | None,
) -> TaskLeaderboard:
    """Return the leaderboard of a view; `rules_history` gives the profiles of the scores."""
    rows = ranked(view)
    if sort != "overall":
        rows = rows.sort(f"{sort}_ranking", maintain_order=True)
    n = len(rows)
    baseline = view.baseline(rules.baseline.submissions)
    shown = rows if top is None else rows.head(top)
    median_tokens = float(rows["total_tokens"].median() or 0) if n else 0.0  # type: ignore[arg-type]  # of integers
    made = [rules_history.of(view.stored_task.key, ordinal) for ordinal in rows["ordinal"].to_list()]
    weights = {made_by: _weights(made_by.rules.constants_of(view.stored_task.task)) for made_by in set(made)}
    task = _Task(view, rules, view.counts(), median_tokens, weights)
    with collector_resting():
        leaderboard = tuple(_entry_rows(shown, task, made[: len(shown)]))
    return TaskLeaderboard(
        task_id=view.stored_task.task.id,
        category=view.stored_task.task.category,
        profile=rules.name,
        scored_by=scored_by(Counter(made)),
        policy=view.policy,
        baseline_version=view.version,
        baseline=baseline,
        breakdown=_weights(view.stored_task.constants),
        n=n,
        reliable=n >= rules.leaderboard.reliable_from,
        confidence_interval=score_interval(task.counts, rules.interval, confidence=confidence),
        leaderboard=leaderboard,
        sorted_by=sort,
        reliable_from=rules.leaderboard.reliable_from,
        criteria=len(view.stored_task.task.success_criteria),
        excluded=tuple(logged.review for _, logged in sorted(view.decisions.excluded.items())),
    )


def _weights(constants: Mapping[str, float]) -> dict[str, float]:
    return {f"{name}_weight": constants[f"{name}_weight"] for name in RANKED_SCORES[1:]}


def _entry_rows(rows: pl.DataFrame, task: _Task, made: Sequence[RulesInForce]) -> Iterator[LeaderboardEntry]:
    """One entry a row. Columns are worked through one after the other: row by row took three times as long."""
    view, rules = task.view, task.rules
    columns = {name: rows[name].to_list() for name in rows.columns}
    flags = flags_of(rules.outliers, [task.median_tokens] * len(rows), *(columns[name] for name in SUSPECT))
    scores = {name: [points(cents) for cents in columns[name]] for name in KEPT_SCORES}
    ranked_scores = [scores[name] for name in RANKED_SCORES]
    own = {
        "submission_id": columns["id"],
        **{f"{name}_score": scores[name] for name in KEPT_SCORES},
        **{f"{name}_ranking": columns[f"{name}_ranking"] for name in RANKED_SCORES[1:]},
        "baseline_version": [view.version] * len(rows) if view.policy == "current" else columns["baseline_version"],
        "defaulted": defaulted_of(*(columns[name] for name in DEFAULTED)),
        "claimed": claimed_of(columns["is_claimed"], columns["details"]),
        "lower_bounds": lower_bounds_of(columns["details"]),
        "flags": flags,
        "warnings": warnings_of(rules.validation, ranked_scores, columns["total_tokens"]),
        "submitted_at": [iso(moment) for moment in columns["submitted_at"]],
        "evaluated_at": [_iso_of_batch(moment) for moment in columns["accepted_at"]],
        **{name: columns[name] for name in _AS_STORED},
    }
    places = [
        rank_and_percentile(rank - 1, task.counts[cents], len(view.rows))
        for rank, cents in zip(columns["overall_ranking"], columns["overall"], strict=True)
    ]
    least, accepted, task_id = rules.outliers.flags_for_review, view.decisions.accepted, view.stored_task.task.id
    names = tuple(own)
    for values, place, raised, ordinal, made_by in zip(
        zip(*own.values(), strict=True), places, flags, columns["ordinal"], made, strict=True
    ):
        yield LeaderboardEntry(
            task_id=task_id,
            overall_ranking=place[0],
            percentile=place[1],
            recommended_action=REVIEW if len(raised) >= least and ordinal not in accepted else None,
            profile=made_by.rules.name,
            breakdown=task.weights[made_by],
            **dict(zip(names, values, strict=True)),
        )


_AS_STORED = (
    "agent",
    "model",
    "submitter",
    "total_tokens",
    "tool_calls",
    "iterations",
    "execution_time",
    "estimated_cost",
    "success",
)
"""Fields of an entry that are stored as they are."""


@lru_cache(maxsize=4_096)
def _iso_of_batch(microseconds: int) -> str:
    """`iso`, remembered: submissions that came together were accepted at one moment."""
    return iso(microseconds)


def outliers(arena: Arena, task_id: str | None = None) -> list[Outlier]:
    """The submissions to a task (to all) that a person should look at and none has, in the order of acceptance."""
    with arena.read() as connection:
        if task_id is None:
            chosen = list(load_tasks(connection, arena.rules).values())
        else:
            chosen = [find_task(connection, task_id, arena.rules)]
        return [
            outlier
            for view in view_tasks(connection, chosen, policy="as-submitted")
            for outlier in _outliers_in(view, arena.rules)
        ]


def _outliers_in(view: View, rules: Rules) -> list[Outlier]:
    if not len(view.rows):
        return []
    median_tokens = float(view.rows["total_tokens"].median())  # type: ignore[arg-type]  # of integers, and not none
    task_id = view.stored_task.task.id
    flagged = []
    for ordinal, identity, *values in view.rows.select("ordinal", "id", *SUSPECT).iter_rows():
        flags = outlier_flags(rules.outliers, median_tokens, *values)
        if len(flags) >= rules.outliers.flags_for_review and ordinal not in view.decisions.accepted:
            flagged.append(Outlier(submission_id=identity, task_id=task_id, flags=flags, recommended_action=REVIEW))
    return flagged
