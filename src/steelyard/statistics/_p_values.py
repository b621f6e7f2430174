"""P-values by inversion of an interval, so that a test never contradicts it; equivalence; multiple comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy  # its packages are imported on first use

from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.statistics._estimates import LEVEL, Equivalence, Floats, check_level

SMALLEST_P = 1e-12
"""Smallest p-value reported: interval methods have no digits beyond it."""

Limits: TypeAlias = Callable[[float], tuple[float, float]]
"""Lower and upper limit at a confidence level; they move outward as the level rises."""

Side: TypeAlias = Literal["both", "above", "below"]


def p_value_by_inversion(limits: Limits, estimate: float, *, null: float = 0.0, level: float = LEVEL) -> float:
    """Return the two-sided p-value of `null`: 1 minus the highest level whose interval excludes it.

    p <= 1 - level if and only if the interval at `level` excludes `null`. About ten evaluations of `limits`.

    >>> from scipy import stats
    >>> round(p_value_by_inversion(lambda level: stats.norm.interval(level, 2.0), 2.0), 4)
    0.0455
    """
    if estimate == null:
        return 1.0
    side = 0 if estimate > null else 1

    def excess(log_alpha: float) -> float:
        distance = limits(1 - math.exp(log_alpha))[side] - null
        return max(min(distance if side == 0 else -distance, 1e300), -1e300)

    return _smallest_alpha(excess, 1 - check_level(level))


def _smallest_alpha(excess: Callable[[float], float], alpha: float) -> float:
    """Return the smallest error rate at whose logarithm `excess` is above 0; consistent with its sign at `alpha`."""
    at_level = excess(math.log(alpha))
    if at_level > 0:
        least, most = math.log(SMALLEST_P), math.log(alpha)
        if excess(least) > 0:
            return SMALLEST_P
    else:
        least, most = math.log(alpha), math.log(1 - 1e-9)
        if excess(most) <= 0:
            return 1.0
    found = math.exp(float(scipy.optimize.brentq(excess, least, most, xtol=1e-9)))
    return min(found, alpha) if at_level > 0 else max(found, math.nextafter(alpha, 1.0))


def equivalence_test(limits: Limits, margin: float, *, side: Side = "both", level: float = LEVEL) -> Equivalence:
    """Return two one-sided tests of a difference against a margin (Schuirmann 1987), by the interval's own method.

    Equivalent if the interval at level 1 - 2 (1 - level), 90% for 95%, is inside -margin to margin. Non-inferiority
    tests one side: `above` that the difference exceeds -margin, `below` that it is less than margin. The p-value is the
    smallest error rate at which the interval is inside, so it agrees with the verdict.

    >>> from scipy import stats
    >>> tested = equivalence_test(lambda level: stats.norm.interval(level, 0.01, 0.01), 0.05)
    >>> tested.verdict, round(float(tested.low), 4), round(float(tested.high), 4)
    ('equivalent', -0.0064, 0.0264)
    """
    if not 0 < margin < math.inf:
        raise UsageError(f"margin must be a finite number above 0 (got {margin:g})", hint=option("margin", "0.05"))

    def room(log_alpha: float) -> float:
        low, high = _one_sided(limits, math.exp(log_alpha))
        rooms = {"above": low + margin, "below": margin - high, "both": min(low + margin, margin - high)}
        return max(min(rooms[side], 1e300), -1e300)

    alpha = 1 - check_level(level)
    low, high = limits(1 - 2 * alpha)
    claim: Literal["equivalent", "non-inferior"] = "equivalent" if side == "both" else "non-inferior"
    return Equivalence(
        verdict=claim if room(math.log(alpha)) > 0 else "inconclusive",
        p_value=_smallest_alpha(room, alpha),
        low=low,
        high=high,
        confidence=round(1 - 2 * alpha, 12),  # 0.9, not 0.8999999999999999
    )


def _one_sided(limits: Limits, alpha: float) -> tuple[float, float]:
    """Return the one-sided limits with this error rate; above 1/2 they are on the other side of the estimate."""
    low, high = limits(max(abs(1 - 2 * alpha), 1e-9))
    return (low, high) if alpha < 0.5 else (high, low)


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return p-values that control the family-wise error rate (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=float)
    order = np.argsort(given, kind="stable")
    factors = np.arange(len(given), 0, -1)
    stepped = np.maximum.accumulate(np.minimum(given[order] * factors, 1.0))
    return _restored(stepped, order)


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """p-values that keep the fraction of false findings among the findings at the level (Benjamini and Hochberg 1995).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.04, 0.04]
    """
    given = np.asarray(p_values, dtype=float)
    order = np.argsort(given, kind="stable")[::-1]
    factors = len(given) / np.arange(len(given), 0, -1)
    stepped = np.minimum.accumulate(np.minimum(given[order] * factors, 1.0))
    return _restored(stepped, order)


def simultaneous_limits(
    limits: Sequence[Limits], p_values: npt.ArrayLike, *, level: float = LEVEL
) -> list[tuple[float, float]]:
    """Return limits of several differences that do not contradict Holm's verdicts and hold together at the level.

    `limits` computes the interval of each difference at a confidence level, and `p_values` invert them. The limits are
    Bonferroni's, at level 1 - (1 - level) / m. If Holm's correction finds a difference although Bonferroni's interval
    contains 0, only its sign is known, and the limit on that side is exactly 0.

    >>> wide = lambda level: (-0.1, 0.5) if level > 0.97 else (0.05, 0.4)
    >>> sure = lambda level: (1.0, 2.0)
    >>> simultaneous_limits([sure, wide], [0.001, 0.04])
    [(1.0, 2.0), (0.0, 0.5)]
    """
    given = np.asarray(p_values, dtype=float)
    rejected = holm(given) <= 1 - level
    found = []
    for limits_of, is_rejected in zip(limits, rejected, strict=True):
        low, high = limits_of(1 - (1 - level) / len(given))
        if is_rejected and low <= 0 <= high:
            inner = limits_of(level)
            low, high = (0.0, high) if inner[0] + inner[1] > 0 else (low, 0.0)
        found.append((low, high))
    return found


def _restored(stepped: Floats, order: npt.NDArray[np.intp]) -> Floats:
    adjusted = np.empty_like(stepped)
    adjusted[order] = stepped
    return adjusted
