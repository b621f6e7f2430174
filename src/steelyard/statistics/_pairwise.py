"""Who beats whom over tasks: Bradley-Terry strengths, ranked pairs, and ranks with what they leave open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.statistics._bootstrap import draws
from steelyard.statistics._interval import LEVEL, SEED, Floats, Ints, check_level

ROUNDS = 10_000
CLOSE_ENOUGH = 1e-12
FEWEST_TASKS = 10
"""With fewer tasks draws of them say too little, and every place stays open."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """Bradley-Terry strengths on the log scale, mean 0; or the reason there are none."""

    values: Floats | None
    """Strengths in the order of the competitors; B beats A with chance 1 / (1 + exp(a - b))."""
    reason: str | None = None
    """Why there are none."""


def task_wins(scores: Floats) -> Floats:
    """For each task, who beats whom: entry (t, i, j) is 1 where i scores more than j, 1/2 for a tie; NaN loses nothing.

    A competitor without a score on a task has no result there.
    """
    mine, other = scores[:, :, None], scores[:, None, :]
    won = (mine > other) + 0.5 * (mine == other)
    won[:, np.arange(scores.shape[1]), np.arange(scores.shape[1])] = 0.0
    return np.asarray(won, dtype=float)


def total_wins(scores: Floats) -> Floats:
    """Who beat whom how often over all tasks, a tie as half: the sum of `task_wins` without holding every task's."""
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
        return Strengths(None, "two competitors or more are needed")
    if not _connected(table > 0):
        return Strengths(None, "some never lost a point to the others, so their strength has no upper limit")
    return Strengths(_strengths(table[None])[0])


def _connected(beats: npt.NDArray[np.bool_]) -> bool:
    reach = beats | np.eye(len(beats), dtype=bool)
    for _ in range(max(1, int(np.ceil(np.log2(len(beats)))))):
        reach = (reach.astype(float) @ reach.astype(float)) > 0
    return bool(reach.all())


def _strengths(tables: Floats) -> Floats:
    """Log strengths of many tables of wins at once, mean 0 in each."""
    size = tables.shape[1]
    power = np.ones(tables.shape[:2])
    for _ in range(ROUNDS):
        together = power[:, :, None] + power[:, None, :]
        gained = np.einsum("bij,bj->bi", tables / together, power)
        lost = np.einsum("bji,bj->bi", tables / together, np.ones_like(power))
        # halfway: two alone would swap their strengths for ever
        updated = np.sqrt(power * gained / np.where(lost > 0, lost, 1.0))
        updated /= np.exp(np.mean(np.log(updated), axis=1, keepdims=True))
        moved = np.max(np.abs(np.log(updated / power)))
        power = updated
        if moved < CLOSE_ENOUGH * size:
            break
    return np.asarray(np.log(power), dtype=float)


def rank_intervals(
    scores: Floats, *, level: float = LEVEL, resamples: int = 1_000, seed: int = SEED, prior: float = 1.0
) -> tuple[Ints, Ints]:
    """Best and worst place of each by strength; with at least the chance of the level, all of them hold together.

    Strengths are estimated again in draws of tasks. One competitor is placed above another only if their difference
    is beyond what the draws leave open, at a limit that accounts for the number of pairs (Bonferroni). One tied game a
    pair is added, so that strengths exist in every draw.
    """
    tasks, agents = scores.shape
    if tasks < FEWEST_TASKS:
        return rank_bands(np.zeros((agents, agents), dtype=bool))
    won = task_wins(scores).reshape(tasks, agents * agents)
    even = prior / 2 * (1 - np.eye(agents))
    drawn = np.concatenate(
        [
            _strengths((counts @ won).reshape(-1, agents, agents) + even)
            for counts in draws(tasks, resamples=resamples, seed=seed)
        ]
    )
    strengths = _strengths(won.sum(axis=0).reshape(1, agents, agents) + even)[0]
    pairs = agents * (agents - 1) / 2
    critical = float(special.ndtri(1 - (1 - check_level(level)) / 2 / max(pairs, 1)))
    gaps = strengths[:, None] - strengths[None, :]
    spread = np.std(drawn[:, :, None] - drawn[:, None, :], axis=0)
    return rank_bands(gaps > critical * spread + CLOSE_ENOUGH)


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


def rank_bands(surely_better: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Best and worst place when only sure differences count; entry (i, j) says that i is surely better than j.

    >>> rank_bands(np.array([[False, True, True], [False, False, False], [False, False, False]]))[1].tolist()
    [1, 3, 3]
    """
    size = len(surely_better)
    best = 1 + np.count_nonzero(surely_better, axis=0)
    worst = size - np.count_nonzero(surely_better, axis=1)
    return best.astype(np.int64), worst.astype(np.int64)
