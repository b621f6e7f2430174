"""Tests of many benchmarks: errors of medians, minimum effects, false claims and power under session noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from steelyard.statistics import (
    SessionTimes,
    benjamini_hochberg,
    clopper_pearson,
    log_median_error,
    minimum_effect_p,
    speed_tests,
)


def session_times(logs: np.ndarray) -> SessionTimes:
    """Sessions of log times (benchmarks, sessions, samples)."""
    half = logs.shape[-1] // 2
    drift = np.abs(np.median(logs[..., :half], axis=-1) - np.median(logs[..., half:], axis=-1))
    return SessionTimes(log_median=np.median(logs, axis=-1), error=log_median_error(logs), drift=drift)


def summaries(medians: list[list[float]]) -> SessionTimes:
    """Sessions of which only the median is known."""
    values = np.log(np.array(medians, dtype=float))
    return SessionTimes(log_median=values, error=np.full_like(values, np.nan), drift=np.full_like(values, np.nan))


def test_log_median_error_agrees_with_its_definition():
    random = np.random.default_rng(1)
    errors = log_median_error(random.normal(0, 1, (2_000, 100)))
    # a normal median varies with sqrt(pi / 2) / sqrt(n) = 0.1253
    assert np.median(errors) == pytest.approx(0.1253, rel=0.1)
    slow = stats.zscore(np.repeat(random.normal(0, 1, (200, 10)), 10, axis=1), axis=1)
    assert np.median(log_median_error(slow)) > 2 * 0.1253  # ten levels of ten equal samples


@given(st.floats(-0.3, 0.3), st.floats(0.001, 0.1), st.sampled_from([0.0, 0.02, 0.05]))
def test_minimum_effect_p_is_the_chance_at_the_boundary(ratio, error, effect):
    p_value = minimum_effect_p(np.array([ratio]), np.array([error]), np.array([8.0]), effect)[0]
    margin = math.log1p(effect)
    tails = stats.t.sf((abs(ratio) - margin) / error, 8) + stats.t.sf((abs(ratio) + margin) / error, 8)
    assert p_value == pytest.approx(min(tails, 1.0), rel=1e-9)
    if effect == 0:
        assert p_value == pytest.approx(2 * stats.t.sf(abs(ratio) / error, 8), rel=1e-9)


def test_speed_tests_agree_with_reference():
    # medians of three sessions per side, log scale in thousandths; the third benchmark is 10% faster
    before = np.array([[0, 8, -5], [3, -9, 4], [100, 108, 96], [2, 1, 0]]) / 1000
    after = np.array([[4, -2, 1], [-6, 7, 2], [1, -3, 5], [9, -8, 3]]) / 1000
    sides = [np.repeat(side[:, :, None], 3, axis=2) for side in (before, after)]
    found = speed_tests(*map(session_times, sides))
    assert found.minimum_effect == 0.02
    assert found.log_ratio == pytest.approx(before.mean(1) - after.mean(1))
    assert found.p_value == pytest.approx(
        [1.0, 0.9989277151213082, 3.632779135141791e-11, 0.9998474146225755], rel=1e-9
    )
    assert found.p_adjusted == pytest.approx(benjamini_hochberg(found.p_value))
    assert found.changed.tolist() == [0, 0, 1, 0]


def test_speed_tests_of_one_session_need_five_percent():
    samples = np.random.default_rng(2).normal(0, 0.02, (6, 1, 100))
    shifts = np.log([1.0, 1.03, 1.049, 1.10, 1 / 1.10, 1 / 1.03])[:, None, None]
    found = speed_tests(session_times(samples + shifts), session_times(samples[::-1]))
    assert (found.minimum_effect, found.sessions) == (0.05, 1)
    assert found.changed.tolist() == [0, 0, 0, 1, -1, 0]
    assert np.all((found.low <= 0) & (found.high >= 0) == (found.changed == 0))


def test_speed_tests_use_the_noise_of_repeated_baselines():
    logs = np.random.default_rng(3).normal(0, 0.02, (60, 1, 100))
    noisy = speed_tests(session_times(logs), session_times(logs), baseline_sd=0.02)
    # 1 - 0.025 / 60 is 3.34 standard deviations of a difference of two sessions: 0.0945 = ln 1.099
    assert noisy.minimum_effect == pytest.approx(math.expm1(math.sqrt(2) * stats.norm.ppf(1 - 0.025 / 60) * 0.02))
    assert speed_tests(session_times(logs), session_times(logs), baseline_sd=0.0001).minimum_effect == 0.02


def test_speed_tests_of_drifting_processes_raise_the_minimum():
    logs = np.random.default_rng(4).normal(0, 0.01, (10, 1, 100))
    logs[..., 50:] += 0.2
    found = speed_tests(session_times(logs), session_times(logs))
    assert found.minimum_effect > 0.15


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([0.8, 0.95]))
def test_speed_claims_agree_with_their_intervals(seed, sessions, level):
    random = np.random.default_rng(seed)
    before = random.normal(0, 0.02, (8, sessions, 30)) + random.normal(0, 0.1, (8, 1, 1))
    after = random.normal(0, 0.02, (8, sessions, 30))
    found = speed_tests(session_times(before), session_times(after), level=level)
    claimed = found.changed != 0
    assert np.all(found.p_adjusted[claimed] <= 1 - level + 1e-12)
    assert np.all((found.low * found.high)[claimed] > 0)  # a claimed change excludes no change
    assert np.all(np.abs(found.log_ratio[claimed]) > math.log1p(found.minimum_effect))
    swapped = speed_tests(session_times(after), session_times(before), level=level)
    assert swapped.p_value == pytest.approx(found.p_value)
    assert swapped.changed.tolist() == (-found.changed).tolist()
    assert swapped.overall.low == pytest.approx(-found.overall.high)


def test_speed_tests_leave_out_what_cannot_be_tested():
    samples = [[[1.0, 1.1, 1.2, 1.0, 1.1, 1.05]], [[0.0, 1.0]], [[]], [[1.0]], [[math.nan, 1.0]]]
    side = SessionTimes.of_samples(samples)
    assert side.sessions.tolist() == [1, 0, 0, 1, 0]
    found = speed_tests(side, side)
    assert np.isnan(found.p_value).tolist() == [False, True, True, True, True]
    assert found.changed.tolist() == [0] * 5
    assert found.overall.log_ratio == 0
    assert speed_tests(SessionTimes.of_samples([[[]]]), SessionTimes.of_samples([[[]]])).overall is None


def test_speed_tests_need_medians_only_from_two_sessions_on():
    before, after = summaries([[2.0, 2.02, 1.99]] * 3), summaries([[1.0, 1.01, 0.99]] * 3)
    found = speed_tests(before, after)
    assert found.changed.tolist() == [1, 1, 1]
    assert math.exp(found.overall.log_ratio) == pytest.approx(2.0, rel=0.01)
    assert found.overall.low > math.log(1.02)
    assert speed_tests(summaries([[2.0]]), summaries([[1.0]])).overall is None


def test_overall_speed_counts_sessions_and_not_benchmarks():
    random = np.random.default_rng(5)
    shift = random.normal(0, 0.01, (2, 1, 3))
    one, many = (
        speed_tests(*(summaries(np.exp(np.repeat(side, count, axis=0)).tolist()) for side in shift))
        for count in (1, 50)
    )
    assert many.overall.high - many.overall.low == pytest.approx(one.overall.high - one.overall.low)


def noise(random: np.random.Generator, kind: str, benchmarks: int, sessions: int, samples: int) -> np.ndarray:
    """Log times of unchanged code: 2% within processes, 1% between sessions."""
    shape = benchmarks, sessions, samples
    shift = random.normal(0, 0.01, (1 if kind == "common" else benchmarks, sessions, 1))
    within = random.normal(0, 0.02, shape)
    if kind == "ar":
        for sample in range(1, samples):
            within[..., sample] = 0.9 * within[..., sample - 1] + math.sqrt(1 - 0.81) * within[..., sample]
    elif kind == "bimodal":
        within += 0.04 * (random.random(shape) < 0.3)
    return within + shift


def any_false_claim(kind: str, sessions: int, sets: int, *, seed: int) -> int:
    random, wrong = np.random.default_rng([seed, sessions, len(kind)]), 0
    for _ in range(sets):
        sides = (session_times(noise(random, kind, 60, sessions, 100)) for _ in range(2))
        found = speed_tests(*sides)
        wrong += bool(found.changed.any()) or found.overall.p_value <= 0.05
    return wrong


@pytest.mark.parametrize("sessions", [1, 3])
def test_unchanged_benchmarks_are_rarely_claimed(sessions):
    assert any_false_claim("separate", sessions, 30, seed=5001) <= 3


@pytest.mark.long
@pytest.mark.parametrize("kind", ["separate", "common", "ar", "bimodal"])
@pytest.mark.parametrize("sessions", [1, 2, 3, 5])
def test_unchanged_benchmarks_are_claimed_in_five_percent(kind, sessions):
    wrong = any_false_claim(kind, sessions, 1_000, seed=5002)
    assert clopper_pearson(wrong, 1_000, level=1 - 0.01 / 16).low <= 0.05


@pytest.mark.long
@pytest.mark.parametrize("kind", ["separate", "common", "ar", "bimodal"])
def test_changes_of_ten_percent_are_found(kind):
    random, found, held, claimed = np.random.default_rng([5003, len(kind)]), 0, 0, 0
    for _ in range(100):
        before, after = (noise(random, kind, 60, 5, 100) for _ in range(2))
        before[:20] += math.log(1.1)
        tested = speed_tests(session_times(before), session_times(after))
        found += int(np.count_nonzero(tested.changed[:20] == 1))
        inside = (tested.low[:20] <= math.log(1.1)) & (math.log(1.1) <= tested.high[:20])
        claims = tested.changed[:20] == 1
        held, claimed = held + int(np.count_nonzero(inside & claims)), claimed + int(np.count_nonzero(claims))
    assert found >= 0.9 * 2_000
    assert held >= 0.93 * claimed  # the false coverage rate of claimed benchmarks


@pytest.mark.long
@pytest.mark.parametrize("kind", ["separate", "common", "ar"])
@pytest.mark.parametrize("sessions", [1, 3, 5])
def test_overall_speed_contains_the_truth(kind, sessions):
    random, held, sets = np.random.default_rng([5004, sessions, len(kind)]), 0, 1_000
    for _ in range(sets):
        before, after = (noise(random, kind, 12, sessions, 40) for _ in range(2))
        overall = speed_tests(session_times(before + 0.05), session_times(after)).overall
        held += overall.low <= 0.05 <= overall.high
    assert clopper_pearson(held, sets, level=1 - 0.01 / 9).high >= 0.945
