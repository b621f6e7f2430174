"""Severity and weights recovered from ratings whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.statistics import bounded_weights, deviations, fit_weights, part_diagnostics, two_way

FIXED = np.array([0.35, 0.25, 0.20, 0.20])


def rated(rng: np.random.Generator, units: int, raters: int, each: int) -> tuple[np.ndarray, ...]:
    quality, severity = rng.normal(60, 12, units), rng.normal(0, 6, raters)
    unit = np.repeat(np.arange(units), each)
    rater = np.concatenate([rng.permutation(raters)[:each] for _ in range(units)])
    severity -= severity.mean()
    return unit, rater, quality[unit] - severity[rater] + rng.normal(0, 5, units * each), quality, severity


def test_least_squares_over_all_indicators_gives_the_same() -> None:
    rng = np.random.default_rng(3)
    unit, rater, scores, _, _ = rated(rng, 40, 7, 3)
    fit = two_way(unit, rater, scores)
    design = np.zeros((len(scores) + 1, 47))
    design[np.arange(len(scores)), unit] = 1
    design[np.arange(len(scores)), 40 + rater] = -1
    design[-1, 40:] = 1  # severity sums to 0
    slow, *_ = np.linalg.lstsq(design, np.append(scores, 0.0), rcond=None)
    assert np.allclose(slow[:40], fit.quality)
    assert np.allclose(slow[40:], fit.severity)
    residuals = scores - design[:-1] @ slow
    assert fit.std_dev == pytest.approx(np.sqrt(residuals @ residuals / (len(scores) - 46)))
    std_dev = np.sqrt(np.diag(np.linalg.inv(design.T @ design))) * fit.std_dev
    assert np.corrcoef(std_dev[40:], fit.severity_error)[0, 1] > 0.99


def test_one_rating_for_each_says_nothing_of_severity() -> None:
    fit = two_way(np.array([0, 1]), np.array([0, 1]), np.array([10.0, 20.0]))
    assert fit.freedom == 0
    assert fit.severity_interval(0, 1).low is None
    assert deviations(fit, np.array([0, 1])) == [(), ()]


def test_a_rater_who_scatters_is_erratic() -> None:
    rng = np.random.default_rng(4)
    unit, rater = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    scores = rng.normal(60, 12, 40)[unit] + rng.normal(0, 1, 200) * np.where(rater == 2, 9.0, 1.5)
    assert [place for place, told in enumerate(deviations(two_way(unit, rater, scores), rater)) if told] == [2]


@pytest.mark.long
def test_intervals_of_severity_and_quality_cover_what_they_promise() -> None:
    rng = np.random.default_rng(1)
    strict, worth, odd = [], [], []
    for _ in range(400):
        unit, rater, scores, quality, severity = rated(rng, 60, 12, 3)
        fit = two_way(unit, rater, scores)
        strict += [not fit.severity_interval(place, 1).excludes(severity[place]) for place in range(12)]
        worth += [not fit.quality_interval(place, 3).excludes(quality[place]) for place in range(60)]
        same = two_way(unit, rater, scores + severity[rater])  # raters who are all alike
        odd.append(any(deviations(same, rater)))
    assert 0.93 <= np.mean(strict) <= 0.97
    assert 0.93 <= np.mean(worth) <= 0.97
    assert np.mean(odd) <= 0.15


def arenas(truth: np.ndarray, slope: float, count: int, seed: int) -> tuple[float, float, float]:
    """How often weights move, by how much in the mean, and by how much at most."""
    rng = np.random.default_rng(seed)
    moves = []
    for _ in range(count):
        tasks = rng.integers(0, 10, 120)
        parts = np.clip(rng.normal(60, 20, (120, 4)), 0, 100)
        quality = slope * parts @ truth + rng.normal(0, 10, 10)[tasks] + rng.normal(0, 8, 120)
        fit = fit_weights(parts, np.tile(FIXED, (120, 1)), quality, tasks)
        weights = bounded_weights(FIXED, fit.shift, 0.15)
        assert weights.sum() == pytest.approx(1)
        assert (weights >= 0).all()
        moves.append(np.abs(weights - FIXED).max())
    return float(np.mean(np.array(moves) > 0)), float(np.mean(moves)), float(np.max(moves))


@pytest.mark.long
def test_weights_stay_where_ratings_carry_no_signal_and_move_where_they_do() -> None:
    often, mean, most = arenas(FIXED, 0.0, 1_000, 5)  # noise: ratings do not follow the score
    assert (often, mean) == (0.0, 0.0) or (often < 0.05 and mean < 0.005)
    often, mean, most = arenas(FIXED, 1.0, 1_000, 6)  # the fixed weights are right
    assert often <= 0.08
    assert mean <= 0.01
    often, mean, most = arenas(np.array([0.25, 0.20, 0.20, 0.35]), 1.0, 300, 7)
    assert often >= 0.85
    assert 0.08 <= mean <= most <= 0.15 + 1e-12


def test_what_cannot_be_told_leaves_the_weights() -> None:
    few = fit_weights(np.ones((3, 4)), np.tile(FIXED, (3, 1)), np.ones(3), np.array([0, 1, 2]))
    assert (few.shift == 0).all()
    assert few.reason == "too few rated submissions per task"
    rng = np.random.default_rng(2)
    parts = rng.uniform(0, 100, (60, 4))
    parts[:, 3] = 100.0  # every submission is right: correctness tells nobody apart
    same = fit_weights(parts, np.tile(FIXED, (60, 1)), parts @ FIXED, np.zeros(60, dtype=np.int64))
    assert same.reason == "one score component is constant over the rated submissions of each task"
    told = part_diagnostics(parts, parts @ FIXED, np.zeros(60, dtype=np.int64))
    assert told[3] == (0.0, None)
    assert told[0][1] > 0.3  # type: ignore[operator] # it varies


@pytest.mark.parametrize("distance", [0.0, 0.05, 0.15, 1.0])
def test_weights_stay_within_the_distance_and_above_0(distance: float) -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        shift = rng.normal(0, 0.3, 4)
        moved = bounded_weights(FIXED, shift - shift.mean(), distance)
        assert moved.sum() == pytest.approx(1)
        assert moved.min() >= 0
        assert np.abs(moved - FIXED).max() <= distance + 1e-12
