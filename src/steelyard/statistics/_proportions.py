"""Intervals for a proportion."""

from __future__ import annotations

import numpy as np
from scipy import special

from steelyard.statistics._estimates import LEVEL, Interval
from steelyard.statistics._interval import Floats, check_level, no_interval


def normal_quantile(level: float) -> float:
    """How many standard errors a two-sided interval of the level reaches to each side."""
    return float(special.ndtri(0.5 + check_level(level) / 2))


def wilson_bounds(share: Floats, n: Floats, critical: Floats) -> tuple[Floats, Floats]:
    """Wilson's bounds for many shares at once; `n` may be an effective size and need not be whole."""
    squared = critical**2
    center = (share + squared / (2 * n)) / (1 + squared / n)
    half = critical / (1 + squared / n) * np.sqrt(share * (1 - share) / n + squared / (4 * n**2))
    low = np.where(share == 0, 0.0, np.clip(center - half, 0, 1))
    high = np.where(share == 1, 1.0, np.clip(center + half, 0, 1))
    return low, high


def wilson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Interval for a share that stays inside 0 and 1 (Wilson 1927); undefined when n is 0.

    >>> round(wilson(8, 10).low, 2)
    0.49
    """
    if n == 0:
        return no_interval("no value", method="wilson", n=0, clusters=0, level=level)
    share = successes / n
    critical = np.array(normal_quantile(level))
    low, high = wilson_bounds(np.array(share), np.array(float(n)), critical)
    return Interval(
        estimate=share, low=float(low), high=float(high), method="wilson", n=n, clusters=n, confidence=level
    )


def clopper_pearson(successes: int, n: int, *, level: float = LEVEL) -> Interval:
    """Interval for a share with coverage of at least its level, whatever the share (1934).

    >>> interval = clopper_pearson(0, 10)
    >>> interval.low, round(interval.high, 4)
    (0.0, 0.3085)
    """
    if n == 0:
        return no_interval("no value", method="clopper-pearson", n=0, clusters=0, level=level)
    tail = (1 - check_level(level)) / 2
    low = 0.0 if successes == 0 else float(special.betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(special.betaincinv(successes + 1, n - successes, 1 - tail))
    return Interval(
        estimate=successes / n, low=low, high=high, method="clopper-pearson", n=n, clusters=n, confidence=level
    )


def at_most_when_none(n: int, *, level: float = LEVEL) -> float:
    """The largest share that is still believable when none of n showed it (the exact rule of three, one-sided).

    >>> round(at_most_when_none(100), 3)
    0.03
    """
    return float(1 - (1 - check_level(level)) ** (1 / n))
