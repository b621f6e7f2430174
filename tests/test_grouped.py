"""Statistics of many groups at once, against the plain twin on Python's own `statistics`."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.metrics import Grouping
from steelyard.metrics.engines._run_groups import grouped_statistics
from steelyard.statistics import STATISTICS, _groups

TAKEN = [name for name, statistic in STATISTICS.items() if not statistic.counts]
values = st.sampled_from([0.0, 0.5, 0.7, 1.0]) | st.floats(-1e6, 1e6) | st.just(math.inf) | st.just(math.nan)
rows = st.lists(st.tuples(st.integers(0, 4), values), max_size=60)


def plain(group: list[float], ddof: int) -> dict[str, float]:
    known = sorted(value for value in group if not math.isnan(value))
    if not known:
        return dict.fromkeys(TAKEN, math.nan)
    infinite = math.inf in known
    spread = statistics.pstdev if ddof == 0 else statistics.stdev
    return {
        "median": statistics.median(known),
        "mean": math.inf if infinite else float(statistics.mean(map(Fraction, known))),
        "mode": min(statistics.multimode(known)),
        "min": known[0],
        "max": known[-1],
        "std_dev": math.nan if infinite or len(known) <= ddof else spread(known),
        "sum": math.fsum(known),
    }


def agrees(name: str, a: float, b: float) -> bool:
    if name != "std_dev":
        return a == b or (math.isnan(a) and math.isnan(b))
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6)


def check(pairs: list[tuple[int, float]], ddof: int) -> None:
    codes = np.array([code for code, _ in pairs], np.uint32)
    found = grouped_statistics(np.array([value for _, value in pairs], float), Grouping.of(codes, 5), ddof=ddof)
    for group in range(5):
        own = [value for code, value in pairs if code == group]
        expected = plain(own, ddof)
        assert expected.keys() == set(TAKEN)  # a new statistic needs its plain twin
        for name in TAKEN:
            assert agrees(name, found[name][group], expected[name]), (group, name)
        assert found["count"][group] == sum(not math.isnan(value) for value in own)
        assert found["missing"][group] == sum(math.isnan(value) for value in own)


@settings(max_examples=200, deadline=None)
@given(pairs=rows, ddof=st.sampled_from([0, 1]))
def test_grouped_statistics_equal_the_plain_twin(pairs: list[tuple[int, float]], ddof: int) -> None:
    check(pairs, ddof)


@settings(max_examples=100, deadline=None)
@given(pairs=rows)
def test_a_statistic_that_keeps_the_bounds_of_values_lies_between_them(pairs: list[tuple[int, float]]) -> None:
    codes = np.array([code for code, _ in pairs], np.uint32)
    found = grouped_statistics(np.array([value for _, value in pairs], float), Grouping.of(codes, 5), ddof=0)
    for name in TAKEN:
        low, value, high = (found[which][found["count"] > 0] for which in ("min", name, "max"))
        if STATISTICS[name].between:
            assert ((low <= value) & (value <= high)).all(), name


@settings(max_examples=50, deadline=None)
@given(pairs=rows)
def test_the_way_for_many_groups_gives_the_same(pairs: list[tuple[int, float]]) -> None:
    usual = _groups._MANY_GROUPS
    _groups._MANY_GROUPS = 0
    try:
        check(pairs, 0)
    finally:
        _groups._MANY_GROUPS = usual


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1.7e308, 1.7e308), min_size=1, max_size=20))
def test_values_too_large_to_add_up_have_a_mean_and_a_deviation(group: list[float]) -> None:
    exact = [Fraction(value) for value in group]
    mean = sum(exact) / len(exact)
    found = grouped_statistics(np.array(group), Grouping.of(np.zeros(len(group), np.uint32), 1), ddof=0)
    largest = max(map(abs, group))
    assert found["mean"][0] == float(mean)
    root = math.isqrt(int(sum((value - mean) ** 2 for value in exact) / len(exact))) if largest > 1e150 else None
    assert root is None or found["std_dev"][0] == pytest.approx(float(root), rel=1e-9, abs=1e-12 * largest)
    assert (found["min"][0], found["max"][0]) == (min(group), max(group))


@settings(max_examples=50, deadline=None)
@given(pairs=rows, data=st.data())
def test_the_order_of_rows_does_not_change_a_bit(pairs: list[tuple[int, float]], data: st.DataObject) -> None:
    def bits(some: list[tuple[int, float]]) -> list[Any]:
        codes = np.array([code for code, _ in some], np.uint32)
        found = grouped_statistics(np.array([value for _, value in some], float), Grouping.of(codes, 5), ddof=0)
        return [found[name].tobytes() for name in STATISTICS]

    assert bits(pairs) == bits(data.draw(st.permutations(pairs)))


def test_large_groups_are_summed_to_the_last_digits() -> None:
    rng = np.random.default_rng(3)
    sample = rng.random(200_000)
    found = grouped_statistics(sample, Grouping.of(np.zeros(len(sample), np.uint32), 1), ddof=0)
    assert math.isclose(found["sum"][0], math.fsum(sample), rel_tol=1e-14)


def test_nine_times_seven_tenths_have_the_mean_seven_tenths() -> None:
    found = grouped_statistics(np.full(9, 0.7), Grouping.of(np.zeros(9, np.uint32), 1), ddof=0)
    assert math.isclose(found["mean"][0], 0.7, rel_tol=1e-15)
    assert found["mode"][0] == 0.7
