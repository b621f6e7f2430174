"""Intervals for means and medians, clustered by task; means without an upper bound (costs, tokens) corrected for skew.

No interval for a mean without an upper bound always holds (Bahadur and Savage 1956): a value larger than any seen may
still come. So where tasks vary much, each reports its approximate coverage for log-normal values with sigma 1.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its packages are imported on first use

from steelyard.statistics._estimates import LEVEL, Floats, Interval, Ints, check_level, no_interval, too_few
from steelyard.statistics._exact_sums import mean_of, midpoint
from steelyard.statistics._proportions import bounded_mean, wilson_bounds


def student_quantile(level: float, degrees: npt.ArrayLike) -> Floats:
    """How many standard errors a two-sided Student interval reaches to each side."""
    return np.asarray(
        scipy.special.stdtrit(np.asarray(degrees, dtype=float), 0.5 + check_level(level) / 2), dtype=float
    )


@dataclass(frozen=True, slots=True)
class Clusters:
    """Values added up by cluster, in an order that does not depend on the order of the rows."""

    sums: Floats
    """Sum of the values of each cluster."""
    counts: Floats
    """Number of values of each cluster."""
    mean: float
    """Mean over all values; NaN without any."""

    @property
    def n(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        """Number of clusters."""
        return len(self.sums)

    @property
    def residuals(self) -> Floats:
        """How far each cluster's sum is from what the overall mean would make it."""
        return self.sums - self.counts * self.mean

    @property
    def standard_error(self) -> float:
        """Standard error of the mean that allows any dependence inside a cluster (Liang and Zeger 1986).

        The correction for few clusters is G / (G - 1), as for a regression on a constant.
        """
        size = self.size
        return float(np.sqrt(np.sort(self.residuals**2).sum() * size / (size - 1)) / self.n)


def cluster(values: npt.ArrayLike, clusters: npt.ArrayLike) -> Clusters:
    """The values added up by cluster label."""
    numbers = np.asarray(values, dtype=float)
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    order = np.lexsort((numbers, codes))
    sums = np.bincount(codes, weights=None) if not len(numbers) else np.bincount(codes[order], weights=numbers[order])
    return Clusters(np.asarray(sums, dtype=float), np.bincount(codes).astype(float), mean_of(numbers))


def student(values: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval for a mean of independent values (Student 1908).

    >>> interval = student([1.0, 2.0, 3.0])
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.484, 4.484)
    """
    numbers = np.sort(np.asarray(values, dtype=float))
    n = len(numbers)
    if n < 2:
        estimate = float(numbers[0]) if n else None
        reason = "at least two values are needed"
        return no_interval(reason, method="student", n=n, clusters=n, level=level, estimate=estimate)
    mean = mean_of(numbers)
    half = float(student_quantile(level, n - 1) * numbers.std(ddof=1) / np.sqrt(n))
    return Interval(
        estimate=mean, low=mean - half, high=mean + half, method="student", n=n, clusters=n, confidence=level
    )


def clustered(values: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval for a mean whose values come in clusters: attempts within tasks. Student's t with G - 1 degrees.

    Repeating the attempts does not narrow it; more tasks do.

    >>> once = clustered([1, 0, 1, 0], ["a", "b", "c", "d"])
    >>> thrice = clustered([1, 0, 1, 0] * 3, ["a", "b", "c", "d"] * 3)
    >>> once.low == thrice.low
    True
    """
    by_cluster = cluster(values, clusters)
    if by_cluster.size < 2:
        estimate = by_cluster.mean if by_cluster.n else None
        reason = too_few(by_cluster.n)
        return no_interval(
            reason, method="clustered", n=by_cluster.n, clusters=by_cluster.size, level=level, estimate=estimate
        )
    half = float(student_quantile(level, by_cluster.size - 1)) * by_cluster.standard_error
    return Interval(
        estimate=by_cluster.mean,
        low=by_cluster.mean - half,
        high=by_cluster.mean + half,
        method="clustered",
        n=by_cluster.n,
        clusters=by_cluster.size,
        confidence=level,
    )


def effective_size(share: Floats, standard_error: Floats, clusters: Floats) -> Floats:
    """How many independent runs would be as informative: share (1 - share) / se².

    Where the clusters do not differ at all there is nothing to estimate it from, and each cluster counts once.
    """
    spread = share * (1 - share)
    known = (standard_error > 1e-12) & (spread > 0)
    return np.where(known, spread / np.where(known, standard_error, 1.0) ** 2, clusters)


def wilson_clustered(values: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval for a fraction of runs that come in clusters: Wilson's, at the effective number of runs.

    The effective number is share (1 - share) / se² with the clustered standard error, and Student's quantile with
    G - 1 degrees takes the place of the normal one. It stays inside 0 and 1.
    """
    by_cluster = cluster(values, clusters)
    if by_cluster.size < 2:
        estimate = by_cluster.mean if by_cluster.n else None
        reason = too_few(by_cluster.n)
        return no_interval(
            reason, method="wilson-clustered", n=by_cluster.n, clusters=by_cluster.size, level=level, estimate=estimate
        )
    share = np.array(min(max(by_cluster.mean, 0.0), 1.0))
    size = effective_size(share, np.array(by_cluster.standard_error), np.array(float(by_cluster.size)))
    low, high = wilson_bounds(share, size, student_quantile(level, by_cluster.size - 1))
    return Interval(
        estimate=float(share),
        low=float(low),
        high=float(high),
        method="wilson-clustered",
        n=by_cluster.n,
        clusters=by_cluster.size,
        confidence=level,
    )


def sorted_median(ordered: Floats) -> float | None:
    """The median of sorted values; None when there are none."""
    n = len(ordered)
    return float(midpoint(ordered[(n - 1) // 2], ordered[n // 2])) if n else None


def median_rank(n: int, level: float) -> int:
    """Return the rank, from either end, of the bounds of an exact interval for the median; 0 if n is too small.

    The largest r with P(Binomial(n, 1/2) < r) at most half of what may fail.
    """
    tail = (1 - check_level(level)) / 2
    least, beyond = 0, n // 2 + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if scipy.special.bdtr(middle - 1, n, 0.5) <= tail:
            least = middle
        else:
            beyond = middle
    return least


def median_exact(values: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval for a median between two of the ordered values; its coverage is at least its level.

    Needs six independent values at 95%: with fewer even the smallest and the largest do not hold it often enough.
    """
    numbers = np.sort(np.asarray(values, dtype=float))
    estimate = sorted_median(numbers)
    return exact_median(numbers, estimate, median_rank(len(numbers), level), level=level)


def exact_median(ordered: Floats, estimate: float | None, rank: int, *, level: float) -> Interval:
    """Return the exact interval of sorted values, given the rank of its bounds."""
    n = len(ordered)
    if rank == 0:
        reason = "no value" if n == 0 else f"{n} values are too few for a median CI"
        return no_interval(reason, method="median-exact", n=n, clusters=n, level=level, estimate=estimate)
    return Interval(
        estimate=estimate,
        low=float(ordered[rank - 1]),
        high=float(ordered[n - rank]),
        method="median-exact",
        n=n,
        clusters=n,
        confidence=level,
    )


def median_clustered(values: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval for a median of values that come in clusters (Woodruff 1952).

    The fraction of values below the median gets its clustered interval, and the values at those shares are the limits.
    """
    numbers = np.asarray(values, dtype=float)
    labels = np.asarray(clusters)
    estimate = sorted_median(np.sort(numbers))
    groups = len(np.unique(labels))
    if estimate is None or groups < min_n_for_median_ci(level):
        return no_clustered_median(len(numbers), groups, level=level, estimate=estimate)
    below = cluster((numbers < estimate) + 0.5 * (numbers == estimate), labels)
    share = bounded_mean(below.sums / below.counts, weights=below.counts, level=level)
    assert share.low is not None
    assert share.high is not None
    return woodruff_median(np.sort(numbers), estimate, (share.low, share.high), clusters=groups, level=level)


def min_n_for_median_ci(level: float) -> int:
    """The fewest tasks for an interval for the median: even if all attempts at a task were equal, it would nearly hold.

    The median is then outside all of n tasks with probability 2 / 2^n; at 95% five tasks hold it in 93.75%.

    >>> min_n_for_median_ci(0.95)
    5
    """
    return max(2, math.ceil(1 - math.log2(1 - check_level(level) + 0.02)))


def no_clustered_median(n: int, clusters: int, *, level: float, estimate: float | None) -> Interval:
    """A median of attempts at too few tasks, with the reason."""
    reason = too_few(n) if clusters < 2 else f"{clusters} tasks are too few to compute an interval for the median"
    return no_interval(reason, method="median-clustered", n=n, clusters=clusters, level=level, estimate=estimate)


def woodruff_median(
    ordered: Floats, estimate: float | None, shares: tuple[float, float], *, clusters: int, level: float
) -> Interval:
    """The values of a sorted sample at the bounds of the share below its median."""
    n = len(ordered)
    # a share that is 1/2 on paper may be a little more
    first = max(int(np.floor(shares[0] * n + 1e-9)) - 1, 0)
    last = min(int(np.ceil(shares[1] * n - 1e-9)), n - 1)
    return Interval(
        estimate=estimate,
        low=float(ordered[first]),
        high=float(ordered[last]),
        method="median-clustered",
        n=n,
        clusters=clusters,
        confidence=level,
    )


def codes_of(labels: npt.ArrayLike) -> Ints:
    """Labels as numbers 0, 1, ... in sorted order of the labels."""
    _, codes = np.unique(np.asarray(labels), return_inverse=True)
    return np.asarray(codes, dtype=np.int64)


HALL = "hall"

_BRACKETS = (2.5, 3.5, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0, 300.0, 1000.0, 2000.0)
"""Numbers of tasks below which the floors of a row apply."""

COVERAGE_FLOORS = {
    HALL: (0.92, 0.88, 0.84, 0.85, 0.86, 0.87, 0.89, 0.89, 0.90, 0.92),
    "paired-t+hall": (0.80, 0.80, 0.80, 0.84, 0.85, 0.87, 0.88, 0.89, 0.90, 0.92),
    "student": (0.80, 0.69, 0.68, 0.70, 0.71, 0.73, 0.75, 0.78, 0.81, 0.84, 0.88, 0.91),
    "bootstrap": (0.32, 0.48, 0.53, 0.64, 0.66, 0.69, 0.72, 0.75, 0.80, 0.85, 0.87, 0.90),
}
"""Lowest coverage of a 95% CI by method if values are log-normal with sigma at most 1.5, by simulation."""

ASSUMED_TAIL = "a tail no heavier than log-normal with sigma 1.5"
"""Tail for which `coverage_floor` is a floor."""


def coverage_floor(tasks: float, *, method: str = HALL, level: float = LEVEL) -> float | None:
    """Return the coverage that an interval of a mean without upper bound reaches at least, given `ASSUMED_TAIL`.

    It depends on the method and the number of tasks only (counted by weight), never on the sample's variation: a sample
    that missed the tail looks tame. None where it is at least 93% for 95%. At lower levels the shortfall is taken to be
    the same. Methods: those of `COVERAGE_FLOORS`; other names are Student's.

    >>> coverage_floor(20), coverage_floor(20, method="student"), coverage_floor(300)
    (0.89, 0.75, None)
    """
    floors = COVERAGE_FLOORS.get(method, COVERAGE_FLOORS["student"])
    floor = next((floor for below, floor in zip(_BRACKETS, floors, strict=False) if tasks < below - 1e-6), None)
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
        return no_interval(reason, method=HALL, n=n, clusters=n, level=level, estimate=estimate)
    limits = skewed_bounds(numbers, np.ones(n), np.zeros(n, dtype=np.int64), size=1, floor=-np.inf, level=level)
    return Interval(
        estimate=estimate,
        low=float(limits[0][0]),
        high=float(limits[1][0]),
        method=HALL,
        n=n,
        clusters=n,
        confidence=level,
    )


def skewed_bounds(
    values: Floats, weights: Floats, groups: Ints, *, size: int, floor: float, level: float = LEVEL, skewed: bool = True
) -> tuple[Floats, Floats, Floats]:
    """Bounds of the weighted mean of each group, and its number of tasks.

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
    return low, high, 1 / concentration


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
