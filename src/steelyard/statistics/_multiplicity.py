"""Multiple-comparison corrections of p-values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.statistics._interval import Floats


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


def _restored(stepped: Floats, order: npt.NDArray[np.intp]) -> Floats:
    adjusted = np.empty_like(stepped)
    adjusted[order] = stepped
    return adjusted
