"""Who leads on one metric over the tasks that all share: places as bands where they cannot be told apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy import special

from steelyard.errors import UsageError
from steelyard.metrics import catalog
from steelyard.records import Missing
from steelyard.results import Order
from steelyard.standings._choosing_intervals import group_intervals, of_figure, ratio_interval
from steelyard.standings._differences import StatisticsOptions
from steelyard.standings._samples import Mask, Samples, TaskMeans, half_names
from steelyard.statistics import (
    Floats,
    Interval,
    Ints,
    bradley_terry,
    front_shares,
    holm,
    mean_of,
    on_front,
    passes_over_tasks,
    rank_bands,
    rank_intervals,
    ranked_pairs,
    sign_flip_many,
    swap_ratios,
    total_wins,
)

MOST_RANKED: dict[Order, int] = {"mean": 2_000, "bradley-terry": 200, "ranked-pairs": 500}
"""How many can be ranked: the work grows with the pairs, for ranked pairs with the cube."""

MOST_CELLS = 20_000_000
"""Results of pairs on tasks that are held at a time."""

MOST_TRIES = 10
"""The largest k of pass@k that is shown."""

MOST_SWAPS = 1_000_000_000
"""Swaps of a pair's results on a task that are drawn in all: some ten seconds of work."""

PAIRS_BY_SIGNS = 200
"""Up to so many pairs are tested by flipping signs; above, random signs cannot reach the small p-values needed."""


def common_tasks(means: Sequence[TaskMeans]) -> Mask:
    """Tasks that every competitor has a value for."""
    return np.asarray(np.logical_and.reduce([task_means.usable for task_means in means]), dtype=bool)


def bands(
    scores: Floats,
    figures: Floats,
    *,
    order: Order,
    options: StatisticsOptions,
    halves: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Ints, Ints, str]:
    """What to order by (higher first), best and worst places, and the name of the test behind them.

    `figures` are those of the competitors, `scores` what each task adds to them; of a ratio of means, `halves` holds
    what stands above and below.
    """
    tasks, agents = scores.shape
    if agents == 1:
        return np.zeros(1), np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64), "none"
    if agents > MOST_RANKED[order]:
        raise UsageError(
            f"{agents:,} cannot be ranked by {order}", hint=f"at most {MOST_RANKED[order]:,}; group by fewer keys"
        )
    if order == "ranked-pairs":
        best, worst = ranked_pairs(total_wins(scores))
        return -(best + worst).astype(float), best, worst, "none: the places that the majorities leave open"
    if order == "bradley-terry":
        if tasks * agents**2 > MOST_CELLS:
            raise UsageError(f"{agents:,} on {tasks:,} tasks are too many for bradley-terry", hint="--order mean")
        strengths = bradley_terry(total_wins(scores), prior=1.0).values
        assert strengths is not None  # a tied game a pair connects all
        best, worst = rank_intervals(scores, level=options.level, seed=options.seed)
        return np.round(strengths, 9), best, worst, "bootstrap of strengths, Bonferroni"
    sure, test = _surely_better(scores, options, halves)
    best, worst = rank_bands(sure)
    return figures, best, worst, test


def _surely_better(
    scores: Floats, options: StatisticsOptions, halves: tuple[Floats, Floats] | None
) -> tuple[Mask, str]:
    """Entry (i, j): i is better than j, and it is shown at the level after Holm over all pairs."""
    agents = scores.shape[1]
    pairs = list(itertools.combinations(range(agents), 2))
    sure = np.zeros((agents, agents), dtype=bool)
    if not pairs or len(scores) < 2:
        return sure, "none"
    draws = max(options.resamples, 50 * len(pairs))
    slow = halves is not None and len(pairs) * draws * len(scores) > MOST_SWAPS
    if len(pairs) > PAIRS_BY_SIGNS or slow:
        gaps, p_values = _t_tests(scores)
        return (gaps > 0) & (_holm_square(p_values) <= 1 - options.level), "paired-t"
    columns = np.column_stack([scores[:, first] - scores[:, other] for first, other in pairs])
    if halves is None:
        test, p_values = "sign-flip", sign_flip_many(columns, resamples=draws, seed=options.seed)[0]
    else:
        test, p_values = "swap", _swap_tests(halves, pairs, draws=draws, seed=options.seed)
    shown = holm(p_values) <= 1 - options.level
    for (first, other), total, yes in zip(pairs, columns.sum(axis=0), shown, strict=True):
        if yes and total != 0:
            sure[(first, other) if total > 0 else (other, first)] = True
    return sure, test


def _swap_tests(halves: tuple[Floats, Floats], pairs: Sequence[tuple[int, int]], *, draws: int, seed: int) -> Floats:
    """The p-value of each pair's difference of ratios; 1 where it cannot be tested."""
    above, below = halves
    sides = [(above[:, place], below[:, place]) for place in range(above.shape[1])]
    tested = [swap_ratios(sides[first], sides[other], resamples=draws, seed=seed) for first, other in pairs]
    return np.array([1.0 if p_value is None else p_value for p_value in tested])


def _t_tests(scores: Floats) -> tuple[Floats, Floats]:
    """Mean differences and p-values of paired t tests of all pairs, from the covariances alone."""
    n = len(scores)
    mean = np.array([mean_of(column) for column in scores.T])
    gaps = mean[:, None] - mean[None, :]
    spread = np.cov(scores, rowvar=False)
    own = np.diag(spread)
    variance = own[:, None] + own[None, :] - 2 * spread
    flat = variance <= 1e-12 * (own[:, None] + own[None, :])
    statistic = np.abs(gaps) / np.sqrt(np.where(flat, 1.0, variance) / n)
    # the same difference on every task: what a test of signs would say
    constant = np.where(gaps == 0, 1.0, 2.0 ** (1 - n))
    return gaps, np.asarray(np.where(flat, constant, 2 * special.stdtr(n - 1, -statistic)), dtype=float)


def _holm_square(p_values: Floats) -> Floats:
    """Holm over the pairs of a symmetric table."""
    upper = np.triu_indices(len(p_values), 1)
    adjusted = np.ones_like(p_values)
    adjusted[upper] = holm(p_values[upper])
    return np.minimum(adjusted, adjusted.T)


def competition_ranks(order_by: Floats) -> Ints:
    """Places from the highest down; equals share the better one.

    >>> competition_ranks(np.array([0.5, 0.9, 0.9])).tolist()
    [3, 1, 1]
    """
    rounded = np.round(order_by, 12)
    return np.array([1 + int(np.count_nonzero(rounded > value)) for value in rounded], dtype=np.int64)


def scores_of(samples: Samples, groups: Ints, metric: str, figures: Floats, *, level: float) -> list[Interval]:
    """Each competitor's figure with its interval; `groups` has -1 for runs that do not count."""
    declared, rows, size = catalog()[metric], groups >= 0, len(figures)
    if not declared.is_ratio:
        values = samples.known(metric)
        assert not isinstance(values, Missing)
        return group_intervals(
            declared,
            values[rows],
            groups=groups[rows],
            tasks=samples.tasks[rows],
            size=size,
            weight_by=samples.weight_by,
            level=level,
        )["mean"]
    above, below = (samples.known(name) for name in half_names(metric))
    assert not isinstance(above, Missing)
    assert not isinstance(below, Missing)
    intervals = []
    for place in range(size):
        own = groups == place
        halves, tasks, figure = (above[own], below[own]), samples.tasks[own], float(figures[place])
        interval = ratio_interval(declared, halves, tasks, figure, weight_by=samples.weight_by, level=level)
        assert interval is not None  # the automatic method is for ratios too
        intervals.append(interval)
    return intervals


def fronts(
    scores: Floats, costs: Floats, figures: tuple[Floats, Floats], *, options: StatisticsOptions
) -> tuple[Mask, Floats]:
    """Who is on the front by score and cost, and how often when tasks are drawn anew."""
    # every draw compares all pairs: with very many of them fewer draws do
    draws = min(options.resamples, max(200, MOST_CELLS // scores.shape[1] ** 2))
    shares = front_shares(scores, costs, resamples=draws, seed=options.seed)
    return on_front(*figures), shares


def passes_of(passed: TaskMeans, common: Mask, *, level: float) -> dict[int, tuple[Interval, Interval]]:
    """pass@k and pass^k for every k up to the largest number of scored attempts, each over the tasks that have k.

    Empty where no task was tried again: then only the pass rate can be told.
    """
    tries = passed.known[common].tolist()
    most = min(max(tries, default=0), MOST_TRIES)
    if most < 2:
        return {}
    counts = np.rint(np.nan_to_num(passed.mean[common]) * passed.known[common]).astype(int).tolist()
    return {
        k: (
            _share(passes_over_tasks(tries, counts, k, level=level)),
            _share(passes_over_tasks(tries, counts, k, all_of_them=True, level=level)),
        )
        for k in range(1, most + 1)
    }


def _share(interval: Interval) -> Interval:
    return of_figure(interval, interval.estimate, (0.0, 1.0))
