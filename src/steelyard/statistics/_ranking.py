"""Ranking of competitors: Bradley-Terry, ranked pairs, rank intervals by a max-T test, and the Pareto frontier."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from steelyard.statistics._bootstrap import on_grid, resampled_sums
from steelyard.statistics._estimates import LEVEL, RESAMPLES, SEED, Floats, Ints, check_level

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


CELLS_AT_ONCE = 1_000_000
"""Statistics of pairs held at a time: 8 MB, unless a single draw has more."""
MAX_CELLS = 200_000_000
"""Statistics of pairs drawn in all: some seconds of work."""
SAME = 1e-12
"""Differences this small relative to the values are rounding errors."""


def significantly_better(
    contributions: Floats, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = SEED
) -> npt.NDArray[np.bool_]:
    """Entry (i, j): i is better than j. The chance that any entry is wrong is at most 1 - level.

    `contributions` has a row a task and a column a competitor, whose figure is the mean of its column. Step-down max-T
    test over all pairs: if no group is better, the sign of a task is a coin toss, and one toss serves all pairs, which
    keeps their dependence. A pair's statistic is the sum of its differences over tasks in units of what the tosses
    bring it to in one of a hundred; in units of a standard error, heavy tails would hide differences that signs alone
    show. A pair is shown if few tosses bring it, or any pair with a smaller statistic, that far (Westfall and Young
    1993; Romano and Wolf 2005; for ranks, Mogstad, Romano, Shaikh and Wilhelm 2024).
    """
    check_level(level)
    exact = on_grid(contributions, max(len(contributions), 2))
    tasks, size = exact.shape
    first, other = np.triu_indices(size, 1)
    fewest = math.ceil(10 / (1 - level))
    draws = max(min(resamples, MAX_CELLS // max(len(first), 1)), fewest)
    sums = np.concatenate([signs @ exact for signs in _signs(tasks, draws, rows=CELLS_AT_ONCE // tasks + 1, seed=seed)])
    units = _units(sums, first, other, np.abs(exact).sum(axis=0))
    gaps = np.where(units > 0, exact.sum(axis=0)[first] - exact.sum(axis=0)[other], 0.0)
    units[units == 0] = np.inf
    rising = np.argsort(np.abs(gaps) / units, kind="stable")
    first, other, units, gaps = first[rising], other[rising], units[rising], gaps[rising]

    def statistics(block: Floats) -> Floats:
        apart = block[:, first]
        apart -= block[:, other]
        apart /= units
        return np.abs(apart, out=apart)

    rows = max(1, CELLS_AT_ONCE // max(len(first), 1))
    blocks = (statistics(sums[start : start + rows]) for start in range(0, len(sums), rows))
    p_values = step_down(np.abs(gaps) / units, blocks, exact=True)
    shown = p_values <= 1 - level
    better = np.zeros((size, size), dtype=bool)
    better[first[shown & (gaps > 0)], other[shown & (gaps > 0)]] = True
    better[other[shown & (gaps < 0)], first[shown & (gaps < 0)]] = True
    return better


def step_down(observed: Floats, drawn: Iterable[Floats], *, exact: bool) -> Floats:
    """Return step-down max-T p-values that control the family-wise error rate. `observed` must be sorted ascending.

    Unless the observed data are among the resamples (`exact`), they are counted as one more.
    """
    reached, rows = np.zeros(len(observed)), 0
    # sums that are equal on paper may differ in the last bits; they count as equal
    least = observed * (1 - 1e-9)
    for block in drawn:
        reached += np.count_nonzero(np.maximum.accumulate(block, axis=1, out=block) >= least, axis=0)
        rows += len(block)
    p_values = reached / rows if exact else (reached + 1) / (rows + 1)
    return np.asarray(np.maximum.accumulate(p_values[::-1])[::-1], dtype=float)


def _units(sums: Floats, first: Ints, other: Ints, sizes: Floats) -> Floats:
    """What each pair's sums reach in one of a hundred tosses; 0 where the two are equal but for rounding."""
    place = math.ceil(0.99 * len(sums)) - 1
    width = max(1, CELLS_AT_ONCE // len(sums))
    units = np.empty(len(first))
    for start in range(0, len(first), width):
        pairs = slice(start, start + width)
        apart = np.abs(sums[:, first[pairs]] - sums[:, other[pairs]])
        apart.partition(place, axis=0)
        units[pairs] = apart[place]
    return np.where(units > SAME * (sizes[first] + sizes[other]), units, 0.0)


def _signs(tasks: int, draws: int, *, rows: int, seed: int) -> Iterator[Floats]:
    if tasks <= math.log2(draws) + 1:  # no more patterns than draws; turning all signs gives the same statistic
        patterns = np.arange(2 ** (tasks - 1))
        for start in range(0, len(patterns), rows):
            flipped = patterns[start : start + rows, None] >> np.arange(tasks)[None, :] & 1
            yield np.asarray(1 - 2 * flipped, dtype=float)
        return
    # the data count among the draws, also where units are made of them: else few draws would show too much
    yield np.ones((1, tasks))
    random = np.random.default_rng(seed)
    for start in range(0, draws, rows):
        size = (min(rows, draws - start), tasks)
        yield np.asarray(1 - 2 * random.integers(0, 2, size=size, dtype=np.int8), dtype=float)


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
