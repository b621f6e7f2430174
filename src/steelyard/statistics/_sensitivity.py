"""Worst-case bounds for missing outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._means import codes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityBounds:
    """Worst-case bounds of an estimate over all possible missing outcomes (Manski 1989)."""

    low: float
    """Lower bound: every missing outcome at its least favorable value."""
    high: float
    """Upper bound: every missing outcome at its most favorable value."""
    known: int
    """Number of known outcomes."""
    missing: int
    """Number of missing outcomes."""


def difference_bounds(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    tasks_a: npt.ArrayLike,
    tasks_b: npt.ArrayLike,
    span: tuple[float, float] = (0.0, 1.0),
) -> SensitivityBounds | None:
    """Bounds of the mean over common tasks of B - A; missing outcomes are NaN. None without a common task."""
    side_a, side_b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    labels = np.concatenate([np.asarray(tasks_a), np.asarray(tasks_b)])
    codes = codes_of(labels) if len(labels) else np.empty(0, dtype=np.int64)
    codes_a, codes_b = codes[: len(side_a)], codes[len(side_a) :]
    size = int(codes.max(initial=-1)) + 1
    common = (np.bincount(codes_a, minlength=size) > 0) & (np.bincount(codes_b, minlength=size) > 0)
    if not common.any():
        return None
    lowest = _means(side_b, codes_b, size, span[0]) - _means(side_a, codes_a, size, span[1])
    highest = _means(side_b, codes_b, size, span[1]) - _means(side_a, codes_a, size, span[0])
    used = np.concatenate([side_a[common[codes_a]], side_b[common[codes_b]]])
    missing = int(np.isnan(used).sum())
    return SensitivityBounds(
        low=mean_of(lowest[common]),
        high=mean_of(highest[common]),
        known=len(used) - missing,
        missing=missing,
    )


def _means(
    values: npt.NDArray[np.float64], codes: npt.NDArray[np.int64], size: int, filled: float
) -> npt.NDArray[np.float64]:
    whole = np.where(np.isnan(values), filled, values)
    order = np.lexsort((whole, codes))
    counts = np.bincount(codes, minlength=size)
    return np.bincount(codes[order], weights=whole[order], minlength=size) / np.maximum(counts, 1)
