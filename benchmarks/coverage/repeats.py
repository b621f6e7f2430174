"""The interval of the fraction of the most frequent output."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage._scenario import Simulation, holds_truth, share_of
from steelyard.statistics import modal_mass


def most_frequent(outputs: int, shares: tuple[float, ...]) -> Simulation:
    def run(random: np.random.Generator, trials: int) -> float:
        def once() -> bool:
            return holds_truth(modal_mass(random.multinomial(outputs, shares).tolist()), max(shares))

        return share_of(trials, once)

    return run
