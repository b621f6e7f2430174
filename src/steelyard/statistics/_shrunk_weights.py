"""Weights fitted to human ratings by ridge regression toward the current weights.

Within each task, quality = slope x (fixed weights . parts) + contrast . parts + chance, where the contrast sums to 0.
The contrast is shrunk toward 0 by empirical Bayes (its size relative to chance), and left at 0 where a test
does not show it. Weights move by contrast / slope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its packages are imported on first use

from steelyard.statistics._estimates import LEVEL, Floats, Ints, check_level


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsFit:
    """Change of the weights from the current ones, with the reason."""

    shift: Floats
    """What is added to each weight before it is bounded; sums to 0."""
    slope: float | None
    """Points of quality for a point of the score by the fixed weights; None where there are too few rows."""
    p_value: float | None
    """The chance of such a contrast where the fixed weights are right; None where there are too few rows."""
    shrinkage: float | None
    """The fraction of the contrast that is kept, 0 to 1; None where none is."""
    n: int
    groups: int
    reason: str | None
    """Why the weights stay where they are; None where they move."""


def fit_weights(parts: Floats, fixed: Floats, quality: Floats, groups: Ints, *, level: float = LEVEL) -> WeightsFit:
    """The fit for n rated submissions: `parts` and `fixed` weights have a row each, `groups` code their tasks."""
    check_level(level)
    n, count = parts.shape
    tasks = len(np.unique(groups))
    freedom = n - tasks - count

    def stays(reason: str, slope: float | None = None, p_value: float | None = None) -> WeightsFit:
        return WeightsFit(
            shift=np.zeros(count), slope=slope, p_value=p_value, shrinkage=None, n=n, groups=tasks, reason=reason
        )

    if freedom < 1:
        return stays("too few rated submissions per task")
    basis = _contrasts(count)
    design = _centered(np.column_stack([np.sum(parts * fixed, axis=1), parts @ basis]), groups)
    response = _centered(quality[:, None], groups)[:, 0]
    if np.linalg.matrix_rank(design) < count:
        return stays("one score component is constant over the rated submissions of each task")
    estimate, *_ = np.linalg.lstsq(design, response, rcond=None)
    residuals = response - design @ estimate
    variance = float(residuals @ residuals) / freedom
    inverse = np.linalg.inv(design.T @ design)
    slope = float(estimate[0])
    if variance <= 0 or slope <= scipy.special.stdtrit(freedom, level) * math.sqrt(variance * inverse[0, 0]):
        return stays("ratings do not correlate with the score under the fixed weights", slope)
    precision = np.linalg.inv(inverse[1:, 1:])
    statistic = float(estimate[1:] @ precision @ estimate[1:]) / (count - 1) / variance
    p_value = float(scipy.special.fdtrc(count - 1, freedom, statistic))
    if p_value >= 1 - level:
        return stays("the ratings give no evidence that other weights are better", slope, p_value)
    kept, shrinkage = _shrunk(np.asarray(estimate[1:], dtype=float), np.asarray(precision / variance, dtype=float))
    return WeightsFit(
        shift=basis @ kept / slope,
        slope=slope,
        p_value=p_value,
        shrinkage=shrinkage,
        n=n,
        groups=tasks,
        reason=None,
    )


def bounded_weights(fixed: Floats, shift: Floats, distance: float) -> Floats:
    """The fixed weights moved in the direction of the shift: no weight by more than `distance`, and none below 0.

    >>> bounded_weights(np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.0, -0.3]), 0.1).round(3).tolist()
    [0.6, 0.3, 0.1]
    """
    largest = float(np.max(np.abs(shift), initial=0.0))
    if largest == 0:
        return fixed
    share = min(1.0, distance / largest)
    falling = shift < 0
    if falling.any():
        share = min(share, float(np.min(fixed[falling] / -shift[falling])))
    return np.clip(fixed + share * shift, 0.0, 1.0)


def part_diagnostics(parts: Floats, quality: Floats, groups: Ints) -> list[tuple[float, float | None]]:
    """For each part its standard deviation and its correlation with quality, both within tasks."""
    n, count = parts.shape
    freedom = max(n - len(np.unique(groups)), 1)
    own, response = _centered(parts, groups), _centered(quality[:, None], groups)[:, 0]
    diagnostics: list[tuple[float, float | None]] = []
    for place in range(count):
        std_dev = math.sqrt(float(own[:, place] @ own[:, place]) / freedom)
        both = math.sqrt(float(own[:, place] @ own[:, place]) * float(response @ response))
        diagnostics.append((std_dev, float(own[:, place] @ response) / both if both > 0 else None))
    return diagnostics


def _contrasts(count: int) -> Floats:
    """Orthonormal columns that each sum to 0 (Helmert)."""
    columns = []
    for place in range(1, count):
        column = np.zeros(count)
        column[:place], column[place] = 1.0, -float(place)
        columns.append(column / np.linalg.norm(column))
    return np.column_stack(columns)


def _centered(values: Floats, groups: Ints) -> Floats:
    """The values less the mean of their group."""
    _, codes = np.unique(groups, return_inverse=True)
    counts = np.bincount(codes)
    means = np.column_stack([np.bincount(codes, column) / counts for column in values.T])
    return np.asarray(values - means[codes])


def _shrunk(estimate: Floats, precision: Floats) -> tuple[Floats, float]:
    """The contrast under a normal prior whose variance is the most likely one, and the fraction of it that is left."""
    eigenvalues, vectors = np.linalg.eigh(precision)
    rotated = vectors.T @ estimate

    def unlikely(log_variance: float) -> float:
        total = math.exp(log_variance) + 1 / eigenvalues
        return float(np.sum(np.log(total) + rotated**2 / total))

    best = scipy.optimize.minimize_scalar(unlikely, bounds=(-30.0, 10.0), method="bounded")
    prior = math.exp(float(best.x))
    kept = vectors @ (rotated * prior / (prior + 1 / eigenvalues))
    return kept, float(np.linalg.norm(kept) / np.linalg.norm(estimate))
