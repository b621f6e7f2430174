"""Who is shown to be better than whom when all pairs are looked at together: step-down max-t over tasks.

A pair's statistic is the sum of its differences over tasks in units of their size. If nobody is better, the sign of a
task is a coin toss, and one toss serves all pairs, which keeps their dependence. A pair is shown if few tosses bring
it, or any pair with a smaller statistic, that far (Westfall and Young 1993; Romano and Wolf 2005; for ranks, Mogstad,
Romano, Shaikh and Wilhelm 2024).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from steelyard.statistics._bootstrap import on_grid
from steelyard.statistics._interval import LEVEL, RESAMPLES, SEED, Floats, check_level

CELLS_AT_ONCE = 1_000_000
"""Statistics of pairs held at a time: 8 MB, unless a single draw has more."""
MOST_CELLS = 200_000_000
"""Statistics of pairs drawn in all: some seconds of work."""
SAME = 1e-12
"""Differences this small beside the values are what rounding leaves of none."""


def surely_better(
    contributions: Floats, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = SEED
) -> npt.NDArray[np.bool_]:
    """Entry (i, j): i is better than j. The chance that any entry is wrong is at most 1 - level.

    `contributions` has a row a task and a column a competitor, whose figure is the mean of its column.
    """
    check_level(level)
    exact = on_grid(contributions, max(len(contributions), 2))
    tasks, size = exact.shape
    first, other = np.triu_indices(size, 1)
    spread = np.sqrt(_squared_differences(exact)[first, other])
    gaps = exact.sum(axis=0)[first] - exact.sum(axis=0)[other]
    gaps, usable = np.where(spread > 0, gaps, 0.0), np.where(spread > 0, spread, 1.0)
    observed = np.abs(gaps) / usable
    rising = np.argsort(observed, kind="stable")
    first, other, usable, observed, gaps = first[rising], other[rising], usable[rising], observed[rising], gaps[rising]

    def statistics(signs: Floats) -> Floats:
        sums = signs @ exact
        gaps_of_signs = sums[:, first]
        gaps_of_signs -= sums[:, other]
        gaps_of_signs /= usable
        return np.abs(gaps_of_signs, out=gaps_of_signs)

    fewest = math.ceil(10 / (1 - level))
    draws = max(min(resamples, MOST_CELLS // max(len(first), 1)), fewest)
    signs = _signs(tasks, draws, rows=max(1, CELLS_AT_ONCE // max(len(first), tasks, 1)), seed=seed)
    shown = step_down(observed, map(statistics, signs), exact=_enumerated(tasks, draws)) <= 1 - level
    better = np.zeros((size, size), dtype=bool)
    better[first[shown & (gaps > 0)], other[shown & (gaps > 0)]] = True
    better[other[shown & (gaps < 0)], first[shown & (gaps < 0)]] = True
    return better


def step_down(observed: Floats, drawn: Iterable[Floats], *, exact: bool) -> Floats:
    """p-values that keep the chance of any false finding, for statistics in rising order and blocks of their draws.

    Unless the draws are all that there are (`exact`), the data count among them.
    """
    reached, rows = np.zeros(len(observed)), 0
    # sums that are equal on paper may differ in the last bits; they count as equal
    least = observed * (1 - 1e-9)
    for block in drawn:
        reached += np.count_nonzero(np.maximum.accumulate(block, axis=1, out=block) >= least, axis=0)
        rows += len(block)
    p_values = reached / rows if exact else (reached + 1) / (rows + 1)
    return np.asarray(np.maximum.accumulate(p_values[::-1])[::-1], dtype=float)


def _squared_differences(columns: Floats) -> Floats:
    """The sum over rows of each pair's squared difference; 0 where the two are equal but for rounding."""
    squares = np.stack([((columns - mine[:, None]) ** 2).sum(axis=0) for mine in columns.T])
    own = (columns**2).sum(axis=0)
    return np.asarray(np.where(squares > SAME**2 * (own[:, None] + own[None, :]), squares, 0.0), dtype=float)


def _enumerated(tasks: int, draws: int) -> bool:
    """Whether there are no more patterns of signs than draws; turning all signs gives the same statistic."""
    return tasks <= math.log2(draws) + 1


def _signs(tasks: int, draws: int, *, rows: int, seed: int) -> Iterator[Floats]:
    if _enumerated(tasks, draws):
        patterns = np.arange(2 ** (tasks - 1))
        for start in range(0, len(patterns), rows):
            flipped = patterns[start : start + rows, None] >> np.arange(tasks)[None, :] & 1
            yield np.asarray(1 - 2 * flipped, dtype=float)
        return
    random = np.random.default_rng(seed)
    for start in range(0, draws, rows):
        size = (min(rows, draws - start), tasks)
        yield np.asarray(1 - 2 * random.integers(0, 2, size=size, dtype=np.int8), dtype=float)
