"""Intervals and tests of a difference between two sides on the same tasks."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import stats

from benchmarks.coverage._scenario import DRAWS, Simulation, fresh_seed, holds_truth, pass_chances, rejects, share_of
from steelyard.statistics import (
    Floats,
    holm,
    mcnemar_exact,
    paired_bootstrap,
    paired_plus_two,
    paired_proportions,
    paired_ratios,
    paired_t,
    sign_flip,
    sign_flip_many,
)


def _differences(random: np.random.Generator, tasks: int, attempts: tuple[int, int], shift: float = 0.0) -> Floats:
    """Differences of pass shares by task: the same tasks, B's chance higher by about `shift`."""
    ease = pass_chances(random, 0.5, tasks)
    a = random.binomial(attempts[0], ease) / attempts[0]
    b = random.binomial(attempts[1], ease * (1 - shift) + shift) / attempts[1]
    return b - a


def paired_student(random: np.random.Generator, trials: int) -> float:
    # the true difference: mean of shift x (1 - ease) = 0.2 x 0.5
    return share_of(trials, lambda: holds_truth(paired_t(_differences(random, 30, (3, 5), 0.2))[0], 0.1))


def few_differ(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        # one task in eight is open, the others always pass or always fail
        chance = np.where(random.random(60) < 0.125, 0.5, np.round(random.random(60)))
        a, b = random.binomial(2, chance) / 2, random.binomial(3, chance) / 3
        return holds_truth(paired_plus_two(b - a, span=1.0), 0.0)

    return share_of(trials, once)


def single_attempts(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        a, b = random.uniform(0.03, 0.3, 2)
        only_a, only_b, _ = random.multinomial(50, [a, b, 1 - a - b])
        return holds_truth(paired_proportions(int(only_a), int(only_b), 50), b - a)

    return share_of(trials, once)


def drawn_difference(method: str) -> Simulation:
    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            gaps = _differences(random, 100, (3, 5), 0.2)
            return holds_truth(paired_bootstrap(gaps, method=method, resamples=DRAWS, seed=fresh_seed(random)), 0.1)

        return share_of(trials, once)

    return run


def _two_costs(random: np.random.Generator, tasks: int) -> list[tuple[Floats, Floats]]:
    """Mean cost and fraction of passes by task for two equal agents, three attempts each."""
    ease = random.beta(2, 2, tasks)
    sides = []
    for _ in range(2):
        cost = (1.5 - ease) * random.gamma(12, 1 / 12, tasks)
        sides.append((cost, random.binomial(3, ease) / 3))
    return sides


def drawn_ratios(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        a, b = _two_costs(random, 60)
        return holds_truth(paired_ratios(a, b, resamples=DRAWS, seed=fresh_seed(random))[0], 0.0)

    return share_of(trials, once)


def swapped_sides(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        a, b = _two_costs(random, 30)
        return rejects(paired_ratios(a, b, resamples=999, seed=fresh_seed(random))[1].p_value)

    return share_of(trials, once)


def student_test(random: np.random.Generator, trials: int) -> float:
    return share_of(trials, lambda: rejects(paired_t(_differences(random, 30, (3, 5)))[1].p_value))


def flipped_mixed(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        gaps = _differences(random, 30, (3, 5))
        return rejects(sign_flip(gaps, resamples=999, seed=fresh_seed(random)).p_value)

    return share_of(trials, once)


def flipped_drawn(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        return rejects(sign_flip(random.normal(0, 1, 25), resamples=999, seed=fresh_seed(random)).p_value)

    return share_of(trials, once)


def flipped_enumerated(random: np.random.Generator, _trials: int) -> float:
    # given the sizes of the differences every pattern of signs is equally likely: try them all
    gaps = np.abs(random.normal(0, 1, 10))
    return float(np.mean([rejects(sign_flip(gaps * signs).p_value) for signs in itertools.product((-1, 1), repeat=10)]))


def mcnemar_worst(_random: np.random.Generator, _trials: int) -> float:
    # worst size over how many tasks disagree
    worst = 0.0
    for n in range(1, 101):
        rejected = [rejects(mcnemar_exact(count, n - count).p_value) for count in range(n + 1)]
        worst = max(worst, float(stats.binom.pmf(np.arange(n + 1), n, 0.5)[rejected].sum()))
    return worst


def holm_family(random: np.random.Generator, trials: int) -> float:
    def once() -> bool:
        gaps = random.normal(0, 1, (20, 1)) * 0.5 + random.normal(0, 1, (20, 6))
        p_values, _ = sign_flip_many(gaps, resamples=499, seed=fresh_seed(random))
        return bool(np.any(holm(p_values) <= 0.05))

    return share_of(trials, once)
