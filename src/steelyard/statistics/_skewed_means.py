"""Intervals for a mean without an upper bound, corrected for skew: costs, durations, tokens.

No interval for such a mean always holds (Bahadur and Savage 1956): a value larger than any seen may be still to come.
So where tasks vary much, each reports its approximate coverage for log-normal values with sigma 1.5.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.statistics._estimates import LEVEL, Interval
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._interval import Floats, Ints, no_interval, too_few
from steelyard.statistics._means import student_quantile

METHOD = "hall"

REACHED = ((2.5, 0.92), (10.0, 0.82), (30.0, 0.83), (100.0, 0.88), (200.0, 0.90), (500.0, 0.92))
"""Coverage of a 95% CI at sigma 1.5 below this many tasks (counted by weight), by simulation."""

COVERAGE_FLOORS = (
    (2.5, 0.92),
    (3.5, 0.88),
    (8.0, 0.84),
    (10.0, 0.85),
    (15.0, 0.86),
    (20.0, 0.87),
    (50.0, 0.89),
    (100.0, 0.90),
    (300.0, 0.92),
)
"""Lowest coverage of a 95% CI below this many tasks if costs are log-normal with sigma at most 1.5, by simulation."""

ASSUMED_TAIL = "log-normal sigma <= 1.5"
"""Tail for which `coverage_floor` is a floor."""

HARDLY_VARIED = 0.55
"""Where tasks deviate by less than this fraction of their mean, intervals hold: at sigma 0.5 it is 0.53."""


def variation(values: Floats) -> float:
    """The standard deviation of task means as a fraction of their mean; infinite where that is not above 0."""
    mean = float(values.mean())
    return float(np.sort(values).std(ddof=1)) / mean if mean > 0 and len(values) > 1 else np.inf


def reached(tasks: float, varied: float, level: float = LEVEL) -> float | None:
    """About how often the interval holds with skewed values; None where it is 93% of 95 or more.

    `varied` is the variation of the task means. At other levels the shortfall is taken to be the same, and a wider
    interval to hold at least as often.
    """
    if varied < HARDLY_VARIED:
        return None
    share = next((share for below, share in REACHED if tasks < below - 1e-6), None)
    return None if share is None else min(level, LEVEL) - (LEVEL - share)


def coverage_floor(tasks: float, *, level: float = LEVEL) -> float | None:
    """Return the coverage that an interval of a mean without upper bound reaches at least, given `ASSUMED_TAIL`.

    It depends on the number of tasks only (counted by weight), never on the sample's variation: a sample that missed
    the tail looks tame. None from 300 tasks on, where it is at least 93% for 95%. At lower levels the shortfall is
    taken to be the same.

    >>> coverage_floor(20), coverage_floor(300)
    (0.89, None)
    """
    floor = next((floor for below, floor in COVERAGE_FLOORS if tasks < below - 1e-6), None)
    return None if floor is None else min(level, LEVEL) - (LEVEL - floor)


def skewed_mean(values: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval for a mean of values of any size and sign, one per task, corrected for skew but not for heavy tails."""
    numbers = np.sort(np.asarray(values, dtype=float))
    n = len(numbers)
    estimate = mean_of(numbers) if n else None
    reason = too_few(n) if n < 2 else None
    if n > 1 and numbers[0] == numbers[-1]:
        reason = "equal on every task, so the variance cannot be estimated"
    if reason is not None:
        return no_interval(reason, method=METHOD, n=n, clusters=n, level=level, estimate=estimate)
    limits = skewed_bounds(numbers, np.ones(n), np.zeros(n, dtype=np.int64), size=1, floor=-np.inf, level=level)
    return Interval(
        estimate=estimate,
        low=float(limits[0][0]),
        high=float(limits[1][0]),
        method=METHOD,
        n=n,
        clusters=n,
        confidence=level,
    )


def skewed_bounds(
    values: Floats, weights: Floats, groups: Ints, *, size: int, floor: float, level: float = LEVEL, skewed: bool = True
) -> tuple[Floats, Floats, Floats, Floats]:
    """Bounds of the weighted mean of each group, its number of tasks, and their coefficient of variation.

    Values are one a task, in sorted order; every group has two or more; unequal weights count as fewer tasks. Hall's
    transformation (1992) of Student's t, or Student's itself; the standard error and the degrees of freedom allow for
    unequal weights (Bell and McCaffrey 2002). Where nothing is below `floor` = 0, limits of the logarithm of the mean
    are taken as well, the wider on each side: with a handful of tasks the skew itself is unknown.
    """

    def added(numbers: Floats) -> Floats:
        return np.bincount(groups, weights=numbers, minlength=size).astype(float)

    total = added(weights)
    shares = weights / total[groups]
    mean = added(shares * values)
    apart = shares * (values - mean[groups])
    largest = np.zeros(size)
    np.maximum.at(largest, groups, np.abs(apart))
    unit = np.where(largest > 0, largest, 1.0)
    apart = apart / unit[groups]  # cubes of what is too large or too small to be cubed
    squares = added(apart**2)
    error = np.sqrt(added(apart**2 / (1 - shares))) * unit
    concentration = added(shares**2)
    critical = student_quantile(level, _degrees(shares, concentration, groups, size))
    skew = added(apart**3) / np.where(squares > 0, squares, 1.0) ** 1.5 / 3 if skewed else np.zeros(size)
    low = mean - _back(critical, skew) * error
    high = mean - _back(-critical, skew) * error
    if floor == 0:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            factor = np.exp(critical * error / mean)
            low = np.fmin(low, mean / factor)
            high = np.fmax(high, mean * factor)
    tasks = 1 / concentration
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        varied = np.where(mean > 0, error * np.sqrt(tasks) / mean, np.inf)
    return low, high, tasks, varied


def _degrees(shares: Floats, concentration: Floats, groups: Ints, size: int) -> Floats:
    """Bell and McCaffrey's degrees of freedom for tasks that vary alike: one less than the tasks if all weigh the same.

    The estimated variance is a sum of squares of linear forms of the values; its degrees are the squared trace of
    their matrix of products over the sum of its squares, worked out here without the matrix.
    """
    parts = shares**2 / (1 - shares)
    sums = [np.bincount(groups, weights=parts * shares**power, minlength=size) for power in range(3)]
    diagonal = 1 - 2 * shares + concentration[groups]
    trace = np.bincount(groups, weights=parts * diagonal, minlength=size)
    own = np.bincount(groups, weights=parts**2 * (diagonal**2 - (diagonal - 1) ** 2), minlength=size)
    squares = concentration**2 * sums[0] ** 2 + 2 * sums[0] * sums[2] + 2 * sums[1] ** 2
    crossed = squares - 4 * concentration * sums[0] * sums[1]
    return np.asarray(trace**2 / (own + crossed), dtype=float)


def _back(quantile: Floats, skew: Floats) -> Floats:
    """The t at which Hall's cubic reaches the quantile; `skew` is the skewness over three roots of the tasks."""
    slight = np.abs(skew) < 1e-6
    safe = np.where(slight, 1.0, skew)
    return np.asarray(np.where(slight, quantile, (np.cbrt(1 + 3 * safe * (quantile - safe / 2)) - 1) / safe))
