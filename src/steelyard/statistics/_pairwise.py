"""Pairwise wins over tasks: Bradley-Terry strengths, ranked pairs and rank intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from steelyard.statistics._interval import Floats, Ints

ROUNDS = 10_000
CLOSE_ENOUGH = 1e-12


@dataclass(frozen=True, slots=True)
class Strengths:
    """Bradley-Terry strengths on the log scale, mean 0; or the reason there are none."""

    values: Floats | None
    """Strengths in the order of the competitors; B beats A with chance 1 / (1 + exp(a - b))."""
    reason: str | None = None
    """Why there are none."""


def total_wins(scores: Floats) -> Floats:
    """Who beat whom how often over all tasks, a tie as half."""
    wins = np.stack(
        [
            np.count_nonzero(mine[:, None] > scores, axis=0) + 0.5 * np.count_nonzero(mine[:, None] == scores, axis=0)
            for mine in scores.T
        ]
    )
    np.fill_diagonal(wins, 0.0)
    return np.asarray(wins, dtype=float)


def bradley_terry(wins: Floats, *, prior: float = 0.0) -> Strengths:
    """Strengths from a table of wins, entry (i, j) how often i beat j (Zermelo 1929; Newman 2023's iteration).

    Without `prior` they exist only if the competitors cannot be split into two sets of which one never lost a point
    to the other; `prior` adds that many tied games to each pair.
    """
    table = np.asarray(wins, dtype=float) + prior / 2 * (1 - np.eye(len(wins)))
    if len(table) < 2:
        return Strengths(None, "at least two competitors are needed")
    if not _connected(table > 0):
        return Strengths(None, "some groups are never beaten, so their strength has no upper bound")
    return Strengths(_strengths(table))


def _connected(beats: npt.NDArray[np.bool_]) -> bool:
    reach = beats | np.eye(len(beats), dtype=bool)
    for _ in range(max(1, int(np.ceil(np.log2(len(beats)))))):
        reach = (reach.astype(float) @ reach.astype(float)) > 0
    return bool(reach.all())


def _strengths(table: Floats) -> Floats:
    """Log strengths of a table of wins, mean 0."""
    power = np.ones(len(table))
    for _ in range(ROUNDS):
        shares = table / (power[:, None] + power[None, :])
        gained, lost = shares @ power, shares.sum(axis=0)
        # halfway: two alone would swap their strengths for ever
        updated = np.sqrt(power * gained / np.where(lost > 0, lost, 1.0))
        updated /= np.exp(np.mean(np.log(updated)))
        moved = np.max(np.abs(np.log(updated / power)))
        power = updated
        if moved < CLOSE_ENOUGH * len(table):
            break
    return np.asarray(np.log(power), dtype=float)


def strengths_by_task(scores: Floats, *, prior: float = 1.0) -> Floats:
    """What each task adds to the strengths: a row a task, a column a competitor, the mean of a column its strength.

    How much a task moves the strengths is taken from the equations they solve, to first order. `prior` tied games a
    pair are added, so that strengths always exist.
    """
    tasks, size = scores.shape
    strengths = bradley_terry(total_wins(scores), prior=prior).values
    assert strengths is not None  # a tied game a pair connects all
    chance = special.expit(strengths[:, None] - strengths[None, :]) * (1 - np.eye(size))
    # points of a task: who has less counts 1, a tie 1/2
    surplus = stats.rankdata(scores, axis=1) - 1 - chance.sum(axis=1)
    weight = (tasks + prior) * chance * chance.T
    moved = tasks * surplus @ np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight, hermitian=True)
    return np.asarray(strengths + moved - moved.mean(axis=0), dtype=float)


def ranked_pairs(wins: Floats) -> tuple[Ints, Ints]:
    """Best and worst place of each competitor by ranked pairs (Tideman 1987) over a table of wins.

    The largest majorities are locked in first; one that would close a circle with larger or equal ones is dropped.
    Equal majorities are treated alike, so names and order decide nothing; what stays open shows as a range of places.
    """
    table = np.asarray(wins, dtype=float)
    margins = table - table.T
    size = len(table)
    locked = np.eye(size, dtype=bool)
    for margin in sorted({float(value) for value in margins[margins > 0]}, reverse=True):
        edges = margins == margin
        trial = _closed(locked | edges)
        # an edge whose way back exists among locked and equal edges is part of a circle
        kept = edges & ~trial.T
        locked = _closed(locked | kept)
    above = locked.sum(axis=0) - 1
    below = locked.sum(axis=1) - 1
    return (above + 1).astype(np.int64), (size - below).astype(np.int64)


def _closed(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    reach = edges.copy()
    for middle in range(len(reach)):
        reach |= reach[:, middle : middle + 1] & reach[middle : middle + 1, :]
    return reach


def rank_intervals(significantly_better: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the best and worst rank by significant differences; entry (i, j) is whether i is better than j.

    >>> rank_intervals(np.array([[False, True, True], [False, False, False], [False, False, False]]))[1].tolist()
    [1, 3, 3]
    """
    size = len(significantly_better)
    best = 1 + np.count_nonzero(significantly_better, axis=0)
    worst = size - np.count_nonzero(significantly_better, axis=1)
    return best.astype(np.int64), worst.astype(np.int64)
