"""Means are the exact sum over n, rounded once: on floats, columns and groups, in any order, with the same bits."""

from __future__ import annotations

import math
from fractions import Fraction

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.metrics import Grouping, LocalEngine, catalog, ratio
from steelyard.metrics.engines._run_groups import grouped_statistics
from steelyard.profiles import load_profile
from steelyard.records import exact_mean, exact_quotient
from steelyard.statistics import _exact_sums, exact_means, exact_totals, mean_of, weighted_means

numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.1, 0.05, 0.6, 1e-300, 5e-324])
groups = st.lists(st.tuples(st.integers(0, 3), numbers), min_size=1, max_size=40)


def rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@settings(max_examples=300, deadline=None)
@given(groups)
def test_sums_and_means_of_groups_are_rounded_once(pairs: list[tuple[int, float]]) -> None:
    codes, values = np.array([code for code, _ in pairs]), np.array([value for _, value in pairs])
    means, totals = exact_means(values, codes, 4), exact_totals(values, codes, 4)
    for code in range(4):
        own = [Fraction(value) for group, value in pairs if group == code]
        assert totals[code] == rounded(sum(own, Fraction(0)))
        if own:
            assert means[code] == rounded(sum(own) / len(own))
        else:
            assert math.isnan(means[code])


@settings(max_examples=100, deadline=None)
@given(groups)
def test_small_portions_of_powers_and_rows_give_the_same(pairs: list[tuple[int, float]]) -> None:
    codes, values = np.array([code for code, _ in pairs]), np.array([value for _, value in pairs])
    whole = exact_means(values, codes, 4)
    usual = _exact_sums._POWERS_AT_ONCE, _exact_sums._ROWS_AT_ONCE
    _exact_sums._POWERS_AT_ONCE, _exact_sums._ROWS_AT_ONCE = 1, 3
    try:
        assert exact_means(values, codes, 4).tobytes() == whole.tobytes()
    finally:
        _exact_sums._POWERS_AT_ONCE, _exact_sums._ROWS_AT_ONCE = usual


@settings(max_examples=200, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_floats_columns_and_groups_have_the_same_mean_in_any_order(values: list[float], chance: object) -> None:
    mean = exact_mean(values)
    assert min(values) <= mean <= max(values)
    chance.shuffle(values)  # type: ignore[attr-defined]
    column, one_group = np.array(values), np.zeros(len(values), np.uint32)
    statistics = grouped_statistics(column, Grouping.of(one_group, 1), ddof=0)
    assert mean_of(values) == mean == statistics["mean"][0] == exact_mean(values)


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e300, 1e300), st.integers(1, 30))
def test_equal_values_have_that_mean_and_no_deviation(value: float, n: int) -> None:
    statistics = grouped_statistics(np.full(n, value), Grouping.of(np.zeros(n, np.uint32), 1), ddof=0)
    assert exact_mean([value] * n) == value == statistics["mean"][0]
    assert statistics["std_dev"][0] == 0.0


def test_infinite_values_give_what_adding_them_gives() -> None:
    values, codes = np.array([math.inf, 0.1, 0.1, 0.3]), np.array([0, 0, 1, 1])
    assert exact_means(values, codes, 2).tolist() == [math.inf, 0.2]
    assert exact_mean([math.inf, 0.1]) == math.inf
    assert math.isnan(exact_mean([math.inf, -math.inf]))
    assert exact_quotient([1e308, 1e308], 1) == math.inf
    assert exact_mean([1e308, 1.7e308]) == 1.35e308


def test_three_equal_tiers_do_not_vary() -> None:
    assert catalog()["cost_variance"](costs=[0.05, 0.05, 0.05]) == 0.0  # it was 1.926e-34


def test_a_column_over_a_number_is_divided_as_a_number_is() -> None:
    chance = np.random.default_rng(7)
    passed, rates = chance.integers(0, 2, 2_000).astype(bool), chance.random(2_000)
    shipped = load_profile("outcome-1")
    profile = msgspec.structs.replace(shipped, constants=shipped.constants | {"pass_weight": 0.3, "impl_weight": 0.4})
    frame = pl.DataFrame({"passed": passed, "stated_impl_rate": rates}).lazy()
    column = LocalEngine(frame, len(rates), profile).values(["composite_score"])["composite_score"]
    declared = catalog()["composite_score"]
    plain = [
        declared(pass_rate=float(verdict), impl_rate=rate, pass_weight=0.3, impl_weight=0.4)
        for verdict, rate in zip(passed.tolist(), rates.tolist(), strict=True)
    ]
    assert isinstance(column, np.ndarray)
    assert column.tolist() == plain


def test_a_formula_of_ones_own_divides_exactly_wherever_the_column_came_from() -> None:
    import narwhals as nw

    from steelyard.metrics import first_known, when

    values = np.random.default_rng(3).integers(1, 10**9, 5_000).astype(float)
    frame = nw.from_native(pl.DataFrame({"a": values, "b": values}).lazy())
    column = nw.col("a")
    for made in (
        ratio(column, 1e6, at_zero=0.0),
        first_known(column, nw.col("b")) / 1e6,
        when(nw.col("a") > 0, nw.col("b"), 0.0) / 1e6,
    ):
        assert frame.select(x=made).to_native().collect()["x"].to_list() == (values / 1e6).tolist()


def test_runs_and_tasks_weigh_as_the_rulings_example_says() -> None:
    # nine passes at $0.10 on A, one failure at $5 on B
    cost, passed = np.array([0.10] * 9 + [5.0]), np.array([1.0] * 9 + [0.0])
    group, task = np.zeros(10, np.int64), np.array([0] * 9 + [1])
    by_runs = [float(weighted_means(part, group, task, size=1, weight_by="runs")[0]) for part in (passed, cost)]
    by_tasks = [float(weighted_means(part, group, task, size=1, weight_by="tasks")[0]) for part in (passed, cost)]
    assert by_runs == [0.9, pytest.approx(0.59, abs=1e-15)]
    assert by_tasks == [0.5, 2.55]
