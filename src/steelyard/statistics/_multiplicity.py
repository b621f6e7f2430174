"""Multiple-comparison corrections of p-values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard.statistics._estimates import LEVEL
from steelyard.statistics._interval import Floats
from steelyard.statistics._inversion import Limits


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
