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
from steelyard.formatting import counted
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
    over_clusters,
    ratio_part_names,
    runs_to_permute,
    scores_of,
)
from steelyard.questions.rank._answer import PassEstimate, RankedGroup, RankInterval
from steelyard.records import Finding, Missing, key_label
from steelyard.statistics import (
    MIN_CLUSTERS,
    MIN_RESAMPLED_TASKS,
    Floats,
    Interval,
    Ints,
    WeightBy,
    effective_clusters,
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
    clusters: Ints | None = None,
    are_clusters_units: bool = False,
    permuted: Callable[[], Mask | None] = lambda: None,
) -> tuple[Floats, Ints, Ints, str]:
    """What to order by (higher first), best and worst places, and the name of the test behind them.

    `figures` are those of the competitors, `scores` what each task adds to them; of a ratio of means, `ratio_parts`
    holds numerator and denominator. `clusters` are those of the rows: the unit of analysis, or else they must confirm
    what tasks show, if there are at least eight. `permuted` returns the pairs that differ by a permutation test, where
    attempts are unequal: a pair must be shown by both tests.
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
        scores, ratio_parts = strengths_by_task(scores), None
        figures = np.round([mean_of(column) for column in scores.T], 9)
    better, test = _significant(scores, ratio_parts, options)
    if clusters is not None and (are_clusters_units or clusters.max() + 1 >= MIN_CLUSTERS):
        parts = (
            None
            if ratio_parts is None
            else (_cluster_sums(ratio_parts[0], clusters), _cluster_sums(ratio_parts[1], clusters))
        )
        confirmed, _ = _significant(_cluster_sums(scores, clusters), parts, options)
        better = confirmed if are_clusters_units else better & confirmed
        test += " over clusters" if are_clusters_units else ", over tasks and over clusters"
    differ = permuted() if better.any() else None
    if differ is not None:
        better, test = better & differ, f"{test}; permutation of runs"
    best, worst = rank_intervals(better)
    return figures, best, worst, test


def _cluster_sums(rows: Floats, clusters: Ints) -> Floats:
    """Return the sum of the rows of each cluster."""
    sums = np.zeros((int(clusters.max()) + 1, rows.shape[1]))
    np.add.at(sums, clusters, rows)
    return sums


def _significant(
    scores: Floats, ratio_parts: tuple[Floats, Floats] | None, options: StatisticsOptions
) -> tuple[Mask, str]:
    """Return a matrix of significant pairs (i better than j, family-wise) and the name of the test.

    Ratios of means are tested by swaps with Holm's correction; too many pairs for that are tested as means.
    """
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    draws = max(options.resamples, 50 * len(pairs))
    if ratio_parts is None or len(pairs) * draws * len(scores) > MAX_SWAPS:
        better = significantly_better(scores, level=options.level, resamples=options.resamples, seed=options.seed)
        return better, "sign-flip max-t, step-down"
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
    clusters: Ints | None = None
    """The cluster of each common task, numbered; None if tasks are independent."""

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.keys)

    @property
    def effective_clusters(self) -> float | None:
        """Number of equal clusters that are worth as much as these; None without clusters."""
        return None if self.clusters is None else effective_clusters(np.bincount(self.clusters))

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
    clusters = None
    if samples.clusters is not None:
        labels = [samples.clusters[samples.task_names[task]] for task in np.flatnonzero(common)]
        clusters = np.unique(labels, return_inverse=True)[1]
    return Entrants(
        tuple(keys[place] for place in kept), groups, common, scores, figures, tuple(findings), ratio_parts, clusters
    )


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
    if samples.clusters is not None:
        tasks_scored = np.flatnonzero(field.common)
        shown = [
            over_clusters(samples, interval, column, tasks_scored, options, catalog()[metrics[0]])
            for interval, column in zip(shown, field.scores.T, strict=True)
        ]
    passed = samples.by_group("pass_rate", field.groups, field.size)
    cost = samples.by_group("cost_usd", field.groups, field.size)
    costs, prices_of_pass = (samples.figures(name, counting, field.size) for name in ("cost_usd", "cost_of_pass"))
    runs = np.bincount(field.groups[(field.groups >= 0) & field.common[samples.tasks]], minlength=field.size)
    front = _frontier(field, metrics[0], cost, costs, are_clusters_units=samples.are_clusters_units, options=options)
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
                runs=int(runs[place]),
                cost_usd=_known(costs[place]),
                cost_runs=int(cost[place].known[field.common].sum()),
                cost_of_pass=_known(prices_of_pass[place]),
                pareto_optimal=front.is_optimal.get(place),
                pareto_frequency=front.frequencies.get(place),
                pareto_reason=front.reason if place in front.is_optimal else front.excluded,
                extra_metrics={name: _known(figures[place]) for name, figures in others.items()},
                lower_bounds={name: counts[place] for name, counts in lower_bounds.items() if counts[place]},
                strength=float(order_by[place]) if has_strength else None,
                pass_at_k={str(k): _passes(pair[0], tasks) for k, pair in passes.items()},
                pass_all_k={str(k): _passes(pair[1], tasks) for k, pair in passes.items()},
                margin=None,
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.rank, [str(value) for value in row.key.values()])))


def _passes(interval: Interval, tasks: int) -> PassEstimate:
    return PassEstimate(**structs.asdict(interval), missing=tasks - interval.n)


def _known(figure: float) -> float | None:
    return None if np.isnan(figure) else float(figure)


@dataclass(frozen=True, slots=True)
class Frontier:
    """Pareto frontier of score and cost, by group."""

    is_optimal: Mapping[int, bool]
    """Of the groups whose cost is known on all common tasks."""
    frequencies: Mapping[int, float]
    """Fraction of bootstrap resamples in which the group is on the frontier."""
    reason: str | None = None
    """Why there are no frequencies."""
    excluded: str = "the cost is unknown on some shared tasks"
    """Why other groups are neither on the frontier nor below."""


def _frontier(
    field: Entrants,
    metric: str,
    cost: Sequence[TaskMeans],
    figures: Floats,
    *,
    are_clusters_units: bool,
    options: StatisticsOptions,
) -> Frontier:
    """Return the frontier and, from ten tasks or clusters on, how stable it is when these are resampled."""
    if metric == "cost_usd":
        return Frontier({}, {}, excluded="the groups are ranked by cost")
    priced = [place for place in range(field.size) if not np.isnan(cost[place].mean[field.common]).any()]
    if not priced:
        return Frontier({}, {})
    direction = 1.0 if catalog()[metric].better == "higher" else -1.0
    members = pareto_optimal(direction * field.figures[priced], figures[priced])
    is_optimal = dict(zip(priced, members.tolist(), strict=True))
    scores = direction * field.scores[:, priced]
    costs = np.column_stack([cost[place].mean[field.common] for place in priced])
    unit = "shared task"
    if are_clusters_units and field.clusters is not None:
        scores, costs, unit = _cluster_sums(scores, field.clusters), _cluster_sums(costs, field.clusters), "cluster"
    if len(scores) < MIN_RESAMPLED_TASKS:
        reason = f"{counted(len(scores), unit)}: too few to resample; {MIN_RESAMPLED_TASKS} are needed"
        return Frontier(is_optimal, {}, reason=reason)
    # every draw compares all pairs: with very many of them fewer draws do
    draws = min(options.resamples, max(200, MAX_CELLS // scores.shape[1] ** 2))
    shares = pareto_frequencies(scores, costs, resamples=draws, seed=options.seed)
    return Frontier(is_optimal, dict(zip(priced, shares.tolist(), strict=True)))
