"""Sign-flip test over clusters of tasks (repositories), and its interval by exact inversion.

Without a difference, the sign of each cluster's sum is a coin toss, whatever the dependence inside the cluster. A shift
c of all tasks is rejected like no difference after subtracting c. Under one pattern of signs let P and M be the mean
over tasks of the clusters that keep and that change their sign. The pattern reaches the observed sum if and only if c
is between P and M, so the limits are order statistics of the smaller and of the larger of both over all patterns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from steelyard.statistics._bootstrap import on_grid
from steelyard.statistics._estimates import LEVEL, RESAMPLES, SEED, Interval, Significance
from steelyard.statistics._interval import Floats, check_level, no_interval
from steelyard.statistics._paired import BLOCK, ENUMERATED_UP_TO

METHOD = "sign-flip-clusters"
MIN_CLUSTERS = 8
"""Minimum number of clusters known from a format for which a claim must also be significant over clusters."""


def effective_clusters(sizes: npt.ArrayLike) -> float:
    """Return the number of equal clusters that are worth as much: 1 / sum(fraction of tasks^2) (Kish 1965).

    >>> effective_clusters([10, 10, 10, 10]), round(effective_clusters([46] + [5] * 11), 1)
    (4.0, 4.3)
    """
    numbers = np.sort(np.asarray(sizes, dtype=float))
    return float(numbers.sum() ** 2 / (numbers**2).sum())


def cluster_sign_flip(
    differences: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[Interval, Significance]:
    """Return the interval and test of the mean of task differences whose tasks come in clusters.

    All patterns of signs up to 16 clusters, else random ones with the observed pattern among them. p <= 1 - level if
    and only if the interval excludes 0. With n clusters p is at least 2 / 2^n, so at 95% the limits are infinite for
    five clusters or fewer. `Interval.n` counts tasks. Missing below two clusters.
    """
    gaps, labels = np.asarray(differences, dtype=float), np.asarray(clusters)
    _, codes = np.unique(labels, return_inverse=True)
    order = np.lexsort((gaps, codes))
    gaps, codes = gaps[order], codes[order]
    sums, sizes = np.bincount(codes, weights=gaps).astype(float), np.bincount(codes).astype(float)
    order = np.lexsort((sizes, sums))
    sums, sizes = on_grid(sums[order, None], max(len(sums), 2))[:, 0], sizes[order]
    n, count = len(gaps), len(sums)
    if count < 2:
        reason = f"{count} cluster{'s' if count != 1 else ''}; at least two are needed"
        estimate = float(sums.sum() / sizes.sum()) if n else None
        interval = no_interval(reason, method=METHOD, n=n, clusters=count, level=level, estimate=estimate)
        return interval, Significance(p_value=None, statistic=None, method=METHOD, n=n, clusters=count, reason=reason)
    exact = count <= ENUMERATED_UP_TO
    lows, highs, reached = _inverted(sums, sizes, resamples=resamples, seed=seed)
    patterns = len(lows)
    allowed = min(math.floor((1 - check_level(level)) * patterns + 1e-9), patterns - 1)
    low, high = float(np.partition(lows, allowed)[allowed]), -float(np.partition(-highs, allowed)[allowed])
    estimate = float(sums.sum() / sizes.sum())
    infinite = f"with {count} clusters a sign-flip test cannot reach p <= {1 - level:.3g}" if math.isinf(low) else None
    drawn = {} if exact else {"seed": seed, "resamples": resamples}
    return (
        Interval(
            estimate=estimate,
            low=low,
            high=high,
            method=METHOD,
            n=n,
            clusters=count,
            confidence=level,
            reason=infinite,
            **drawn,
        ),
        Significance(
            p_value=reached / patterns, statistic=estimate, method=METHOD, n=n, clusters=count, reason=None, **drawn
        ),
    )


def _inverted(sums: Floats, sizes: Floats, *, resamples: int, seed: int) -> tuple[Floats, Floats, int]:
    """Return, for every pattern, the smallest and largest shift it reaches, and how many reach no shift."""
    total, tasks = float(sums.sum()), float(sizes.sum())
    slack = 1e-9 * float(np.abs(sums).sum())
    lows, highs, reached = [], [], 0
    for kept in _patterns(len(sums), resamples=resamples, seed=seed):
        above, below = kept @ sums, kept @ sizes
        # sums that are 0 on paper may differ from it in the last bits
        mine, others = (np.where(np.abs(part) <= slack, 0.0, part) for part in (above, total - above))
        with np.errstate(divide="ignore", invalid="ignore"):
            mine, others = mine / below, others / (tasks - below)
        whole = (below == 0) | (below == tasks)  # all signs alike: reached by every shift
        lows.append(np.where(whole, -np.inf, np.minimum(mine, others)))
        highs.append(np.where(whole, np.inf, np.maximum(mine, others)))
        reached += int(np.count_nonzero(whole | ((lows[-1] <= 0) & (highs[-1] >= 0))))
    return np.concatenate(lows), np.concatenate(highs), reached


def _patterns(count: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield blocks of patterns: 1 for a cluster that keeps its sign, 0 for one that changes it."""
    if count <= ENUMERATED_UP_TO:
        yield (np.arange(2**count)[:, None] >> np.arange(count)[None, :] & 1).astype(float)
        return
    yield np.ones((1, count))
    random = np.random.default_rng(seed)
    rows = max(1, min(resamples, BLOCK // count))
    for start in range(0, resamples, rows):
        size = (min(rows, resamples - start), count)
        yield random.integers(0, 2, size=size, dtype=np.int8).astype(float)
