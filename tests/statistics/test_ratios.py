"""Ratios of means: MOVER-R, its labels, the difference of two ratios, and their coverage."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from steelyard.errors import UsageError
from steelyard.statistics import (
    ASSUMED_TAIL,
    TaskRatios,
    bounded_mean,
    clopper_pearson,
    coverage_floor,
    equivalence_test,
    fieller,
    holm,
    mover_ratio,
    p_value_by_inversion,
    ratio_difference,
    ratio_difference_limits,
    ratio_limits,
    simultaneous_limits,
)
from steelyard.statistics._ratios import _mover_r

costs = st.floats(0.01, 100.0)
rates = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])
tasks_of = st.lists(st.tuples(costs, rates, st.integers(1, 5)), min_size=2, max_size=20)


def rows(above: np.ndarray, below: np.ndarray, *, fraction: bool = True) -> TaskRatios:
    """Data sets (rows) of tasks (columns) as groups."""
    sets, tasks = above.shape
    return TaskRatios(
        above=above.ravel(),
        below=below.ravel(),
        weights=np.ones(above.size),
        groups=np.repeat(np.arange(sets), tasks),
        size=sets,
        fraction=fraction,
    )


def test_mover_ratio_of_ten_equal_passes():
    interval = mover_ratio([0.10] * 10, [1.0] * 10)
    # pass rate 69.2% to 100%: 0.1 x (1 + 2.1 x (1 / 0.6902 - 1)) = 0.1943 (Gaffke's limit by saddlepoint: 0.6901)
    assert interval.estimate == 0.1
    assert interval.low == pytest.approx(0.1)
    assert 0.12 < interval.high < 0.20
    assert interval.high == pytest.approx(0.19434812687208, rel=1e-9)
    assert interval.approx_coverage == 0.86
    assert interval.assumes.endswith("a constant numerator, unseen failures that cost at most 2.1 times a pass")


def test_mover_ratio_agrees_with_reference():
    # limits from an independent implementation of the same formulas
    above = [1.2, 0.4, 0.9, 2.5, 0.7, 1.1]
    below = [1.0, 0.8, 0.6, 0.2, 1.0, 1.0]
    interval = mover_ratio(above, below)
    assert interval.estimate == pytest.approx(6.8 / 4.6)
    assert (interval.low, interval.high) == pytest.approx((0.3603419983100075, 10.097725381325725), rel=1e-9)
    assert interval.assumes == ASSUMED_TAIL


def test_mover_ratio_solves_its_equation():
    # constant costs: rho = 0 and a = 0, so (t1 - R t2)^2 = R^2 b^2 and R = t1 / (t2 - b) = t1 / l2
    below = np.array([1.0, 0.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0])
    limits = bounded_mean(below)
    parts = (
        [np.array([end]) for end in (3.0, 3.0, 3.0)],
        [np.array([end]) for end in (limits.estimate, limits.low, limits.high)],
    )
    low, high = _mover_r(*parts, np.array([0.0]))  # the public interval is its union with another one
    assert (low[0], high[0]) == pytest.approx((3 / limits.high, 3 / limits.low))
    interval = mover_ratio(np.full(8, 3.0), below)
    assert interval.low <= 3 / limits.high
    assert interval.high >= 3 / limits.low


def test_mover_ratio_contains_fieller():
    random = np.random.default_rng(1)
    for _ in range(20):
        above, below = random.lognormal(0, 1, 15), random.integers(0, 6, 15) / 5
        interval = mover_ratio(above, below)
        inner = fieller(above, below, np.arange(15))
        assert interval.low <= max(inner.low, 0.0) * (1 + 1e-12)
        assert interval.high >= inner.high * (1 - 1e-12)


@given(tasks_of, st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_mover_ratio_contains_estimate_in_any_order(tasks, level):
    above, below, weights = map(np.array, zip(*tasks, strict=True))
    interval = mover_ratio(above, below, weights, level=level)
    again = mover_ratio(above[::-1], below[::-1], weights[::-1], level=level)
    assert again == interval
    assert interval.low <= interval.estimate * (1 + 1e-12)
    assert interval.high >= interval.estimate * (1 - 1e-12)
    assert interval.high > interval.low
    wider = mover_ratio(above, below, weights, level=(1 + level) / 2)
    assert wider.low <= interval.low * (1 + 1e-9)
    assert wider.high >= interval.high * (1 - 1e-9)


@given(tasks_of, st.sampled_from([0.001, 7.0, 1e6]))
def test_mover_ratio_scales_with_its_unit(tasks, factor):
    above, below, weights = map(np.array, zip(*tasks, strict=True))
    interval = mover_ratio(above, below, weights)
    scaled = mover_ratio(factor * above, below, weights)
    assert (scaled.low, scaled.high) == pytest.approx((factor * interval.low, factor * interval.high), rel=1e-6)


def test_mover_ratio_without_a_pass_has_a_lower_bound():
    interval = mover_ratio([1.0, 2.0, 3.0, 2.0, 2.5], [0.0] * 5)
    assert (interval.estimate, interval.high) == (math.inf, math.inf)
    assert interval.reason == "no success, so only a lower bound exists"
    both = 1 - 0.0125 ** (1 / 5)  # five tasks, none passed: upper limit of the rate at 97.5%, two-sided
    assert 0 < interval.low < 2.1 / both


def test_mover_ratio_is_missing_with_its_reason():
    assert mover_ratio([], []).reason == "no value"
    assert mover_ratio([1.0], [1.0]).reason == "only one run; at least two tasks are needed"
    assert mover_ratio([1.0, 2.0], [0.0, 0.0], fraction=False).reason == "the denominator is 0 in every run"
    constant = mover_ratio([1.0, 1.0], [2.0, 2.0], fraction=False)
    assert (constant.estimate, constant.low) == (0.5, None)
    assert "equal on every task" in constant.reason
    assert "equal on every task" in mover_ratio([0.0, 0.0], [1.0, 0.0]).reason


def test_mover_ratio_of_two_unbounded_means():
    random = np.random.default_rng(3)
    below = random.lognormal(3, 0.5, 25)
    above = below * random.beta(4, 4, 25)
    interval = mover_ratio(above, below, fraction=False)
    assert 0.2 < interval.low < interval.estimate < interval.high < 0.7
    assert interval.assumes == ASSUMED_TAIL
    assert mover_ratio(np.full(25, 9.0), below, fraction=False).assumes == f"{ASSUMED_TAIL}, a constant numerator"
    assert mover_ratio(above, np.full(25, 9.0), fraction=False).assumes == f"{ASSUMED_TAIL}, a constant denominator"


def test_mover_ratio_weights_count_runs():
    # nine passes at $0.10 on one task, a failure at $5 on another: $5.90 for 9 of 10 runs, or $2.55 for a half
    by_run = mover_ratio([0.1, 5.0], [1.0, 0.0], [9, 1])
    by_task = mover_ratio([0.1, 5.0], [1.0, 0.0])
    assert (by_run.estimate, by_task.estimate) == pytest.approx((0.59 / 0.9, 5.1))


def test_coverage_floor_depends_on_tasks_only():
    floors = [coverage_floor(tasks) for tasks in (2, 3, 5, 9, 12, 17, 25, 60, 200, 300)]
    assert floors == [0.92, 0.88, 0.84, 0.85, 0.86, 0.87, 0.89, 0.90, 0.92, None]
    assert coverage_floor(20, level=0.9) == pytest.approx(0.84)
    tame, wild = (mover_ratio(values, [1, 0] * 5) for values in ([1.0, 1.01] * 5, [1.0, 9.0] * 5))
    assert tame.approx_coverage == wild.approx_coverage == 0.86
    assert mover_ratio([1.0, 2.0], [1.0, 0.5]).approx_coverage == 0.88


def test_ratio_difference_mirrors_and_agrees_with_its_test():
    random = np.random.default_rng(4)
    for shift in (1.0, 2.0, 6.0):
        a, b = (
            rows(random.lognormal(0, 0.5, (1, 20)) * factor, random.integers(1, 4, (1, 20)) / 3)
            for factor in (1.0, shift)
        )
        test, same = ratio_difference(a, b), ratio_difference(b, a)
        interval, mirrored = test.interval(0.95), same.interval(0.95)
        assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low))
        assert test.p_value == pytest.approx(same.p_value)
        assert (test.p_value <= 0.05) == interval.excludes(0.0)
        if test.p_value < 1:
            assert min(map(abs, test.limits(1 - test.p_value))) < 1e-6


def test_ratio_difference_is_missing_without_variance_or_ratio():
    one = rows(np.array([[1.0]]), np.array([[1.0]]))
    assert ratio_difference(one, one) is None
    passed, failed = (rows(np.array([[1.0, 2.0]]), np.array([[rate, rate]])) for rate in (1.0, 0.0))
    assert ratio_difference(passed, failed) is None


def test_p_value_by_inversion_agrees_with_t_test():
    values = np.array([0.3, -0.1, 0.4, 0.2, 0.6])
    oracle = stats.ttest_1samp(values, 0.0)
    p_value = p_value_by_inversion(lambda level: tuple(oracle.confidence_interval(level)), values.mean())
    assert p_value == pytest.approx(oracle.pvalue, rel=1e-6)
    assert p_value_by_inversion(lambda _: (-1.0, 1.0), 0.0) == 1.0
    assert p_value_by_inversion(lambda _: (1.0, 1.0), 1.0) == 1e-12
    assert p_value_by_inversion(lambda _: (-math.inf, math.inf), 1.0) == 1.0


@given(st.floats(-0.2, 0.2), st.floats(0.001, 0.1))
def test_equivalence_agrees_with_two_one_sided_tests(mean, error):
    margin = 0.1
    tested = equivalence_test(lambda level: stats.norm.interval(level, mean, error), margin)
    p_value = max(stats.norm.sf((mean + margin) / error), stats.norm.cdf((mean - margin) / error))
    assert tested.p_value == pytest.approx(max(p_value, 1e-12), rel=1e-5, abs=1e-8)
    assert (tested.verdict == "equivalent") == (-margin < tested.low and tested.high < margin)
    assert (tested.verdict == "equivalent") == (tested.p_value <= 0.05)
    above = equivalence_test(lambda level: stats.norm.interval(level, mean, error), margin, side="above")
    assert (above.verdict == "non-inferior") == (above.low > -margin)


def test_simultaneous_limits_agree_with_holm():
    random = np.random.default_rng(7001)
    hits = 0
    for _ in range(2_000):
        truth = random.choice([0.0, 0.0, 2.5, 4.0], 5)
        seen = truth + random.normal(0, 1, 5)
        limits = [lambda level, mean=mean: stats.norm.interval(level, mean) for mean in seen]
        p_values = 2 * stats.norm.sf(np.abs(seen))
        found = simultaneous_limits(limits, p_values)
        for (low, high), adjusted in zip(found, holm(p_values), strict=True):
            assert (adjusted <= 0.05) == (low >= 0 or high <= 0)
        hits += all(low <= one <= high for (low, high), one in zip(found, truth, strict=True))
    assert not below_limit(hits, 2_000, 0.95, 1)


@pytest.mark.parametrize("margin", [0.0, -0.1, math.inf, math.nan])
def test_equivalence_rejects_margin(margin):
    with pytest.raises(UsageError, match="margin must be"):
        equivalence_test(lambda _: (0.0, 0.0), margin)


def simulated(
    random: np.random.Generator,
    sets: int,
    tasks: int,
    attempts: int,
    rate: float,
    sigma: float,
    *,
    icc: float,
    failed: float,
):
    """Task mean costs and pass rates; log-normal costs, those of failures times `failed`."""
    chance = np.full((sets, tasks, 1), rate)
    if icc:
        chance = random.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), (sets, tasks, 1))
    passed = random.random((sets, tasks, attempts)) < chance
    cost = random.lognormal(0, sigma, passed.shape) * np.where(passed, 1.0, failed)
    return cost.mean(2), passed.mean(2), math.exp(sigma**2 / 2) * (rate + (1 - rate) * failed) / rate


def below_limit(hits: int, sets: int, limit: float, cells: int) -> bool:
    """Whether the coverage of a cell is shown to be below the limit: 99%, Bonferroni over cells."""
    return clopper_pearson(hits, sets, level=1 - 0.01 / cells).high < limit


RATIO_CELLS = list(
    itertools.product(
        (0.6, 0.8, 0.9, 0.95, 0.98), (0.02, 0.3, 1.0), (1.0, 3.0), (5, 10, 20, 50), ((1, 0.0), (5, 0.0), (5, 0.3))
    )
)


def ratio_coverage(cells: list, sets: int, *, seed: int) -> list[tuple]:
    found = []
    for number, (rate, sigma, failed, tasks, (attempts, icc)) in enumerate(cells):
        random = np.random.default_rng([seed, number])
        cost, passed, truth = simulated(random, sets, tasks, attempts, rate, sigma, icc=icc, failed=failed)
        low, high = ratio_limits(rows(cost, passed))
        found.append(
            (int(np.count_nonzero((low <= truth) & (truth <= high))), (rate, sigma, failed, tasks, attempts, icc))
        )
    return found


def test_ratio_coverage_holds_in_a_few_cells():
    found = ratio_coverage(RATIO_CELLS[::60], 1_000, seed=1001)
    assert not [cell for hits, cell in found if below_limit(hits, 1_000, 0.93, len(found))]


@pytest.mark.long
def test_ratio_coverage_holds_in_every_cell():
    found = ratio_coverage(RATIO_CELLS, 4_000, seed=1002)
    assert not [(cell, hits) for hits, cell in found if below_limit(hits, 4_000, 0.93, len(found))]


@pytest.mark.long
def test_ratio_difference_keeps_its_level():
    wrong, sets = [], 1_500
    cells = list(itertools.product((0.6, 0.9, 0.98), (0.02, 1.0), (1.0, 3.0), (10, 20), (1, 3)))
    for number, (rate, sigma, failed, tasks, attempts) in enumerate(cells):
        random = np.random.default_rng([1003, number])
        a, b = (simulated(random, sets, tasks, attempts, rate, sigma, icc=0.0, failed=failed)[:2] for _ in range(2))
        passed = (a[1].sum(1) > 0) & (b[1].sum(1) > 0)
        low, high = ratio_difference_limits(rows(a[0][passed], a[1][passed]), rows(b[0][passed], b[1][passed]))
        hits = int(np.count_nonzero((low <= 0) & (high >= 0)))
        if below_limit(hits, int(passed.sum()), 0.945, len(cells)):
            wrong.append((rate, sigma, failed, tasks, attempts, hits))
    assert not wrong


def test_below_limit_can_fail():
    assert below_limit(900, 1_000, 0.93, 10)
    assert not below_limit(935, 1_000, 0.93, 10)
