"""Tests against a margin: the squared steps they add, and where gates and equivalence use them."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.profiles import load_profile
from steelyard.questions.analysis import Samples, StatisticsOptions, difference, for_margin
from steelyard.statistics import margin_quantum, quantum_of


def test_margin_quantum_counts_two_steps_or_three_if_unequal():
    assert margin_quantum([2, 2], [2, 2]) == pytest.approx(2 / 4)
    assert margin_quantum([1, 1], [1, 1]) == 2
    assert margin_quantum([5, 5], [3, 3]) == pytest.approx(3 / 9)
    assert margin_quantum([5, 5], [5, 4]) == pytest.approx((2 / 25 + 2 / 16) / 2)  # one run without a verdict
    assert margin_quantum([2, 4], [2, 4], span=2.0) == pytest.approx((2 * 4 / 4 + 2 * 4 / 16) / 2)


def test_quantum_of_very_unequal_attempts_is_that_of_a_margin():
    assert quantum_of([5, 5], [1, 1]) == margin_quantum([5, 5], [1, 1]) == 3
    assert quantum_of([5, 5], [3, 3]) == pytest.approx(1 / 15)


def _sides(attempts: int, passes: tuple[int, int]) -> tuple[Samples, np.ndarray]:
    tasks = np.tile(np.repeat(np.arange(10), attempts), 2)
    values = np.concatenate([np.tile(np.arange(attempts) < count, 10) for count in passes]).astype(float)
    names = tuple(f"t{task}" for task in range(10))
    samples = Samples(names, tasks, {"pass_rate": values}, load_profile("outcome-1"))
    return samples, np.repeat([False, True], 10 * attempts)


def test_difference_for_a_margin_is_wider_and_keeps_its_estimate():
    samples, on_b = _sides(4, (4, 3))
    options = StatisticsOptions()
    plain = difference(samples, ~on_b, on_b, "pass_rate", options=options)
    wide = for_margin(plain, options)
    assert wide.interval.estimate == plain.interval.estimate == -0.25
    assert wide.interval.low < plain.interval.low
    assert wide.interval.high > plain.interval.high
    # equal differences: only the added steps vary; t(9) = 2.262, sqrt(2 / 16 / 9 / 10) = 0.0373
    assert wide.interval.high == pytest.approx(-0.25 + 2.2622 * 0.037268, abs=1e-4)
    assert wide.quantum == pytest.approx(2 / 16)


def test_difference_for_a_margin_is_unchanged_for_other_methods():
    samples, on_b = _sides(4, (4, 3))
    options = StatisticsOptions(method="percentile", resamples=99)
    plain = difference(samples, ~on_b, on_b, "pass_rate", options=options)
    assert for_margin(plain, options) is plain
