"""Agreement of judges."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage._scenario import Simulation, holds_truth, share_of
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


def alpha_scores(random: np.random.Generator, trials: int) -> float:
    """Scores in tenths, most of them near the upper end, on 10 units; alpha of 10 million such units is 0.744."""

    def once() -> bool:
        truth = random.beta(2.7, 0.3, (10, 1))
        scores = np.round(np.clip(truth + random.normal(0, 0.1, (10, 3)), 0, 1), 1)
        interval = krippendorff_alpha(scores)
        return interval.estimate is None or interval.low is None or holds_truth(interval, 0.744)

    return share_of(trials, once)


def alpha_votes(units: int, share: float) -> Simulation:
    """Votes of three judges who err in a tenth of the units; `share` of the units should pass.

    A data set of one verdict only has no alpha and counts as held.
    """
    voted = share * 0.9 + (1 - share) * 0.1
    alpha = 1 - 0.18 / (2 * voted * (1 - voted))

    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            truth = random.random((units, 1)) < share
            votes = np.where(random.random((units, 3)) < 0.9, truth, ~truth)
            interval = krippendorff_alpha(votes, scale="nominal")
            return interval.estimate is None or holds_truth(interval, alpha)

        return share_of(trials, once)

    return run


def severe_judge(random: np.random.Generator, trials: int) -> float:
    # judges 0, +0.3 and -0.3: the second lies 0.3 - (-0.15) = 0.45 above the mean of the others
    def once() -> bool:
        labels = np.repeat(np.arange(30), 2)
        bias = random.normal(0, 0.2, (30, 3))[labels]
        leaning = np.array([0.0, 0.3, -0.3])
        scores = random.normal(0, 1, (60, 1)) + leaning + bias + random.normal(0, 0.3, (60, 3))
        return holds_truth(severity(scores, labels)[1], 0.45)

    return share_of(trials, once)
