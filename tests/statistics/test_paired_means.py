"""Mean differences of few tasks, unscored runs and clusters: limits, their p-values and their levels."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from steelyard.statistics import (
    clopper_pearson,
    cluster_sign_flip,
    effective_clusters,
    filled_differences,
    fisher_exact,
    moments_of,
    paired_mean,
    paired_mean_rows,
    paired_plus_two,
    paired_t,
    permutation_limits,
    quantum_of,
    sign_flip,
    tipping_point,
    unequal_attempts,
    unscored_matter,
)

steps = st.integers(1, 6).flatmap(
    lambda attempts: st.tuples(
        st.just(attempts),
        st.lists(st.integers(-attempts, attempts).map(lambda k: k / attempts), min_size=2, max_size=25),
    )
)
outcomes = st.lists(st.sampled_from([0.0, 1.0, math.nan]), min_size=1, max_size=3)
run_tables = st.lists(st.tuples(outcomes, outcomes), min_size=2, max_size=12)


def test_paired_mean_agrees_with_reference():
    thirds = np.array([1, 0, 2, 1, -1, 1, 1, 0]) / 3
    interval, test = paired_mean(thirds, quantum=1 / 9)
    # sum of squares 1 - 8 x (5/24)^2 + 1/9 = 0.7639; se = sqrt(0.7639 / 7 / 8) = 0.1168; t(7) = 2.3646
    assert (interval.low, interval.high) == pytest.approx(
        (5 / 24 - 2.3646 * 0.1168, 5 / 24 + 2.3646 * 0.1168), abs=1e-4
    )
    assert (interval.low, interval.high, test.p_value) == pytest.approx((-0.06784094, 0.48450761, 0.11764556), abs=1e-8)


def test_paired_mean_of_single_attempts_is_students_t():
    gaps = [1, 0, 0, 1, -1, 1, 0, 1]  # five of eight differ
    interval, test = paired_mean(gaps, quantum=0.0)
    plain, oracle = paired_t(gaps)
    assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high))
    assert test.p_value == pytest.approx(oracle.p_value)
    assert interval.method == "paired-t"


def test_paired_mean_adds_two_if_few_tasks_differ():
    gaps = [1, 0, 0, 1, 0, 0, 0, 0]
    interval, test = paired_mean(gaps, quantum=0.0)
    added = paired_plus_two(gaps, span=1.0)
    assert (interval.low, interval.high, interval.method) == pytest.approx((added.low, added.high, "paired-t+2"))
    assert test.p_value == pytest.approx(stats.ttest_1samp([*gaps, -1, 1], 0.0).pvalue)
    none, certain = paired_mean([0.0] * 6, quantum=0.0)
    assert none.low < 0 < none.high
    assert certain.p_value == 1.0


@given(steps, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_paired_mean_agrees_with_its_p_value(case, level):
    attempts, gaps = case
    interval, test = paired_mean(gaps, quantum=quantum_of([attempts], [attempts]), level=level)
    assert -1 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.high > interval.low
    if abs(test.p_value - (1 - level)) > 1e-9:
        assert (test.p_value < 1 - level) == interval.excludes(0.0)
    mirrored, same = paired_mean([-gap for gap in gaps], quantum=quantum_of([attempts], [attempts]), level=level)
    assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low), abs=1e-12)
    assert same.p_value == pytest.approx(test.p_value, abs=1e-12)


def test_paired_mean_is_missing_with_its_reason():
    interval, test = paired_mean([0.5], quantum=0.25)
    assert (interval.estimate, interval.low, test.p_value) == (0.5, None, None)
    assert interval.reason == test.reason == "1 task in common; at least two are needed"
    assert paired_mean([], quantum=0.25)[0].estimate is None


def test_quantum_is_the_mean_squared_step():
    assert quantum_of([3, 3], [3, 3]) == pytest.approx(1 / 9)
    assert quantum_of([1, 1], [1, 1]) == 0.0
    assert quantum_of([1, 2], [1, 2]) == pytest.approx((1 + 1 / 4) / 2)
    assert quantum_of([2], [5], span=10.0) == pytest.approx(10.0)


def test_unequal_attempts_names_one_against_five():
    assert unequal_attempts([1, 1], [5, 5])
    assert not unequal_attempts([2, 2], [5, 5])
    assert unequal_attempts([1, 1], [3, 3])
    assert not unequal_attempts([3, 2], [3, 3])


@given(st.integers(0, 2**32 - 1), st.sampled_from([19, 20, 99, 999]), st.sampled_from([0.9, 0.95, 0.99]))
def test_permutation_limits_agree_with_their_p_value(seed, count, level):
    random = np.random.default_rng(seed)
    observed, permuted = float(random.integers(-6, 7)), random.integers(-6, 7, count).astype(float)
    low, high, p_value = permutation_limits(observed, permuted, level=level)
    assert (p_value <= 1 - level + 1e-12) == (not low <= 0 <= high)
    assert p_value == (1 + np.count_nonzero(np.abs(permuted) >= abs(observed))) / (count + 1)


def test_fills_bound_every_completion():
    filled = filled_differences([1.0, math.nan, 0.0], [math.nan, 1.0, 1.0], tasks_a=[0, 0, 1], tasks_b=[0, 1, 1])
    # task 0: A 1 and unknown, B unknown; task 1: A 0, B 1 and 1
    assert filled.lowest.tolist() == [-1.0, 1.0]
    assert filled.highest.tolist() == [0.5, 1.0]
    assert [side.tolist() for side in filled.attempts] == [[2, 1], [1, 2]]
    assert [side.tolist() for side in filled.missing] == [[1, 0], [1, 0]]
    assert filled_differences([1.0], [1.0], tasks_a=["x"], tasks_b=["y"]) is None


def _slow_tipping_point(table, claim, level):
    """Fill one run at a time and repeat the whole test."""
    sign = 1.0 if claim == "higher" else -1.0
    favor = (0.0, 1.0) if claim == "higher" else (1.0, 0.0)
    known = [[list(side) for side in task] for task in table]
    open_runs = [
        (-1 / len(side), task, -which, which, run)
        for task, sides in enumerate(table)
        for which, side in enumerate(sides)
        for run, value in enumerate(side)
        if math.isnan(value)
    ]
    for _, task, _, which, run in open_runs:
        known[task][which][run] = favor[which]
    quantum = quantum_of([len(a) for a, _ in table], [len(b) for _, b in table])

    def holds():
        gaps = [sign * (np.mean(b) - np.mean(a)) for a, b in known]
        gaps = [0.0 if abs(gap) < 1e-9 else gap for gap in gaps]
        return paired_mean(gaps, quantum=quantum, level=level)[0].low > 1e-12

    counts = [0, 0]
    if not holds():
        return tuple(counts)
    for _, task, _, which, run in sorted(open_runs):
        known[task][which][run] = 1 - favor[which]
        counts[which] += 1
        if not holds():
            return tuple(counts)
    return None


@given(run_tables, st.sampled_from(["higher", "lower"]), st.sampled_from([0.5, 0.8, 0.95]))
def test_tipping_point_agrees_with_its_slow_twin(table, claim, level):
    flat = [[value for task in table for value in task[side]] for side in (0, 1)]
    tasks = [[number for number, task in enumerate(table) for _ in task[side]] for side in (0, 1)]
    filled = filled_differences(*flat, tasks_a=tasks[0], tasks_b=tasks[1])
    point = tipping_point(filled, claim, level=level)
    assert (None if point is None else (point.a, point.b)) == _slow_tipping_point(table, claim, level)


@pytest.mark.parametrize(
    ("first", "second"), [((0, 5), (3, 7)), ((8, 10), (1, 6)), ((2, 90), (9, 85)), ((0, 3), (0, 9))]
)
def test_fisher_exact_agrees_with_scipy(first, second):
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    assert fisher_exact(first, second) == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-9)


def test_unscored_matter_if_fractions_differ_or_are_large():
    assert not unscored_matter((0, 0), (90, 90))
    assert not unscored_matter((4, 5), (90, 90))
    assert unscored_matter((0, 5), (90, 90))
    assert unscored_matter((12, 12), (90, 90))


def test_cluster_sign_flip_agrees_with_reference():
    means, sizes = np.array([0.3, 0.1, -0.05, 0.2, 0.15, 0.4, 0.02, 0.25]), np.array([12, 3, 5, 4, 2, 9, 6, 1])
    interval, test = cluster_sign_flip(np.repeat(means, sizes), np.repeat(np.arange(8), sizes))
    # 8 of 256 patterns reach the sum, so p = 0.03125; limits by bisection of the test
    assert test.p_value == 0.03125
    assert (interval.low, interval.high) == pytest.approx((0.0099999996, 0.3386363638), abs=1e-8)
    assert (interval.n, interval.clusters) == (42, 8)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 5)), min_size=2, max_size=9), st.sampled_from([0.8, 0.95]))
def test_cluster_sign_flip_agrees_with_its_test(clusters, level):
    gaps = np.concatenate([np.full(size, gap / 10) for gap, size in clusters])
    labels = np.repeat(np.arange(len(clusters)), [size for _, size in clusters])
    interval, test = cluster_sign_flip(gaps, labels, level=level)
    assert (test.p_value <= 1 - level + 1e-12) == interval.excludes(0.0)
    sums = [gap / 10 * size for gap, size in clusters]
    assert test.p_value == pytest.approx(sign_flip(sums).p_value)
    assert interval.low <= interval.estimate + 1e-12
    assert interval.high >= interval.estimate - 1e-12
    again, _ = cluster_sign_flip(gaps[::-1], labels[::-1], level=level)
    assert (again.low, again.high) == (interval.low, interval.high)


def test_cluster_sign_flip_needs_six_clusters():
    for count in (2, 5):
        interval, test = cluster_sign_flip(np.ones(count), np.arange(count))
        assert (interval.low, interval.high) == (-math.inf, math.inf)
        assert interval.reason == f"with {count} clusters a sign-flip test cannot reach p <= 0.05"
        assert test.p_value == 2 / 2**count
    interval, _ = cluster_sign_flip([0.1, 0.2, 0.3, 0.2, 0.1, 0.4], np.arange(6))
    assert interval.low > 0
    alone, test = cluster_sign_flip([1.0, 0.0], ["x", "x"])
    assert (alone.estimate, alone.reason, test.p_value) == (0.5, "1 cluster; at least two are needed", None)


def test_cluster_sign_flip_draws_beyond_sixteen_clusters():
    gaps = np.random.default_rng(1).normal(0.3, 1.0, 60)
    interval, test = cluster_sign_flip(gaps, np.arange(60), resamples=20_000, seed=3)
    oracle = paired_t(gaps)
    assert (interval.low, interval.high) == pytest.approx((oracle[0].low, oracle[0].high), abs=0.02)
    assert test.p_value == pytest.approx(oracle[1].p_value, abs=0.01)
    assert (interval.seed, interval.resamples) == (3, 20_000)


def test_effective_clusters_counts_equal_ones():
    assert effective_clusters([5] * 12) == pytest.approx(12)
    # 1 / (0.46^2 + 11 x (0.54 / 11)^2) = 4.2
    assert effective_clusters([46.0] + [54 / 11] * 11) == pytest.approx(1 / (0.46**2 + 11 * (0.54 / 11) ** 2))


def simulated_gaps(random, sets, tasks, attempts, rate, *, icc, difference):
    """Task differences B - A; chances beta distributed, those of B lower, on the same tasks."""
    spread = 1 / icc - 1 if icc else None
    chance = (
        np.full((sets, tasks), rate)
        if spread is None
        else random.beta(rate * spread, (1 - rate) * spread, (sets, tasks))
    )
    other = np.clip(chance + difference, 0, 1)
    a, b = (random.binomial(attempts, side) / attempts for side in (chance, other))
    return b - a, float(np.mean(other - chance))


def cell_is_short(hits: int, sets: int, limit: float, cells: int) -> bool:
    return clopper_pearson(hits, sets, level=1 - 0.01 / cells).high < limit


FEW_TASKS = list(
    itertools.product((5, 6, 8, 10, 12, 20, 50), (1, 2, 3, 5, 10), (0.5, 0.8, 0.95), (0.0, 0.3, 0.7), (0.0, -0.1, -0.3))
)


def few_tasks_coverage(cells, sets, *, seed):
    """Data sets whose interval contains the truth, and the limit of each cell."""
    found = []
    for number, (tasks, attempts, rate, icc, difference) in enumerate(cells):
        random = np.random.default_rng([seed, number])
        gaps, truth = simulated_gaps(random, sets, tasks, attempts, rate, icc=icc, difference=difference)
        rows = paired_mean_rows(moments_of(gaps), quantum=quantum_of([attempts], [attempts]))
        hits = int(np.count_nonzero((rows.low <= truth + 1e-12) & (truth - 1e-12 <= rows.high)))
        limit = 0.93 if difference else (0.935 if tasks <= 12 else 0.945)
        found.append((hits, limit, (tasks, attempts, rate, icc, difference)))
    return found


def test_paired_mean_coverage_in_a_few_cells():
    found = few_tasks_coverage(FEW_TASKS[::97], 2_000, seed=2001)
    assert not [cell for hits, limit, cell in found if cell_is_short(hits, 2_000, limit, len(found))]


@pytest.mark.long
def test_paired_mean_coverage_in_every_cell():
    found = few_tasks_coverage(FEW_TASKS, 10_000, seed=2002)
    assert not [(cell, hits) for hits, limit, cell in found if cell_is_short(hits, 10_000, limit, len(found))]


def test_paired_t_fails_where_paired_mean_does_not():
    random = np.random.default_rng(2003)
    gaps, _ = simulated_gaps(random, 20_000, 5, 2, 0.95, icc=0.0, difference=-0.3)
    plain = paired_mean_rows(moments_of(gaps), quantum=1e-300)
    stepped = paired_mean_rows(moments_of(gaps), quantum=0.25)
    truth = float(gaps.mean())
    short, enough = (np.mean((rows.low <= truth) & (truth <= rows.high)) for rows in (plain, stepped))
    assert short < enough


@pytest.mark.long
@pytest.mark.parametrize("effect", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("clusters", [8, 12, 30])
def test_cluster_sign_flip_keeps_its_level(clusters, effect):
    random, sets = np.random.default_rng([2004, clusters, int(10 * effect)]), 2_000
    shares = np.array([0.46] + [0.54 / (clusters - 1)] * (clusters - 1))
    sizes = np.maximum(np.round(100 * shares), 1).astype(int)
    labels = np.repeat(np.arange(clusters), sizes)
    hits = 0
    for _ in range(sets):
        shift = random.normal(0, effect, clusters)[labels]
        task = random.normal(0, 0.7, len(labels))
        a = random.binomial(3, stats.norm.cdf(task)) / 3
        b = random.binomial(3, stats.norm.cdf(task + shift)) / 3
        interval, _ = cluster_sign_flip(b - a, labels, resamples=999, seed=int(random.integers(2**32)))
        hits += not interval.excludes(0.0)
    assert not cell_is_short(hits, sets, 0.945, 9)
