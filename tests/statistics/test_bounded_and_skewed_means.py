"""Intervals of means near a bound and of skewed costs, each against an outside oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from steelyard.statistics import auto_means, bounded_mean, clopper_pearson, coverage_floor, fieller, mover_ratio
from steelyard.statistics._means import COVERAGE_FLOORS, skewed_bounds

shares = st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]), min_size=2, max_size=40)


@pytest.mark.parametrize("values", [[0.2, 0.9], [0.1, 0.5, 0.5, 0.7], [1, 1, 1, 0.8, 1, 1, 0.2], [0.3] * 20])
def test_the_limits_are_quantiles_of_means_with_random_weights(values):
    random = np.random.default_rng(1)
    weights = random.dirichlet(np.ones(len(values) + 1), 400_000)
    interval = bounded_mean(values)
    low = np.quantile(weights @ np.append(values, 0.0), 0.025)
    high = np.quantile(weights @ np.append(values, 1.0), 0.975)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.003)
    assert interval.low < low + 0.001  # the saddlepoint errs to the wide side
    assert interval.high > high - 0.001


@pytest.mark.parametrize(("passed", "n"), [(0, 2), (2, 2), (1, 5), (10, 10), (29, 30), (250, 500)])
def test_of_zeros_and_ones_it_is_clopper_and_pearsons(passed, n):
    interval, exact = bounded_mean([1.0] * passed + [0.0] * (n - passed)), clopper_pearson(passed, n)
    assert (interval.low, interval.high) == pytest.approx((exact.low, exact.high), abs=0.003)


@given(shares, st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_it_holds_its_mean_stays_within_bounds_and_is_never_a_point(values, level):
    interval = bounded_mean(values, level=level)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.high - interval.low > 0.01


@given(shares)
def test_failures_mirror_passes_and_other_bounds_scale(values):
    interval = bounded_mean(values)
    mirrored = bounded_mean([1 - value for value in values])
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low), abs=1e-9)
    scaled = bounded_mean([100 * value for value in values], bounds=(0, 100))
    assert (scaled.low, scaled.high) == pytest.approx((100 * interval.low, 100 * interval.high), abs=1e-7)


@given(shares, st.integers(1, 9))
def test_equal_weights_change_nothing_and_unequal_ones_widen(values, weight):
    plain = bounded_mean(values)
    weighted = bounded_mean(values, weights=[weight] * len(values))
    assert (weighted.low, weighted.high) == pytest.approx((plain.low, plain.high), abs=1e-9)
    uneven = bounded_mean([0.5] * 10, weights=[1] * 9 + [50])
    assert uneven.high - uneven.low > 2 * (bounded_mean([0.5] * 10).high - bounded_mean([0.5] * 10).low)


def _halls(values: np.ndarray) -> tuple[float, float]:
    """Hall's (1992) limits, his cubic solved by a search."""
    n, mean = len(values), values.mean()
    skew = stats.skew(values)
    error = values.std(ddof=1) / math.sqrt(n)
    cubic = np.poly1d([skew**2 / (27 * n), skew / (3 * math.sqrt(n)), 1, skew / (6 * math.sqrt(n))])
    critical = stats.t.ppf(0.975, n - 1)
    ends = [next(root.real for root in (cubic - end).roots if abs(root.imag) < 1e-9) for end in (critical, -critical)]
    return mean - ends[0] * error, mean - ends[1] * error


def test_limits_of_a_skewed_mean_are_halls():
    values = np.sort(np.random.default_rng(2).lognormal(0, 1, 40))
    low, high, tasks = skewed_bounds(
        values, np.ones(40), np.zeros(40, dtype=np.int64), size=1, floor=-math.inf, level=0.95
    )
    assert (low[0], high[0]) == pytest.approx(_halls(values), rel=1e-9)
    assert tasks[0] == pytest.approx(40)


def test_without_skew_the_limits_are_students():
    values = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    low, high, *_ = skewed_bounds(values, np.ones(5), np.zeros(5, dtype=np.int64), size=1, floor=-math.inf, level=0.95)
    half = stats.t.ppf(0.975, 4) * values.std(ddof=1) / math.sqrt(5)
    assert (low[0], high[0]) == pytest.approx((-half, half))


def test_a_cost_says_what_its_interval_reaches_and_a_share_does_not():
    groups, tasks = np.zeros(20, dtype=np.int64), np.arange(20)
    values = np.random.default_rng(3).random(20) ** 3
    figures = np.array([values.mean()])
    cost = auto_means(values, groups, tasks, figures=figures, bounds=(0.0, math.inf))[0]
    share = auto_means(values, groups, tasks, figures=figures, bounds=(0.0, 1.0))[0]
    assert (cost.method, cost.approx_coverage, cost.as_dict()["approx_coverage"]) == ("hall", 0.89, 0.89)
    assert (share.method, share.approx_coverage, share.label) == ("gaffke", None, "")
    assert "approx_coverage" not in share.as_dict()
    assert 0 < cost.low < cost.estimate < cost.high
    # a sample that missed the tail looks tame, so the label depends on the number of tasks only
    alike = auto_means(values + 5, groups, tasks, figures=figures + 5, bounds=(0.0, math.inf))[0]
    assert (alike.method, alike.approx_coverage) == ("hall", 0.89)


@pytest.mark.parametrize("method", COVERAGE_FLOORS)
def test_more_tasks_never_reach_less_beyond_a_handful(method):
    floors = [coverage_floor(tasks, method=method) for tasks in (5, 8, 12, 15, 20, 40, 60, 200)]
    assert floors == sorted(floors)
    assert coverage_floor(1e6, method=method) is None
    assert coverage_floor(20, method=method, level=0.9) == pytest.approx(coverage_floor(20, method=method) - 0.05)


def test_the_limits_of_a_ratio_hold_fiellers_and_reach_further_where_costs_are_skewed():
    random = np.random.default_rng(4)
    costs, passed, tasks = random.lognormal(0, 1.5, 30), np.ones(30), np.arange(30)
    plain, wide = fieller(costs, passed, tasks), mover_ratio(costs, passed)
    assert wide.low <= plain.low * (1 + 1e-12)
    assert wide.high > 1.1 * plain.high
    assert wide.label.startswith("at least 89% actual coverage, assuming")
    none = mover_ratio(costs, np.zeros(30))
    assert math.isinf(none.high)
