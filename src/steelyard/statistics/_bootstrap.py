"""Bootstrap over tasks: whole tasks are resampled with replacement, with all their attempts.

A resample is a row of counts, how often each task is in it, so every mean or ratio is a product of that matrix with the
tasks' sums. Values are first rounded to a grid on which all these sums are exact (about 1 part in 10^12), so the
result is the same to the bit whatever the order of rows or agents, the number of threads or the way of adding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy  # its packages are imported on first use

from steelyard.statistics._estimates import LEVEL, RESAMPLES, SEED, Floats, Interval, check_level, no_interval, too_few
from steelyard.statistics._means import cluster

CELLS_AT_ONCE = 1_000_000
"""Largest block of drawn counts held at a time: 8 MB, whatever the number of tasks."""


def on_grid(columns: Floats, weight: int) -> Floats:
    """The columns rounded so that sums with whole weights adding up to `weight` are exact in any order."""
    largest = np.max(np.abs(columns), axis=0, initial=0.0)
    exponent = np.where(largest > 0, np.ceil(np.log2(np.where(largest > 0, largest, 1.0))), 0.0)
    # below the smallest number that there is, nothing needs rounding
    grain = 2.0 ** np.maximum(exponent - (51 - int(np.ceil(np.log2(max(weight, 2))))), -1074.0)
    return np.asarray(np.round(columns / grain) * grain, dtype=float)


def draws(clusters: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield blocks of rows with the number of draws of each cluster, reproducible by seed."""
    random = np.random.default_rng(seed)
    block = max(1, min(resamples, CELLS_AT_ONCE // max(clusters, 1)))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        picked = random.integers(0, clusters, size=(rows, clusters))
        picked += np.arange(rows)[:, None] * clusters
        yield np.bincount(picked.ravel(), minlength=rows * clusters).reshape(rows, clusters).astype(float)


def resampled_sums(columns: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Sums of each column over every resample of its rows: one row per resample."""
    exact = on_grid(columns, len(columns))
    return np.concatenate([counts @ exact for counts in draws(len(columns), resamples=resamples, seed=seed)])


def percentile_bounds(resampled: Floats, *, level: float = LEVEL) -> tuple[Floats, Floats]:
    """The middle of each column's resampled values."""
    tail = (1 - check_level(level)) / 2
    limits = _quantiles(resampled, np.array([[tail], [1 - tail]]) * np.ones((1, resampled.shape[1])))
    return limits[0], limits[1]


def bca_bounds(
    resampled: Floats, estimate: Floats, jackknife: Floats, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Bias-corrected and accelerated bounds (Efron 1987) of many columns at once.

    `jackknife` holds, for each column, the estimate with one cluster left out at a time.
    """
    tail = (1 - check_level(level)) / 2
    below = np.mean(resampled < estimate, axis=0) + 0.5 * np.mean(resampled == estimate, axis=0)
    half = 0.5 / len(resampled)
    bias = scipy.special.ndtri(np.clip(below, half, 1 - half))
    gap = _added(jackknife) / len(jackknife) - jackknife
    spread = _added(gap**2)
    acceleration = np.where(spread > 0, _added(gap**3) / (6 * np.where(spread > 0, spread, 1.0) ** 1.5), 0.0)
    shares = []
    for quantile in (scipy.special.ndtri(tail), scipy.special.ndtri(1 - tail)):
        moved = bias + quantile
        shares.append(scipy.special.ndtr(bias + moved / (1 - acceleration * moved)))
    limits = _quantiles(resampled, np.array(shares))
    return limits[0], limits[1]


def _added(columns: Floats) -> Floats:
    # one row after the other: numpy's own sum takes another order when there is one column only
    return np.asarray(np.cumsum(columns, axis=0)[-1], dtype=float)


def _quantiles(columns: Floats, shares: Floats) -> Floats:
    """Linear quantiles, its own share for each column; infinite values do not spoil their neighbors."""
    ordered = np.sort(columns, axis=0)
    place = np.clip(shares, 0, 1) * (len(ordered) - 1)
    below = np.floor(place).astype(int)
    above = np.ceil(place).astype(int)
    lower = np.take_along_axis(ordered, below, axis=0)
    upper = np.take_along_axis(ordered, above, axis=0)
    with np.errstate(invalid="ignore"):
        between = lower + (place - below) * (upper - lower)
    return np.asarray(np.where(lower == upper, lower, np.where(np.isinf(upper), upper, between)), dtype=float)


def bootstrap_mean(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    method: str = "bca",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Interval for the mean over runs by resampling whole clusters, by `percentile` or `bca`."""
    by_cluster = cluster(values, clusters)
    if by_cluster.size < 2:
        estimate = by_cluster.mean if by_cluster.n else None
        reason = too_few(by_cluster.n)
        return no_interval(
            reason, method=method, n=by_cluster.n, clusters=by_cluster.size, level=level, estimate=estimate
        )
    return bootstrap_ratio(
        by_cluster.sums, by_cluster.counts, n=by_cluster.n, method=method, level=level, resamples=resamples, seed=seed
    )


def bootstrap_ratio(
    above: npt.ArrayLike,
    below: npt.ArrayLike,
    *,
    n: int,
    method: str = "percentile",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Interval for sum(above) / sum(below) over clusters, both given as one number a cluster.

    A resample whose denominator is 0 counts as infinite.
    """
    columns = np.column_stack([np.asarray(above, dtype=float), np.asarray(below, dtype=float)])
    columns = on_grid(columns[np.lexsort(columns.T)], len(columns))
    sums = resampled_sums(columns, resamples=resamples, seed=seed)
    total = columns.sum(axis=0)
    estimate = _divide(total[:1], total[1:])
    resampled = _divide(sums[:, :1], sums[:, 1:])
    if method == "bca":
        left_out = total - columns
        bounds = bca_bounds(resampled, estimate, _divide(left_out[:, :1], left_out[:, 1:]), level=level)
    else:
        bounds = percentile_bounds(resampled, level=level)
    low, high = float(bounds[0][0]), float(bounds[1][0])
    reason = "in some resamples the denominator is 0" if np.isinf(high) else None
    return Interval(
        estimate=float(estimate[0]),
        low=low,
        high=high,
        method=method,
        n=n,
        clusters=len(columns),
        confidence=level,
        seed=seed,
        resamples=resamples,
        reason=reason,
    )


def _divide(above: Floats, below: Floats) -> Floats:
    safe = np.where(below == 0, 1.0, below)
    return np.where(below == 0, np.inf, above / safe)
