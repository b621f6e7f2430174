"""Judges against gold labels: accuracy, PPI++ and Rogan-Gladen rates, and their coverage."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from steelyard.statistics import clopper_pearson, judge_accuracy, ppi_rate, rogan_gladen_rate

NAN = math.nan
runs = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0, NAN]), st.integers(0, 7)), min_size=4, max_size=40
)


def test_judge_accuracy_counts_by_truth():
    judge = [1, 1, 0, 1, 0, 0, 1, NAN]
    gold = [1, 1, 1, 0, 0, 0, NAN, 1]
    found = judge_accuracy(judge, gold, tasks=np.arange(8))
    assert found.labels == 6
    assert found.sensitivity.estimate == pytest.approx(2 / 3)  # 2 of 3 true passes
    assert found.specificity.estimate == pytest.approx(2 / 3)  # 2 of 3 true failures
    assert found.agreement.estimate == pytest.approx(4 / 6)
    assert found.kappa == pytest.approx((4 / 6 - 1 / 2) / (1 / 2))
    exact = clopper_pearson(4, 6)
    assert (found.agreement.low, found.agreement.high) == pytest.approx((exact.low, exact.high), abs=0.003)


def test_judge_accuracy_keeps_tasks_together():
    once = judge_accuracy([1, 0, 1, 1], [1, 1, 1, 1], tasks=np.arange(4))
    thrice = judge_accuracy([1, 0, 1, 1] * 3, [1] * 12, tasks=list(range(4)) * 3)
    assert (thrice.sensitivity.low, thrice.sensitivity.high) == pytest.approx(
        (once.sensitivity.low, once.sensitivity.high)
    )
    assert thrice.specificity.reason == "no value"
    assert thrice.specificity.estimate is None


def test_ppi_rate_agrees_with_reference():
    # 40 runs on 20 tasks: the judge is wrong on every seventh run, every third run is labeled
    gold = np.array([float((3 * run) % 5 < 3) for run in range(40)])
    judge = np.where(np.arange(40) % 7 == 0, 1 - gold, gold)
    labeled = np.arange(40) % 3 == 0
    found = ppi_rate(judge, np.where(labeled, gold, NAN), np.arange(40) // 2)
    assert found.labels == 14
    assert found.judged_rate == pytest.approx(judge.mean())
    assert (found.interval.estimate, found.interval.low, found.interval.high) == pytest.approx(
        (0.5524291339609357, 0.3167918004637932, 0.7880664674580783), rel=1e-9
    )
    assert found.tuning == pytest.approx(0.8866404151563357, rel=1e-9)
    assert found.label == "fewer than 50 gold labels"


def test_ppi_rate_of_a_useless_judge_is_the_labels_mean():
    random = np.random.default_rng(5)
    gold, judge = random.integers(0, 2, 400).astype(float), np.ones(400)
    labeled = np.arange(400) % 4 == 0
    found = ppi_rate(judge, np.where(labeled, gold, NAN), np.arange(400))
    assert found.tuning == 0
    assert found.interval.estimate == pytest.approx(gold[labeled].mean())


def test_ppi_rate_of_a_perfect_judge_is_the_judged_rate():
    gold = (np.arange(400) % 5 < 3).astype(float)
    labeled = np.arange(400) % 4 == 0
    found = ppi_rate(gold, np.where(labeled, gold, NAN), np.arange(400))
    assert found.tuning == pytest.approx(1, abs=0.02)
    assert found.interval.estimate == pytest.approx(0.6, abs=0.01)
    assert found.interval.high - found.interval.low > 0.01


def test_ppi_rate_weights_tasks():
    judge = np.array([1.0] * 9 + [0.0] * 3)
    tasks = np.array([0] * 9 + [1, 2, 3])
    gold = judge.copy()
    by_run, by_task = (ppi_rate(judge, gold, tasks, weight_by=by) for by in ("runs", "tasks"))
    assert (by_run.judged_rate, by_task.judged_rate) == pytest.approx((9 / 12, 1 / 4))
    assert (by_run.interval.estimate, by_task.interval.estimate) == pytest.approx((9 / 12, 1 / 4))


@given(runs, st.sampled_from(["runs", "tasks"]))
def test_ppi_rate_is_ordered_and_ignores_row_order(rows, weight_by):
    judge, gold, tasks = map(np.array, zip(*rows, strict=True))
    found = ppi_rate(judge, gold, tasks, weight_by=weight_by)
    again = ppi_rate(judge[::-1], gold[::-1], tasks[::-1], weight_by=weight_by)
    assert found == again
    if found.interval.known:
        assert 0 <= found.interval.low <= found.interval.estimate <= found.interval.high <= 1
        assert found.interval.high > found.interval.low
        assert 0 <= found.tuning <= 1
    else:
        assert "gold labels on" in found.interval.reason


def test_corrected_rates_are_missing_with_their_reason():
    assert ppi_rate([NAN], [1.0], ["x"]).interval.reason == "no run has a judgment"
    assert "0 gold labels on 0 tasks" in ppi_rate([1.0, 0.0], [NAN, NAN], ["x", "y"]).interval.reason
    given_runs = {"judge": [1, 0, 1], "tasks": [1, 2, 3]}
    coin = rogan_gladen_rate(**given_runs, gold_judge=[1, 0, 1, 0], gold=[1, 1, 0, 0], gold_tasks=[1, 2, 3, 4])
    assert "no better than chance" in coin.interval.reason
    assert coin.judged_rate == pytest.approx(2 / 3)
    none = rogan_gladen_rate(**given_runs, gold_judge=[1, 1], gold=[1, 1], gold_tasks=[1, 2])
    assert none.interval.reason == "specificity of the judge is unknown: no value"


def test_rogan_gladen_inverts_the_judge():
    judge = np.array([1.0] * 50 + [0.0] * 50)
    gold = np.array([1.0] * 100 + [0.0] * 100)
    gold_judge = np.array([1.0] * 90 + [0.0] * 10 + [1.0] * 20 + [0.0] * 80)
    found = rogan_gladen_rate(judge, np.arange(100), gold_judge=gold_judge, gold=gold, gold_tasks=np.arange(200))
    assert found.interval.estimate == pytest.approx((0.5 + 0.8 - 1) / (0.9 + 0.8 - 1))  # 0.3 / 0.7
    assert found.interval.low < 3 / 7 < found.interval.high
    assert (found.labels, found.label) == (200, None)


def test_rogan_gladen_admits_any_rate_for_a_weak_judge():
    judge, gold = np.tile([1.0, 0.0], 10), np.tile([1.0, 1.0, 0.0, 0.0], 5)
    gold_judge = np.array([1.0, 0.0, 0.0, 0.0] + [1.0, 0.0, 1.0, 0.0] * 4)
    found = rogan_gladen_rate(judge, np.arange(20), gold_judge=gold_judge, gold=gold, gold_tasks=np.arange(20))
    assert (found.interval.low, found.interval.high) == (0.0, 1.0)


def simulated(random, tasks, attempts, rate, sensitivity, specificity, labels):
    chance = random.beta(rate * 7 / 3, (1 - rate) * 7 / 3, (tasks, 1))  # intraclass correlation 0.3
    gold = (random.random((tasks, attempts)) < chance).astype(float).ravel()
    flipped = random.random(gold.size) < np.where(gold == 1, 1 - sensitivity, 1 - specificity)
    labeled = np.zeros(gold.size, dtype=bool)
    labeled[random.choice(gold.size, min(labels, gold.size), replace=False)] = True
    return np.where(flipped, 1 - gold, gold), np.where(labeled, gold, NAN), np.repeat(np.arange(tasks), attempts)


PPI_CELLS = list(itertools.product((100, 300), (1, 5), (0.2, 0.5, 0.8), (0.7, 0.95), (0.7, 0.95), (50, 100, 500)))


def ppi_coverage(cells, sets, *, seed):
    found = []
    for number, cell in enumerate(cells):
        random = np.random.default_rng([seed, number])
        intervals = [ppi_rate(*simulated(random, *cell)).interval for _ in range(sets)]
        found.append((sum(interval.low <= cell[2] <= interval.high for interval in intervals), cell))
    return found


def test_ppi_coverage_in_a_few_cells():
    found = ppi_coverage(PPI_CELLS[5::29], 400, seed=4001)
    assert not [cell for hits, cell in found if clopper_pearson(hits, 400, level=1 - 0.01 / len(found)).high < 0.93]


@pytest.mark.long
def test_ppi_coverage_in_every_cell():
    found = ppi_coverage(PPI_CELLS, 2_000, seed=4002)
    assert not [
        (cell, hits) for hits, cell in found if clopper_pearson(hits, 2_000, level=1 - 0.01 / len(found)).high < 0.93
    ]


@pytest.mark.long
def test_rogan_gladen_coverage_in_every_cell():
    short, sets = [], 1_000
    cells = list(itertools.product((0.2, 0.5, 0.8), (0.7, 0.95), (0.7, 0.95), (50, 100, 500)))
    for number, (rate, sensitivity, specificity, labels) in enumerate(cells):
        random, hits = np.random.default_rng([4003, number]), 0
        for _ in range(sets):
            judge, _, tasks = simulated(random, 100, 3, rate, sensitivity, specificity, 0)
            elsewhere = simulated(random, labels // 2, 2, 0.5, sensitivity, specificity, labels)
            found = rogan_gladen_rate(judge, tasks, gold_judge=elsewhere[0], gold=elsewhere[1], gold_tasks=elsewhere[2])
            hits += found.interval.low is not None and found.interval.low <= rate <= found.interval.high
        if clopper_pearson(hits, sets, level=1 - 0.01 / len(cells)).high < 0.93:
            short.append((rate, sensitivity, specificity, labels, hits))
    assert not short
