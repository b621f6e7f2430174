"""Regime of a single method, and the coverage that it must have there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steelyard.statistics import Floats, Interval

Kind = Literal["interval", "exact interval", "conservative interval", "labeled interval", "test", "exact test"]
PROMISES: dict[Kind, tuple[float, float]] = {
    "interval": (0.93, 0.97),
    "exact interval": (0.95, 1.0),
    "conservative interval": (0.95, 1.0),
    "labeled interval": (0.93, 1.0),
    "test": (0.04, 0.06),
    "exact test": (0.0, 0.05),
}
DRAWS = 1_000

Simulation = Callable[[np.random.Generator, int], float]
"""Takes a source of chance and a number of trials; gives the fraction of trials that held (or cried wolf)."""


@dataclass(frozen=True)
class Scenario:
    """One row: a method in its stated regime."""

    method: str
    kind: Kind
    regime: str
    run: Simulation
    trials: int
    """How many simulated data sets; 0 when the row is worked out exactly."""
    least: float | None = None
    """What the label of an interval says that it reaches; None where its kind says so."""

    @property
    def promise(self) -> tuple[float, float]:
        """Between which shares the row must lie."""
        least, most = PROMISES[self.kind]
        return least if self.least is None else self.least, most


def holds_truth(interval: Interval, truth: float) -> bool:
    return interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high


def rejects(p_value: float | None) -> bool:
    return p_value is not None and p_value <= 0.05


def share_of(trials: int, once: Callable[[], bool]) -> float:
    return sum(once() for _ in range(trials)) / trials


def fresh_seed(random: np.random.Generator) -> int:
    # the same draws in every trial would share one error among all of them
    return int(random.integers(2**32))


def pass_chances(random: np.random.Generator, mean: float, tasks: int) -> Floats:
    """Pass chances of tasks: some easy, some hard, `mean` on average."""
    return random.beta(2 * mean, 2 * (1 - mean), tasks)
