"""Intervals for bounded means, with nominal coverage also near the bounds.

The upper bound is Gaffke's (2005): what a mean with random weights stays below, the weights spread evenly (Dirichlet)
over the data and one added value at the upper bound. The lower bound mirrors it. Of zeros and ones it is Clopper and
Pearson's. It is computed by saddlepoint (Lugannani and Rice 1980), which errs to the wide side.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.statistics._estimates import LEVEL, Interval
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._interval import Floats, Ints, check_level, no_interval, too_few

METHOD = "gaffke"

_FARTHEST = 60.0
"""How far the odds of the search go, as a logarithm: beyond it, limits do not change in any printed digit."""
_STEPS = 100
_CLOSE = 1e-10


def bounded_mean(
    values: npt.ArrayLike,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    weights: npt.ArrayLike | None = None,
    level: float = LEVEL,
) -> Interval:
    """Interval for a mean of independent values within bounds, one per task, with optional `weights`.

    >>> interval = bounded_mean([1.0, 1.0, 1.0, 0.8, 1.0])
    >>> round(interval.low, 2), round(interval.high, 3)
    (0.46, 0.999)
    """
    numbers = np.asarray(values, dtype=float)
    heavy = np.ones(len(numbers)) if weights is None else np.asarray(weights, dtype=float)
    order = np.lexsort((heavy, numbers))
    numbers, heavy = numbers[order], heavy[order]
    n = len(numbers)
    mean = float(np.sum(numbers * heavy) / heavy.sum()) if weights is not None and n else mean_of(numbers)
    if n < 2:
        return no_interval(
            too_few(n), method=METHOD, n=n, clusters=n, level=level, estimate=float(numbers[0]) if n else None
        )
    low, high = bounded_limits(numbers, heavy, np.zeros(n, dtype=np.int64), size=1, bounds=bounds, level=level)
    return Interval(
        estimate=mean, low=float(low[0]), high=float(high[0]), method=METHOD, n=n, clusters=n, confidence=level
    )


def bounded_limits(
    values: Floats, weights: Floats, groups: Ints, *, size: int, bounds: tuple[float, float], level: float = LEVEL
) -> tuple[Floats, Floats]:
    """The bounds of the weighted mean of each group; every group has a value, and its values come in sorted order.

    Unequal weights count as fewer values, (sum of w)² / sum of w² (Kish 1965), shared out by weight.
    """
    least, most = bounds
    scaled = np.clip((values - least) / (most - least), 0.0, 1.0)
    total = np.bincount(groups, weights=weights, minlength=size)
    squared = np.bincount(groups, weights=weights**2, minlength=size)
    shapes = weights * (total / squared)[groups]
    tail = (1 - check_level(level)) / 2
    high = _upper(scaled, shapes, groups, size, tail)
    low = 1 - _upper(1 - scaled, shapes, groups, size, tail)
    return least + (most - least) * low, least + (most - least) * high


def _upper(values: Floats, shapes: Floats, groups: Ints, size: int, tail: float) -> Floats:
    """The upper bound within 0 and 1 of each group.

    The search is over how far the weights lean to the upper bound, for which limit and chance are explicit: secants
    that stay within a bracket. A group that has settled moves no more, so that no limit depends on other groups.
    """
    target = float(special.ndtri(1 - tail))
    settled = np.bincount(groups, weights=1 - values, minlength=size) == 0
    limits = np.ones(size)
    below, above = np.full(size, -_FARTHEST), np.full(size, _FARTHEST)
    leaning, before, gap_before = np.zeros(size), np.full(size, np.nan), np.full(size, np.nan)
    for step in range(_STEPS):
        if settled.all():
            break
        limit, deviates = _leaning_to_the_bound(values, shapes, groups, leaning)
        limits = np.where(settled, limits, limit)
        gap = np.log(np.maximum(deviates, 1e-9) / target)
        below, above = np.where(gap < 0, leaning, below), np.where(gap < 0, above, leaning)
        settled |= (np.abs(gap) < _CLOSE) | (above - below < _CLOSE)
        # far from the bound the deviates grow as the odds do
        slope = np.where(gap != gap_before, (leaning - before) / np.where(gap != gap_before, gap - gap_before, 1.0), 0)
        ahead = leaning - gap * (slope if step else 1.0)
        inside = (ahead > below) & (ahead < above)
        before, gap_before = leaning, gap
        leaning = np.where(settled, leaning, np.where(inside, ahead, (below + above) / 2))
    return limits


def _leaning_to_the_bound(values: Floats, shapes: Floats, groups: Ints, leaning: Floats) -> tuple[Floats, Floats]:
    """The limit at which the weights lean so far (log odds), and how unlikely it is to be passed, in normal deviates.

    A value's weight is its shape over 1 - lean x value; that of the artificial value, which is 1, has the shape 1.
    """
    size = len(leaning)
    lean, rest = special.expit(leaning), special.expit(-leaning)
    inverse = (1 - values) + values * rest[groups]
    weights = shapes / inverse
    made_up = 1 / rest
    totals = np.bincount(groups, weights=weights, minlength=size) + made_up
    missing = np.bincount(groups, weights=weights * (1 - values), minlength=size) / totals
    scale = missing * lean + rest  # 1 - lean x limit
    logs = np.bincount(groups, weights=shapes * np.log(inverse), minlength=size) + np.log(rest)
    number = np.bincount(groups, weights=shapes, minlength=size) + 1
    apart = (missing[groups] - (1 - values)) ** 2 * weights / inverse
    spread = np.bincount(groups, weights=apart, minlength=size) + (missing * made_up) ** 2
    signed = np.sqrt(np.maximum(2 * (logs - number * np.log(scale)), 0.0))
    known = signed > 1e-6
    safe = np.where(known, signed, 1.0)
    plain = np.where(known, lean * np.sqrt(spread), 1.0)
    return 1 - missing, signed + np.where(known, np.log(plain / safe) / safe, 0.0)
