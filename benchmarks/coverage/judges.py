"""Agreement of judges."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage._scenario import holds_truth, share_of
from steelyard.statistics import krippendorff_alpha, severity


def alpha_units(random: np.random.Generator, trials: int) -> float:
    # units with variance 1 and judges' errors with variance 1: alpha is 1 / (1 + 1)
    def once() -> bool:
        return holds_truth(krippendorff_alpha(random.normal(0, 1, (60, 1)) + random.normal(0, 1, (60, 3))), 0.5)

    return share_of(trials, once)


def alpha_tasks(random: np.random.Generator, trials: int) -> float:
    # tasks and units within them with variance 1/2 each, judges' errors with variance 1: alpha is 1 / (1 + 1)
    def once() -> bool:
        tasks = np.repeat(np.arange(40), 3)
        truth = random.normal(0, np.sqrt(0.5), 40)[tasks] + random.normal(0, np.sqrt(0.5), 120)
        return holds_truth(krippendorff_alpha(truth[:, None] + random.normal(0, 1, (120, 3)), tasks), 0.5)

    return share_of(trials, once)


def alpha_votes(random: np.random.Generator, trials: int) -> float:
    # a unit's true verdict is even, each judge reports it with chance 0.9: agreement 0.82 against 0.5 by chance
    def once() -> bool:
        truth = random.random((60, 1)) < 0.5
        votes = np.where(random.random((60, 3)) < 0.9, truth, ~truth)
        return holds_truth(krippendorff_alpha(votes, scale="nominal"), 0.64)

    return share_of(trials, once)


def severe_judge(random: np.random.Generator, trials: int) -> float:
    # judges 0, +0.3 and -0.3: the second lies 0.3 - (-0.15) = 0.45 above the mean of the others
    def once() -> bool:
        labels = np.repeat(np.arange(30), 2)
        bias = random.normal(0, 0.2, (30, 3))[labels]
        leaning = np.array([0.0, 0.3, -0.3])
        scores = random.normal(0, 1, (60, 1)) + leaning + bias + random.normal(0, 0.3, (60, 3))
        return holds_truth(severity(scores, labels)[1], 0.45)

    return share_of(trials, once)
