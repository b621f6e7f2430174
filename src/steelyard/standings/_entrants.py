"""Who takes part in a ranking, on which tasks, and the table of their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import NothingUsable
from steelyard.metrics import catalog
from steelyard.records import Finding, Missing, key_label
from steelyard.results import Order, RankPlace
from steelyard.standings._choosing_intervals import inside, ratio_interval
from steelyard.standings._differences import StatisticsOptions
from steelyard.standings._ranking import common_tasks, competition_ranks, fronts, passes_of, scores_of
from steelyard.standings._samples import Mask, Samples, TaskMeans, half_names
from steelyard.statistics import Floats, Interval, Ints

Key = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class Entrants:
    """The competitors on their common tasks."""

    keys: tuple[Key, ...]
    groups: Ints
    """The competitor of each run; -1 for runs of none."""
    common: Mask
    """The tasks that all of them have a value for."""
    scores: Floats
    """One row a common task, one column a competitor. Of a ratio of means, what each task adds to it: their mean is the
    ratio, their spread what the choice of tasks leaves open (the delta method)."""
    findings: tuple[Finding, ...]
    halves: tuple[Floats, Floats] | None = None
    """What stands above and below in a ratio of means, in the same rows and columns."""

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.keys)


def enter(
    samples: Samples, keys: Sequence[Key], codes: Ints, metric: str, *, by: Sequence[str], min_coverage: float
) -> Entrants:
    """Let in who tried enough of the tasks; the others are named in findings."""
    names = half_names(metric) if catalog()[metric].is_ratio else (metric,)
    for name in names:
        values = samples.known(name)
        if isinstance(values, Missing):
            raise NothingUsable(f"nobody can be ranked on {metric}: {values.reason}")
        if np.isinf(values).any():
            raise NothingUsable(f"nobody can be ranked on {metric}: some runs have an infinite value")
    means = samples.by_group(names[0], codes, len(keys))
    findings, kept = _kept(samples, keys, means, metric, by=by, min_coverage=min_coverage)
    if not kept:
        raise NothingUsable(f"nobody has a {metric} on enough tasks", hint="lower --min-coverage")
    common = common_tasks([means[place] for place in kept])
    if not common.any():
        tried = ", ".join(f"{_label(by, keys[place])} {int(means[place].usable.sum()):,}" for place in kept[:6])
        raise NothingUsable(
            f"no task has a {metric} from all {len(kept)} (tasks with one: {tried})",
            hint="raise --min-coverage to leave out who tried few tasks",
        )
    findings += _shrunk(samples, keys, means, kept, common, by=by)
    scores, halves = _on_tasks(means, kept, common), None
    if len(names) > 1:
        below = _on_tasks(samples.by_group(names[1], codes, len(keys)), kept, common)
        divides = [bool(column.any()) for column in below.T]
        findings += [_no_ratio(metric, _label(by, keys[place])) for place in _where(kept, divides, holds=False)]
        kept = _where(kept, divides, holds=True)
        if not kept:
            raise NothingUsable(f"nobody can be ranked on {metric}: there is nothing to divide by")
        halves = scores[:, divides], below[:, divides]
        scores = _linearized(*halves)
    renumbered = np.full(len(keys), -1, dtype=np.int64)
    renumbered[kept] = np.arange(len(kept))
    return Entrants(tuple(keys[place] for place in kept), renumbered[codes], common, scores, tuple(findings), halves)


def _on_tasks(means: Sequence[TaskMeans], kept: Sequence[int], common: Mask) -> Floats:
    return np.column_stack([means[place].mean[common] for place in kept])


def _where(places: Sequence[int], marks: Sequence[bool], *, holds: bool) -> list[int]:
    return [place for place, mark in zip(places, marks, strict=True) if mark is holds]


def _no_ratio(metric: str, label: str) -> Finding:
    message = f"left out: on the common tasks there is nothing to divide by in {metric}"
    return Finding(code="no_ratio", message=message, where=label)


def _linearized(above: Floats, below: Floats) -> Floats:
    """What each task adds to the ratio of means of each competitor."""
    tops, bottoms = (np.array([float(np.sort(column).mean()) for column in half.T]) for half in (above, below))
    ratios = tops / bottoms
    return np.asarray(ratios + (above - ratios * below) / bottoms, dtype=float)


def _kept(
    samples: Samples,
    keys: Sequence[Key],
    means: Sequence[TaskMeans],
    metric: str,
    *,
    by: Sequence[str],
    min_coverage: float,
) -> tuple[list[Finding], list[int]]:
    findings: list[Finding] = []
    kept: list[int] = []
    for place, task_means in enumerate(means):
        tried = int(task_means.usable.sum())
        if tried and tried >= min_coverage * len(samples.task_names):
            kept.append(place)
            continue
        message = f"left out: it has a {metric} on {tried:,} of {len(samples.task_names):,} tasks"
        findings.append(Finding(code="coverage", message=message, where=_label(by, keys[place])))
    return findings, kept


def _shrunk(
    samples: Samples,
    keys: Sequence[Key],
    means: Sequence[TaskMeans],
    kept: Sequence[int],
    common: Mask,
    *,
    by: Sequence[str],
) -> list[Finding]:
    """What the common tasks leave out, and who costs the most of them."""
    common_count = int(common.sum())
    if common_count == len(samples.task_names) or len(kept) < 2:
        return []
    without = {place: int(common_tasks([means[other] for other in kept if other != place]).sum()) for place in kept}
    most = max(without.values())
    message = f"ranked on the {common_count:,} of {len(samples.task_names):,} tasks that all have a value for"
    if most > common_count:
        culprits = [_label(by, keys[place]) for place in kept if without[place] == most]
        if len(culprits) == 1:
            message += f"; without {culprits[0]} it would be {most:,}"
    return [Finding(code="coverage", severity="info", message=message)]


def _label(by: Sequence[str], key: Key) -> str:
    return key_label(by, key)


def places(
    samples: Samples,
    field: Entrants,
    metric: str,
    standing: tuple[Floats, Ints, Ints],
    *,
    by: Sequence[str],
    order: Order,
    options: StatisticsOptions,
) -> tuple[RankPlace, ...]:
    """The places, the best first; among equals in the order of their keys."""
    order_by, best, worst = standing
    ranks = competition_ranks(order_by)
    shown = _intervals(samples, field, metric, level=options.level)
    passed = samples.by_group("pass_rate", field.groups, field.size)
    cost = samples.by_group("cost_usd", field.groups, field.size)
    counted = np.bincount(field.groups[(field.groups >= 0) & field.common[samples.tasks]], minlength=field.size)
    front = _front(field, metric, cost, options)
    rows = []
    for place, key in enumerate(field.keys):
        costs, rates = cost[place].mean[field.common], passed[place].mean[field.common]
        rows.append(
            RankPlace(
                key=dict(zip(by, key, strict=True)),
                rank=int(ranks[place]),
                best=int(best[place]),
                worst=int(worst[place]),
                score=shown[place],
                strength=float(order_by[place]) if order == "bradley-terry" else None,
                cost_usd=_whole_mean(costs),
                cost_runs=int(cost[place].known[field.common].sum()),
                cost_of_pass=_cost_of_pass(costs, rates),
                on_front=front[place][0] if place in front else None,
                front_share=front[place][1] if place in front else None,
                passes=passes_of(passed[place], field.common, level=options.level),
                tasks=int(field.common.sum()),
                runs=int(counted[place]),
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.rank, [str(value) for value in row.key.values()])))


def _intervals(samples: Samples, field: Entrants, metric: str, *, level: float) -> list[Interval]:
    """Each competitor's figure over the common tasks, every task counting the same, with its interval."""
    if field.halves is None:
        return scores_of(samples, field.groups, metric, field.scores, field.common, level=level)
    declared, tasks = catalog()[metric], np.arange(len(field.scores), dtype=np.int64)
    intervals = [
        ratio_interval(declared, (above, below), tasks, level=level)
        for above, below in zip(field.halves[0].T, field.halves[1].T, strict=True)
    ]
    return [inside(interval, declared.bounds) for interval in intervals if interval is not None]


def _whole_mean(values: Floats) -> float | None:
    return None if np.isnan(values).any() else float(np.sort(values).mean())


def _cost_of_pass(costs: Floats, rates: Floats) -> float | None:
    cost, rate = _whole_mean(costs), _whole_mean(rates)
    if cost is None or rate is None:
        return None
    value = catalog()["cost_of_pass"](cost_usd=cost, pass_rate=rate)
    return None if isinstance(value, Missing) else value


def _front(
    field: Entrants, metric: str, cost: Sequence[TaskMeans], options: StatisticsOptions
) -> dict[int, tuple[bool, float]]:
    """For each whose cost is known on all common tasks, whether it is on the front and how often in draws."""
    priced = [place for place in range(field.size) if not np.isnan(cost[place].mean[field.common]).any()]
    if not priced or metric == "cost_usd":
        return {}
    direction = 1.0 if catalog()[metric].better == "higher" else -1.0
    costs = np.column_stack([cost[place].mean[field.common] for place in priced])
    members, shares = fronts(direction * field.scores[:, priced], costs, options=options)
    return {place: (bool(members[i]), float(shares[i])) for i, place in enumerate(priced)}
