"""Intervals for means and medians, clustered by task."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.statistics._bounded_means import bounded_mean
from steelyard.statistics._counted_groups import midpoint
from steelyard.statistics._estimates import LEVEL, Interval
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._interval import Floats, Ints, check_level, no_interval, too_few
from steelyard.statistics._proportions import wilson_bounds


def student_quantile(level: float, degrees: npt.ArrayLike) -> Floats:
    """How many standard errors a two-sided Student interval reaches to each side."""
    return np.asarray(special.stdtrit(np.asarray(degrees, dtype=float), 0.5 + check_level(level) / 2), dtype=float)


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
        if special.bdtr(middle - 1, n, 0.5) <= tail:
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
