"""The interval of a tool's mean score over the tasks of an arena."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.coverage._scenario import Simulation, share_of
from steelyard.arena import read_rules, score_interval
from steelyard.profiles import load_profile

LIMITS = read_rules(load_profile("arena-1")).interval


def mean_over_tasks(tasks: int, *, share: float, size: float) -> Simulation:
    """Mean scores of tasks follow a beta distribution of this mean; its parameters add up to `size`."""

    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            cents = np.rint(10_000 * random.beta(share * size, (1 - share) * size, tasks)).astype(int)
            interval = score_interval(Counter(cents.tolist()), LIMITS, over_tasks=True)
            return interval.low <= 100 * share <= interval.high

        return share_of(trials, once)

    return run
