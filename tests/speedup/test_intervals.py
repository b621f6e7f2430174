"""Intervals hold the truth as often as they say, asv's rule decides as asv does, and noise is told from change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.random import Generator
from scipy import stats

from steelyard import metrics
from steelyard.questions.speedup._benchmark_table import Attempt, BenchmarkTable, Side, pooled, side_of, table_of
from steelyard.questions.speedup._inputs import SpeedupConstants, speedup_constants
from steelyard.questions.speedup._measures import (
    LogIntervals,
    bootstrap_weights,
    log_intervals,
    mann_whitney_p,
    samples_needed,
    speedup_intervals_of,
    widening_by_order,
)
from steelyard.records import BenchmarkPlace, Timing, TimingSummary
from timing_sides import attempt, measured, payload_of, shape_of, side

Shape = Callable[[Generator, tuple[int, int]], np.ndarray]

SHAPES: dict[str, Shape] = {
    "lognormal": lambda random, size: np.exp(random.normal(0, 0.1, size)),
    "skewed": lambda random, size: 1 + random.exponential(0.2, size),
    "bimodal": lambda random, size: np.exp(random.normal(0, 0.05, size)) * (1 + 0.5 * (random.random(size) < 0.3)),
    "heavy": lambda random, size: np.exp(0.1 * random.standard_t(3, size)),
}


def true_log_median(shape: Shape) -> float:
    return float(np.log(np.median(shape(np.random.default_rng(0), (1, 2_000_001)))))


def columns(values: np.ndarray) -> Side:
    rows, count = values.shape
    return Side(
        names=tuple(f"m.time_{row:05}" for row in range(rows)),
        places=(BenchmarkPlace("m", None, "f"),) * rows,
        values=values.ravel(),
        counts=np.full(rows, count, dtype=np.int64),
        medians=np.full(rows, np.nan),
        statuses=("ok",) * rows,
    )


def sampling_intervals(table: BenchmarkTable, options: SpeedupConstants) -> LogIntervals:
    """Intervals of the log speedup for samples alone, without noise between sessions."""
    value = metrics.log_speedup.function(agent_speedup=table.agent)
    return log_intervals(table, options, value, before=table.nop_row, after=table.agent_row)


def coverage(before: Shape, after: Shape, sizes: tuple[int, int], method: str, benchmarks: int = 2000) -> float:
    random = np.random.default_rng(11)
    nop, agent = columns(before(random, (benchmarks, sizes[0]))), columns(0.5 * after(random, (benchmarks, sizes[1])))
    table = table_of([Attempt(task="t", agent="a:m", nop=nop, oracle=nop, side=agent)])
    found = sampling_intervals(table, speedup_constants(interval_method=method))
    truth = math.log(2)
    if before is not after:
        truth += true_log_median(before) - true_log_median(after)
    return float(np.mean((found.low <= truth) & (truth <= found.high)))


@pytest.mark.parametrize("sizes", [(20, 20), (21, 34), (50, 50)], ids=str)
@pytest.mark.parametrize("pair", [("lognormal", "lognormal"), ("skewed", "skewed"), ("bimodal", "heavy")], ids=str)
def test_the_interval_covers_the_truth_in_93_to_98_of_100(sizes: tuple[int, int], pair: tuple[str, str]) -> None:
    found = coverage(SHAPES[pair[0]], SHAPES[pair[1]], sizes, "order")
    print(f"{pair} with {sizes} samples: {found:.4f}")
    assert 0.93 <= found <= 0.98


@pytest.mark.parametrize("method", ["order", "bootstrap"])
@pytest.mark.parametrize("pair", [*[(name, name) for name in SHAPES], ("skewed", "lognormal")], ids=str)
def test_with_ten_samples_it_covers_at_least_92_of_100(pair: tuple[str, str], method: str) -> None:
    found = coverage(SHAPES[pair[0]], SHAPES[pair[1]], (10, 10), method)
    print(f"{pair} with 10 samples by {method}: {found:.4f}")
    assert found >= 0.92


def test_the_bootstrap_interval_covers_too() -> None:
    assert 0.93 <= coverage(SHAPES["skewed"], SHAPES["heavy"], (21, 25), "bootstrap") <= 0.985


def test_bootstrap_weights_are_the_shares_of_all_resamples() -> None:
    for count in (3, 4, 5):
        seen = np.zeros(count)
        for picked in itertools.product(range(count), repeat=count):
            ordered = sorted(picked)
            seen[ordered[(count - 1) // 2]] += 0.5
            seen[ordered[count // 2]] += 0.5
        first, weights = bootstrap_weights(count)
        assert first == 0
        assert np.allclose(weights, seen / count**count, atol=1e-12)


def test_bootstrap_weights_of_many_samples_keep_only_what_matters() -> None:
    first, weights = bootstrap_weights(9_000)
    assert len(weights) < 2_000
    assert math.isclose(weights.sum(), 1.0)
    assert first + len(weights) / 2 == pytest.approx(4_500, abs=1)


def test_too_few_samples_have_no_interval() -> None:
    assert samples_needed(0.95) == 6
    found = measured(attempt({"a.time_x": [1.0] * 5}, {"a.time_x": [1.0] * 9}, {"a.time_x": [1.0] * 9}))
    entry = shape_of(found)["attempts"][0]["per_benchmark_speedups"]["a.time_x"]
    assert entry["log_speedup_low"] is None
    assert entry["verdict"] == "unknown"
    assert entry["log_ratio_low"] == 0.0  # between two of nine there is one


def test_a_clear_change_is_faster_and_a_clear_loss_slower() -> None:
    slow, fast = [2.0 + i / 100 for i in range(10)], [1.0 + i / 100 for i in range(10)]
    for nop, agent, verdict in ((slow, fast, "faster"), (fast, slow, "slower"), (slow, slow, "unclear")):
        one = attempt({"a.time_x": nop}, {"a.time_x": nop}, {"a.time_x": agent})
        for rule in ("interval", "asv"):
            found = shape_of(measured(one, verdict=rule))
            assert found["attempts"][0]["per_benchmark_speedups"]["a.time_x"]["verdict"] == verdict
            share = found["attempts"][0]["measures"]["significant_regressions"]
            assert share == (1.0 if verdict == "slower" else 0.0)


def test_noise_that_hides_the_answer_is_a_finding() -> None:
    noisy = [1.0, 3.0, 1.1, 2.9, 1.2, 2.8, 1.3, 2.7]
    found = measured(attempt({"a.time_x": noisy}, {"a.time_x": noisy}, {"a.time_x": noisy}))
    assert "too_noisy" in {finding.code for finding in found.findings}


def process_side(values: list[list[float]]) -> Side:
    flat = tuple(value for one in values for value in one)
    return side_of([Timing(name="m.time_x", samples=flat, process_sizes=tuple(len(one) for one in values))])


def drawn(random: Generator, processes: int) -> list[list[float]]:
    """Three values a process, which differ between processes far more than within."""
    centers = np.exp(random.normal(0, 0.1, processes))
    return (centers[:, None] * np.exp(random.normal(0, 0.005, (processes, 3)))).tolist()


def alike_neighbors(random: Generator, size: tuple[int, int]) -> np.ndarray:
    """Each sample correlates with the one before at 0.7."""
    logs = random.normal(0, 0.1, size)
    for place in range(1, size[1]):
        logs[:, place] = 0.7 * logs[:, place - 1] + math.sqrt(1 - 0.7**2) * logs[:, place]
    return np.exp(logs)


def hidden_processes(random: Generator, size: tuple[int, int]) -> np.ndarray:
    """Five processes one after another, which differ three times as much as their samples."""
    between = np.repeat(random.normal(0, 0.3, (size[0], 5)), size[1] // 5, axis=1)
    return np.exp(between + random.normal(0, 0.1, size))


@pytest.mark.parametrize("method", ["order", "bootstrap"])
@pytest.mark.parametrize("shape", [alike_neighbors, hidden_processes])
def test_samples_that_follow_each_other_closely_widen_the_interval(shape: Shape, method: str) -> None:
    # taken as independent they held in 68%
    assert coverage(shape, shape, (30, 30), method) > 0.93


def test_independent_samples_are_hardly_widened() -> None:
    sides = columns(SHAPES["lognormal"](np.random.default_rng(2), (2_000, 20)))
    widening = widening_by_order(pooled([sides]))
    assert np.mean(widening > 1) < 0.08
    assert widening.mean() < 1.05


def test_sorted_samples_say_nothing_of_their_order() -> None:
    values = np.sort(alike_neighbors(np.random.default_rng(3), (50, 30)), axis=1)
    assert (widening_by_order(pooled([columns(values)])) == 1).all()


def test_the_result_says_what_samples_were_taken_as() -> None:
    random = np.random.default_rng(4)
    alike = alike_neighbors(random, (1, 60))[0].tolist()
    for samples, expected in ((alike, "correlated"), (sorted(alike), "independent"), (alike[:5], None)):
        times = {"a.time_x": samples}
        entries = payload_of(measured(attempt(times, times, times)))["per_benchmark_speedups"]
        assert entries["a.time_x"]["samples"] == expected
    processes = process_side(drawn(random, 6))
    table = table_of([Attempt(task="t", agent="a:m", nop=processes, oracle=processes, side=processes)])
    assert speedup_intervals_of(table, speedup_constants(resamples=100)).speedup.basis(0) == "processes"


def test_samples_of_a_process_hang_together() -> None:
    random = np.random.default_rng(3)
    held = plain = 0
    for _ in range(150):
        first, second = drawn(random, 20), drawn(random, 20)
        sides = process_side(first), process_side(second)
        # sorted, so that neither processes nor order are known
        bare = [side({"m.time_x": sorted(itertools.chain(*values))}) for values in (first, second)]
        for number, (nop, agent) in enumerate((sides, bare)):
            table = table_of([Attempt(task="t", agent="a:m", nop=nop, oracle=nop, side=agent)])
            found = sampling_intervals(table, speedup_constants(resamples=400))
            inside = bool(found.low[0] <= 0 <= found.high[0])
            held, plain = held + (inside and number == 0), plain + (inside and number == 1)
    assert held / 150 >= 0.9
    assert plain / 150 < 0.85  # the same values taken as independent promise too much


def test_too_few_processes_have_no_interval() -> None:
    nop = process_side([[1.0, 1.1], [1.2, 1.3], [1.0, 1.2]])
    table = table_of([Attempt(task="t", agent="a:m", nop=nop, oracle=nop, side=nop)])
    assert np.isnan(speedup_intervals_of(table, speedup_constants()).speedup.low[0])


# asv's rule


def plain_mann_whitney(x: list[float], y: list[float]) -> float:
    """Two-sided p by counting all ways to deal the ranks out, ties broken toward no difference."""
    m, n = len(x), len(y)
    above = sum(a > b for a in x for b in y)
    ties = sum(a == b for a in x for b in y)
    reachable = range(above, above + ties + 1)
    u = min(reachable, key=lambda one: abs(2 * one - m * n))
    u = min(u, m * n - u)
    ways = [sum(ranks) - m * (m + 1) // 2 for ranks in itertools.combinations(range(1, m + n + 1), m)]
    low, high = sum(one <= u for one in ways), sum(one >= m * n - u for one in ways)
    return min(1.0, (low + high) / len(ways))


small = st.lists(st.integers(0, 6).map(float), min_size=5, max_size=5)


@given(x=small, y=st.lists(st.integers(0, 6).map(float), min_size=6, max_size=6))
def test_mann_whitney_is_the_count_of_all_arrangements(x: list[float], y: list[float]) -> None:
    found = float(mann_whitney_p(np.array([x]), np.array([y]))[0])
    assert math.isclose(min(found, 1.0), plain_mann_whitney(x, y), abs_tol=1e-12)


@pytest.mark.parametrize(("m", "n"), [(6, 6), (7, 12), (20, 20)])
def test_mann_whitney_without_ties_is_scipys(m: int, n: int) -> None:
    random = np.random.default_rng(m)
    x, y = random.normal(0, 1, (20, m)), random.normal(0.8, 1, (20, n))
    expected = stats.mannwhitneyu(x, y, axis=1, method="exact").pvalue
    assert np.allclose(np.minimum(mann_whitney_p(x, y), 1.0), expected, atol=1e-12)


def test_mann_whitney_of_many_samples_is_the_normal_one() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(0, 1, (5, 30)), random.normal(0.5, 1, (5, 25))
    expected = stats.mannwhitneyu(x, y, axis=1, method="asymptotic", use_continuity=False).pvalue
    assert np.allclose(mann_whitney_p(x, y), expected, atol=1e-12)


def asv_verdict(nop: Timing, agent: Timing) -> str:
    base = side_of([nop])
    table = table_of([Attempt(task="t", agent="a:m", nop=base, oracle=base, side=side_of([agent]))])
    return speedup_intervals_of(table, speedup_constants(verdict="asv")).verdict(0)


def kept(median: float, low: float, high: float, rounds: int) -> Timing:
    return Timing(name="m.time_x", summary=TimingSummary(median=median, ci99_low=low, ci99_high=high, rounds=rounds))


def test_asv_needs_six_samples_a_side_and_else_looks_at_the_99_percent_intervals() -> None:
    five = Timing(
        name="m.time_x", samples=(2.0, 2.1, 2.2, 2.3, 2.4), summary=TimingSummary(ci99_low=2.0, ci99_high=2.4)
    )
    apart = Timing(
        name="m.time_x", samples=(1.0, 1.1, 1.2, 1.3, 1.4), summary=TimingSummary(ci99_low=1.0, ci99_high=1.4)
    )
    wide = Timing(
        name="m.time_x", samples=(1.0, 1.1, 1.2, 1.3, 1.4), summary=TimingSummary(ci99_low=0.5, ci99_high=3.0)
    )
    assert asv_verdict(five, apart) == "faster"
    assert asv_verdict(five, wide) == "unclear"


def test_asv_judges_by_the_factor_alone_what_was_timed_once() -> None:
    assert asv_verdict(kept(2.0, 1.0, 3.0, 1), kept(1.0, 0.5, 3.0, 1)) == "faster"
    assert asv_verdict(kept(2.0, 1.0, 3.0, 5), kept(1.0, 0.5, 3.0, 5)) == "unclear"
    assert asv_verdict(kept(1.05, 1.04, 1.06, 1), kept(1.0, 0.99, 1.01, 1)) == "unclear"  # within the factor of 1.1


# verdicts


def measured_again(seed: int, *, change: float = 0.0, processes: int = 1, benchmarks: int = 60) -> list[str]:
    """Verdicts on the same code (or one that is faster by `change`) in another session, whose times shift by 1%."""
    random = np.random.default_rng(seed)

    def times(factor: float) -> Side:
        shifts = np.exp(random.normal(0, 0.01, (benchmarks, processes, 1)))
        samples = factor * shifts * np.exp(random.normal(0, 0.02, (benchmarks, processes, 100)))
        made = columns(samples.reshape(benchmarks, -1))
        if processes > 1:
            made.processes.update(dict.fromkeys(range(benchmarks), (100,) * processes))
        return made

    nop, agent = times(1.0), times(1 - change)
    table = table_of([Attempt(task="t", agent="a:m", nop=nop, oracle=nop, side=agent)])
    found = speedup_intervals_of(table, speedup_constants(resamples=100))
    return [found.verdict(row) for row in range(benchmarks)]


def test_unchanged_code_in_another_session_claims_nothing() -> None:
    claims = sum(set(measured_again(seed)) != {"unclear"} for seed in range(60))
    assert claims <= 6  # 5% of 60 is 3; 7 or more of 60 has a chance of 3%
    assert sum(set(measured_again(seed, processes=5, benchmarks=20)) != {"unclear"} for seed in range(3)) == 0


def test_changes_of_ten_percent_are_found() -> None:
    for processes in (1, 5):
        verdicts = measured_again(7, change=0.1, processes=processes, benchmarks=20)
        assert verdicts.count("faster") >= 18  # 90%
        assert "slower" not in verdicts


def test_a_minimum_effect_is_a_constant_of_the_profile() -> None:
    nop, agent = (columns(np.full((1, 20), time) + np.arange(20) / 1e4) for time in (1.0, 0.97))
    table = table_of([Attempt(task="t", agent="a:m", nop=nop, oracle=nop, side=agent)])
    assert speedup_intervals_of(table, speedup_constants()).verdict(0) == "unclear"
    assert speedup_intervals_of(table, speedup_constants(minimum_effect=0.01)).verdict(0) == "faster"
