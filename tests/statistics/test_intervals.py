"""Intervals for shares, means, medians and ratios, each against an outside oracle."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from steelyard.errors import UsageError
from steelyard.metrics import Grouping
from steelyard.metrics.engines._run_groups import grouped_statistics
from steelyard.statistics import (
    auto_means,
    auto_medians,
    bootstrap_mean,
    clopper_pearson,
    clustered,
    fieller,
    mean_of,
    median_clustered,
    median_exact,
    ratio_bootstrap,
    student,
    wilson,
    wilson_clustered,
)
from steelyard.statistics._bootstrap import bootstrap_ratio, draws, resampled_sums
from steelyard.statistics._means import codes_of

counts = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


@given(counts, levels)
def test_wilson_agrees_with_statsmodels(count, level):
    low, high = proportion_confint(*count, alpha=1 - level, method="wilson")
    interval = wilson(*count, level=level)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


@given(counts, levels)
def test_clopper_pearson_agrees_with_statsmodels_and_scipy(count, level):
    interval = clopper_pearson(*count, level=level)
    assert (interval.low, interval.high) == pytest.approx(
        proportion_confint(*count, alpha=1 - level, method="beta"), abs=1e-10
    )
    exact = stats.binomtest(*count).proportion_ci(level, method="exact")
    assert (interval.low, interval.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_wilson_of_newcombes_example():
    # Newcombe (1998), Statistics in Medicine 17:857, table I, method 3: 81 of 263 and 0 of 20
    assert [round(limit, 4) for limit in (wilson(81, 263).low, wilson(81, 263).high)] == [0.2553, 0.3662]
    assert [round(limit, 4) for limit in (wilson(0, 20).low, wilson(0, 20).high)] == [0.0, 0.1611]


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40), levels)
def test_student_agrees_with_scipy(values, level):
    interval = student(values, level=level)
    if np.ptp(values) < 1e-9:
        return
    low, high = stats.t.interval(level, len(values) - 1, np.mean(values), stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-9, abs=1e-9)


clustered_data = st.integers(2, 12).flatmap(
    lambda tasks: st.lists(
        st.tuples(st.integers(0, tasks - 1), st.floats(-100, 100)), min_size=tasks, max_size=60
    ).filter(lambda rows: len({task for task, _ in rows}) >= 2)
)


@given(clustered_data)
def test_clustered_agrees_with_a_clustered_regression_of_statsmodels(rows):
    tasks, values = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    fitted = sm.OLS(values, np.ones_like(values)).fit(
        cov_type="cluster", cov_kwds={"groups": tasks, "use_correction": True}, use_t=True
    )
    low, high = fitted.conf_int()[0]
    interval = clustered(values, tasks)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-7, abs=1e-7)


@given(clustered_data, st.randoms())
def test_the_order_of_rows_changes_no_bit(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)

    def all_of(given_rows):
        tasks, values = [row[0] for row in given_rows], [row[1] for row in given_rows]
        return (
            clustered(values, tasks),
            bootstrap_mean(values, tasks, resamples=50),
            median_clustered(values, tasks),
            median_exact(values),
            student(values),
            fieller(np.abs(values), np.abs(values) + 1, tasks),
            _auto(values, tasks, (-math.inf, math.inf)),
            _auto(np.tanh(values), tasks, (-1.0, 1.0)),
        )

    assert all_of(rows) == all_of(shuffled)


def _auto(values, tasks, bounds):
    numbers, groups = np.asarray(values, dtype=float), np.zeros(len(tasks), dtype=np.int64)
    return auto_means(numbers, groups, codes_of(tasks), figures=np.array([mean_of(numbers)]), bounds=bounds)


def test_duplicated_attempts_narrow_the_naive_interval_but_not_the_clustered_one():
    random = np.random.default_rng(1)
    tasks = np.arange(40)
    passed = (random.random(40) < 0.6).astype(float)
    tenfold, labels = np.tile(passed, 10), np.tile(tasks, 10)

    def width(interval):
        return interval.high - interval.low

    for method in (clustered, wilson_clustered):
        assert width(method(tenfold, labels)) == pytest.approx(width(method(passed, tasks)), rel=1e-12)
    naive_once, naive_tenfold = wilson(int(passed.sum()), 40), wilson(int(tenfold.sum()), 400)
    assert width(naive_tenfold) < 0.4 * width(naive_once)  # about 1 / sqrt(10)
    once = bootstrap_mean(passed, tasks, method="percentile")
    assert width(bootstrap_mean(tenfold, labels, method="percentile")) == width(once)


def test_wilson_clustered_stays_inside_and_has_width_when_all_pass():
    everything = wilson_clustered([1.0] * 30, np.repeat(np.arange(10), 3))
    assert everything.high == 1.0
    # each task counts once: Wilson's lower bound n / (n + t²) with n = 10 and t of 9 degrees
    assert everything.low == pytest.approx(10 / (10 + stats.t.ppf(0.975, 9) ** 2))


def test_median_exact_gives_the_published_ranks():
    # Conover (1999), Practical Nonparametric Statistics: for n = 20 at 95% the 6th and the 15th value
    interval = median_exact(np.arange(1.0, 21.0))
    assert (interval.low, interval.high) == (6.0, 15.0)
    assert not median_exact(np.arange(5.0)).known


@given(st.integers(6, 80), levels)
def test_median_exact_agrees_with_scipy_quantile_test(n, level):
    interval = median_exact(np.arange(1.0, n + 1), level=level)
    oracle = stats.quantile_test(np.arange(1.0, n + 1), p=0.5).confidence_interval(level)
    if interval.known and not math.isnan(oracle.low):
        assert (interval.low, interval.high) == (oracle.low, oracle.high)


def test_median_of_single_attempts_is_close_to_the_exact_one():
    values = np.random.default_rng(3).normal(size=101)
    near, exact = median_clustered(values, np.arange(101)), median_exact(values)
    ordered = np.sort(values)
    places = [int(np.searchsorted(ordered, limit)) for limit in (near.low, exact.low, near.high, exact.high)]
    assert abs(places[0] - places[1]) <= 2
    assert abs(places[2] - places[3]) <= 2


def _ratio_rows(seed=0, tasks=25):
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(tasks), 3)
    return random.gamma(2, 1, len(labels)), (random.random(len(labels)) < 0.5).astype(float), labels


@pytest.mark.parametrize("seed", range(5))
def test_fieller_limits_are_where_a_t_test_of_scipy_turns(seed):
    cost, passed, tasks = _ratio_rows(seed)
    interval = fieller(cost, passed, tasks)
    sums = np.array([[cost[tasks == task].sum(), passed[tasks == task].sum()] for task in range(25)])
    for limit in (interval.low, interval.high):
        assert stats.ttest_1samp(sums[:, 0] - limit * sums[:, 1], 0.0).pvalue == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_fieller_leaves_out_no_ratio_that_a_t_test_does_not_reject(seed):
    """One task that dominates both sums makes the denominator doubtful, and the estimate may lie below both roots."""
    draw = np.random.default_rng(seed)
    below = np.append(draw.integers(1, 4, 6), 100).astype(float)
    above = np.append(np.minimum(draw.integers(0, 4, 6), below[:-1]), 100).astype(float)
    interval = fieller(above, below, np.arange(7))
    assert interval.low <= interval.estimate <= interval.high
    for ratio in np.linspace(0.0, 3.0, 301):
        if stats.ttest_1samp(above - ratio * below, 0.0).pvalue > 0.05:
            assert interval.low <= ratio <= interval.high


def test_fieller_says_when_there_is_no_upper_limit():
    cost = np.ones(10) + np.arange(10) / 10
    passed = np.array([1.0] + [0.0] * 9)
    interval = fieller(cost, passed, np.arange(10))
    assert interval.high == math.inf
    assert interval.low > 0
    assert interval.reason == "the denominator cannot be distinguished from 0"


def test_without_a_pass_the_cost_of_a_pass_has_a_lower_limit_only():
    interval = fieller([1.0, 1.0, 1.0, 1.0], [0.0] * 4, ["a", "b", "c", "d"])
    assert (interval.estimate, interval.high) == (math.inf, math.inf)
    # at most 1 - 0.025^(1/4) of runs pass, and each costs 1
    assert interval.low == pytest.approx(1 / (1 - 0.025**0.25))
    assert not ratio_bootstrap([1.0] * 4, [0.0] * 4, ["a", "b", "c", "d"]).known


def test_bootstrap_of_singles_agrees_with_scipy():
    values = np.random.default_rng(5).gamma(2, 1, 60)
    for method, name in (("percentile", "percentile"), ("bca", "BCa")):
        ours = bootstrap_mean(values, np.arange(60), method=method, resamples=20_000)
        theirs = stats.bootstrap(
            (values,), np.mean, n_resamples=20_000, method=name, rng=np.random.default_rng(1)
        ).confidence_interval
        # two sets of 20,000 draws differ by about a hundredth of the width
        width = theirs.high - theirs.low
        assert abs(ours.low - theirs.low) < 0.03 * width
        assert abs(ours.high - theirs.high) < 0.03 * width


def test_bootstrap_draws_reproduce_a_plain_loop():
    values, seed = np.random.default_rng(2).normal(size=(9, 2)), 11
    picked = np.random.default_rng(seed).integers(0, 9, size=(40, 9))
    plain = np.array([values[row].sum(axis=0) for row in picked])
    assert resampled_sums(values, resamples=40, seed=seed) == pytest.approx(plain, abs=1e-10)
    assert np.concatenate(list(draws(9, resamples=40, seed=seed))).sum(axis=1).tolist() == [9.0] * 40


def test_ratio_bootstrap_is_infinite_where_draws_have_no_pass():
    interval = bootstrap_ratio([1.0] * 5, [1.0, 0.0, 0.0, 0.0, 0.0], n=5, resamples=2_000)
    assert interval.estimate == 5.0
    assert interval.high == math.inf
    assert interval.reason is not None


@given(clustered_data)
def test_many_groups_at_once_give_what_each_gives_alone(rows):
    tasks, values = np.array([row[0] for row in rows], dtype=np.int64), np.array([row[1] for row in rows])
    groups = np.repeat([0, 2], len(values)).astype(np.int64)
    for bounds, given_values in (((0.0, math.inf), np.abs(values)), ((-1.0, 1.0), np.tanh(values))):
        both = np.concatenate([given_values, given_values / 2])
        figures = np.array([mean_of(given_values), np.nan, mean_of(given_values / 2)])
        together = auto_means(both, groups, np.tile(tasks, 2), figures=figures, bounds=bounds)
        assert together[0] == _auto(given_values, tasks, bounds)[0]
        assert together[2] == _auto(given_values / 2, tasks, bounds)[0]
        assert (together[1].estimate, together[1].reason) == (None, "no value")


@given(clustered_data)
def test_medians_of_many_groups_at_once_are_what_each_gives_alone(rows):
    tasks, values = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    groups = np.array([task % 2 for task in tasks], dtype=np.int64)
    together = auto_medians(values, groups, tasks.astype(np.int64), size=3)
    for group in (0, 1):
        own, labels = values[groups == group], tasks[groups == group]
        single = len(set(labels)) == len(labels)
        assert together[group] == (median_exact(own) if single else median_clustered(own, labels))
    assert together[2].estimate is None


@pytest.mark.parametrize(
    "method", [clustered, wilson_clustered, bootstrap_mean, median_clustered, lambda v, t: fieller(v, v, t)]
)
def test_one_task_gives_no_interval_but_a_reason(method):
    interval = method([1.0, 0.0, 1.0], ["only"] * 3)
    assert not interval.known
    assert interval.estimate is not None
    assert "one task" in interval.reason


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    cost, passed, tasks = _ratio_rows()
    first = ratio_bootstrap(cost, passed, tasks, seed=1)
    assert first == ratio_bootstrap(cost, passed, tasks, seed=1)
    assert (first.seed, first.resamples) == (1, 10_000)
    assert first.low != ratio_bootstrap(cost, passed, tasks, seed=2).low


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95.0])
def test_an_impossible_level_is_refused(level):
    with pytest.raises(UsageError, match="between 0 and 1"):
        wilson(1, 2, level=level)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_share_that_is_the_same_on_every_task_is_not_therefore_certain(value: float) -> None:
    share = _auto([value] * 10, np.arange(10), (0.0, 1.0))[0]
    number = _auto([value] * 10, np.arange(10), (0.0, math.inf))[0]
    assert share.method == "gaffke"
    assert share.high - share.low > 0.25  # ten tasks leave that much open
    assert (number.known, number.reason) == (
        False,
        "equal on every task, so the variance cannot be estimated",
    )


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
def test_a_median_is_halfway_however_small_or_large_the_values(values):
    ordered = sorted(values)
    low, high = (Fraction(ordered[place]) for place in ((len(values) - 1) // 2, len(values) // 2))
    exact = float((low + high) / 2)  # the fraction, rounded once
    found = auto_medians(values, np.zeros(len(values), dtype=np.int64), np.arange(len(values)), size=1)[0].estimate
    assert found == exact == median_exact(values).estimate
    codes = np.zeros(len(values), np.uint32)
    assert grouped_statistics(np.array(values), Grouping.of(codes, 1), ddof=0)["median"][0] == exact


def test_a_ratio_of_what_may_be_negative_has_no_limit_where_the_denominator_may_be_0() -> None:
    tasks = [0, 1, 2, 3]
    found = fieller([1.0, -1.0, 2.0, 0.5], [1.0, 0.0, 0.0, 0.0], tasks)
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert fieller([1.0, 1.0, 2.0, 0.5], [1.0, 0.0, 0.0, 0.0], tasks).low >= 0
