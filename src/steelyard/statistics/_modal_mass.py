"""Interval for the probability of the most frequent value."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import optimize, special

from steelyard.statistics._estimates import LEVEL, Interval
from steelyard.statistics._interval import check_level, no_interval, too_few
from steelyard.statistics._proportions import clopper_pearson

METHOD = "modal-exact"


def modal_mass(counts: Sequence[int], *, level: float = LEVEL) -> Interval:
    """Interval of the chance of the most likely value, from how often each was seen; it holds at least at its level.

    The value seen most often may be so by luck, and another be the most likely one. If no chance exceeded p, at most
    1 / p values would have it, so one of them is seen k times or more with a chance of at most P(Binomial(n, p) >= k) /
    p: the lower bound is the p at which that is half of what may fail. The upper bound is Clopper and Pearson's.

    >>> interval = modal_mass([5])
    >>> round(interval.low, 3), interval.high  # 0.025 to the power of 1/4
    (0.398, 1.0)
    """
    n = int(sum(counts))
    if n < 2:
        estimate = 1.0 if n else None
        return no_interval(too_few(n), method=METHOD, n=n, clusters=n, level=level, estimate=estimate)
    most = int(max(counts))
    tail = (1 - check_level(level)) / 2

    def excess(chance: float) -> float:
        return float(special.betainc(most, n - most + 1, chance)) / chance - tail

    low = float(optimize.brentq(excess, 1e-12, 1.0, xtol=1e-12)) if most > 1 else 0.0
    high = clopper_pearson(most, n, level=level).high
    return Interval(estimate=most / n, low=low, high=high, method=METHOD, n=n, clusters=n, confidence=level)
