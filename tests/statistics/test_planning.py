"""Sample sizes by simulation of the decision rule: from a pilot and from assumptions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from steelyard.errors import UsageError
from steelyard.statistics import (
    DifferenceDistribution,
    minimum_detectable_effect,
    minimum_effect_from_data,
    moments_of,
    paired_mean_rows,
    quantum_of,
    sample_size_from_assumptions,
    sample_size_from_data,
    tasks_needed,
)

PILOT = [0.0] * 24 + [1 / 3] * 8 + [-1 / 3] * 6 + [2 / 3] * 2 + [-2 / 3] * 2 + [1.0] * 4 + [-1.0] * 4
thirds = st.lists(st.integers(-3, 3).map(lambda k: k / 3), min_size=4, max_size=40).filter(lambda g: np.ptp(g) > 0)


def test_simulated_power_is_that_of_the_decision_rule():
    distribution = DifferenceDistribution.of_values(PILOT, quantum=1 / 9).with_mean(0.15)
    random = np.random.default_rng(6001)
    drawn = random.choice(distribution.values, p=distribution.fractions, size=(20_000, 40))
    rows = paired_mean_rows(moments_of(drawn), quantum=1 / 9)
    assert distribution.simulated_power(40) == pytest.approx(np.mean(rows.low > 0), abs=0.015)


def test_simulated_power_of_single_attempts_follows_their_rule():
    distribution = DifferenceDistribution.of_values([0] * 12 + [1, 1, -1], quantum=0.0).with_mean(0.3)
    random = np.random.default_rng(6002)
    drawn = random.choice(distribution.values, p=distribution.fractions, size=(20_000, 10))
    rows = paired_mean_rows(moments_of(drawn), quantum=0.0)
    assert distribution.simulated_power(10) == pytest.approx(np.mean(rows.low > 0), abs=0.015)


@given(thirds, st.floats(-0.3, 0.3))
def test_with_mean_keeps_the_lattice(gaps, mean):
    distribution = DifferenceDistribution.of_values(gaps, quantum=1 / 9)
    moved = distribution.with_mean(mean)
    assert moved.mean == pytest.approx(mean, abs=1e-6)
    assert moved.fractions.sum() == pytest.approx(1)
    if distribution.values[0] + 0.1 < mean < distribution.values[-1] - 0.1:
        assert moved.values.tolist() == distribution.values.tolist()
    assert distribution.with_mean(distribution.mean).fractions == pytest.approx(distribution.fractions, abs=1e-6)


def test_sample_size_is_near_that_of_a_paired_t_test():
    planned = sample_size_from_data(PILOT, 0.1, quantum=1 / 9)
    distribution = DifferenceDistribution.of_values(PILOT, quantum=1 / 9).with_mean(0.1)
    variance = float(np.var(PILOT, ddof=1))
    assert planned.tasks == pytest.approx(tasks_needed(0.1, variance**0.5), rel=0.1)
    assert planned.low < planned.tasks < planned.high
    assert 0.79 < distribution.simulated_power(round(planned.tasks * distribution.variance / variance), seed=9) < 0.86


def test_sample_size_ignores_the_observed_difference():
    none, some = (sample_size_from_data(np.add(PILOT, shift), 0.1, quantum=1 / 9) for shift in (0.0, 1 / 3))
    assert none.tasks == pytest.approx(some.tasks, rel=0.25)
    assert sample_size_from_data(PILOT, 0.05, quantum=1 / 9).tasks == pytest.approx(4 * none.tasks, rel=0.1)


@pytest.mark.parametrize("tasks", [30, 60, 200])
def test_minimum_effect_needs_its_number_of_tasks(tasks):
    effect = minimum_effect_from_data(PILOT, quantum=1 / 9, tasks=tasks)
    computed = minimum_detectable_effect(tasks, float(np.std(PILOT, ddof=1)))
    assert effect == pytest.approx(computed, rel=0.06)


def test_plans_are_missing_with_their_reason():
    assert sample_size_from_data([0.0] * 9, 0.1, quantum=0.25).reason.startswith("the difference is the same")
    assert sample_size_from_data([0.0], 0.1, quantum=0.25).reason == "1 task in common; at least two are needed"
    assert minimum_effect_from_data([0.5, 0.5], quantum=0.25) is None
    assert minimum_effect_from_data([1.0, -1.0], quantum=0.0) is None  # no difference is significant on two tasks
    for wrong in ({"pass_rate": 1.2}, {"pass_rate": 0.5, "icc": 1.0}, {"pass_rate": 0.5, "attempts": 0}):
        with pytest.raises(UsageError):
            sample_size_from_assumptions(0.1, **wrong)
    with pytest.raises(UsageError, match="impossible"):
        sample_size_from_assumptions(0.6, pass_rate=0.5)
    with pytest.raises(UsageError, match="effect size"):
        sample_size_from_data(PILOT, 0.0, quantum=1 / 9)


def test_assumed_sample_size_of_independent_runs():
    # pass rates 0.6 and 0.7: variance 0.24 + 0.21 per attempt
    for attempts in (1, 3):
        planned = sample_size_from_assumptions(0.1, pass_rate=0.6, attempts=attempts)
        assert planned.tasks == pytest.approx(tasks_needed(0.1, (0.45 / attempts) ** 0.5), rel=0.04)
        assert planned.low == planned.tasks == planned.high


def test_assumed_sample_size_has_a_range_for_the_correlation():
    planned = sample_size_from_assumptions(0.1, pass_rate=0.6, icc=0.3, attempts=3)
    assert planned.low < planned.tasks < planned.high
    # unrelated chances: 0.24 (0.3 + 0.7 / 3) + 0.21 (0.3 + 0.7 / 3) = 0.24
    assert planned.high == pytest.approx(tasks_needed(0.1, 0.24**0.5), rel=0.04)
    lower = sample_size_from_assumptions(0.1, pass_rate=0.95, icc=0.3, attempts=3)
    assert lower.tasks is not None  # 0.95 + 0.1 exceeds 1, so the difference is downward


@pytest.mark.long
@pytest.mark.parametrize(("rate", "attempts"), [(0.5, 1), (0.7, 1), (0.9, 1), (0.5, 3), (0.7, 3), (0.9, 3)])
def test_sample_size_of_pilots_gives_its_power(rate, attempts):
    random, quantum = np.random.default_rng([6003, int(10 * rate), attempts]), quantum_of([attempts], [attempts])

    def drawn(tasks: int, difference: float) -> np.ndarray:
        chance = random.beta(rate * 7 / 3, (1 - rate) * 7 / 3, tasks)
        sides = (random.binomial(attempts, np.clip(side, 0, 1)) for side in (chance, chance + difference))
        a, b = sides
        return (b - a) / attempts

    truth = DifferenceDistribution.of_values(drawn(400_000, 0.1), quantum=quantum)
    exact = truth.tasks_needed()
    plans = [sample_size_from_data(drawn(50, 0.1), truth.mean, quantum=quantum) for _ in range(300)]
    known = [plan for plan in plans if plan.tasks is not None]
    assert len(known) > 295
    median = int(np.median([plan.tasks for plan in known]))
    assert 0.75 <= truth.simulated_power(median, seed=1) <= 0.85
    assert np.mean([plan.low <= exact <= plan.high for plan in known]) >= 0.8


def test_minimum_effect_of_a_skewed_pilot_is_the_smallest_one():
    # 20 tasks, largest difference 0.4: at an effect near it the tilted pilot hardly varies
    gaps = [-0.2, -0.2, -0.1, -0.1, -0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.3, 0.4]
    computed = minimum_detectable_effect(20, float(np.std(gaps, ddof=1)), level=0.992)
    found = minimum_effect_from_data(gaps, quantum=0.01, level=0.992)
    assert found == pytest.approx(computed, rel=0.2)
