"""Anytime-valid test: agreement of interval and p-value, level under continuous looks, power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from steelyard.errors import UsageError
from steelyard.statistics import PLANNED_FACTOR, anytime_p_values, clopper_pearson, sequential_test, tasks_needed
from steelyard.statistics._confidence_sequences import bet_fractions, log_capital

gaps = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=60)
MIXED = [0.5, 0, 1, 0, -0.5, 1, 0.5, 0, 0, 1, 0.5, 0.5, -0.5, 1, 0, 0.5, 1, 0, 0.5, 0.5]


def test_sequential_test_agrees_with_reference():
    tested = sequential_test(MIXED, 40)
    assert tested.test.p_value == pytest.approx(0.03325404575600774, rel=1e-9)
    assert tested.interval.low == pytest.approx(0.025890268967296733, abs=1e-9)
    # an earlier look excludes a little more than the limit after the last task, 0.6960
    assert tested.interval.high == pytest.approx(0.6902353555, abs=1e-9)
    assert tested.decided_at == 19


def test_bets_depend_on_earlier_tasks_only():
    values = np.array(MIXED)
    fractions = bet_fractions(values, 40)
    # variance 1 before the first task: sqrt(2 ln 40 / 40) = 0.4295
    assert fractions[0] == pytest.approx(np.sqrt(2 * np.log(40) / 40))
    for length in (1, 7, 19):
        changed = np.concatenate([values[:length], -values[length:]])
        assert bet_fractions(changed, 40)[: length + 1] == pytest.approx(fractions[: length + 1])


def test_capital_is_a_fair_game():
    # over all outcomes of a fair coin, the expected capital is 1 after any number of tasks
    paths = np.array(np.meshgrid(*[[-1.0, 1.0]] * 8)).reshape(8, -1).T
    for side in (1, -1):
        capital = np.exp(log_capital(paths, 0.0, bet_fractions(paths, 20), side=side))
        assert capital.mean(axis=0) == pytest.approx(np.ones(8))


@given(gaps, st.integers(2, 200), st.sampled_from([0.8, 0.95]))
def test_sequential_interval_agrees_with_its_p_value(values, planned, level):
    tested = sequential_test(values, planned, level=level)
    interval, p_value = tested.interval, tested.test.p_value
    assert -1 <= interval.low <= interval.estimate + 1e-12
    assert interval.estimate - 1e-12 <= interval.high <= 1
    if abs(p_value - (1 - level)) > 1e-9:
        assert (p_value <= 1 - level) == interval.excludes(0.0)
    mirrored = sequential_test([-value for value in values], planned, level=level)
    assert (mirrored.interval.low, mirrored.interval.high) == pytest.approx((-interval.high, -interval.low), abs=1e-9)


@given(gaps, st.integers(2, 100))
def test_anytime_p_values_never_rise(values, planned):
    p_values = anytime_p_values(np.array(values), planned)
    assert np.all(np.diff(p_values) <= 0)
    assert p_values[0] <= 1
    decided = sequential_test(values, planned).decided_at
    first = np.flatnonzero(p_values <= 0.05)
    assert decided == (int(first[0]) + 1 if len(first) else None)


def test_sequential_test_scales_with_its_span():
    plain, scaled = sequential_test(MIXED, 40), sequential_test([100 * gap for gap in MIXED], 40, span=100.0)
    assert scaled.test.p_value == pytest.approx(plain.test.p_value)
    assert scaled.interval.low == pytest.approx(100 * plain.interval.low)


def test_sequential_test_is_missing_or_rejected_with_its_reason():
    empty = sequential_test([], 40)
    assert (empty.interval.reason, empty.test.p_value) == ("no completed task pair", None)
    with pytest.raises(UsageError, match="within -1 and 1"):
        sequential_test([0.5, 2.0], 40)
    with pytest.raises(UsageError, match="at least 2 planned tasks"):
        sequential_test([0.5], 1)


def simulated(random, sets, tasks, attempts, rate, difference=0.0):
    chance = random.beta(2 * rate, 2 * (1 - rate), (sets, tasks))
    a, b = (random.binomial(attempts, np.clip(side, 0, 1)) / attempts for side in (chance, chance + difference))
    return b - a


def false_verdicts(sets, *, seed):
    """Data sets in which a look after any task is significant without a difference, for each design."""
    found = {}
    for planned in (20, 60, 200):
        for rate, attempts in ((0.5, 1), (0.8, 1), (0.98, 1), (0.5, 3), (0.9, 3)):
            random = np.random.default_rng([seed, planned, int(100 * rate), attempts])
            p_values = anytime_p_values(simulated(random, sets, 4 * planned, attempts, rate), planned)
            found[planned, rate, attempts] = int(np.count_nonzero(p_values[:, -1] <= 0.05))
    return found


def test_continuous_looks_keep_the_level():
    found = false_verdicts(300, seed=3001)
    assert not [cell for cell, wrong in found.items() if clopper_pearson(wrong, 300, level=1 - 0.01 / 15).low > 0.05]


@pytest.mark.long
def test_continuous_looks_keep_the_level_in_every_design():
    found = false_verdicts(10_000, seed=3002)
    assert not [cell for cell, wrong in found.items() if clopper_pearson(wrong, 10_000, level=1 - 0.01 / 15).low > 0.05]


@pytest.mark.long
def test_sequential_test_has_power_and_saves_tasks():
    # runs at 0.6 and 0.7, three per task: variance (0.24 + 0.21) / 3; a fixed paired t test needs 120 tasks
    fixed = tasks_needed(0.1, 0.15**0.5)
    planned = round(PLANNED_FACTOR * fixed)
    random = np.random.default_rng(3003)
    values = (random.binomial(3, 0.7, (2_000, planned)) - random.binomial(3, 0.6, (2_000, planned))) / 3
    reached = anytime_p_values(values, planned) <= 0.05
    assert reached[:, -1].mean() > 0.77
    first = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, planned)
    assert np.median(first) < 0.95 * fixed
