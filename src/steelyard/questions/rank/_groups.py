"""Ranked groups: places, scores, cost, the Pareto frontier and pass@k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import structs

from steelyard.metrics import catalog
from steelyard.questions._tiers import tier_name
from steelyard.questions.analysis import (
    Entrants,
    Samples,
    StatisticsOptions,
    TaskMeans,
    competition_ranks,
    fronts,
    passes_of,
    scores_of,
)
from steelyard.questions.rank._answer import PassEstimate, RankedGroup, RankInterval
from steelyard.statistics import Floats, Interval, Ints


def ranked_groups(
    samples: Samples,
    field: Entrants,
    metrics: Sequence[str],
    standing: tuple[Floats, Ints, Ints],
    *,
    by: Sequence[str],
    tier_scheme: str | None,
    has_strength: bool,
    options: StatisticsOptions,
) -> tuple[RankedGroup, ...]:
    """Return the ranked groups, best first; ties ordered by key. The first metric is the one ranked by."""
    order_by, best, worst = standing
    ranks = competition_ranks(order_by)
    counting = np.where(field.common[samples.tasks], field.groups, -1)
    shown = scores_of(samples, counting, metrics[0], field.figures, level=options.level)
    passed = samples.by_group("pass_rate", field.groups, field.size)
    cost = samples.by_group("cost_usd", field.groups, field.size)
    costs, prices_of_pass = (samples.figures(name, counting, field.size) for name in ("cost_usd", "cost_of_pass"))
    counted = np.bincount(field.groups[(field.groups >= 0) & field.common[samples.tasks]], minlength=field.size)
    front = _front(field, metrics[0], cost, costs, options)
    others = {name: samples.figures(name, counting, field.size) for name in metrics[1:]}
    tasks = int(field.common.sum())
    rows = []
    for place, values in enumerate(field.keys):
        key = dict(zip(by, values, strict=True))
        passes = passes_of(passed[place], field.common, level=options.level)
        rows.append(
            RankedGroup(
                key=key,
                tier_name=tier_name(key, tier_scheme),
                rank=int(ranks[place]),
                rank_interval=RankInterval(int(best[place]), int(worst[place])),
                score=shown[place],
                runs=int(counted[place]),
                cost_usd=_known(costs[place]),
                cost_runs=int(cost[place].known[field.common].sum()),
                cost_of_pass=_known(prices_of_pass[place]),
                pareto_optimal=front[place][0] if place in front else None,
                pareto_frequency=front[place][1] if place in front else None,
                extra_metrics={name: _known(figures[place]) for name, figures in others.items()},
                strength=float(order_by[place]) if has_strength else None,
                pass_at_k={str(k): _passes(pair[0], tasks) for k, pair in passes.items()},
                pass_all_k={str(k): _passes(pair[1], tasks) for k, pair in passes.items()},
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.rank, [str(value) for value in row.key.values()])))


def _passes(interval: Interval, tasks: int) -> PassEstimate:
    return PassEstimate(**structs.asdict(interval), missing=tasks - interval.n)


def _known(figure: float) -> float | None:
    return None if np.isnan(figure) else float(figure)


def _front(
    field: Entrants, metric: str, cost: Sequence[TaskMeans], figures: Floats, options: StatisticsOptions
) -> dict[int, tuple[bool, float]]:
    """For each whose cost is known on all common tasks, whether it is on the front and how often in draws."""
    priced = [place for place in range(field.size) if not np.isnan(cost[place].mean[field.common]).any()]
    if not priced or metric == "cost_usd":
        return {}
    direction = 1.0 if catalog()[metric].better == "higher" else -1.0
    costs = np.column_stack([cost[place].mean[field.common] for place in priced])
    of_both = direction * field.figures[priced], figures[priced]
    members, shares = fronts(direction * field.scores[:, priced], costs, of_both, options=options)
    return {place: (bool(members[i]), float(shares[i])) for i, place in enumerate(priced)}
