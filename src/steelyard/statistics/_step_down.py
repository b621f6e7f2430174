"""Step-down max-T test over all pairs of groups.

If no group is better, the sign of a task is a coin toss, and one toss serves all pairs, which keeps their dependence. A
pair's statistic is the sum of its differences over tasks in units of what the tosses bring it to in one of a hundred;
in units of a standard error, heavy tails would hide differences that signs alone show. A pair is shown if few tosses
bring it, or any pair with a smaller statistic, that far (Westfall and Young 1993; Romano and Wolf 2005; for ranks,
Mogstad, Romano, Shaikh and Wilhelm 2024).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from steelyard.statistics._bootstrap import on_grid
from steelyard.statistics._estimates import LEVEL, RESAMPLES, SEED
from steelyard.statistics._interval import Floats, Ints, check_level

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

    `contributions` has a row a task and a column a competitor, whose figure is the mean of its column.
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
    usable = np.where(units > 0, units, np.inf)
    rising = np.argsort(np.abs(gaps) / usable, kind="stable")
    first, other, usable, gaps = first[rising], other[rising], usable[rising], gaps[rising]

    def statistics(block: Floats) -> Floats:
        apart = block[:, first]
        apart -= block[:, other]
        apart /= usable
        return np.abs(apart, out=apart)

    rows = max(1, CELLS_AT_ONCE // max(len(first), 1))
    blocks = (statistics(sums[start : start + rows]) for start in range(0, len(sums), rows))
    p_values = step_down(np.abs(gaps) / usable, blocks, exact=True)
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
    # the data count among the draws, also where units are made of them: else few draws would show too much
    yield np.ones((1, tasks))
    random = np.random.default_rng(seed)
    for start in range(0, draws, rows):
        size = (min(rows, draws - start), tasks)
        yield np.asarray(1 - 2 * random.integers(0, 2, size=size, dtype=np.int8), dtype=float)
