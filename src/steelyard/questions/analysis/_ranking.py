"""Ranks on one metric over shared tasks, with rank intervals, fronts and pass@k."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from steelyard.errors import UsageError
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.questions._figure_options import Order
from steelyard.questions.analysis._choosing_intervals import group_intervals, ratio_interval
from steelyard.questions.analysis._differences import StatisticsOptions
from steelyard.questions.analysis._samples import Mask, Samples, TaskMeans, half_names
from steelyard.records import Missing
from steelyard.statistics import (
    Floats,
    Interval,
    Ints,
    holm,
    mean_of,
    pareto_frequencies,
    pareto_optimal,
    passes_over_tasks,
    rank_intervals,
    ranked_pairs,
    significantly_better,
    strengths_by_task,
    swap_ratios,
    total_wins,
)

MAX_RANKED: dict[Order, int] = {"mean": 2_000, "bradley-terry": 200, "ranked-pairs": 500}
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
    halves: tuple[Floats, Floats] | None = None,
    permuted: Callable[[], Mask | None] = lambda: None,
) -> tuple[Floats, Ints, Ints, str]:
    """What to order by (higher first), best and worst places, and the name of the test behind them.

    `figures` are those of the competitors, `scores` what each task adds to them; of a ratio of means, `halves` holds
    numerator and denominator. `permuted` returns the pairs that differ by a permutation test, where attempts are
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
    elif halves is None:
        better, test = _significant_means(scores, options)
    else:
        better, test = _significant_ratios(scores, halves, options)
    differ = permuted() if better.any() else None
    if differ is not None:
        better, test = better & differ, f"{test}; permutation of runs"
    best, worst = rank_intervals(better)
    return figures, best, worst, test


def _significant_means(scores: Floats, options: StatisticsOptions) -> tuple[Mask, str]:
    """Return a matrix of significant pairs (i better than j, family-wise) and the name of the test."""
    better = significantly_better(scores, level=options.level, resamples=options.resamples, seed=options.seed)
    return better, "sign-flip max-t, step-down"


def _significant_ratios(scores: Floats, halves: tuple[Floats, Floats], options: StatisticsOptions) -> tuple[Mask, str]:
    """The same of ratios of means, by swaps with Holm's correction; too many pairs for that are tested as means."""
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    draws = max(options.resamples, 50 * len(pairs))
    if len(pairs) * draws * len(scores) > MAX_SWAPS:
        return _significant_means(scores, options)
    shown = holm(_swap_tests(halves, pairs, draws=draws, seed=options.seed)) <= 1 - options.level
    means = [mean_of(column) for column in scores.T]
    better = np.zeros((len(means), len(means)), dtype=bool)
    for (first, other), yes in zip(pairs, shown, strict=True):
        if yes and means[first] != means[other]:
            better[(first, other) if means[first] > means[other] else (other, first)] = True
    return better, "swap, Holm"


def _swap_tests(halves: tuple[Floats, Floats], pairs: Sequence[tuple[int, int]], *, draws: int, seed: int) -> Floats:
    """The p-value of each pair's difference of ratios; 1 where it cannot be tested."""
    above, below = halves
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


def scores_of(
    samples: Samples, groups: Ints, metric: str, figures: Floats, *, level: float, method: str = "auto"
) -> list[Interval]:
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
            method=method,
            level=level,
        )["mean"]
    above, below = (samples.known(name) for name in half_names(metric))
    assert not isinstance(above, Missing)
    assert not isinstance(below, Missing)
    intervals = []
    for place in range(size):
        own = groups == place
        halves, tasks, figure = (above[own], below[own]), samples.tasks[own], float(figures[place])
        interval = ratio_interval(
            declared, halves, tasks, figure, weight_by=samples.weight_by, method=method, level=level
        )
        assert interval is not None  # callers ask for methods that are for ratios too
        intervals.append(interval)
    return intervals


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
