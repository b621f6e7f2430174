"""Intervals of one figure: shares, means, medians, ratios, pass@k."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from benchmarks.coverage._scenario import DRAWS, Simulation, fresh_seed, holds_truth, pass_chances, share_of
from steelyard.statistics import (
    Floats,
    Interval,
    bootstrap_mean,
    clopper_pearson,
    clustered,
    fieller,
    median_clustered,
    median_exact,
    ratio_bootstrap,
    student,
    wilson,
    wilson_clustered,
)


def _enumerated(method: Callable[..., Interval], n: int, shares: Floats) -> Floats:
    """Exact coverage for each true share: the probability of the counts whose interval holds it."""
    limits = [method(count, n) for count in range(n + 1)]
    low, high = np.array([interval.low for interval in limits]), np.array([interval.high for interval in limits])
    chance = stats.binom.pmf(np.arange(n + 1)[None, :], n, shares[:, None])
    covered = (low <= shares[:, None]) & (shares[:, None] <= high)
    return np.asarray(np.sum(chance * covered, axis=1), dtype=float)


def wilson_enumerated(n: int) -> Simulation:
    return lambda _random, _trials: float(_enumerated(wilson, n, np.linspace(0.005, 0.995, 199)).mean())


def clopper_enumerated(n: int) -> Simulation:
    return lambda _random, _trials: float(_enumerated(clopper_pearson, n, np.linspace(0.001, 0.999, 999)).min())


def student_normal(random: np.random.Generator, trials: int) -> float:
    return share_of(trials, lambda: holds_truth(student(random.normal(3, 2, 10)), 3))


def median_exact_worst(_random: np.random.Generator, _trials: int) -> float:
    # the coverage does not depend on the distribution: the chance that the median lies between two order statistics
    worst = 1.0
    for n in range(6, 200):
        interval = median_exact(np.arange(1.0, n + 1))
        assert interval.low is not None
        worst = min(worst, 1 - 2 * float(stats.binom.cdf(int(interval.low) - 1, n, 0.5)))
    return worst


def _attempts(random: np.random.Generator, tasks: int) -> tuple[np.ndarray, np.ndarray]:
    """Task of each attempt, 3 to 7 attempts a task."""
    counts = random.integers(3, 8, tasks)
    return np.repeat(np.arange(tasks), counts), counts


def clustered_mean(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        labels, _ = _attempts(random, 30)
        values = random.normal(0, 1, 30)[labels] + random.normal(0, 1, len(labels))
        return holds_truth(clustered(values, labels), 0.0)

    return share_of(trials, once)


def clustered_proportion(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        mean = random.uniform(0.1, 0.9)
        labels = np.repeat(np.arange(40), 5)
        passed = random.random(len(labels)) < pass_chances(random, mean, 40)[labels]
        return holds_truth(wilson_clustered(passed, labels), mean)

    return share_of(trials, once)


def drawn_mean(method: str) -> Simulation:
    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            labels = np.repeat(np.arange(100), 3)
            values = random.gamma(2, 1, 100)[labels] * random.gamma(4, 0.25, len(labels))
            return holds_truth(
                bootstrap_mean(values, labels, method=method, resamples=DRAWS, seed=fresh_seed(random)), 2.0
            )

        return share_of(trials, once)

    return run


def clustered_median(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        labels = np.repeat(np.arange(50), 4)
        values = random.normal(0, 1, 50)[labels] + random.normal(0, 1, len(labels))
        return holds_truth(median_clustered(np.exp(values), labels), 1.0)

    return share_of(trials, once)


def _costs(random: np.random.Generator, tasks: int) -> tuple[Floats, Floats, np.ndarray, float]:
    """Cost and pass of three attempts a task; hard tasks cost more. True ratio: E cost / E pass."""
    labels = np.repeat(np.arange(tasks), 3)
    ease = random.beta(2, 2, tasks)
    cost = (1.5 - ease)[labels] * random.gamma(4, 0.25, len(labels))
    passed = (random.random(len(labels)) < ease[labels]).astype(float)
    return cost, passed, labels, 1.0 / 0.5


def fieller_cost(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        cost, passed, labels, truth = _costs(random, 40)
        return holds_truth(fieller(cost, passed, labels), truth)

    return share_of(trials, once)


def drawn_ratio(method: str) -> Simulation:
    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            cost, passed, labels, truth = _costs(random, 100)
            interval = ratio_bootstrap(cost, passed, labels, method=method, resamples=DRAWS, seed=fresh_seed(random))
            return holds_truth(interval, truth)

        return share_of(trials, once)

    return run
