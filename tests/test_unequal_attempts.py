"""Sides that tried tasks unequally often, and how many tasks would be needed."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.errors import UsageError
from steelyard.questions.analysis import delta_within_tasks
from steelyard.records import Run
from steelyard.statistics import (
    permuted_difference,
    permuted_sums,
    quantum_of,
    sample_size_from_data,
    unbounded_difference,
)


def costs(tasks: int, attempts: tuple[int, int], *, seed: int, factor: float = 1.0) -> list[Run]:
    """Log-normal costs of two agents on the same tasks, B's times the factor."""
    random = np.random.default_rng(seed)
    return [
        Run(
            id=f"{agent}-{task}-{attempt}",
            task=f"task-{task:03}",
            agent=agent,
            attempt=attempt + 1,
            passed=bool(random.random() < 0.6),
            cost_usd=float(times * np.exp(level + random.normal())),
        )
        for task, level in enumerate(random.normal(size=tasks))
        for agent, count, times in (("x", attempts[0], 1.0), ("y", attempts[1], factor))
        for attempt in range(count)
    ]


def judged(runs: list[Run], metric: str = "cost_usd", **options):
    result = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=[metric], **options)
    return result.pairs[0].metrics[metric]


@pytest.mark.parametrize("shift", [3.0, 0.0])
def test_both_tests_must_reject_for_a_difference_to_be_shown(shift: float) -> None:
    random = np.random.default_rng(5)
    over_tasks = unbounded_difference(random.normal(size=20) + shift)
    permuted = random.normal(size=999) * 0.1
    joint = permuted_difference(over_tasks, shift, permuted, seed=1)
    # a shift of thirty deviations is never dealt by chance (1 of 1,000): the test over tasks decides
    assert joint.p_value == pytest.approx(max(over_tasks.p_value, 0.001 if shift else 1.0))
    low, high = joint.limits(0.95)
    assert low <= over_tasks.limits(0.95)[0]
    assert high >= over_tasks.limits(0.95)[1]
    assert (joint.p_value <= 0.05) == (not low <= 0 <= high)


def test_every_deal_of_the_runs_within_a_task_is_as_likely() -> None:
    values, on_b = np.array([1.0, 2.0, 4.0]), np.array([False, True, True])
    columns, tasks = np.column_stack([values, np.ones(3)]), np.zeros(3, dtype=np.int64)
    seen, dealt = permuted_sums(columns, tasks, on_b, by_task=True, resamples=9_000)
    assert seen[:, 0].tolist() == [1.0, 3.0]
    shares = {float(a): float(np.mean(dealt[:, 0, 0] == a)) for a in np.unique(dealt[:, 0, 0])}
    assert set(shares) == {1.0, 2.0, 4.0}
    assert all(share == pytest.approx(1 / 3, abs=0.02) for share in shares.values())
    assert np.allclose(dealt[:, 0, 0] + 2 * dealt[:, 1, 0], 7.0)


def test_more_attempts_at_a_skewed_cost_are_not_called_worse() -> None:
    # two agents with the same costs: over task means the one with 20 attempts was called worse in 18 of 100
    claims = [judged(costs(30, (1, 20), seed=seed), resamples=400).verdict for seed in range(60)]
    assert sum(verdict != "inconclusive" for verdict in claims) <= 4


def test_a_true_difference_is_still_shown_with_unequal_attempts() -> None:
    claims = [judged(costs(60, (1, 5), seed=seed, factor=4.0), resamples=400).verdict for seed in range(20)]
    assert sum(verdict == "worse" for verdict in claims) >= 16


def test_test_interval_and_effect_agree_and_name_what_made_them() -> None:
    found = judged(costs(20, (2, 5), seed=1))
    assert (found.test.method, found.difference.method) == ("permutation", "permutation")
    assert found.difference.low <= found.difference.estimate <= found.difference.high
    runs = costs(20, (2, 5), seed=1)
    deltas = []
    for task in {run.task for run in runs}:
        a, b = ([run.cost_usd for run in runs if (run.task, run.agent) == (task, agent)] for agent in "xy")
        deltas.append(np.mean([np.sign(one - other) for one, other in itertools.product(b, a)]))
    assert found.effect.cliffs_delta == pytest.approx(np.mean(deltas))
    even = judged(costs(20, (3, 3), seed=1))
    assert (even.test.method, even.difference.method) == ("paired-t+hall", "paired-t+hall")


@pytest.mark.parametrize("metric", ["cost_usd", "cost_of_pass", "pass_rate"])
@pytest.mark.parametrize("weight_by", ["runs", "tasks"])
def test_neither_the_order_of_runs_nor_the_names_of_tasks_change_a_bit(metric: str, weight_by: str) -> None:
    runs = [run for run in costs(14, (2, 3), seed=2) if run.id != "x-3-1"]
    renamed = [
        Run(
            id=run.id,
            task=f"renamed-{99 - int(run.task[-3:])}",
            agent=run.agent,
            attempt=run.attempt,
            passed=run.passed,
            cost_usd=run.cost_usd,
        )
        for run in runs
    ]
    first = judged(runs, metric, weight_by=weight_by, resamples=200)
    assert judged(runs[::-1], metric, weight_by=weight_by, resamples=200) == first
    if (metric, weight_by) == ("cost_usd", "tasks"):
        assert judged(renamed, metric, weight_by=weight_by, resamples=200).test == first.test


def test_a_gate_with_unequal_attempts_rarely_holds_by_luck() -> None:
    # the candidate costs exactly 10% more; at 2.5% one of 40 may be let through
    results = []
    for seed in range(40):
        runs = costs(30, (5, 1), seed=seed, factor=1.1)
        sides = [[run for run in runs if run.agent == agent] for agent in "xy"]
        gate = sy.gate(sides[1], baseline=sides[0], rule=["cost_usd <= +10%"], resamples=400)
        results.append(gate.status)
    assert results.count("pass") <= 3
    assert results.count("fail") <= 3


def test_skewed_costs_have_a_ratio_of_geometric_means_beside_the_difference() -> None:
    runs = costs(40, (1, 5), seed=7, factor=2.0)
    found = judged(runs)
    logs = {
        (run.task, run.agent): np.mean([np.log(other.cost_usd) for other in runs if (other.task, other.agent) == key])
        for run in runs
        for key in [(run.task, run.agent)]
    }
    gaps = [logs[task, "y"] - logs[task, "x"] for task in {run.task for run in runs}]
    ratio = found.geometric_ratio
    assert ratio.estimate == pytest.approx(np.exp(np.mean(gaps)))
    assert ratio.low < 2.0 < ratio.high
    assert f"Ratio of geometric means: {ratio.estimate:.2f}" in found.sentence
    assert "at least 89% actual coverage, assuming a tail no heavier than log-normal" in found.sentence
    free = [Run(id=run.id, task=run.task, agent=run.agent, cost_usd=0.0) for run in runs]
    assert judged(free).geometric_ratio is None


def test_tasks_needed_do_not_depend_on_the_difference_seen() -> None:
    runs = costs(10, (3, 3), seed=3)
    found = judged(runs, "pass_rate")
    gaps = [each.candidate - each.baseline for each in (*found.by_task.higher, *found.by_task.lower)]
    gaps += [0.0] * sum(each.tasks for each in found.by_task.same)
    planned = sample_size_from_data(gaps, 0.05, quantum=quantum_of([3], [3]))
    assert found.verdict == "inconclusive"
    assert (found.power_analysis.effect_size, found.power_analysis.tasks_needed) == (0.05, planned.tasks)
    assert "needed to detect 5.0 pp" in found.sentence
    assert judged(runs, "cost_usd").power_analysis is None  # no effect of interest is known for an amount


def test_detect_says_how_many_tasks_a_difference_of_ones_own_takes(tmp_path: Path) -> None:
    runs = costs(20, (3, 3), seed=4)
    found = judged(runs, "pass_rate", effect_size=0.05)
    gaps = [each.candidate - each.baseline for each in (*found.by_task.higher, *found.by_task.lower)]
    gaps += [0.0] * sum(each.tasks for each in found.by_task.same)
    planned = sample_size_from_data(gaps, 0.05, quantum=quantum_of([3], [3]))
    power = found.power_analysis
    assert (power.min_tasks, power.tasks_needed, power.max_tasks) == (planned.low, planned.tasks, planned.high)
    assert f"{planned.low:,} to {planned.high:,} tasks needed to detect 5.0 pp" in found.sentence
    path = write(tmp_path / "runs.jsonl", runs)
    answer = steelyard("compare", str(path), "-a", "agent=x", "-b", "agent=y", "--effect-size", "0.05", "--json")
    pair = json.loads(answer.stdout)["pairs"][0]
    assert pair["metrics"]["pass_rate"]["power_analysis"]["min_tasks"] > 20


@pytest.mark.parametrize("size", [0.0, float("inf"), float("nan")])
def test_a_difference_that_cannot_be_detected_is_refused(size: float) -> None:
    with pytest.raises(UsageError, match="must be finite and not 0"):
        judged(costs(5, (1, 1), seed=5), effect_size=size)


def test_several_rules_are_told_how_often_one_fails_by_bad_luck() -> None:
    runs = costs(12, (2, 2), seed=6)
    sides = [[run for run in runs if run.agent == agent] for agent in "xy"]
    rules = ["pass_rate >= -0.1", "cost_usd <= +10%", "cost_usd <= 0.5", "cost_of_pass <= +20%", "pass_rate >= -0.2"]
    told = sy.gate(sides[1], baseline=sides[0], rule=rules).findings
    message = next(finding.message for finding in told if finding.code == "several_rules")
    assert "with 5 rules" in message
    assert "up to 11.9% (one rule: 2.5%); a confidence level of 0.99 keeps it at 2.5%" in message
    alone = sy.gate(sides[1], baseline=sides[0], rule=rules[:1]).findings
    assert not [finding for finding in alone if finding.code == "several_rules"]


def test_deltas_that_cancel_come_to_zero() -> None:
    # B's single run beats 5 of A's 6 runs, 1 of 7 and 11 of 21: 2/3 - 5/7 + 1/21 = 0
    tasks, values, on_b = [], [], []
    for task, (up, down) in enumerate([(5, 1), (1, 6), (11, 10)]):
        values += [0.0] * up + [2.0] * down + [1.0]
        on_b += [False] * (up + down) + [True]
        tasks += [task] * (up + down + 1)
    runs = np.array(values)[:, None], np.array(tasks), np.array(on_b)
    assert delta_within_tasks(runs) == 0.0


def test_every_surface_says_that_an_interval_is_approximate() -> None:
    runs = costs(40, (1, 5), seed=7, factor=2.0)
    compared = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["cost_usd"], resamples=400)
    shown = compared.text(80)
    assert "≥89%\n" in shown
    assert "≥N%: lowest actual coverage" in shown
    assert shown.index(" A ") < shown.index(" B ") < shown.index("B - A")
    assert ", ≥89%</td>" in compared._repr_html_()
    assert "≥N%: lowest actual coverage" in compared._repr_html_()
    figure = compared.figure("differences").inline
    assert "95% CIs, 1 of 1 with at least 89% actual coverage" in figure
    assert ", ≥89%)" in figure


def test_a_ranking_says_that_an_interval_is_approximate() -> None:
    ranked = sy.rank(costs(40, (1, 2), seed=7), by="agent", metrics="cost_usd", resamples=200)
    assert "≥89%" in ranked._repr_html_()
    assert "with at least 89%" in ranked.figure().inline


def test_an_interval_that_keeps_its_level_has_no_mark() -> None:
    runs = [Run(id=f"{a}{n}", task=f"t{n}", agent=a, passed=n % 2 == 0) for a in "xy" for n in range(9)]
    compared = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"])
    for shown in (compared.text(80), compared._repr_html_(), compared.figure("differences").inline):
        assert "approximate" not in shown
