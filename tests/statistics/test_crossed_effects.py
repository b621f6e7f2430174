"""Crossed effects: who and what apart, robustly, with intervals that hold as often as they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steelyard.statistics import CrossedEffects, crossed_effects, student_quantile


class Scores:
    """Made-up scores: a tool's effect, a task's, what is particular to the pair, and chance."""

    def __init__(
        self,
        seed: int,
        *,
        tools: int = 30,
        tasks: int = 200,
        attempts: int = 1,
        tried: float = 0.7,
        particular: float = 0.0,
        is_wild: bool = False,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.tool, self.task = rng.normal(0, 8, size=tools), rng.normal(0, 12, size=tasks)
        self.tool, self.task = self.tool - self.tool.mean(), self.task - self.task.mean()
        pairs = np.array([side.ravel() for side in np.indices((tools, tasks))])
        is_tried = rng.random(pairs.shape[1]) < tried
        own = 55 + self.tool[pairs[0]] + self.task[pairs[1]] + rng.normal(0, particular, size=pairs.shape[1])

        def chance(n: int) -> np.ndarray:
            return 6 * rng.standard_t(3, size=n) if is_wild else rng.normal(0, 9, size=n)

        self.first, self.second = (np.repeat(side[is_tried], attempts) for side in pairs)
        self.values = np.repeat(own[is_tried], attempts) + chance(len(self.first))
        self.untried, self.new = pairs[:, ~is_tried], own[~is_tried] + chance(int(np.sum(~is_tried)))

    def fit(self) -> CrossedEffects:
        return crossed_effects(self.first, self.second, self.values)


def coverage(made: Scores) -> list[float]:
    fit = made.fit()
    reach = student_quantile(0.95, len(made.tool) - 1), student_quantile(0.95, len(made.task) - 1)
    limits = np.array([fit.expected(*pair) for pair in made.untried.T.tolist()])
    return [
        float(np.mean(np.abs(fit.first - made.tool) <= reach[0] * fit.first_error)),
        float(np.mean(np.abs(fit.second - made.task) <= reach[1] * fit.second_error)),
        float(np.mean((limits[:, 1] <= made.new) & (made.new <= limits[:, 2]))),
    ]


def test_a_balanced_table_gives_means_that_lean_to_the_middle() -> None:
    first, second = (side.ravel() for side in np.indices((6, 50)))
    values = 50 + 4.0 * first + 2.0 * (second % 7) + np.random.default_rng(0).normal(size=300)
    fit = crossed_effects(first, second, values)
    of_means = values.reshape(6, 50).mean(axis=1) - values.mean()
    assert fit.first == pytest.approx(of_means, abs=0.2)
    assert np.all(np.abs(fit.first) <= np.abs(of_means) + 0.1)


def test_wild_values_move_hardly_anything_and_are_surprises() -> None:
    made = Scores(1, tools=10, tasks=60, tried=1.0)
    plain = made.fit()
    made.values[5] += 500
    made.values[77] -= 500
    wild = made.fit()
    assert np.abs(wild.first - plain.first).max() < 1.5
    assert set(np.flatnonzero(np.abs(wild.standardized_residuals) > 10)) == {5, 77}


def test_what_is_not_shrunk_is_told_by_its_gap() -> None:
    made = Scores(2, tools=12, tasks=40, tried=1.0)
    few = np.flatnonzero((made.second != 0) | (made.first == 3))  # of task 0 one score alone is left
    fit = crossed_effects(made.first[few], made.second[few], made.values[few])
    lonely = made.values[few][made.second[few] == 0][0]
    whole = fit.level + fit.first[3] + fit.second[0] + fit.second_gap[0]
    assert whole == pytest.approx(lonely, abs=0.5)  # unshrunk, the one score is the task's level
    assert abs(fit.second_gap[0]) > 3 * np.median(np.abs(fit.second_gap))


def test_who_tried_only_hard_tasks_is_as_able_as_an_equal_who_tried_only_easy_ones() -> None:
    made = Scores(4, tools=20, tasks=80, tried=1.0)
    hard = np.argsort(made.task)[:25]
    easy = np.argsort(made.task)[-25:]
    is_kept = ~(((made.first == 0) & ~np.isin(made.second, hard)) | ((made.first == 1) & ~np.isin(made.second, easy)))
    moved = np.where(made.first == 1, made.tool[0] - made.tool[1], 0)  # both are equally able
    first, second, values = made.first[is_kept], made.second[is_kept], (made.values + moved)[is_kept]
    fit = crossed_effects(first, second, values)
    plain = [float(values[first == tool].mean()) for tool in (0, 1)]
    assert plain[1] - plain[0] > 20
    assert abs(fit.first[1] - fit.first[0]) < 3 * float(np.hypot(*fit.first_error[:2]))


def test_the_order_of_values_changes_nothing() -> None:
    made = Scores(3, tools=8, tasks=30, attempts=3, particular=4)
    turned = np.random.default_rng(0).permutation(len(made.values))
    one = made.fit()
    other = crossed_effects(made.first[turned], made.second[turned], made.values[turned])
    assert other.first == pytest.approx(one.first, abs=1e-6)
    assert other.standardized_residuals == pytest.approx(one.standardized_residuals[turned], abs=1e-6)


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "wild": {"is_wild": True},
    "repeated": {"attempts": 4, "particular": 5.0},
    "sparse": {"tools": 200, "tasks": 100, "tried": 0.1},
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_as_often_as_they_promise(case: str) -> None:
    tool, task, new = np.mean([coverage(Scores(seed, **CASES[case])) for seed in range(30)], axis=0)
    print(f"{case}: {tool:.3f} {task:.3f} {new:.3f}")
    assert 0.93 <= tool <= 0.97
    assert 0.93 <= task <= 0.97
    assert 0.93 <= new <= 0.97


@pytest.mark.long
@pytest.mark.parametrize(("tools", "tasks"), [(8, 20), (6, 10)])
def test_with_few_tools_intervals_are_not_too_short(tools: int, tasks: int) -> None:
    seen = [coverage(Scores(seed, tools=tools, tasks=tasks, tried=0.75)) for seed in range(200)]
    tool, task, new = np.mean(seen, axis=0)
    print(f"{tools} tools, {tasks} tasks: {tool:.3f} {task:.3f} {new:.3f}")
    assert 0.93 <= tool <= 0.99
    assert 0.93 <= task <= 0.98
    assert 0.93 <= new <= 0.97
