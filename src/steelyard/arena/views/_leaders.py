"""Tools and models across tasks: who leads overall and by category, and whether a tool is favored systematically."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from steelyard.arena.ingest import Arena, find_task, load_tasks, read_parties, teams_of
from steelyard.arena.scoring import (
    BaselineInputs,
    Rules,
    RulesHistory,
    RulesInForce,
    own_baseline,
    read_rules_history,
    score_interval,
    scored_by,
)
from steelyard.arena.views._task_view import View, view_task, view_tasks
from steelyard.records import Missing, Party, iso
from steelyard.results import (
    Advantage,
    CombinationBaseline,
    Leader,
    Leaderboard,
    LeaderKey,
    Policy,
    ScoreInterval,
    ToolBias,
)
from steelyard.statistics import check_level

Key = tuple[str | None, ...]


def views(arena: Arena, policy: Policy | None = None) -> Iterable[tuple[View, RulesHistory]]:
    """Every task that has submissions, one after the other, and who made the scores."""
    with arena.read() as connection:
        rules_history = read_rules_history(connection).behind(policy or arena.policy)
        every = load_tasks(connection, arena.rules).values()
        for view in view_tasks(connection, every, policy=policy or arena.policy):
            if len(view.rows):
                yield view, rules_history


def leaderboard(
    arena: Arena,
    *,
    by: Sequence[LeaderKey] = ("agent", "model"),
    policy: Policy | None = None,
    confidence: float | None = None,
) -> Leaderboard:
    """Who leads across all tasks and within each category."""
    scores: dict[str | None, dict[Key, dict[str, Counter[int]]]] = defaultdict(lambda: defaultdict(dict))
    unreported: dict[str | None, Counter[Key]] = defaultdict(Counter)
    made: Counter[RulesInForce] = Counter()
    with arena.read() as connection:
        teams, names = teams_of(connection), _display_names(read_parties(connection), by)
    for view, rules_history in views(arena, policy):
        made.update(rules_history.of(view.stored_task.key, ordinal) for ordinal in view.rows["ordinal"].to_list())
        columns = [
            list(map(teams.get, view.rows["submitter"].to_list())) if name == "team" else view.rows[name].to_list()
            for name in by
        ]
        columns += [view.rows[name].to_list() for name in ("execution_time", "estimated_cost", "overall")]
        for *key, time, cost, value in zip(*columns, strict=True):
            for category in {None, view.stored_task.task.category}:
                counts = scores[category][tuple(key)].setdefault(view.stored_task.task.id, Counter())
                counts[value] += 1
                unreported[category][tuple(key)] += not (time and cost)
    ranked = {
        category: _ranked(scores_by_key, unreported[category], by, arena.rules, confidence)
        for category, scores_by_key in scores.items()
    }
    named = {category: ranked[category] for category in sorted(name for name in ranked if name is not None)}
    return Leaderboard(
        profile=arena.rules.name,
        scored_by=scored_by(made),
        policy=policy or arena.policy,
        by=tuple(by),
        overall=ranked.get(None, ()),
        categories=named,
        names=names,
    )


def _display_names(registered: Iterable[Party], by: Sequence[LeaderKey]) -> dict[str, dict[str, str]]:
    """What the ids of each key are shown as, where they were registered with a name."""
    kinds = {"agent": "tool", "submitter": "person", "team": "team"}
    names: dict[str, dict[str, str]] = {key: {} for key in by}
    for party in registered:
        for key in by:
            if kinds.get(key) == party.kind and party.display_name is not None:
                names[key][party.id] = party.display_name
    return {key: own for key, own in names.items() if own}


def _ranked(
    scores: dict[Key, dict[str, Counter[int]]],
    unreported: Counter[Key],
    by: Sequence[LeaderKey],
    rules: Rules,
    confidence: float | None,
) -> tuple[Leader, ...]:
    intervals = {
        key: _rounded(
            score_interval(Counter(map(_mean, tasks.values())), rules.interval, confidence=confidence, over_tasks=True)
        )
        for key, tasks in scores.items()
    }
    means = {key: interval.estimate or 0.0 for key, interval in intervals.items()}  # every key has a score
    made = []
    for key in sorted(scores, key=lambda key: (-means[key], tuple(part or "" for part in key))):
        submissions = sum(counts.total() for counts in scores[key].values())
        made.append(
            Leader(
                rank=1 + sum(other > means[key] for other in means.values()),
                key=dict(zip(by, key, strict=True)),
                mean_score=means[key],
                tasks=len(scores[key]),
                submissions=submissions,
                unreported=unreported[key],
                reliable=submissions >= rules.leaderboard.reliable_from,
                confidence_interval=intervals[key],
            )
        )
    return tuple(made)


def _mean(counts: Counter[int]) -> Fraction:
    return Fraction(sum(value * n for value, n in counts.items()), counts.total())


def _rounded(interval: ScoreInterval) -> ScoreInterval:
    """The interval to two decimals, as its mean is shown: rounding keeps the order, so it still holds the mean."""
    ends = {"low": round(interval.low, 2), "high": round(interval.high, 2)}
    estimate = None if interval.estimate is None else round(interval.estimate, 2)
    return msgspec.structs.replace(interval, estimate=estimate, **ends)


def tool_bias(arena: Arena, *, policy: Policy | None = None, confidence: float = 0.95) -> ToolBias:
    """The systematic advantage or disadvantage of each tool across tasks, with its interval by Student's t."""
    check_level(confidence)
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
    advantages = [_advantage(agent, sorted(differences[agent]), confidence) for agent in sorted(differences)]
    return ToolBias(advantages=tuple(advantages))


def _advantage(agent: str, values: list[float], confidence: float) -> Advantage:
    from steelyard.statistics import paired_plus_two, paired_t  # heavy: they load scipy, which leaderboards do without

    interval, _ = paired_t(values, level=confidence)
    if not interval.known and len(values) > 1:  # the same on every task, which is not certain to be so on others
        interval = paired_plus_two(values, span=100.0, level=confidence)
    low, high = interval.low, interval.high
    return Advantage(
        agent=agent,
        tasks=len(values),
        mean_difference=interval.estimate,
        low=low,
        high=high,
        level=confidence,
        reason=f"not enough values for an interval: {len(values)} of 2" if len(values) < 2 else interval.reason,
        systematic=low is not None and high is not None and (low > 0 or high < 0),
    )


def combination_baselines(arena: Arena, task_id: str) -> tuple[CombinationBaseline, ...]:
    """The baseline of each tool and model alone; none, with the reason, where there are too few submissions."""
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
