"""The mean difference over tasks, with interval and p-value from one statistic, for any number of tasks.

Pass rates of few attempts move in steps of 1 / attempts, so the spread seen on few tasks is often too small, sometimes
0. Both rules below add spread where that happens, and the p-value is always that of the printed interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.statistics._estimates import LEVEL, Interval, Significance
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._interval import Floats, no_interval
from steelyard.statistics._means import student_quantile

MIN_DIFFERING = 4
"""With single attempts, minimum number of tasks that differ for Student's t without pseudo-observations."""
MAX_ATTEMPT_RATIO = 2.5
"""Above this mean ratio of attempts between the sides, the differences over tasks do not keep their level: type I error
at most 5.7% up to 2 vs. 5 attempts, but 6.7% for 1 vs. 3 and 8.6% for 1 vs. 5."""


class RowTests(NamedTuple):
    """Limits and two-sided p-values, one per data set."""

    low: Floats
    high: Floats
    p_value: Floats


class Moments(NamedTuple):
    """What the tests need to know of the differences of each data set."""

    tasks: int
    total: Floats
    """Sum over tasks."""
    squares: Floats
    """Sum of squares over tasks."""
    differing: Floats
    """Number of tasks that differ."""
    alike: npt.NDArray[np.bool_]
    """Whether all differences are equal."""


def moments_of(differences: Floats) -> Moments:
    """Return the moments of data sets (rows) of tasks (columns)."""
    return Moments(
        differences.shape[1],
        differences.sum(axis=1),
        (differences**2).sum(axis=1),
        np.count_nonzero(differences, axis=1).astype(float),
        np.ptp(differences, axis=1) == 0,
    )


def quantum_of(attempts_a: npt.ArrayLike, attempts_b: npt.ArrayLike, *, span: float = 1.0) -> float:
    """Return the squared step of a task's difference: the mean over tasks of span^2 / (attempts of A x attempts of B).

    0 if every task has a single attempt on both sides, for which `paired_mean` has another rule.

    >>> quantum_of([2, 2], [2, 2])
    0.25
    """
    products = np.asarray(attempts_a, dtype=float) * np.asarray(attempts_b, dtype=float)
    return 0.0 if np.all(products == 1) else float(np.mean(span**2 / np.sort(products)))


def unequal_attempts(attempts_a: npt.ArrayLike, attempts_b: npt.ArrayLike) -> bool:
    """Whether attempts differ so much between the sides that a permutation within tasks must confirm the result."""
    a, b = np.asarray(attempts_a, dtype=float), np.asarray(attempts_b, dtype=float)
    return bool(np.mean(np.maximum(a, b) / np.minimum(a, b)) > MAX_ATTEMPT_RATIO)


def paired_mean_rows(moments: Moments, *, quantum: float, span: float = 1.0, level: float = LEVEL) -> RowTests:
    """Return limits and p-values for the mean difference of many data sets; see `paired_mean`."""
    n = moments.tasks
    if quantum > 0:
        return _student(moments.total, moments.squares + quantum, n, span=span, level=level)
    plain = _student(moments.total, moments.squares, n, span=span, level=level)
    size = np.where(moments.differing > 0, moments.squares / np.maximum(moments.differing, 1), span**2)
    added = _student(moments.total, moments.squares + 2 * size, n + 2, span=span, level=level)
    use_plain = (moments.differing >= MIN_DIFFERING) & ~moments.alike
    return RowTests(*(np.where(use_plain, one, other) for one, other in zip(plain, added, strict=True)))


def _student(total: Floats, squares: Floats, n: int, *, span: float, level: float) -> RowTests:
    mean = total / n
    error = np.sqrt(np.maximum(squares - total * mean, 0.0) / (n - 1) / n)
    half = student_quantile(level, n - 1) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = np.where(error > 0, 2 * special.stdtr(n - 1, -np.abs(mean / error)), np.where(mean == 0, 1.0, 0.0))
    return RowTests(np.maximum(mean - half, -span), np.minimum(mean + half, span), p_value)


def paired_mean(
    differences: npt.ArrayLike, *, quantum: float, span: float = 1.0, level: float = LEVEL
) -> tuple[Interval, Significance]:
    """Return the interval and test of the mean of task differences in -span to span.

    Several attempts (`quantum` from `quantum_of`): Student's t with one squared step added to the sum of squares,
    se = sqrt((sum((g - mean)^2) + quantum) / (n - 1) / n). Single attempts (quantum 0): Student's t if at least four
    tasks differ and not all alike, else t after adding two pseudo-observations at plus and minus the root mean square
    of the differences other than 0 (`span` if there is none). Both limits and the p-value come from the same statistic,
    so p <= 1 - level if and only if the interval excludes 0. No width of 0 occurs. Missing below two tasks.

    >>> interval, test = paired_mean([0.5, 0.5, 0.0, 0.5, 0.5, 0.0], quantum=0.25)
    >>> round(interval.low, 3), round(interval.high, 3), round(test.p_value, 3)
    (-0.025, 0.692, 0.062)
    """
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    method = "paired-t+step" if quantum > 0 else "paired-t"
    if n < 2:
        reason = f"{n} task{'s' if n != 1 else ''} in common; at least two are needed"
        estimate = float(gaps[0]) if n else None
        interval = no_interval(reason, method=method, n=n, clusters=n, level=level, estimate=estimate)
        return interval, Significance(p_value=None, statistic=None, method=method, n=n, clusters=n, reason=reason)
    moments = moments_of(gaps[None])
    if quantum <= 0 and (moments.differing[0] < MIN_DIFFERING or moments.alike[0]):
        method = "paired-t+2"
    low, high, p_value = (float(part[0]) for part in paired_mean_rows(moments, quantum=quantum, span=span, level=level))
    mean = mean_of(gaps)
    return (
        Interval(
            # the estimate is rounded once, the limits are not
            estimate=mean,
            low=min(low, mean),
            high=max(high, mean),
            method=method,
            n=n,
            clusters=n,
            confidence=level,
        ),
        Significance(p_value=p_value, statistic=mean, method=method, n=n, clusters=n),
    )


def permutation_limits(observed: float, permuted: Floats, *, level: float = LEVEL) -> tuple[float, float, float]:
    """Return the limits and two-sided p-value of a difference from its permutation distribution under no difference.

    The half width is the order statistic of |permuted| that makes both agree: the interval excludes 0 if and only if
    p = (1 + #{|permuted| >= |observed|}) / (1 + permutations) is at most 1 - level. Infinite limits if there are too
    few permutations to reach it. Values that differ by rounding count as equal.

    >>> permutation_limits(0.5, np.linspace(-0.4, 0.4, 99))[2]
    0.01
    """
    sizes = np.sort(np.where(np.isnan(permuted), np.inf, np.abs(permuted)))[::-1]
    slack = 1e-9 * max(abs(observed), 1e-300)
    p_value = (1 + int(np.count_nonzero(sizes >= abs(observed) - slack))) / (len(sizes) + 1)
    allowed = int(np.floor((1 - level) * (len(sizes) + 1) + 1e-9)) - 1
    if allowed < 0:
        return -np.inf, np.inf, p_value
    half = float(sizes[allowed]) + slack if allowed < len(sizes) else 0.0
    return observed - half, observed + half, p_value
