"""Kendall's tau-b against its definition and against SciPy's."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau

from steelyard.statistics import kendall_tau

SCORES = st.integers(0, 10_000)
PAIRS = st.lists(st.tuples(SCORES, SCORES), max_size=40)
FEW_VALUES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40)


def by_definition(pairs: list[tuple[int, int]]) -> float | None:
    """Pair by pair."""
    difference = first = second = 0
    for (a, b), (c, d) in combinations(pairs, 2):
        first += a != c
        second += b != d
        difference += ((a > c) - (a < c)) * ((b > d) - (b < d))
    return difference / math.sqrt(first * second) if first and second else None


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(st.one_of(PAIRS, FEW_VALUES))
def test_it_is_what_the_definition_says(pairs: list[tuple[int, int]]) -> None:
    found, wanted = kendall_tau(*columns(pairs)), by_definition(pairs)
    assert found == (None if wanted is None else pytest.approx(wanted, abs=1e-12))
    if found is not None:
        assert -1 <= found <= 1
        assert found == pytest.approx(kendalltau(*columns(pairs)).statistic, abs=1e-9)


@given(st.lists(SCORES, min_size=2, max_size=200))
def test_the_same_order_is_exactly_one_and_the_opposite_minus_one(values: list[int]) -> None:
    scores = np.array(values)
    expected = None if len(set(values)) == 1 else 1.0
    assert kendall_tau(scores, scores) == expected
    assert kendall_tau(scores, 3 * scores + 1) == expected
    assert kendall_tau(scores, -scores) == (None if expected is None else -1.0)


def test_many_scores_agree_with_scipy() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 10_001, 50_000)
    second = np.clip(first + rng.integers(-3_000, 3_000, 50_000), 0, 10_000)
    assert kendall_tau(first, second) == pytest.approx(kendalltau(first, second).statistic, abs=1e-12)
