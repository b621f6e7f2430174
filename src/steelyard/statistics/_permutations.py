"""Permutations of runs between two sides, within tasks, preserving each side's number of attempts.

Under the null hypothesis every such permutation is as likely as the observed one, however skewed the values and however
unequal the attempts: the mean of many attempts at a skewed cost is above that of one more often than not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.statistics._estimates import RESAMPLES, SEED
from steelyard.statistics._interval import Floats, Ints

_MAX_CELLS = 50_000_000
"""Runs permuted at most; with more runs there are fewer permutations, but at least 999."""
_CELLS_AT_ONCE = 4_000_000


def permutation_count(runs: int, resamples: int = RESAMPLES) -> int:
    """Return the number of permutations for this number of runs."""
    return min(resamples, max(999, _MAX_CELLS // max(runs, 1)))


def permuted_sums(
    columns: Floats,
    tasks: Ints,
    on_b: npt.NDArray[np.bool_],
    *,
    by_task: bool,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[Floats, Floats]:
    """Return the sums of each side over tasks: observed (side, column) and permuted (permutation, side, column).

    `columns` has one row a run. By task each task adds its mean, else the sum of its runs. Neither the order of runs
    nor the names of tasks change a bit.
    """
    made = permutation_count(len(columns), resamples)
    random = np.random.default_rng(seed)
    size = int(tasks.max()) + 1
    attempts = np.stack([np.bincount(tasks[~on_b], minlength=size), np.bincount(tasks[on_b], minlength=size)])
    fewer = int(attempts[1].sum() < attempts[0].sum())
    seen, permuted = np.zeros((2, columns.shape[1])), np.zeros((made, 2, columns.shape[1]))
    for counts in np.unique(attempts, axis=1).T:
        if not counts.all():
            continue
        alike = np.flatnonzero((attempts == counts[:, None]).all(axis=0))
        divisors = counts.astype(float) if by_task else np.ones(2)
        table, own = _table(columns, tasks, on_b, alike, int(counts.sum()))
        whole = table.sum(axis=1)
        mine = (table * (own == fewer)[:, :, None]).sum(axis=1)
        parts = np.stack([whole - mine, mine] if fewer else [mine, whole - mine])
        seen += parts.sum(axis=1) / divisors[:, None]
        picked = _picked(random, table, int(counts[fewer]), made)
        rest = whole.sum(axis=0) - picked
        both = np.stack([rest, picked] if fewer else [picked, rest], axis=1)
        permuted += both / divisors[:, None]
    return seen, permuted


def _table(
    columns: Floats, tasks: Ints, on_b: npt.NDArray[np.bool_], alike: Ints, attempts: int
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The runs of tasks tried equally often, (task, run, column) in the order of their values, and which are of B."""
    rows = np.flatnonzero(np.isin(tasks, alike))
    order = rows[np.lexsort((on_b[rows], *columns[rows].T[::-1], tasks[rows]))]
    table = columns[order].reshape(len(alike), attempts, columns.shape[1])
    sides = on_b[order].reshape(len(alike), attempts)
    flat = np.concatenate([table.reshape(len(alike), -1), sides], axis=1)
    by_value = np.lexsort(flat.T[::-1])
    return table[by_value], sides[by_value]


def _picked(random: np.random.Generator, table: Floats, wanted: int, made: int) -> Floats:
    """Return, for each permutation, the sum of the runs assigned to the side with this many per task."""
    tasks, attempts, width = table.shape
    rows = max(1, _CELLS_AT_ONCE // (tasks * attempts))
    sums = np.empty((made, width))
    task = np.arange(tasks)[None, :, None]
    for start in range(0, made, rows):
        block = min(rows, made - start)
        keys = random.random((block, tasks, attempts), dtype=np.float32)
        chosen = np.argpartition(keys, wanted - 1, axis=2)[:, :, :wanted] if wanted > 1 else keys.argmin(2)[:, :, None]
        sums[start : start + block] = table[task, chosen].sum(axis=(1, 2))
    return sums
