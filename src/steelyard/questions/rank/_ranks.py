"""Ranking: competitors on shared tasks, ranks with intervals, and the ranked groups."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from steelyard.errors import NoValidInputError, UsageError
from steelyard.metrics import Key, catalog
from steelyard.option_names import option
from steelyard.questions._figure_options import Order
from steelyard.questions._group_keys import tier_name
from steelyard.questions.analysis import (
    Mask,
    Samples,
    StatisticsOptions,
    TaskMeans,
    gap_of,
    linearized,
    ratio_part_names,
    runs_to_permute,
    scores_of,
)
from steelyard.questions.rank._answer import PassEstimate, RankedGroup, RankInterval
from steelyard.records import Finding, Missing, key_label
from steelyard.statistics import (
    Floats,
    Interval,
    Ints,
    WeightBy,
    holm,
    mean_of,
    pareto_frequencies,
    pareto_optimal,
    passes_over_tasks,
    permuted_sums,
    rank_intervals,
    ranked_pairs,
    significantly_better,
    step_down,
    strengths_by_task,
    swap_ratios,
    total_wins,
)

MAX_RANKED: dict[Order, int] = {"mean": 1_000, "bradley-terry": 200, "ranked-pairs": 500}
"""How many can be ranked: the work grows with the pairs, for ranked pairs with the cube."""

MAX_CELLS = 20_000_000
"""Results of pairs on tasks that are held at a time."""

MAX_TRIES = 10
"""The largest k of pass@k that is shown."""

MAX_SWAPS = 1_000_000_000
"""Swaps of a pair's results on a task that are drawn in all: some ten seconds of work."""


def common_tasks(means: Sequence[TaskMeans]) -> Mask:
    """Tasks that every competitor has a value for."""
    return np.asarray(np.logical_and.reduce([task_means.usable for task_means in means]), dtype=bool)


def estimate_ranks(
    scores: Floats,
    figures: Floats,
    *,
    order: Order,
    options: StatisticsOptions,
    ratio_parts: tuple[Floats, Floats] | None = None,
    permuted: Callable[[], Mask | None] = lambda: None,
) -> tuple[Floats, Ints, Ints, str]:
    """What to order by (higher first), best and worst places, and the name of the test behind them.

    `figures` are those of the competitors, `scores` what each task adds to them; of a ratio of means, `ratio_parts`
    holds numerator and denominator. `permuted` returns the pairs that differ by a permutation test, where attempts are
    unequal: a pair must be shown by both tests.
    """
    agents = scores.shape[1]
    if agents == 1:
        return np.zeros(1), np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64), "none"
    if agents > MAX_RANKED[order]:
        raise UsageError(
            f"too many groups for {option('order', order)}: {agents:,} (at most {MAX_RANKED[order]:,})",
            hint="group by fewer keys",
        )
    if order == "ranked-pairs":
        best, worst = ranked_pairs(total_wins(scores))
        return -(best + worst).astype(float), best, worst, "none: ranks consistent with the majorities"
    if order == "bradley-terry":
        by_task = strengths_by_task(scores)
        better, test = _significant_means(by_task, options)
        figures = np.round([mean_of(column) for column in by_task.T], 9)
    elif ratio_parts is None:
        better, test = _significant_means(scores, options)
    else:
        better, test = _significant_ratios(scores, ratio_parts, options)
    differ = permuted() if better.any() else None
    if differ is not None:
        better, test = better & differ, f"{test}; permutation of runs"
    best, worst = rank_intervals(better)
    return figures, best, worst, test


def _significant_means(scores: Floats, options: StatisticsOptions) -> tuple[Mask, str]:
    """Return a matrix of significant pairs (i better than j, family-wise) and the name of the test."""
    better = significantly_better(scores, level=options.level, resamples=options.resamples, seed=options.seed)
    return better, "sign-flip max-t, step-down"


def _significant_ratios(
    scores: Floats, ratio_parts: tuple[Floats, Floats], options: StatisticsOptions
) -> tuple[Mask, str]:
    """The same of ratios of means, by swaps with Holm's correction; too many pairs for that are tested as means."""
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    draws = max(options.resamples, 50 * len(pairs))
    if len(pairs) * draws * len(scores) > MAX_SWAPS:
        return _significant_means(scores, options)
    shown = holm(_swap_tests(ratio_parts, pairs, draws=draws, seed=options.seed)) <= 1 - options.level
    means = [mean_of(column) for column in scores.T]
    better = np.zeros((len(means), len(means)), dtype=bool)
    for (first, other), yes in zip(pairs, shown, strict=True):
        if yes and means[first] != means[other]:
            better[(first, other) if means[first] > means[other] else (other, first)] = True
    return better, "swap, Holm"


def _swap_tests(
    ratio_parts: tuple[Floats, Floats], pairs: Sequence[tuple[int, int]], *, draws: int, seed: int
) -> Floats:
    """The p-value of each pair's difference of ratios; 1 where it cannot be tested."""
    above, below = ratio_parts
    sides = [(above[:, place], below[:, place]) for place in range(above.shape[1])]
    tested = [swap_ratios(sides[first], sides[other], resamples=draws, seed=seed) for first, other in pairs]
    return np.array([1.0 if p_value is None else p_value for p_value in tested])


def competition_ranks(order_by: Floats) -> Ints:
    """Return competition ranks, highest first; ties share the better rank.

    >>> competition_ranks(np.array([0.5, 0.9, 0.9])).tolist()
    [3, 1, 1]
    """
    rounded = np.round(order_by, 12)
    return np.array([1 + int(np.count_nonzero(rounded > value)) for value in rounded], dtype=np.int64)


def fronts(
    scores: Floats, costs: Floats, figures: tuple[Floats, Floats], *, options: StatisticsOptions
) -> tuple[Mask, Floats]:
    """Who is on the front by score and cost, and how often when tasks are resampled."""
    # every draw compares all pairs: with very many of them fewer draws do
    draws = min(options.resamples, max(200, MAX_CELLS // scores.shape[1] ** 2))
    shares = pareto_frequencies(scores, costs, resamples=draws, seed=options.seed)
    return pareto_optimal(*figures), shares


def passes_of(passed: TaskMeans, common: Mask, *, level: float) -> dict[int, tuple[Interval, Interval]]:
    """pass@k and pass^k for every k up to the largest number of scored attempts, each over the tasks that have k.

    Empty if no task has several attempts.
    """
    tries = passed.known[common].tolist()
    most = min(max(tries, default=0), MAX_TRIES)
    if most < 2:
        return {}
    counts = np.rint(np.nan_to_num(passed.mean[common]) * passed.known[common]).astype(int).tolist()
    return {
        k: (
            passes_over_tasks(tries, counts, k, level=level),
            passes_over_tasks(tries, counts, k, all_of_them=True, level=level),
        )
        for k in range(1, most + 1)
    }


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
    ratio, their standard deviation what the choice of tasks leaves open (the delta method)."""
    figures: Floats
    """Each competitor's own figure over the common tasks, as it is weighted."""
    findings: tuple[Finding, ...]
    ratio_parts: tuple[Floats, Floats] | None = None
    """Numerator and denominator of a ratio of means, in the same rows and columns."""

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.keys)

    def on_common(self, tasks: Ints) -> Ints:
        """The competitor of each run on a common task; `tasks` are those of the runs."""
        return np.where(self.common[tasks], self.groups, -1)


def enter(
    samples: Samples, keys: Sequence[Key], codes: Ints, metric: str, *, by: Sequence[str], min_task_coverage: float
) -> Entrants:
    """Select the groups with enough tasks; findings name the others."""
    names = ratio_part_names(metric) if catalog()[metric].is_ratio else (metric,)
    for name in names:
        values = samples.known(name)
        if isinstance(values, Missing):
            raise NoValidInputError(f"cannot rank on {metric}: {values.reason}")
        if np.isinf(values).any():
            raise NoValidInputError(f"cannot rank on {metric}: some runs have an infinite value")
    means = samples.by_group(names[0], codes, len(keys))
    if not any(task_means.usable.any() for task_means in means):
        raise NoValidInputError(
            f"cannot rank on {metric}: no run has a value", hint=f"steelyard explain RUNS {metric} shows why"
        )
    findings, kept = _kept(samples, keys, means, metric, by=by, min_task_coverage=min_task_coverage)
    if not kept:
        raise NoValidInputError(f"no group has {metric} on enough tasks", hint=f"lower {option('min_task_coverage')}")
    common = common_tasks([means[place] for place in kept])
    if not common.any():
        tried = ", ".join(f"{_label(by, keys[place])} {int(means[place].usable.sum()):,}" for place in kept[:6])
        raise NoValidInputError(
            f"no task has a {metric} from all {len(kept)} (tasks with one: {tried})",
            hint=f"raise {option('min_task_coverage')} to exclude groups with few tasks",
        )
    findings += _shrunk(samples, keys, means, kept, common, by=by)
    scores, ratio_parts = np.column_stack([means[place].mean[common] for place in kept]), None
    uneven = samples.weight_by == "runs" and any(np.ptp(means[place].known[common]) > 0 for place in kept)
    if len(names) > 1 or uneven:
        below_of = samples.by_group(names[1], codes, len(keys)) if len(names) > 1 else None
        above, below = _halves_on_tasks(means, below_of, kept, common, samples.weight_by)
        divides = [bool(column.any()) for column in below.T]
        findings += [_no_ratio(metric, _label(by, keys[place])) for place in _where(kept, divides, holds=False)]
        kept = _where(kept, divides, holds=True)
        if not kept:
            raise NoValidInputError(f"cannot rank on {metric}: the denominator is zero for every group")
        ratio_parts = above[:, divides], below[:, divides]
        scores = linearized(*ratio_parts)
    renumbered = np.full(len(keys), -1, dtype=np.int64)
    renumbered[kept] = np.arange(len(kept))
    groups = renumbered[codes]
    figures = samples.figures(metric, np.where(common[samples.tasks], groups, -1), len(kept))
    return Entrants(tuple(keys[place] for place in kept), groups, common, scores, figures, tuple(findings), ratio_parts)


def _halves_on_tasks(
    above: Sequence[TaskMeans],
    below: Sequence[TaskMeans] | None,
    kept: Sequence[int],
    common: Mask,
    weight_by: WeightBy,
) -> tuple[Floats, Floats]:
    """What each common task adds above and below, a column a competitor; a mean divides by how much tasks count."""
    tops = [above[place].weighted(weight_by)[common] for place in kept]
    if below is None:
        bottoms = [above[place].weights(weight_by)[common] for place in kept]
    else:
        bottoms = [below[place].weighted(weight_by)[common] for place in kept]
    return np.column_stack(tops), np.column_stack(bottoms)


def _where(places: Sequence[int], marks: Sequence[bool], *, holds: bool) -> list[int]:
    return [place for place, mark in zip(places, marks, strict=True) if mark is holds]


def _no_ratio(metric: str, label: str) -> Finding:
    message = f"excluded: the denominator of {metric} is zero on the shared tasks"
    return Finding(code="no_ratio", message=message, where=label)


def _kept(
    samples: Samples,
    keys: Sequence[Key],
    means: Sequence[TaskMeans],
    metric: str,
    *,
    by: Sequence[str],
    min_task_coverage: float,
) -> tuple[list[Finding], list[int]]:
    findings: list[Finding] = []
    kept: list[int] = []
    for place, task_means in enumerate(means):
        tried = int(task_means.usable.sum())
        if tried and tried >= min_task_coverage * len(samples.task_names):
            kept.append(place)
            continue
        message = f"excluded: {metric} is known on {tried:,} of {len(samples.task_names):,} tasks"
        findings.append(Finding(code="task_coverage", message=message, where=_label(by, keys[place])))
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
    message = f"ranked on the {common_count:,} of {len(samples.task_names):,} tasks that every group has a value for"
    if most > common_count:
        culprits = [_label(by, keys[place]) for place in kept if without[place] == most]
        if len(culprits) == 1:
            message += f"; {most:,} without {culprits[0]}"
    return [Finding(code="common_tasks", severity="info", message=message)]


def _label(by: Sequence[str], key: Key) -> str:
    return key_label(by, key)


MAX_PERMUTED_RUNS = 300_000_000
"""Runs permuted in total: about ten seconds of work."""
MAX_PERMUTATIONS = 999
"""More permutations of a pair would not change any verdict at 95%."""


def significant_by_permutation(
    samples: Samples, groups: Ints, metric: str, common: Mask, *, size: int, options: StatisticsOptions
) -> Mask | None:
    """Return a matrix whose entry (i, j) is True if the permutation test finds i and j different.

    The family-wise error rate over all pairs is kept. Pairs with equal numbers of attempts on every task need no
    permutation and count as different; None if all pairs are such. A sign-flip test over tasks is not valid for the
    others, since the mean of many attempts and a single value have different distributions.
    """
    names = ratio_part_names(metric) if catalog()[metric].is_ratio else (metric,)
    known = np.stack([means.known[common] for means in samples.by_group(names[0], groups, size)])
    pairs = [(i, j) for i, j in itertools.combinations(range(size), 2) if np.any(known[i] != known[j])]
    if not pairs:
        return None
    runs = sum(int(known[i].sum() + known[j].sum()) for i, j in pairs)
    fewest = math.ceil(10 / (1 - options.level))
    draws = max(min(options.resamples, MAX_PERMUTATIONS, MAX_PERMUTED_RUNS // runs), fewest)
    columns = [
        _statistics(
            runs_to_permute(samples, (groups == i, groups == j), names, common),
            by_task=samples.weight_by == "tasks",
            draws=draws,
            seed=options.seed,
        )
        for i, j in pairs
    ]
    seen, permuted = np.array([own for own, _ in columns]), np.column_stack([drawn for _, drawn in columns])
    rising = np.argsort(seen, kind="stable")
    p_values = step_down(seen[rising], [permuted[:, rising]], exact=False)
    shown = np.ones((size, size), dtype=bool)
    for place, p_value in zip(rising.tolist(), p_values.tolist(), strict=True):
        i, j = pairs[place]
        shown[i, j] = shown[j, i] = p_value <= 1 - options.level
    return shown


def _statistics(runs: tuple[Floats, Ints, Mask], *, by_task: bool, draws: int, seed: int) -> tuple[float, Floats]:
    """Return the difference in units of the permutation standard deviation: observed, and in each permutation.

    Pairs are permuted independently of each other, whatever their names, which is conservative.
    """
    own_seed = zlib.crc32(np.sort(runs[0], axis=None).tobytes(), seed)
    seen, permuted = permuted_sums(*runs, by_task=by_task, resamples=draws, seed=own_seed)
    gap, gaps = float(gap_of(seen[None])[0]), gap_of(permuted)
    finite = np.isfinite(gaps)
    std_dev = float(np.sort(gaps[finite]).std()) if finite.any() else 0.0
    if std_dev == 0 or not math.isfinite(gap):
        return 0.0, np.zeros(len(gaps))
    # A permutation with a zero denominator on one side counts as the most extreme.
    return abs(gap) / std_dev, np.where(finite, np.abs(gaps) / std_dev, np.inf)


def ranked_groups(
    samples: Samples,
    field: Entrants,
    metrics: Sequence[str],
    standing: tuple[Floats, Ints, Ints],
    *,
    by: Sequence[str],
    tier_scheme: str | None,
    has_strength: bool,
    lower_bounds: Mapping[str, Sequence[int]],
    options: StatisticsOptions,
) -> tuple[RankedGroup, ...]:
    """Return the ranked groups, best first; ties ordered by key. The first metric is the one ranked by."""
    order_by, best, worst = standing
    ranks = competition_ranks(order_by)
    counting = field.on_common(samples.tasks)
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
                lower_bounds={name: counts[place] for name, counts in lower_bounds.items() if counts[place]},
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
