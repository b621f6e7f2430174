"""Intervals for a ratio of two means, such as the cost of a pass, and for the difference of two ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from steelyard.statistics._bootstrap import bootstrap_ratio
from steelyard.statistics._difference_tests import DifferenceTest
from steelyard.statistics._estimates import (
    LEVEL,
    RESAMPLES,
    SEED,
    Floats,
    Interval,
    Ints,
    check_level,
    no_interval,
    too_few,
)
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._means import (
    ASSUMED_TAIL,
    HALL,
    Clusters,
    cluster,
    coverage_floor,
    skewed_bounds,
    student_quantile,
)
from steelyard.statistics._p_values import p_value_by_inversion
from steelyard.statistics._proportions import at_most_when_none, bounded_limits

MOVER_R = "mover-r"

SAME = 1e-12
"""Relative range below which the values of tasks count as constant."""

UNSEEN_FAILURE_COST = 2.1
"""If every run passed, the cost of an unseen failure in the upper limit, in units of the mean cost of a pass."""

TWO_TASKS_FLOOR = 0.88
"""Coverage floor of a ratio over two tasks: both may have the same pass rate and so the same cost (simulated: 89%)."""

UNSEEN_FAILURES = f"unseen failures that cost at most {UNSEEN_FAILURE_COST:g} times a pass"
CONSTANT_NUMERATOR = "a constant numerator"
CONSTANT_DENOMINATOR = "a constant denominator"


def fieller(above: npt.ArrayLike, below: npt.ArrayLike, clusters: npt.ArrayLike, *, level: float = LEVEL) -> Interval:
    """Interval for mean(above) / mean(below) of runs in clusters (Fieller 1954): every ratio a t test would not reject.

    Where the denominator may be 0 the upper bound is infinite. Without any success (denominator 0) the ratio is
    infinite and only a lower bound exists, from the largest share that zero successes in G clusters leave believable.
    Where the numerator may be negative, a denominator that may be 0 leaves no limit at all.
    """
    top, bottom = cluster(above, clusters), cluster(below, clusters)
    size, n = top.size, top.n
    if size < 2:
        estimate = _ratio(top, bottom) if n else None
        return no_interval(too_few(n), method="fieller", n=n, clusters=size, level=level, estimate=estimate)
    low, high, reason = _without_success(top, level) if bottom.mean == 0 else _limits(top, bottom, level)
    return Interval(
        estimate=_ratio(top, bottom),
        low=low,
        high=high,
        method="fieller",
        n=n,
        clusters=size,
        confidence=level,
        reason=reason,
    )


def _ratio(top: Clusters, bottom: Clusters) -> float:
    return top.mean / bottom.mean if bottom.mean else math.inf


def _limits(top: Clusters, bottom: Clusters, level: float) -> tuple[float, float, str | None]:
    size = top.size
    x, y = float(top.sums.mean()), float(bottom.sums.mean())
    spread = np.cov(np.vstack([top.sums, bottom.sums]), ddof=1) / size
    squared = float(student_quantile(level, size - 1)) ** 2
    a = y * y - squared * spread[1, 1]
    b = x * y - squared * spread[0, 1]
    c = x * x - squared * spread[0, 0]
    inside = b * b - a * c
    if a > 0:
        root = math.sqrt(max(inside, 0.0))
        return (b - root) / a, (b + root) / a, None
    reason = "the denominator cannot be distinguished from 0"
    if min(top.sums.min(), bottom.sums.min()) < 0:
        return -math.inf, math.inf, reason
    if a == 0:
        return (max(c / (2 * b), 0.0) if b > 0 else 0.0), math.inf, reason
    if inside < 0:
        return 0.0, math.inf, reason
    # a < 0: what is not rejected is outside the two roots, and the estimate may be on either side
    smaller, larger = (b + math.sqrt(inside)) / a, (b - math.sqrt(inside)) / a
    return (max(larger, 0.0) if smaller < 0 else 0.0), math.inf, reason


def _without_success(top: Clusters, level: float) -> tuple[float, float, str | None]:
    # the error is shared between the two limits, so that together they hold at the level
    tail = 1 - (1 - check_level(level)) / 2
    most = at_most_when_none(top.size, level=tail)
    least = top.mean - float(student_quantile(2 * tail - 1, top.size - 1)) * top.standard_error
    reason = f"no success in {top.n} runs, so only a lower bound exists"
    return max(least, 0.0) / most, math.inf, reason


def ratio_bootstrap(
    above: npt.ArrayLike,
    below: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    method: str = "percentile",
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Interval for mean(above) / mean(below) by resampling whole clusters, by `percentile` or `bca`."""
    top, bottom = cluster(above, clusters), cluster(below, clusters)
    if top.size < 2:
        estimate = _ratio(top, bottom) if top.n else None
        reason = too_few(top.n)
        return no_interval(reason, method=method, n=top.n, clusters=top.size, level=level, estimate=estimate)
    if bottom.mean == 0:
        reason = f"no success in {top.n} runs; the method fieller computes a lower bound"
        return no_interval(reason, method=method, n=top.n, clusters=top.size, level=level, estimate=math.inf)
    return bootstrap_ratio(top.sums, bottom.sums, n=top.n, method=method, level=level, resamples=resamples, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskRatios:
    """Numerators and denominators of ratios of means, one row per task of each group.

    The ratio of a group is sum(weights * above) / sum(weights * below). With weights 1 every task counts once; with the
    number of attempts as weights every run does. A task without a complete case has no row.
    """

    above: Floats
    """Mean numerator of each task, at least 0."""
    below: Floats
    """Mean denominator of each task, at least 0."""
    weights: Floats
    """Weight of each task."""
    groups: Ints
    """Group of each task: codes 0, 1, ... below `size`."""
    size: int
    """Number of groups; each needs two tasks."""
    fraction: bool = True
    """Whether the denominator is a fraction of runs (a pass rate) and so at most 1."""

    @classmethod
    def of_tasks(
        cls,
        above: npt.ArrayLike,
        below: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        fraction: bool = True,
    ) -> TaskRatios:
        """Return one group. Rows are sorted by value, so their order does not change the result."""
        tops, bottoms = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
        heavy = np.ones(len(tops)) if weights is None else np.asarray(weights, dtype=float)
        order = np.lexsort((heavy, bottoms, tops))
        same = np.zeros(len(tops), dtype=np.int64)
        return cls(
            above=tops[order], below=bottoms[order], weights=heavy[order], groups=same, size=1, fraction=fraction
        )

    def total(self, values: Floats) -> Floats:
        """Return the sum of task values in each group."""
        return np.bincount(self.groups, weights=values, minlength=self.size).astype(float)

    def mean(self, values: Floats) -> Floats:
        """Return the weighted mean of task values in each group."""
        return self.total(self.weights * values) / self.total(self.weights)

    def constant(self, values: Floats) -> npt.NDArray[np.bool_]:
        """Return whether the values of each group are equal, but for rounding."""
        least, most = np.full(self.size, np.inf), np.full(self.size, -np.inf)
        np.minimum.at(least, self.groups, values)
        np.maximum.at(most, self.groups, values)
        return np.asarray(most - least <= SAME * np.maximum(np.abs(least), np.abs(most)), dtype=bool)

    def correlation(self) -> Floats:
        """Return the correlation of both means over tasks; 0 if either is constant."""
        apart = [self.weights * (half - self.mean(half)[self.groups]) for half in (self.above, self.below)]
        scale = np.sqrt(self.total(apart[0] ** 2)) * np.sqrt(self.total(apart[1] ** 2))
        varies = ~self.constant(self.above) & ~self.constant(self.below) & (scale > 0)
        product = self.total(apart[0] * apart[1])
        return np.where(varies, np.clip(product / np.where(varies, scale, 1.0), -1.0, 1.0), 0.0)

    def contributions(self) -> Floats:
        """Return what each task adds to its group's ratio to first order, relative to the ratio; the sum is 0."""
        sums = self.total(self.weights * self.below)
        ratio = self.total(self.weights * self.above) / sums
        return self.weights * (self.above - ratio[self.groups] * self.below) / sums[self.groups]

    def limits_of(self, values: Floats, *, bounded: bool, level: float) -> tuple[Floats, Floats]:
        """Return limits of the mean of each group: Gaffke's within 0 and 1, else Hall's or the point if constant."""
        order = np.lexsort((self.weights, values, self.groups))
        rows = values[order], self.weights[order], self.groups[order]
        if bounded:
            return bounded_limits(*rows, size=self.size, bounds=(0.0, 1.0), level=level)
        mean, fixed = self.mean(values), self.constant(values)
        low, high, *_ = skewed_bounds(*rows, size=self.size, floor=0.0, level=level)
        return np.where(fixed, mean, np.clip(low, 0.0, mean)), np.where(fixed, mean, np.fmax(high, mean))


def ratio_limits(tasks: TaskRatios, *, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return limits of each group's ratio: the union of Fieller-Hall's and MOVER-R with correlation.

    MOVER-R (Donner and Zou 2012) combines limits l1, u1 of the numerator t1 and l2, u2 of the denominator t2. Each
    limit R solves (t1 - R t2)^2 = a^2 + R^2 b^2 - 2 rho R a b; the lower one with a = t1 - l1 and b = u2 - t2, the
    upper one with a = u1 - t1 and b = t2 - l2. rho is the correlation of both means over tasks. A denominator that may
    be 0 gives an infinite upper limit.

    If every run passed, the data show no cost of a failure. The upper limit then allows `UNSEEN_FAILURE_COST`: at least
    t1 (1 + sqrt((u1 / t1 - 1)^2 + (2.1 (1 - l2) / l2)^2)).

    Without any success only a lower limit exists: l1 / u2, each at level (1 + level) / 2.
    """
    t1, t2 = tasks.mean(tasks.above), tasks.mean(tasks.below)
    none = t2 <= 0
    safe = np.where(none, 1.0, t2)
    low1, high1 = tasks.limits_of(tasks.above, bounded=False, level=level)
    low2, high2 = tasks.limits_of(tasks.below, bounded=tasks.fraction, level=level)
    low2, high2 = np.minimum(low2, safe), np.maximum(high2, safe)
    low, high = _mover_r((t1, low1, high1), (safe, low2, high2), tasks.correlation())
    usual = _fieller_hall_limits(tasks, level)
    low, high = np.fmin(low, usual[0]), np.fmax(high, usual[1])
    if tasks.fraction:
        least = np.full(tasks.size, np.inf)
        np.minimum.at(least, tasks.groups, tasks.below)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.hypot(high1 / t1 - 1, UNSEEN_FAILURE_COST * (1 - low2) / low2)
            high = np.where(least >= 1, np.fmax(high, t1 * (1 + more)), high)
    if none.any():
        both = (1 + check_level(level)) / 2
        least = tasks.limits_of(tasks.above, bounded=False, level=both)[0]
        most = tasks.limits_of(tasks.below, bounded=tasks.fraction, level=both)[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(none, np.where(most > 0, least / most, np.nan), low)
        high = np.where(none, np.inf, high)
    return np.maximum(low, 0.0), high


def _mover_r(
    top: tuple[Floats, Floats, Floats], bottom: tuple[Floats, Floats, Floats], rho: Floats
) -> tuple[Floats, Floats]:
    (t1, low1, high1), (t2, low2, high2) = top, bottom
    a, b = t1 - low1, high2 - t2
    squared, middle, constant = (t2 - b) * high2, t1 * t2 - rho * a * b, low1 * (t1 + a)
    root = np.sqrt(np.maximum(middle**2 - squared * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(constant > 0, constant / (middle + root), 0.0)  # stable if `squared` is not above 0
        a, b = high1 - t1, t2 - low2
        squared, middle, constant = low2 * (t2 + b), t1 * t2 - rho * a * b, (t1 - a) * high1
        root = np.sqrt(np.maximum(middle**2 - squared * constant, 0.0))
        high = np.where(low2 > SAME * t2, (middle + root) / squared, np.inf)
    return low, high


def _fieller_hall_limits(tasks: TaskRatios, level: float) -> tuple[Floats, Floats]:
    """Return Fieller's limits, widened to Hall's for the contributions of tasks; NaN if a denominator is 0."""
    size = tasks.total(np.ones(len(tasks.groups)))
    sums = [tasks.weights * half for half in (tasks.above, tasks.below)]
    x, y = (tasks.total(half) / size for half in sums)
    dx, dy = (half - mean[tasks.groups] for half, mean in zip(sums, (x, y), strict=True))
    squared = student_quantile(level, size - 1) ** 2 / (size * (size - 1))
    a = y * y - squared * tasks.total(dy * dy)
    b = x * y - squared * tasks.total(dx * dy)
    c = x * x - squared * tasks.total(dx * dx)
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # a <= 0: the ratios that are not rejected are outside both roots, and only the lower one may bind
        outside = (a < 0) & (b * b >= a * c) & ((b + root) / a < 0)
        low = np.where(a > 0, (b - root) / a, np.where(outside, np.maximum((b - root) / a, 0.0), 0.0))
        high = np.where(a > 0, (b + root) / a, np.inf)
        ratio = np.where(y > 0, x / y, 0.0)
        adds = ratio[tasks.groups] + (sums[0] - ratio[tasks.groups] * sums[1]) / np.where(y > 0, y, 1.0)[tasks.groups]
    order = np.lexsort((adds, tasks.groups))
    rows = adds[order], np.ones(len(adds)), tasks.groups[order]
    skewed = skewed_bounds(*rows, size=tasks.size, floor=0.0, level=level)
    low, high = np.fmin(low, skewed[0]), np.fmax(high, skewed[1])
    return np.where(y > 0, low, np.nan), np.where(y > 0, high, np.nan)


def mover_ratio(
    above: npt.ArrayLike,
    below: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    fraction: bool = True,
    level: float = LEVEL,
) -> Interval:
    """Return the interval of mean(above) / mean(below) over tasks, labeled with its assumptions.

    One number per task: its mean numerator and denominator over complete cases, both at least 0, and its `weights` (the
    number of attempts if every run counts once). `fraction`: the denominator is a fraction of runs. See `ratio_limits`.
    The approximate coverage depends on the number of tasks only, because a sample that missed the tail looks tame. A
    constant part enters as a point, which is an assumption; two constant parts have no interval. `Interval.n` counts
    tasks; the caller knows the runs.

    >>> interval = mover_ratio([0.10] * 10, [1.0] * 10)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.1, 0.194)
    """
    tasks = TaskRatios.of_tasks(above, below, weights, fraction=fraction)
    n = len(tasks.above)
    estimate = _ratio_of(tasks) if n else None
    fixed = bool(n) and bool(tasks.constant(tasks.above)[0]), bool(n) and bool(tasks.constant(tasks.below)[0])
    reason = None
    if n < 2:
        reason = too_few(n)
    elif not fraction and not tasks.below.any():
        reason = "the denominator is 0 in every run"
    elif not tasks.above.any() or (all(fixed) and not fraction):
        reason = "equal on every task, so the variance cannot be estimated"
    if reason is not None:
        return no_interval(reason, method=MOVER_R, n=n, clusters=n, level=level, estimate=estimate)
    low, high = (float(end[0]) for end in ratio_limits(tasks, level=level))
    unbounded = None
    if math.isinf(high):
        unbounded = "the denominator cannot be distinguished from 0"
        if not tasks.below.any():
            unbounded = "no success, so only a lower bound exists"
    approx_coverage = _coverage_floor(_effective_tasks(tasks.weights), level)
    assumptions = (
        (ASSUMED_TAIL, approx_coverage is not None),
        (CONSTANT_NUMERATOR, fixed[0]),
        (CONSTANT_DENOMINATOR, fixed[1] and not fraction),
        (UNSEEN_FAILURES, fraction and bool(np.all(tasks.below >= 1))),
    )
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        method=MOVER_R,
        n=n,
        clusters=n,
        confidence=level,
        reason=unbounded,
        approx_coverage=approx_coverage,
        assumes=", ".join(text for text, applies in assumptions if applies) or None,
    )


def _ratio_of(tasks: TaskRatios) -> float:
    # equal weights drop out, and then both means are rounded once
    weights = tasks.weights if np.ptp(tasks.weights) else np.ones(len(tasks.weights))
    bottom = mean_of(weights * tasks.below)
    return mean_of(weights * tasks.above) / bottom if bottom else math.inf


def _coverage_floor(tasks: float, level: float) -> float | None:
    floor = coverage_floor(tasks, level=level)
    return floor if floor is None or tasks >= 2.5 else min(floor, min(level, LEVEL) - (LEVEL - TWO_TASKS_FLOOR))


def _effective_tasks(weights: Floats) -> float:
    return float(weights.sum() ** 2 / (weights**2).sum())


def ratio_difference_limits(a: TaskRatios, b: TaskRatios, *, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return limits of B's ratio minus A's by MOVER-D (Zou and Donner 2008). Row i of both sides is the same task.

    Both sides' limits are `ratio_limits`. rho is the correlation of their first-order contributions over tasks, at
    least 0: the same tasks are expensive for both. An infinite limit of a side makes the limit it enters infinite.
    """
    ratio_a, ratio_b = _ratios(a), _ratios(b)
    (low_a, high_a), (low_b, high_b) = (ratio_limits(side, level=level) for side in (a, b))
    rho = np.clip(_correlation_of_sides(a, b), 0.0, 1.0)

    def reach(one: Floats, other: Floats) -> Floats:
        return np.sqrt(np.maximum(one**2 + other**2 - 2 * rho * one * other, 0.0))

    with np.errstate(invalid="ignore"):
        low = ratio_b - ratio_a - reach(ratio_b - low_b, high_a - ratio_a)
        high = ratio_b - ratio_a + reach(high_b - ratio_b, ratio_a - low_a)
    return np.where(np.isfinite(high_a), low, -np.inf), np.where(np.isfinite(high_b), high, np.inf)


def _ratios(tasks: TaskRatios) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return tasks.mean(tasks.above) / tasks.mean(tasks.below)


def _correlation_of_sides(a: TaskRatios, b: TaskRatios) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        adds = a.contributions(), b.contributions()
        squares = [a.total(side**2) for side in adds]
        sizes = [a.total(side.weights * side.above) / a.total(side.weights * side.below) for side in (a, b)]
        known = np.all([np.sqrt(square) > SAME * size for square, size in zip(squares, sizes, strict=True)], axis=0)
        rho = a.total(adds[0] * adds[1]) / np.sqrt(squares[0] * squares[1])
    return np.where(known, np.clip(rho, -1.0, 1.0), 0.0)


def _reordered(tasks: TaskRatios, order: Ints) -> TaskRatios:
    return replace(
        tasks,
        above=tasks.above[order],
        below=tasks.below[order],
        weights=tasks.weights[order],
        groups=tasks.groups[order],
    )


def ratio_difference(a: TaskRatios, b: TaskRatios) -> DifferenceTest | None:
    """Return the test of B's ratio minus A's by `ratio_difference_limits`, for one group per side.

    Row i of both sides is the same task, so build them with the constructor and not with `of_tasks`, which sorts. None
    below two tasks, if a side's ratio is infinite, and if nothing varies.
    """
    n = len(a.above)
    order = np.lexsort((b.weights, a.weights, b.below, b.above, a.below, a.above))
    a, b = (_reordered(side, order) for side in (a, b))
    if n < 2 or not a.below.any() or not b.below.any():
        return None
    estimate = float(_ratios(b)[0] - _ratios(a)[0])

    def limits(at: float) -> tuple[float, float]:
        low, high = ratio_difference_limits(a, b, level=at)
        return min(float(low[0]), estimate), max(float(high[0]), estimate)

    low, high = limits(LEVEL)
    if high - low <= SAME * abs(estimate):
        return None
    return DifferenceTest(
        estimate=estimate,
        method="mover-d",
        tasks=n,
        clusters=n,
        limits=limits,
        p_value=p_value_by_inversion(limits, estimate),
        tail=HALL,
        tail_tasks=min(_effective_tasks(a.weights), _effective_tasks(b.weights)),
        assumes=UNSEEN_FAILURES if any(side.fraction and bool(np.all(side.below >= 1)) for side in (a, b)) else None,
    )
