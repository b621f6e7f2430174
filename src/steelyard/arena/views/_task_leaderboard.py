"""Leaderboard of a task: ranks with ties, percentiles, flags and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from sqlalchemy.engine import Connection

from steelyard.arena._answer_parts import LeaderboardEntry, Outlier, Policy, RankedScore, ScoredBy
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.ingest._tasks import find_task, load_tasks
from steelyard.arena.scoring._fitted_models import (
    COMMUNITY_SCORE,
    PARTS,
    SHRUNKEN_SCORE,
    AbilitiesInForce,
    CommunityWeights,
    abilities_in_force,
    community_score,
    shrunken_score,
    sparse_task,
    weights_in_force,
)
from steelyard.arena.scoring._receipts import (
    DEFAULTED,
    REVIEW,
    SUSPECT,
    claimed_of,
    defaulted_of,
    flags_of,
    lower_bounds_of,
    outlier_flags,
    warnings_of,
)
from steelyard.arena.scoring._row_scores import ScoringContext
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._scores import KEPT_SCORES, RANKED_SCORES, points
from steelyard.arena.scoring._settings import RulesHistory, RulesInForce, read_rules_history, scored_by, settings_at
from steelyard.arena.scoring._submission_rows import collector_resting
from steelyard.arena.scoring._tallies import bounds_now, rank_and_percentile
from steelyard.arena.scoring._task_state import StoredTask, load_task_states
from steelyard.arena.views._task_view import View, view_task, view_tasks
from steelyard.arena.views._tool_metrics import ToolInputs, asked_metrics, inputs_in, metrics_of, ranked_within
from steelyard.records import iso

if TYPE_CHECKING:
    import polars as pl


class RankedTask(NamedTuple):
    """A task with ranked submissions, now or at a time."""

    view: View
    rules: Rules
    """The rules in effect then."""
    scored_by: tuple[ScoredBy, ...]
    entries: tuple[LeaderboardEntry, ...]
    """The first submissions, with as many as requested."""
    versions: dict[str, int]
    """The model version of extra scores."""

    @property
    def weights(self) -> dict[str, float]:
        """Weights of the four scores under these rules."""
        return _weights(self.view.stored_task.constants)

    @property
    def baseline(self) -> dict[str, float | str]:
        """The baseline of the task."""
        return self.view.baseline(self.rules.baseline.submissions)


def rank_task(
    arena: Arena,
    task_id: str,
    *,
    policy: Policy | None = None,
    until: int | None = None,
    by: RankedScore = "overall",
    top: int | None = None,
    metrics: Sequence[str] = (),
) -> RankedTask:
    """Return a task with submissions ranked by one score; `metrics` are tool metrics to add as extra scores."""
    with arena.read() as connection:
        rules, used = (arena.rules, arena.policy) if until is None else settings_at(connection, until)
        stored_task = find_task(connection, task_id, rules)
        view = view_task(connection, stored_task, policy=policy or used, until=until, kept=arena.kept_rows)
        rules_history = read_rules_history(connection, stored_task.key).behind(view.policy, until)
        community = weights_in_force(connection, rules, until)
        abilities = abilities_in_force(connection, rules, until)
    wanted = asked_metrics(rules, metrics)
    made, entries = _entries(view, rules, rules_history, by=by, top=top)
    entries = _with_tool_metrics(entries, view, rules, wanted) if wanted else entries
    versions: dict[str, int] = {}
    if community is not None:
        entries = _with_community(entries, view, community)
        versions[COMMUNITY_SCORE] = community.fitted.version
    if abilities is not None:
        entries = _with_shrunken(entries, view, abilities)
        versions[SHRUNKEN_SCORE] = abilities.version
    return RankedTask(view, rules, scored_by(Counter(made)), entries, versions)


Entries = tuple[LeaderboardEntry, ...]


def _with_tool_metrics(entries: Entries, view: View, rules: Rules, wanted: Sequence[str]) -> Entries:
    """Add the metrics of each submission's agent, with its rank among that agent's submissions to the task."""
    by_tool: dict[str, list[ToolInputs]] = {}
    for identity, tool, details in view.rows.select("id", "agent", "details").iter_rows():
        by_tool.setdefault(tool or "", []).append(ToolInputs(identity, view.stored_task.task.id, inputs_in(details)))
    scores_of: dict[str, dict[str, float | None]] = {}
    for tool, brought in by_tool.items():
        own = [name for name in wanted if name in metrics_of(rules, tool)]
        for row in ranked_within(brought, own):
            values = {name: each.value for name, each in row.metrics.items()}
            scores_of[row.submission_id] = values | {f"{name}_ranking": row.metrics[name].ranking for name in own}
    blank = dict.fromkeys([*wanted, *(f"{name}_ranking" for name in wanted)])
    return _with_extra(entries, lambda entry: blank | scores_of[entry.submission_id])


def _with_community(entries: Entries, view: View, community: CommunityWeights) -> Entries:
    """Add the community score of each submission."""
    weights = community.of(view.stored_task.task, view.stored_task.constants)

    def extra(entry: LeaderboardEntry) -> dict[str, float | None]:
        parts = {name: getattr(entry, f"{name}_score") for name in PARTS}
        return {COMMUNITY_SCORE: community_score(weights, parts)}

    return _with_extra(entries, extra)


def _with_shrunken(entries: Entries, view: View, abilities: AbilitiesInForce) -> Entries:
    """Add shrunken scores if the task has few submissions and the model was fitted under the same policy."""
    task = sparse_task(abilities.fitted, view.stored_task.task.id) if abilities.fitted.policy == view.policy else None
    return _with_extra(
        entries,
        lambda entry: {SHRUNKEN_SCORE: None if task is None else shrunken_score(task, entry.overall_score)},
    )


def _with_extra(entries: Entries, extra: Callable[[LeaderboardEntry], dict[str, float | None]]) -> Entries:
    return tuple(msgspec.structs.replace(each, extra_scores=each.extra_scores | extra(each)) for each in entries)


def ranked(view: View) -> pl.DataFrame:
    """The rows with `{score}_ranking`, in the order of entry: later submissions first among equals."""
    ranks = {f"{name}_ranking": _ranks(view.rows[name].to_numpy()) for name in RANKED_SCORES}
    order = ["overall", "submitted_at", "id"]
    return view.rows.with_columns(**ranks).sort(order, descending=[True, True, False])


def ranks_under(connection: Connection, task_id: str, rules: Rules) -> pl.DataFrame:
    """Return the scores and ranks of the current submissions to a task under these rules, with policy `current`."""
    stored_task: StoredTask = find_task(connection, task_id, rules)
    state = load_task_states(connection, [stored_task], rules, lock=False)[stored_task.key]
    context = ScoringContext(bounds_now(connection, state), stored_task.constants)
    view = view_task(connection, stored_task, policy="current", context=context)
    return ranked(view).select("id", "overall", "overall_ranking")


def _ranks(cents: np.ndarray) -> pl.Series:
    """Competition ranks, the highest score first: one more than there are above. Scores are at most 10,001 values."""
    import polars as pl  # heavy: a single submission is accepted without it

    counts = np.bincount(cents)
    above = len(cents) - np.cumsum(counts)
    return pl.Series(above[cents] + 1, dtype=pl.Int64)


class _Task(NamedTuple):
    """What the entries of one task have in common."""

    view: View
    rules: Rules
    counts: dict[int, int]
    median_tokens: float
    weights: dict[RulesInForce, dict[str, float]]


def _entries(
    view: View, rules: Rules, rules_history: RulesHistory, *, by: RankedScore, top: int | None
) -> tuple[list[RulesInForce], Entries]:
    """Return the rules that made each score, and the first submissions in the order of one score."""
    rows = ranked(view)
    if by != "overall":
        rows = rows.sort(f"{by}_ranking", maintain_order=True)
    shown = rows if top is None else rows.head(top)
    median_tokens = float(rows["total_tokens"].median() or 0) if len(rows) else 0.0  # type: ignore[arg-type]  # of integers
    made = [rules_history.of(view.stored_task.key, ordinal) for ordinal in rows["ordinal"].to_list()]
    weights = {made_by: _weights(made_by.rules.constants_of(view.stored_task.task)) for made_by in set(made)}
    task = _Task(view, rules, view.counts(), median_tokens, weights)
    with collector_resting():
        return made, tuple(_entry_rows(shown, task, made[: len(shown)]))


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
