"""Paired differences, effect sizes, multiplicity and power, each against an outside oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from steelyard.statistics import (
    benjamini_hochberg,
    cliffs_delta,
    difference_bounds,
    holm,
    mcnemar_exact,
    minimum_detectable_effect,
    paired_bootstrap,
    paired_plus_two,
    paired_proportions,
    paired_t,
    sign_flip,
    size_word,
    standardized,
    tasks_needed,
)
from steelyard.statistics._planning import paired_power

gaps = st.lists(st.integers(-20, 20).map(lambda k: k / 20), min_size=2, max_size=30)


@given(gaps.filter(lambda values: np.ptp(values) > 0))
def test_paired_t_agrees_with_scipy(differences):
    oracle = stats.ttest_1samp(differences, 0.0)
    interval, test = paired_t(differences)
    assert test.p_value == pytest.approx(oracle.pvalue, rel=1e-9, abs=1e-12)
    assert (interval.low, interval.high) == pytest.approx(tuple(oracle.confidence_interval(0.95)), abs=1e-12)


@given(gaps.filter(lambda values: len(values) <= 12))
def test_sign_flip_agrees_with_scipy_permutation_test(differences):
    # whole numbers for the oracle, whose means of twentieths that cancel are not quite 0
    whole = np.round(np.array(differences) * 20)
    oracle = stats.permutation_test((whole,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True)
    ours = sign_flip(differences)
    assert ours.p_value == pytest.approx(oracle.pvalue, abs=1e-12)
    assert ours.seed is None


def test_sign_flip_of_fishers_example():
    # Fisher (1935), The Design of Experiments, section 21: Darwin's maize, 15 pairs (in eighths of an inch); 863 of the
    # 32,768 patterns reach the observed sum of 314 in one direction, 1,726 in both: 5.267%
    darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert sign_flip(darwin).p_value == 1726 / 32768


def test_drawn_signs_come_close_to_all_signs():
    differences = np.random.default_rng(4).normal(0.3, 1, 16)
    exact = sign_flip(differences)
    drawn = sign_flip(np.append(differences, [1e-9]), resamples=50_000)
    assert exact.seed is None
    assert drawn.seed is not None
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.006)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_agrees_with_scipy_and_statsmodels(only_a, only_b):
    ours = mcnemar_exact(only_a, only_b).p_value
    assert ours == pytest.approx(mcnemar([[0, only_a], [only_b, 0]], exact=True).pvalue, abs=1e-12)
    if only_a + only_b:
        assert ours == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue, abs=1e-12)


@given(st.integers(0, 8), st.integers(0, 8))
def test_mcnemar_is_the_sign_flip_test_of_single_attempts(only_a, only_b):
    differences = [-1.0] * only_a + [1.0] * only_b + [0.0] * 5
    assert mcnemar_exact(only_a, only_b).p_value == pytest.approx(sign_flip(differences).p_value, abs=1e-12)


def test_paired_shares_of_a_published_table():
    # Bentur et al. (2009) as worked in Fagerland, Lydersen and Laake (2014), Statistics in Medicine 33:2850: 21 pairs,
    # 1 and 7 disagreeing. By hand: (8 - 2) / 23 = 0.2609, half 1.96 sqrt((10/23 - 0.2609²) / 23) = 0.2475
    interval = paired_proportions(1, 7, 21)
    assert [round(limit, 3) for limit in (interval.low, interval.high)] == [0.013, 0.508]
    assert interval.estimate == pytest.approx(6 / 21)


def test_plus_two_is_bonett_and_prices_adjustment_for_single_attempts():
    differences = [-1.0] + [1.0] * 7 + [0.0] * 13
    ours, theirs = paired_plus_two(differences, span=1.0), paired_proportions(1, 7, 21)
    # the same center; Student's quantile and n - 1 in place of the normal one and n
    factor = stats.t.ppf(0.975, 22) / stats.norm.ppf(0.975) * np.sqrt(23 / 22)
    assert ours.high + ours.low == pytest.approx(theirs.high + theirs.low)
    assert ours.high - ours.low == pytest.approx((theirs.high - theirs.low) * factor)


def test_a_data_set_against_itself_differs_by_nothing():
    zero = np.zeros(80)
    interval, test = paired_t(zero)
    assert (interval.estimate, interval.known, test.p_value) == (0.0, False, None)
    assert sign_flip(zero).p_value == 1.0
    assert mcnemar_exact(0, 0).p_value == 1.0
    wide = paired_plus_two(zero, span=1.0)
    assert (wide.estimate, wide.low) == (0.0, -wide.high)
    assert wide.high > 0
    assert not paired_plus_two(zero).known


def test_paired_bootstrap_agrees_with_scipy():
    differences = np.random.default_rng(8).gamma(2, 1, 80) - 1.5
    for method, name in (("percentile", "percentile"), ("bca", "BCa")):
        ours = paired_bootstrap(differences, method=method, resamples=20_000)
        theirs = stats.bootstrap(
            (differences,), np.mean, n_resamples=20_000, method=name, rng=np.random.default_rng(2)
        ).confidence_interval
        width = theirs.high - theirs.low
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)


values = st.lists(st.integers(0, 10).map(float), min_size=1, max_size=40)


@given(values, values)
def test_cliffs_delta_is_what_counting_all_pairs_gives_and_scipy_u(a, b):
    slow = sum((y > x) - (y < x) for x in a for y in b) / (len(a) * len(b))
    assert cliffs_delta(a, b) == pytest.approx(slow, abs=1e-15)
    u = stats.mannwhitneyu(b, a, method="asymptotic").statistic if len(set(a + b)) > 1 else len(a) * len(b) / 2
    assert cliffs_delta(a, b) == pytest.approx(2 * u / (len(a) * len(b)) - 1, abs=1e-12)


def test_effect_sizes_have_words_and_gaps_have_none_without_spread():
    assert [size_word(delta) for delta in (0.1, -0.2, 0.4, -0.5)] == ["negligible", "small", "medium", "large"]
    assert cliffs_delta([], [1.0]) is None
    assert standardized([0.5, 0.5]) is None
    assert standardized([1.0, 2.0, 3.0]) == 2.0  # mean 2, standard deviation 1


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@settings(max_examples=30)
@given(p_values)
def test_holm_and_benjamini_hochberg_agree_with_statsmodels(given_values):
    assert holm(given_values) == pytest.approx(multipletests(given_values, method="holm")[1], abs=1e-12)
    assert benjamini_hochberg(given_values) == pytest.approx(multipletests(given_values, method="fdr_bh")[1], abs=1e-12)


def test_benjamini_hochberg_of_their_own_example():
    # Benjamini and Hochberg (1995), section 3.2: 15 p-values, of which 4 stand at 5% and 3 after Bonferroni and Holm
    found = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528]
    found += [0.7590, 1.0]
    assert int(np.sum(benjamini_hochberg(found) <= 0.05)) == 4
    assert int(np.sum(holm(found) <= 0.05)) == 3


@pytest.mark.parametrize("effect", [0.1, 0.2, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_tasks_needed_agree_with_statsmodels(effect, power):
    oracle = TTestPower().solve_power(effect_size=effect, alpha=0.05, power=power)
    assert tasks_needed(effect * 0.3, 0.3, power=power) == max(2, int(np.ceil(oracle - 1e-6)))


@pytest.mark.parametrize("tasks", [2, 3, 5, 20, 80, 5_000])
def test_detectable_difference_agrees_with_statsmodels_and_gives_its_power(tasks):
    found = minimum_detectable_effect(tasks, 0.4)
    assert paired_power(found, 0.4, tasks) == pytest.approx(0.8, abs=1e-8)
    if tasks >= 5:
        oracle = TTestPower().solve_power(nobs=tasks, alpha=0.05, power=0.8) * 0.4
        # the oracle's own solution for 5,000 tasks gives a power of 0.80003
        assert found == pytest.approx(oracle, rel=1e-4 if tasks == 5_000 else 1e-6)


def test_no_number_of_tasks_shows_a_difference_of_nothing():
    assert tasks_needed(0.0, 1.0) is None
    assert minimum_detectable_effect(1, 1.0) is None


def test_missing_outcomes_bound_a_difference():
    bounds = difference_bounds([1.0, np.nan, 0.0], [1.0, 1.0, np.nan], tasks_a=["x", "y", "z"], tasks_b=["x", "y", "w"])
    # common tasks x and y: x differs by 0; y by 1 - 1 or 1 - 0
    assert (bounds.low, bounds.high, bounds.known, bounds.missing) == (0.0, 0.5, 3, 1)


@given(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=1, max_size=20), st.randoms())
def test_bounds_hold_whatever_the_missing_outcomes_were(outcomes, random):
    filled = [random.choice([0.0, 1.0]) if np.isnan(one) else one for one in outcomes]
    tasks = list(range(len(outcomes)))
    bounds = difference_bounds([0.0] * len(tasks), outcomes, tasks_a=tasks, tasks_b=tasks)
    assert bounds.low - 1e-12 <= np.mean(filled) <= bounds.high + 1e-12
