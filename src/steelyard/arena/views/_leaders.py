"""Tools and models across tasks: who leads overall and by category, and whether a tool is favored systematically."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from steelyard.arena.intake import Arena, known_task, load_tasks
from steelyard.arena.scoring import (
    Facts,
    Policy,
    Rules,
    RulesHistory,
    RulesInForce,
    ScoredBy,
    ScoreInterval,
    mean_interval,
    own_baseline,
    read_rules_history,
    score_interval,
    scored_by,
)
from steelyard.arena.views._task_view import View, view_task
from steelyard.records import Missing
from steelyard.statistics import check_level

By = Literal["agent", "model", "submitter"]


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, model or submitter across tasks."""

    rank: int
    key: dict[str, str | None]
    mean_score: float
    """Mean over tasks of its mean overall score in the task, so that every task counts once."""
    tasks: int
    submissions: int
    reliable: bool
    """Whether it has enough submissions for its rank to count."""
    confidence_interval: ScoreInterval
    """Of the mean of all its overall scores, in which a task weighs as much as it has submissions."""


class Leaderboard(msgspec.Struct, frozen=True, kw_only=True):
    """Leaders overall and in each category."""

    profile: str
    """The profile in force, by which intervals are made."""
    scored_by: tuple[ScoredBy, ...]
    """The profiles that made the scores; under `current` the one in force."""
    policy: Policy
    by: tuple[By, ...]
    overall: tuple[Leader, ...]
    categories: dict[str, tuple[Leader, ...]]

    def first(self, places: int | None) -> Leaderboard:
        """Only so many of the first in each list; all of them with None."""
        categories = {name: ranking[:places] for name, ranking in self.categories.items()}
        return msgspec.structs.replace(self, overall=self.overall[:places], categories=categories)


Key = tuple[str | None, ...]


def views(arena: Arena, policy: Policy | None = None) -> Iterable[tuple[View, RulesHistory]]:
    """Every task that has submissions, one after the other, and who made the scores."""
    with arena.read() as connection:
        reigns = read_rules_history(connection).behind(policy or arena.policy)
        for known in load_tasks(connection, arena.rules).values():
            view = view_task(connection, known, policy=policy or arena.policy)
            if len(view.rows):
                yield view, reigns


def leaders(
    arena: Arena, *, by: Sequence[By] = ("agent", "model"), policy: Policy | None = None, level: float | None = None
) -> Leaderboard:
    """Who leads across all tasks and within each category."""
    scores: dict[str | None, dict[Key, dict[str, Counter[int]]]] = defaultdict(lambda: defaultdict(dict))
    made: Counter[RulesInForce] = Counter()
    for view, reigns in views(arena, policy):
        made.update(reigns.of(view.known.key, ordinal) for ordinal in view.rows["ordinal"].to_list())
        columns = [view.rows[name].to_list() for name in by]
        for *key, value in zip(*columns, view.rows["overall"].to_list(), strict=True):
            for category in {None, view.known.task.category}:
                counts = scores[category][tuple(key)].setdefault(view.known.task.id, Counter())
                counts[value] += 1
    ranked = {category: _ranked(scores_by_key, by, arena.rules, level) for category, scores_by_key in scores.items()}
    named = {category: ranked[category] for category in sorted(name for name in ranked if name is not None)}
    return Leaderboard(
        profile=arena.rules.name,
        scored_by=scored_by(made),
        policy=policy or arena.policy,
        by=tuple(by),
        overall=ranked.get(None, ()),
        categories=named,
    )


def _ranked(
    scores: dict[Key, dict[str, Counter[int]]], by: Sequence[By], rules: Rules, level: float | None
) -> tuple[Leader, ...]:
    def mean(tasks: dict[str, Counter[int]]) -> float:
        means = [
            sum(value * n for value, n in task_scores.items()) / task_scores.total() for task_scores in tasks.values()
        ]
        return round(sum(sorted(means)) / len(means) / 100, 2)

    means = {key: mean(tasks) for key, tasks in scores.items()}
    order = sorted(scores, key=lambda key: (-means[key], tuple(part or "" for part in key)))
    made = []
    for key in order:
        counts: Counter[int] = Counter()
        for task_scores in scores[key].values():
            counts.update(task_scores)
        made.append(
            Leader(
                rank=1 + sum(other > means[key] for other in means.values()),
                key=dict(zip(by, key, strict=True)),
                mean_score=means[key],
                tasks=len(scores[key]),
                submissions=counts.total(),
                reliable=counts.total() >= rules.standings.reliable_from,
                confidence_interval=score_interval(counts, rules.interval, level=level),
            )
        )
    return tuple(made)


class Advantage(msgspec.Struct, frozen=True, kw_only=True):
    """How a tool does against the others on the tasks that both took part in."""

    agent: str
    tasks: int
    """Tasks with submissions of this tool and of others."""
    mean_difference: float | None
    """Mean over those tasks of its mean score minus that of the others."""
    low: float | None
    high: float | None
    level: float
    reason: str | None
    """Why there is no interval; None when there is one."""
    systematic: bool
    """Whether the interval leaves out 0."""


def bias(arena: Arena, *, policy: Policy | None = None, level: float = 0.95) -> list[Advantage]:
    """The systematic advantage or disadvantage of each tool across tasks, with its interval by Student's t."""
    check_level(level)
    differences: dict[str, list[float]] = defaultdict(list)
    for view, _ in views(arena, policy):
        sums: dict[str, tuple[int, int]] = {}
        for agent, value in view.rows.select("agent", "overall").drop_nulls().iter_rows():
            total, n = sums.get(agent, (0, 0))
            sums[agent] = (total + value, n + 1)
        all_total, all_n = sum(total for total, _ in sums.values()), sum(n for _, n in sums.values())
        for agent, (total, n) in sums.items():
            own_differences = differences[agent]
            if all_n > n:
                own_differences.append((total / n - (all_total - total) / (all_n - n)) / 100)
    return [_advantage(agent, sorted(differences[agent]), level) for agent in sorted(differences)]


def _advantage(agent: str, values: list[float], level: float) -> Advantage:
    interval = mean_interval(values, level=level)
    if isinstance(interval, Missing):
        return Advantage(
            agent=agent,
            tasks=len(values),
            mean_difference=values[0] if values else None,
            low=None,
            high=None,
            level=level,
            reason=interval.reason,
            systematic=False,
        )
    mean, low, high = interval
    return Advantage(
        agent=agent,
        tasks=len(values),
        mean_difference=mean,
        low=low,
        high=high,
        level=level,
        reason=None,
        systematic=low > 0 or high < 0,
    )


def combination_baselines(arena: Arena, task_id: str) -> list[dict[str, object]]:
    """The baseline of each tool and model alone, beside the overall one; null with a reason where there are too few."""
    with arena.read() as connection:
        known = known_task(connection, task_id, arena.rules)
        rows = view_task(connection, known, policy="as-submitted").rows
    combinations = []
    for (agent, model), part in rows.group_by("agent", "model"):
        facts = Facts(*(part[name].to_list() for name in Facts._fields))
        own = own_baseline(facts, least=arena.rules.baseline.submissions)
        missing = isinstance(own, Missing)
        combinations.append(
            {
                "agent": agent,
                "model": model,
                "submissions": len(part),
                "baseline": None if missing else own,
                "reason": str(own.reason) if isinstance(own, Missing) else None,
            }
        )
    return sorted(
        combinations, key=lambda combination: (str(combination["agent"] or ""), str(combination["model"] or ""))
    )
