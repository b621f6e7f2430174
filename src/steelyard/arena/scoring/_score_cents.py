"""Scores as whole cents, rounded as Python's `round(x, 2)` rounds: by the exact decimal value of the float.

NumPy and Polars multiply, round and divide, which differs where the product lands on a half (0.285 * 100 is
28.499999999999996).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# Further from a half than this, multiplication's own error (under 1e-11 for scores to 100) cannot turn the rounding.
_DOUBTFUL = 1e-6


def cents(score: float) -> int:
    """The score in hundredths.

    >>> cents(0.285), round(0.285, 2)
    (28, 0.28)
    """
    return round(round(score, 2) * 100)


def points(cents_: int) -> float:
    """The score that `round(x, 2)` would have given: the float nearest to the decimal."""
    return cents_ / 100


def points_column(cents_: Sequence[int]) -> list[float]:
    """`points` of each."""
    return [value / 100 for value in cents_]


def cents_column(scores: np.ndarray) -> np.ndarray:
    """`cents` of each score."""
    return _whole(scores, digits=2)


def tenths_column(percentages: np.ndarray) -> np.ndarray:
    """Percentages in tenths, rounded as `round(x, 1)` rounds."""
    return _whole(percentages, digits=1)


def _whole(values: np.ndarray, *, digits: int) -> np.ndarray:
    """The values in units of the last digit; only those near a half are rounded one by one."""
    import numpy as np  # heavy: a single submission is scored without it

    scaled = values * 10**digits
    rounded = np.rint(scaled)
    doubtful = np.flatnonzero(np.abs(scaled - np.floor(scaled) - 0.5) < _DOUBTFUL)
    if len(doubtful):
        distinct, where = np.unique(values[doubtful], return_inverse=True)
        one_by_one = [round(round(value, digits) * 10**digits) for value in distinct.tolist()]
        rounded[doubtful] = np.array(one_by_one, dtype=float)[where]
    whole: np.ndarray = rounded.astype(np.int64)
    return whole
