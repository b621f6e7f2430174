"""One procedure per comparison: limits at any level, and the p-value that inverts them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from steelyard.statistics._bootstrap import bca_bounds, on_grid, percentile_bounds, resampled_sums
from steelyard.statistics._confidence_sequences import sequential_test
from steelyard.statistics._estimates import RESAMPLES, SEED, Floats, Interval, Significance
from steelyard.statistics._exact_sums import mean_of
from steelyard.statistics._means import ASSUMED_TAIL, coverage_floor, skewed_bounds
from steelyard.statistics._p_values import Limits, p_value_by_inversion
from steelyard.statistics._paired import (
    cluster_sign_flip,
    moments_of,
    paired_mean,
    paired_mean_rows,
    permutation_limits,
)

SKEWED = "paired-t+hall"
NORMAL_MEANS = "normally distributed task means"
"""Assumption of Student's and of bootstrap intervals with few tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceTest:
    """A test of a mean difference and the interval that it inverts, so that both always agree."""

    estimate: float
    """Candidate minus baseline."""
    method: str
    tasks: int
    limits: Limits
    """Lower and upper limit at a confidence level."""
    p_value: float
    """1 minus the highest level whose limits exclude 0."""
    clusters: int
    """Number of independent units."""
    seed: int | None = None
    """Random seed; None if nothing was resampled."""
    resamples: int | None = None
    """Number of resamples; None if nothing was resampled."""
    tail: str | None = None
    """Method whose coverage floors apply because nothing bounds the values; None if they are bounded."""
    tail_tasks: float | None = None
    """Tasks counted by weight, if they have unequal weights."""
    assumes: str | None = None
    """Other assumptions of the interval."""
    decided_at: int | None = None
    """Number of tasks after which a sequential test decided; None if it has not, or for a test of a fixed sample."""

    def interval(self, level: float) -> Interval:
        """Return the interval at a confidence level, labeled by design."""
        low, high = self.limits(level)
        size = self.clusters if self.tail_tasks is None else self.tail_tasks
        floor = coverage_floor(size, method=self.tail, level=level) if self.tail else None
        assumes = ", ".join(filter(None, (ASSUMED_TAIL if floor is not None else None, self.assumes)))
        return Interval(
            estimate=self.estimate,
            low=low,
            high=high,
            method=self.method,
            n=self.tasks,
            clusters=self.clusters,
            confidence=level,
            seed=self.seed,
            resamples=self.resamples,
            reason=self._unbounded(low, high),
            approx_coverage=floor,
            assumes=assumes or None,
        )

    def _unbounded(self, low: float, high: float) -> str | None:
        if math.isfinite(low) and math.isfinite(high):
            return None
        if self.method.endswith("sign-flip-clusters"):
            return f"a sign-flip test of {self.clusters} clusters cannot exclude any difference at this level"
        return "the denominator of one side cannot be distinguished from 0"

    @property
    def significance(self) -> Significance:
        """The p-value with its method."""
        return Significance(
            p_value=self.p_value,
            statistic=self.estimate,
            method=self.method,
            n=self.tasks,
            clusters=self.clusters,
            seed=self.seed,
            resamples=self.resamples,
        )


def bounded_difference(differences: npt.ArrayLike, *, quantum: float, span: float) -> DifferenceTest | None:
    """Return the test of differences within -span to span (`paired_mean`); None below two tasks."""
    gaps = np.sort(np.asarray(differences, dtype=float))
    if len(gaps) < 2:
        return None
    moments = moments_of(gaps[None])
    interval, test = paired_mean(gaps, quantum=quantum, span=span)
    assert interval.estimate is not None
    assert test.p_value is not None
    estimate = interval.estimate

    def limits(level: float) -> tuple[float, float]:
        low, high, _ = paired_mean_rows(moments, quantum=quantum, span=span, level=level)
        return min(float(low[0]), estimate), max(float(high[0]), estimate)

    return DifferenceTest(
        estimate=estimate,
        method=test.method,
        tasks=len(gaps),
        clusters=len(gaps),
        limits=limits,
        p_value=test.p_value,
    )


def sequential_difference(
    differences: npt.ArrayLike, *, planned: int, span: float, level: float
) -> DifferenceTest | None:
    """Return the anytime-valid test of differences in the order of completion (`sequential_test`); None without any.

    The limits at any level are those of the bets tuned to it; only those at `level` agree with the p-value.
    """
    gaps = np.asarray(differences, dtype=float)
    if not len(gaps):
        return None
    found = sequential_test(gaps, planned, span=span, level=level)
    assert found.interval.estimate is not None
    assert found.test.p_value is not None

    def limits(at: float) -> tuple[float, float]:
        interval = sequential_test(gaps, planned, span=span, level=at).interval
        assert interval.low is not None
        assert interval.high is not None
        return interval.low, interval.high

    return DifferenceTest(
        estimate=found.interval.estimate,
        method=found.interval.method,
        tasks=len(gaps),
        clusters=len(gaps),
        limits=limits,
        p_value=found.test.p_value,
        decided_at=found.decided_at,
    )


def unbounded_difference(
    differences: npt.ArrayLike, *, skewed: bool = True, bounded: bool = False
) -> DifferenceTest | None:
    """Return the test of differences that nothing bounds: the union of Student's limits and Hall's for skewness.

    `skewed` false: Student's alone, for any metric (`bounded` or not). None below two tasks and if all differences are
    equal.
    """
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    if n < 2 or np.ptp(gaps) == 0:
        return None
    same, ones = np.zeros(n, dtype=np.int64), np.ones(n)
    estimate = mean_of(gaps)

    def limits(level: float) -> tuple[float, float]:
        both = [
            skewed_bounds(gaps, ones, same, size=1, floor=-math.inf, level=level, skewed=correct)
            for correct in ((False, True) if skewed else (False,))
        ]
        low, high = min(float(each[0][0]) for each in both), max(float(each[1][0]) for each in both)
        return min(low, estimate), max(high, estimate)

    return DifferenceTest(
        estimate=estimate,
        method=SKEWED if skewed else "paired-t",
        tasks=n,
        clusters=n,
        limits=limits,
        p_value=p_value_by_inversion(limits, estimate),
        tail=None if bounded else SKEWED if skewed else "student",
        assumes=None if skewed else NORMAL_MEANS,
    )


def bootstrap_difference(
    differences: npt.ArrayLike, *, method: str, unbounded: bool, resamples: int = RESAMPLES, seed: int = SEED
) -> DifferenceTest | None:
    """Return the test that inverts a `percentile` or `bca` bootstrap over tasks; None below two tasks."""
    gaps = np.sort(np.asarray(differences, dtype=float))
    n = len(gaps)
    if n < 2 or np.ptp(gaps) == 0:
        return None
    exact = on_grid(gaps[:, None], n)
    resampled, total = resampled_sums(exact, resamples=resamples, seed=seed), exact.sum(axis=0)
    estimate = mean_of(gaps)

    def limits(level: float) -> tuple[float, float]:
        if method == "percentile":
            low, high = percentile_bounds(resampled, level=level)
        else:
            low, high = bca_bounds(resampled, total, (total - exact) / (n - 1), level=level)
        return min(float(low[0]) / n, estimate), max(float(high[0]) / n, estimate)

    return DifferenceTest(
        estimate=estimate,
        method=method,
        tasks=n,
        clusters=n,
        limits=limits,
        p_value=max(p_value_by_inversion(limits, estimate), 1 / (resamples + 1)),
        tail="bootstrap" if unbounded else None,
        assumes=NORMAL_MEANS,
        seed=seed,
        resamples=resamples,
    )


def permuted_difference(test: DifferenceTest, observed: float, permuted: Floats, *, seed: int) -> DifferenceTest:
    """Return the union of a test over tasks and a permutation of runs within tasks, for very unequal attempts."""

    def limits(level: float) -> tuple[float, float]:
        low, high, _ = permutation_limits(observed, permuted, level=level)
        return low, high

    permutation = replace(
        test,
        method="permutation",
        limits=limits,
        p_value=permutation_limits(observed, permuted)[2],
        seed=seed,
        resamples=len(permuted),
    )
    return replace(union_of([test, permutation]), method="permutation", seed=seed, resamples=len(permuted))


def clustered_difference(
    differences: npt.ArrayLike, clusters: npt.ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED
) -> DifferenceTest | None:
    """Return the sign-flip test over clusters of tasks, such as repositories; None below two clusters."""
    found: dict[float, tuple[Interval, Significance]] = {}

    def tested(level: float) -> tuple[Interval, Significance]:
        if level not in found:
            found[level] = cluster_sign_flip(differences, clusters, level=level, resamples=resamples, seed=seed)
        return found[level]

    interval, test = tested(0.95)
    if test.p_value is None or interval.estimate is None:
        return None

    def limits(level: float) -> tuple[float, float]:
        interval = tested(level)[0]
        assert interval.low is not None
        assert interval.high is not None
        return interval.low, interval.high

    return DifferenceTest(
        estimate=interval.estimate,
        method=test.method,
        tasks=interval.n,
        clusters=interval.clusters,
        limits=limits,
        p_value=test.p_value,
        seed=test.seed,
        resamples=test.resamples,
    )


def union_of(tests: Sequence[DifferenceTest]) -> DifferenceTest:
    """Return a test that rejects only if all do, in the same direction; its limits contain those of each.

    The estimate and the method are those of the first.
    """
    signs = {math.copysign(1.0, test.estimate) if test.estimate else 0.0 for test in tests}

    def limits(level: float) -> tuple[float, float]:
        both = [test.limits(level) for test in tests]
        return min(low for low, _ in both), max(high for _, high in both)

    p_value = max(test.p_value for test in tests) if len(signs) == 1 else 1.0
    return replace(tests[0], limits=limits, p_value=p_value)
