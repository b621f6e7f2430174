"""The item response model: published estimates, an independent twin, and the coverage that its errors promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from steelyard.statistics import ItemResponse, Responses, item_response

# Answers of 1,000 people to five questions of two sections of the Law School Admission Test, by pattern from 00000 to
# 11111 (Bock and Lieberman 1970, Psychometrika 35, 179-197).
LSAT_6 = (3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15, 10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28)
LSAT_7 = (
    12,
    19,
    1,
    7,
    3,
    19,
    3,
    17,
    10,
    5,
    3,
    7,
    7,
    23,
    8,
    28,
    7,
    39,
    11,
    34,
    14,
    51,
    15,
    90,
    6,
    25,
    7,
    35,
    18,
    136,
    32,
)

# Printed by `summary(ltm(LSAT ~ z1))` of the R package ltm: difficulties and discriminations with standard errors.
LTM_DIFFICULTY = ((-3.3597, 0.8669), (-1.3696, 0.3073), (-0.2799, 0.0997), (-1.8659, 0.4341), (-3.1236, 0.8700))
LTM_DISCRIMINATION = ((0.8254, 0.2581), (0.7229, 0.1867), (0.8905, 0.2326), (0.6886, 0.1852), (0.6575, 0.2100))
LTM_LIKELIHOOD = -2466.653
# Printed in the reference of the R package mirt: slopes and intercepts with 95% CIs.
MIRT_SLOPE = (
    (0.639, 0.988, 1.336),
    (0.755, 1.081, 1.407),
    (1.086, 1.707, 2.329),
    (0.5, 0.765, 1.03),
    (0.437, 0.736, 1.034),
)
MIRT_INTERCEPT = (
    (1.599, 1.856, 2.112),
    (0.629, 0.808, 0.987),
    (1.395, 1.805, 2.215),
    (0.339, 0.486, 0.633),
    (1.63, 1.854, 2.079),
)
MIRT_LIKELIHOOD = -2658.805


def answers_of(counts: tuple[int, ...]) -> tuple[Responses, np.ndarray]:
    """The patterns as responses, and how many people gave each; the last count is what is left of 1,000."""
    people = np.array([*counts, 1_000 - sum(counts)], dtype=float)
    given = np.flatnonzero(people)
    right = np.array([[pattern >> place & 1 for place in (4, 3, 2, 1, 0)] for pattern in given], dtype=float)
    tools, tasks = np.repeat(np.arange(len(given)), 5), np.tile(np.arange(5), len(given))
    return Responses(tools=tools, tasks=tasks, attempts=np.ones(right.size), right=right.ravel()), people[given]


def fit_by_plain_ascent(seen: Responses, people: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The independent twin: the marginal likelihood summed over a fixed fine grid, climbed without a thought."""
    grid = np.linspace(-8, 8, 161)
    density = np.exp(-0.5 * grid**2)
    density /= density.sum()
    tasks, tools = int(seen.tasks.max()) + 1, int(seen.tools.max()) + 1

    def loss(parameters: np.ndarray) -> float:
        total = np.zeros((tools, len(grid)))
        for tool, task, n, right in zip(seen.tools, seen.tasks, seen.attempts, seen.right, strict=True):
            logit = parameters[task] * grid + parameters[tasks + task]
            total[tool] += right * logit - n * np.log1p(np.exp(logit))
        return float(-people @ np.log(np.exp(total) @ density))

    found = optimize.minimize(loss, np.r_[np.ones(tasks), np.zeros(tasks)], method="BFGS", options={"gtol": 1e-4})
    return found.x[:tasks], found.x[tasks:], -float(found.fun)


def test_lsat_6_gives_the_published_estimates() -> None:
    seen, people = answers_of(LSAT_6)
    fit = item_response(seen, people=people, is_pooled=False)
    assert fit.converged
    assert round(fit.log_likelihood, 3) == LTM_LIKELIHOOD
    for estimates, published in (
        (fit.difficulty, LTM_DIFFICULTY),
        (np.exp(fit.log_discrimination), LTM_DISCRIMINATION),
    ):
        for estimate, (value, error) in zip(estimates, published, strict=True):
            assert abs(estimate - value) < 0.01 * error  # far within their errors


def test_lsat_7_gives_the_published_estimates() -> None:
    seen, people = answers_of(LSAT_7)
    fit = item_response(seen, people=people, is_pooled=False)
    slopes = np.exp(fit.log_discrimination)
    assert round(fit.log_likelihood, 3) == MIRT_LIKELIHOOD
    for estimates, published in ((slopes, MIRT_SLOPE), (-slopes * fit.difficulty, MIRT_INTERCEPT)):
        for estimate, (low, value, high) in zip(estimates, published, strict=True):
            assert low < estimate < high
            assert abs(estimate - value) < 0.001


def test_it_agrees_with_plain_ascent_on_answers_that_are_right_in_part_and_repeated() -> None:
    rng = np.random.default_rng(5)
    tools, tasks = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)
    chance = 1 / (1 + np.exp(-1.3 * (rng.normal(size=60)[tools] - np.array([-1, 0, 0.5, 1])[tasks])))
    attempts = rng.integers(1, 4, size=240).astype(float)
    right = rng.binomial(4 * attempts.astype(int), chance) / 4
    kept = rng.random(240) < 0.9
    kept[:4] = True
    used, numbers = np.unique(tools[kept], return_inverse=True)
    seen = Responses(tools=numbers, tasks=tasks[kept], attempts=attempts[kept], right=right[kept])
    people = np.ones(len(used))
    slopes, intercepts, likelihood = fit_by_plain_ascent(seen, people)
    fit = item_response(seen, people=people, is_pooled=False)
    assert fit.log_likelihood == pytest.approx(likelihood, abs=1e-3)
    assert np.exp(fit.log_discrimination) == pytest.approx(slopes, abs=5e-3)
    assert -np.exp(fit.log_discrimination) * fit.difficulty == pytest.approx(intercepts, abs=5e-3)


class Truth:
    """Abilities and tasks on the scale of a fit: the tools' abilities have the mean 0 and the deviation 1."""

    def __init__(self, seed: int, *, tools: int, tasks: int) -> None:
        self.rng = np.random.default_rng(seed)
        ability, self.slope = self.rng.normal(size=tools), self.rng.normal(0, 0.4, size=tasks)
        difficulty = self.rng.normal(0, 1.2, size=tasks)
        scale = float(ability.std())
        self.ability, self.difficulty = (ability - ability.mean()) / scale, (difficulty - ability.mean()) / scale
        self.slope = self.slope + np.log(scale)

    def answers(self, attempts: int, *, particular: float = 0.0, tried: float = 1.0) -> Responses:
        tools, tasks = (side.ravel() for side in np.indices((len(self.ability), len(self.slope))))
        kept = self.rng.random(len(tools)) < tried
        tools, tasks = tools[kept], tasks[kept]
        own = self.rng.normal(0, particular, size=len(tools)) if particular else 0.0
        logits = np.exp(self.slope)[tasks] * (self.ability[tools] - self.difficulty[tasks]) + own
        right = self.rng.binomial(attempts, 1 / (1 + np.exp(-logits))).astype(float)
        return Responses(tools=tools, tasks=tasks, attempts=np.full(len(tools), float(attempts)), right=right)


def covered(estimates: np.ndarray, errors: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean(np.abs(estimates - truth) <= 1.96 * errors))


def covers(fit: ItemResponse, truth: Truth) -> list[float]:
    return [
        covered(fit.ability, fit.ability_error, truth.ability),
        covered(fit.difficulty, fit.difficulty_error, truth.difficulty),
        covered(fit.log_discrimination, fit.log_discrimination_error, truth.slope),
    ]


def test_abilities_are_told_apart_and_hard_tasks_are_hard() -> None:
    truth = Truth(3, tools=12, tasks=60)
    fit = item_response(truth.answers(2, tried=0.8))
    assert fit.converged
    assert fit.ability.mean() == pytest.approx(0, abs=1e-3)
    assert np.corrcoef(fit.ability, truth.ability)[0, 1] > 0.95
    assert np.corrcoef(fit.difficulty, truth.difficulty)[0, 1] > 0.8


def test_what_everybody_or_nobody_gets_right_stays_finite() -> None:
    tools, tasks = (side.ravel() for side in np.indices((5, 6)))
    right = np.where(tasks == 0, 1.0, np.where(tasks == 1, 0.0, (tools + tasks) % 2))
    fit = item_response(Responses(tools=tools, tasks=tasks, attempts=np.ones(30), right=right))
    for values in (fit.ability, fit.ability_error, fit.difficulty, fit.difficulty_error, fit.log_discrimination_error):
        assert np.all(np.isfinite(values))
    assert fit.difficulty[0] < fit.difficulty[2:].min() < fit.difficulty[2:].max() < fit.difficulty[1]


def test_what_a_tool_repeats_widens_the_errors() -> None:
    truth = Truth(4, tools=20, tasks=80)
    alike, particular = (item_response(Truth(4, tools=20, tasks=80).answers(8, particular=p)) for p in (0.0, 1.5))
    assert alike.dispersion < 1.1
    assert particular.dispersion > 1.5
    assert covered(particular.ability, particular.ability_error, truth.ability) >= 0.75


@pytest.mark.long
@pytest.mark.parametrize(
    ("attempts", "tools", "tasks", "tried"), [(1, 30, 200, 1.0), (5, 30, 200, 1.0), (2, 30, 200, 0.5)]
)
def test_intervals_hold_the_truth_as_often_as_they_promise(attempts: int, tools: int, tasks: int, tried: float) -> None:
    results = []
    for seed in range(40):
        truth = Truth(seed, tools=tools, tasks=tasks)
        results.append(covers(item_response(truth.answers(attempts, tried=tried)), truth))
    ability, difficulty, slope = np.mean(results, axis=0)
    print(f"{attempts} attempts, {tried:.0%} tried: {ability:.3f} {difficulty:.3f} {slope:.3f}")
    assert 0.93 <= ability <= 0.97
    assert 0.92 <= difficulty <= 0.97
    assert 0.92 <= slope <= 0.97


@pytest.mark.long
def test_parameters_of_200_tasks_are_recovered_from_30_tools() -> None:
    found = []
    for seed in range(20):
        truth = Truth(100 + seed, tools=30, tasks=200)
        fit = item_response(truth.answers(5))
        found.append(
            [
                np.corrcoef(fit.ability, truth.ability)[0, 1],
                np.corrcoef(fit.difficulty, truth.difficulty)[0, 1],
                np.corrcoef(fit.log_discrimination, truth.slope)[0, 1],
                np.sqrt(np.mean((fit.ability - truth.ability) ** 2)),
            ]
        )
    ability, difficulty, slope, error = np.mean(found, axis=0)
    print(f"correlations {ability:.3f} {difficulty:.3f} {slope:.3f}, error of abilities {error:.3f}")
    assert ability > 0.99
    assert difficulty > 0.95
    assert slope > 0.75
