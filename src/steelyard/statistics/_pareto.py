"""Pareto frontier of score and cost, with bootstrap frequencies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.statistics._bootstrap import resampled_sums
from steelyard.statistics._estimates import RESAMPLES, SEED
from steelyard.statistics._interval import Floats


def pareto_optimal(score: npt.ArrayLike, cost: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """For each, whether no other has at least its score at no more cost and is better in one of them.

    The last axis runs over competitors; leading axes are taken one by one.

    >>> pareto_optimal([0.9, 0.8, 0.7], [2.0, 1.0, 1.5]).tolist()
    [True, True, False]
    >>> pareto_optimal([0.9, 0.9, 0.8], [2.0, 1.0, 1.0]).tolist()  # the second dominates both
    [False, True, False]
    """
    scores, costs = np.asarray(score, dtype=float), np.asarray(cost, dtype=float)
    front = np.ones(scores.shape, dtype=bool)
    for index in range(scores.shape[-1]):
        mine, paid = scores[..., index : index + 1], costs[..., index : index + 1]
        at_least = (scores >= mine) & (costs <= paid)
        better = (scores > mine) | (costs < paid)
        front[..., index] = ~np.any(at_least & better, axis=-1)
    return front


def pareto_frequencies(scores: Floats, costs: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """How often each is on the frontier when tasks are resampled: the same resamples for score and cost.

    One row a task, one column a competitor.
    """
    agents = scores.shape[1]
    sums = resampled_sums(np.hstack([scores, costs]), resamples=resamples, seed=seed)
    return np.asarray(pareto_optimal(sums[:, :agents], sums[:, agents:]).mean(axis=0), dtype=float)
