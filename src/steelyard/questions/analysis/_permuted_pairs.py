"""Within-task permutation tests for pairs of groups with unequal numbers of attempts."""

from __future__ import annotations

import itertools
import math
import zlib

import numpy as np

from steelyard.metrics import catalog
from steelyard.questions.analysis._differences import StatisticsOptions
from steelyard.questions.analysis._samples import Mask, Samples, half_names
from steelyard.questions.analysis._unequal_attempts import gap_of, runs_to_permute
from steelyard.statistics import Floats, Ints, permuted_sums, step_down

MAX_PERMUTED_RUNS = 300_000_000
"""Runs permuted in total: about ten seconds of work."""
MAX_PERMUTATIONS = 999
"""More permutations of a pair would not change any verdict at 95%."""


def significant_by_permutation(
    samples: Samples, groups: Ints, metric: str, common: Mask, *, size: int, options: StatisticsOptions
) -> Mask | None:
    """Return a matrix whose entry (i, j) is True if the permutation test finds i and j different.

    The family-wise error rate over all pairs is kept. Pairs with equal numbers of attempts on every task need no
    permutation and count as different; None if all pairs are such. A sign-flip test over tasks is not valid for the
    others, since the mean of many attempts and a single value have different distributions.
    """
    names = half_names(metric) if catalog()[metric].is_ratio else (metric,)
    known = np.stack([means.known[common] for means in samples.by_group(names[0], groups, size)])
    pairs = [(i, j) for i, j in itertools.combinations(range(size), 2) if np.any(known[i] != known[j])]
    if not pairs:
        return None
    runs = sum(int(known[i].sum() + known[j].sum()) for i, j in pairs)
    fewest = math.ceil(10 / (1 - options.level))
    draws = max(min(options.resamples, MAX_PERMUTATIONS, MAX_PERMUTED_RUNS // runs), fewest)
    columns = [
        _statistics(
            runs_to_permute(samples, (groups == i, groups == j), names, common),
            by_task=samples.weight_by == "tasks",
            draws=draws,
            seed=options.seed,
        )
        for i, j in pairs
    ]
    seen, permuted = np.array([own for own, _ in columns]), np.column_stack([drawn for _, drawn in columns])
    rising = np.argsort(seen, kind="stable")
    p_values = step_down(seen[rising], [permuted[:, rising]], exact=False)
    shown = np.ones((size, size), dtype=bool)
    for place, p_value in zip(rising.tolist(), p_values.tolist(), strict=True):
        i, j = pairs[place]
        shown[i, j] = shown[j, i] = p_value <= 1 - options.level
    return shown


def _statistics(runs: tuple[Floats, Ints, Mask], *, by_task: bool, draws: int, seed: int) -> tuple[float, Floats]:
    """Return the difference in units of the permutation standard deviation: observed, and in each permutation.

    Pairs are permuted independently of each other, whatever their names, which is conservative.
    """
    own_seed = zlib.crc32(np.sort(runs[0], axis=None).tobytes(), seed)
    seen, permuted = permuted_sums(*runs, by_task=by_task, resamples=draws, seed=own_seed)
    gap, gaps = float(gap_of(seen[None])[0]), gap_of(permuted)
    finite = np.isfinite(gaps)
    std_dev = float(np.sort(gaps[finite]).std()) if finite.any() else 0.0
    if std_dev == 0 or not math.isfinite(gap):
        return 0.0, np.zeros(len(gaps))
    # A permutation with a zero denominator on one side counts as the most extreme.
    return abs(gap) / std_dev, np.where(finite, np.abs(gaps) / std_dev, np.inf)
