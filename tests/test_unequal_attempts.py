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
from steelyard.questions.analysis._differences import delta_within_tasks, kept_level
from steelyard.records import Run
from steelyard.statistics import Interval, Significance, permuted_sums, std_dev_range, tasks_needed


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


@pytest.mark.parametrize(("shift", "over_tasks"), [(3.0, 0.4), (0.0, 0.001)], ids=["over tasks", "permuted"])
def test_both_tests_must_reject_for_a_difference_to_be_shown(shift: float, over_tasks: float) -> None:
    random = np.random.default_rng(5)
    tasks, on_b = np.repeat(np.arange(20), 4), np.tile([False, True, True, True], 20)
    values = random.normal(size=80) + shift * on_b
    interval = Interval(estimate=shift, low=-1.0, high=4.0, method="paired-t", n=20, clusters=20, confidence=0.95)
    test = Significance(p_value=over_tasks, statistic=shift, method="sign-flip", n=20, clusters=20)
    runs = (np.column_stack([values, np.ones(80)]), tasks, on_b)
    _, kept = kept_level(runs, (interval, test), by_task=True, resamples=999, seed=1)
    # A shift of three deviations is never dealt by chance (1 of 1,000), none often is: the other test's p-value counts.
    assert kept.p_value == over_tasks if shift else kept.p_value > 0.05


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
    assert (even.test.method, even.difference.method) == ("sign-flip", "paired-t+hall")


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
    assert "~88% actual coverage" in found.sentence
    free = [Run(id=run.id, task=run.task, agent=run.agent, cost_usd=0.0) for run in runs]
    assert judged(free).geometric_ratio is None


@pytest.mark.parametrize("metric", ["pass_rate", "cost_usd", "cost_of_pass"])
def test_compare_and_gate_need_as_many_tasks_for_the_same_difference(metric: str) -> None:
    runs = costs(10, (3, 3), seed=3)
    result = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=[metric])
    needed, sentence = result.pairs[0].metrics[metric].power_analysis.tasks_needed, result.pairs[0].sentences[0]
    sides = [[run for run in runs if run.agent == agent] for agent in "xy"]
    sign = ">=" if metric == "pass_rate" else "<="
    (check,) = sy.gate(sides[1], baseline=sides[0], rule=f"{metric} {sign} baseline").rules
    assert needed == check.tasks_needed > 10
    assert f"About {needed:,} tasks needed to detect" in sentence
    assert result.to_dict()["pairs"][0]["metrics"][metric]["power_analysis"]["tasks_needed"] == needed
    assert result.to_dicts()[0]["power_analysis_tasks_needed"] == needed


def test_the_spread_of_few_tasks_is_open() -> None:
    low, high = std_dev_range(1.0, 10)
    assert (low, high) == pytest.approx((0.688, 1.826), abs=0.001)  # chi-square with 9 degrees: 19.02 and 2.70


def test_detect_says_how_many_tasks_a_difference_of_ones_own_takes(tmp_path: Path) -> None:
    runs = costs(20, (3, 3), seed=4)
    found = judged(runs, "pass_rate", effect_size=0.05)
    gaps = [each.candidate - each.baseline for each in (*found.by_task.higher, *found.by_task.lower)]
    gaps += [0.0] * sum(each.tasks for each in found.by_task.same)
    std_devs = std_dev_range(float(np.std(gaps, ddof=1)), 20)
    size = found.power_analysis.sample_size
    assert (size.min_tasks, size.max_tasks) == tuple(tasks_needed(0.05, std_dev) for std_dev in std_devs)
    assert f"{size.min_tasks:,} to {size.max_tasks:,} tasks needed to detect 5.0 pp" in found.sentence
    path = write(tmp_path / "runs.jsonl", runs)
    answer = steelyard("compare", str(path), "-a", "agent=x", "-b", "agent=y", "--effect-size", "0.05", "--json")
    pair = json.loads(answer.stdout)["pairs"][0]
    assert pair["metrics"]["pass_rate"]["power_analysis"]["sample_size"]["min_tasks"] > 20


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
    assert "~88%\n" in shown
    assert "~N%: approximate actual coverage" in shown
    assert shown.index(" A ") < shown.index(" B ") < shown.index("B - A")
    assert ", ~88%</td>" in compared._repr_html_()
    assert "~N%: approximate actual coverage" in compared._repr_html_()
    figure = compared.figure("differences").inline
    assert "95% CIs, 1 of 1 with ~88% actual coverage" in figure
    assert ", ~88%)" in figure


def test_a_ranking_says_that_an_interval_is_approximate() -> None:
    ranked = sy.rank(costs(40, (1, 2), seed=7), by="agent", metrics="cost_usd", resamples=200)
    assert "~8" in ranked._repr_html_()
    assert "with ~8" in ranked.figure().inline


def test_an_interval_that_keeps_its_level_has_no_mark() -> None:
    runs = [Run(id=f"{a}{n}", task=f"t{n}", agent=a, passed=n % 2 == 0) for a in "xy" for n in range(9)]
    compared = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"])
    for shown in (compared.text(80), compared._repr_html_(), compared.figure("differences").inline):
        assert "approximate" not in shown
