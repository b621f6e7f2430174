"""Intervals of pass@k and pass^k."""

from __future__ import annotations

import numpy as np
from scipy import special

from benchmarks.coverage._scenario import Simulation, holds_truth, share_of
from steelyard.statistics import passes_over_tasks


def passes(tasks: int, attempts: int, k: int, *, share: float, icc: float, all_of_them: bool = False) -> Simulation:
    """Pass chances of tasks follow a beta distribution with this mean and this correlation of a task's attempts."""
    passing, failing = (part * (1 - icc) / icc for part in (share, 1 - share))
    whole = special.betaln(passing, failing)
    if all_of_them:
        truth = float(np.exp(special.betaln(passing + k, failing) - whole))
    else:
        truth = float(1 - np.exp(special.betaln(passing, failing + k) - whole))

    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            passed = random.binomial(attempts, random.beta(passing, failing, tasks)).tolist()
            return holds_truth(passes_over_tasks([attempts] * tasks, passed, k, all_of_them=all_of_them), truth)

        return share_of(trials, once)

    return run
