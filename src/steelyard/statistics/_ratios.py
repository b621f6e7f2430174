"""Intervals for a ratio of two means, such as the cost of a pass."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import structs

from steelyard.statistics._bootstrap import bootstrap_ratio
from steelyard.statistics._estimates import LEVEL, RESAMPLES, SEED, Interval
from steelyard.statistics._interval import check_level, no_interval, too_few
from steelyard.statistics._means import Clusters, cluster, student_quantile
from steelyard.statistics._proportions import at_most_when_none
from steelyard.statistics._skewed_means import reached, skewed_bounds, variation


def fieller(above: npt.ArrayLike, below: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval for mean(above) / mean(below) of runs in clusters (Fieller 1954): every ratio a t test would not reject.

    Where the denominator may be 0 the upper bound is infinite. Without any success (denominator 0) the ratio is
    infinite and only a lower bound exists, from the largest share that zero successes in G clusters leave believable.
    Where the numerator may be negative, a denominator that may be 0 leaves no limit at all.
    """
    top, bottom = cluster(above, clusters), cluster(below, clusters)
    size, n = top.size, top.n
    if size < 2:
        estimate = _ratio(top, bottom) if n else None
        return no_interval(too_few(n), method="fieller", n=n, clusters=size, level=level, estimate=estimate)
    low, high, reason = _without_success(top, level) if bottom.mean == 0 else _limits(top, bottom, level)
    return Interval(
        estimate=_ratio(top, bottom),
        low=low,
        high=high,
        method="fieller",
        n=n,
        clusters=size,
        confidence=level,
        reason=reason,
    )


def fieller_hall(
    above: npt.ArrayLike, below: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = LEVEL
) -> Interval:
    """Fieller's bounds for a ratio of means, widened on each side to Hall's for what each task adds to the ratio.

    Fieller's allow for a denominator that may be 0, Hall's for skewed costs.
    """
    plain = fieller(above, below, clusters, level=level)
    if plain.low is None or plain.high is None or plain.estimate is None:
        return structs.replace(plain, method="fieller-hall")
    top, bottom = cluster(above, clusters), cluster(below, clusters)
    tasks = float(top.counts.sum() ** 2 / (top.counts**2).sum())
    low, high = plain.low, plain.high
    if bottom.mean != 0:
        adds = np.sort(plain.estimate + (top.sums - plain.estimate * bottom.sums) / bottom.sums.mean())
        same = np.zeros(len(adds), dtype=np.int64)
        least = min(float(top.sums.min()), float(bottom.sums.min()), 0.0)
        skewed = skewed_bounds(adds, np.ones(len(adds)), same, size=1, floor=least, level=level)
        low, high = min(low, float(skewed[0][0])), max(high, float(skewed[1][0]))
    return structs.replace(
        plain,
        low=low,
        high=high,
        method="fieller-hall",
        approx_coverage=reached(tasks, variation(top.sums / top.counts), level),
    )


def _ratio(top: Clusters, bottom: Clusters) -> float:
    return top.mean / bottom.mean if bottom.mean else math.inf


def _limits(top: Clusters, bottom: Clusters, level: float) -> tuple[float, float, str | None]:
    size = top.size
    x, y = float(top.sums.mean()), float(bottom.sums.mean())
    spread = np.cov(np.vstack([top.sums, bottom.sums]), ddof=1) / size
    squared = float(student_quantile(level, size - 1)) ** 2
    a = y * y - squared * spread[1, 1]
    b = x * y - squared * spread[0, 1]
    c = x * x - squared * spread[0, 0]
    inside = b * b - a * c
    if a > 0:
        root = math.sqrt(max(inside, 0.0))
        return (b - root) / a, (b + root) / a, None
    reason = "the denominator cannot be distinguished from 0"
    if min(top.sums.min(), bottom.sums.min()) < 0:
        return -math.inf, math.inf, reason
    if a == 0:
        return (max(c / (2 * b), 0.0) if b > 0 else 0.0), math.inf, reason
    if inside < 0:
        return 0.0, math.inf, reason
    # a < 0: what is not rejected is outside the two roots, and the estimate may be on either side
    smaller, larger = (b + math.sqrt(inside)) / a, (b - math.sqrt(inside)) / a
    return (max(larger, 0.0) if smaller < 0 else 0.0), math.inf, reason


def _without_success(top: Clusters, level: float) -> tuple[float, float, str | None]:
    # the error is shared between the two limits, so that together they hold at the level
    tail = 1 - (1 - check_level(level)) / 2
    most = at_most_when_none(top.size, level=tail)
    least = top.mean - float(student_quantile(2 * tail - 1, top.size - 1)) * top.standard_error
    reason = f"no success in {top.n} runs, so only a lower bound exists"
    return max(least, 0.0) / most, math.inf, reason


def ratio_bootstrap(
    above: npt.ArrayLike,
    below: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    method: str = "percentile",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Interval for mean(above) / mean(below) by resampling whole clusters, by `percentile` or `bca`."""
    top, bottom = cluster(above, clusters), cluster(below, clusters)
    if top.size < 2:
        estimate = _ratio(top, bottom) if top.n else None
        reason = too_few(top.n)
        return no_interval(reason, method=method, n=top.n, clusters=top.size, level=level, estimate=estimate)
    if bottom.mean == 0:
        reason = f"no success in {top.n} runs; the method fieller computes a lower bound"
        return no_interval(reason, method=method, n=top.n, clusters=top.size, level=level, estimate=math.inf)
    return bootstrap_ratio(top.sums, bottom.sums, n=top.n, method=method, level=level, resamples=resamples, seed=seed)
