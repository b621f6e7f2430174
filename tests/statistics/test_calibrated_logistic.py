"""Predicted probabilities: calibrated on unseen tasks, near the base rate without signal."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.statistics import Examples, fit_calibrated_logistic

TOOLS, KINDS = 20, 4


class World:
    """Examples with known chances: three of six features tell something, tools and tasks differ."""

    def __init__(self, seed: int, *, signal: float = 1.0) -> None:
        self.rng = np.random.default_rng(seed)
        self.signal = signal
        self.ability = self.rng.normal(0, 0.8, size=TOOLS) * signal

    def examples(self, n: int, *, tasks: int = 100) -> tuple[Examples, np.ndarray]:
        task, tool = self.rng.integers(0, tasks, size=n), self.rng.integers(0, TOOLS, size=n)
        features = self.rng.normal(size=(n, 6))
        features[self.rng.random((n, 6)) < 0.2] = np.nan
        difficulty = self.rng.normal(0, 0.8, size=tasks) * self.signal
        told = np.nan_to_num(features) @ np.array([1, 0.7, -0.5, 0, 0, 0]) * self.signal
        chance = 1 / (1 + np.exp(-(0.4 + told + self.ability[tool] + difficulty[task])))
        given = Examples(
            features=features, tools=tool, kinds=task % KINDS, groups=task, tool_count=TOOLS, kind_count=KINDS
        )
        return given, (self.rng.random(n) < chance).astype(float)


def calibration_error(chances: np.ndarray, right: np.ndarray) -> float:
    parts = np.array_split(np.argsort(chances, kind="stable"), 10)
    return float(sum(len(part) * abs(chances[part].mean() - right[part].mean()) for part in parts) / len(right))


def test_what_tells_something_has_the_largest_coefficients() -> None:
    model = fit_calibrated_logistic(*World(1).examples(2_000))
    order = np.argsort(-np.abs(model.coefficients))
    assert set(order[:4].tolist()) == {0, 1, 2, 6}  # the three features and the tool's record
    assert (model.coefficients[0] > 0, model.coefficients[2] < 0, model.coefficients[6] > 0) == (True, True, True)
    assert model.brier < model.brier_of_base - 0.03


def test_parts_add_up_to_the_chance() -> None:
    world = World(2)
    model = fit_calibrated_logistic(*world.examples(500))
    fresh, _ = world.examples(50)
    logits = model.intercept + model.parts(fresh).sum(axis=1)
    assert model.probabilities(fresh) == pytest.approx(1 / (1 + np.exp(-logits)))


def test_without_anything_to_learn_every_chance_is_the_base_rate() -> None:
    model = fit_calibrated_logistic(*World(3, signal=0.0).examples(400))
    fresh, _ = World(4, signal=0.0).examples(100)
    assert np.abs(model.probabilities(fresh) - model.right).max() < 0.12
    assert model.brier < model.brier_of_base + 0.003


def test_a_tool_without_a_record_gets_that_of_all() -> None:
    model = fit_calibrated_logistic(*World(5).examples(300))
    assert model.records.of(np.array([-1]), np.array([0]))[0] == model.records.of_all


def test_bins_hold_every_example_once() -> None:
    model = fit_calibrated_logistic(*World(6).examples(333))
    assert sum(part.n for part in model.bins) == 333
    assert all(part.low <= part.predicted <= part.high for part in model.bins)
    assert all(part.rate_low <= part.rate <= part.rate_high for part in model.bins)


@pytest.mark.long
def test_chances_are_calibrated_with_2000_examples() -> None:
    told, fresh = [], []
    for seed in range(20):
        world = World(100 + seed)
        model = fit_calibrated_logistic(*world.examples(2_000))
        given, right = world.examples(20_000, tasks=1_000)  # tasks that it has never seen
        told.append(model.calibration_error)
        fresh.append(calibration_error(model.probabilities(given), right))
    print(f"left out {np.mean(told):.3f} (at most {max(told):.3f}), new tasks {np.mean(fresh):.3f} ({max(fresh):.3f})")
    assert max(told) < 0.05
    assert np.mean(fresh) < 0.05


@pytest.mark.long
@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_twenty_examples_promise_nothing_that_they_cannot_hold(signal: float) -> None:
    excess = []
    for seed in range(100):
        world = World(200 + seed, signal=signal)
        model = fit_calibrated_logistic(*world.examples(20))
        given, right = world.examples(2_000)
        base = float(np.mean((right.mean() - right) ** 2))
        excess.append(float(np.mean((model.probabilities(given) - right) ** 2)) - base)
    print(f"signal {signal}: Brier score above the base rate's by {np.mean(excess):.4f}")
    assert np.mean(excess) < 0.05
