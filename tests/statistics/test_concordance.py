"""Kendall's tau-b and Spearman's rho against their definitions and against SciPy's."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau, spearmanr

from steelyard.statistics import kendall_tau, spearman_rho

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


@given(st.one_of(PAIRS, FEW_VALUES))
def test_rho_is_the_correlation_of_shared_ranks(pairs: list[tuple[int, int]]) -> None:
    first, second = columns(pairs)
    found = spearman_rho(first, second)
    if len(set(first.tolist())) < 2 or len(set(second.tolist())) < 2:
        assert found is None
    else:
        assert found is not None
        assert -1 <= found <= 1
        assert found == pytest.approx(spearmanr(first, second).statistic, abs=1e-9)


def test_rho_and_tau_by_hand() -> None:
    # ranks 1, 2.5, 2.5, 4 and 2, 1, 3, 4: products of what is left of 2.5 are 0.75 + 0 + 0 + 2.25 = 3;
    # squares add up to 4.5 and 5, so rho is 3 / sqrt(22.5)
    first, second = np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.3, 0.2, 0.6, 0.8])
    assert spearman_rho(first, second) == pytest.approx(3 / math.sqrt(22.5), abs=1e-15)
    # of six pairs one is tied in the first, four agree, one does not: (4 - 1) / sqrt(5 x 6)
    assert kendall_tau(first, second) == pytest.approx(3 / math.sqrt(30), abs=1e-15)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50))
def test_rho_of_the_same_order_is_exactly_one(values: list[float]) -> None:
    scores = np.array(values)
    expected = None if len(set(values)) == 1 else 1.0
    assert spearman_rho(scores, scores) == expected
    assert spearman_rho(scores, -scores) == (None if expected is None else -1.0)
