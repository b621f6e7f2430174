"""The test of Kruskal and Wallis against hand-computed examples and against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kruskal

from steelyard.statistics import kruskal_wallis

SCORES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
ROWS = st.lists(st.tuples(SCORES, st.sampled_from("abc")), min_size=3, max_size=40)


def test_without_ties_by_hand() -> None:
    # rank sums 6, 15 and 24 of three each: 12 / (9 x 10) x (12 + 75 + 192) - 3 x 10 = 7.2; for two degrees of
    # freedom p is exp(-H / 2)
    found = kruskal_wallis([1, 2, 3, 4, 5, 6, 7, 8, 9], "aaabbbccc")
    assert (found.h, found.df, found.groups, found.n) == (7.2, 2, 3, 9)
    assert found.p_value == pytest.approx(math.exp(-3.6), rel=1e-12)


def test_ties_are_corrected_for_by_hand() -> None:
    # 1, 2, 2 against 2, 3: ranks 1, 3, 3 and 3, 5, sums 7 and 8; 12 / 30 x (49 / 3 + 32) - 18 = 4/3, by
    # 1 - (27 - 3) / (125 - 5) = 0.8 gives 5/3
    found = kruskal_wallis([1, 2, 2, 2, 3], "aaabb")
    assert found.h == pytest.approx(5 / 3, abs=1e-15)
    assert found.df == 1


@given(ROWS)
def test_it_is_scipys(rows: list[tuple[float, str]]) -> None:
    values, groups = [value for value, _ in rows], [group for _, group in rows]
    found = kruskal_wallis(values, groups)
    names = sorted(set(groups))
    if len(names) < 2 or len(set(values)) < 2 or len(names) == len(groups):
        assert found.h is found.p_value is found.df is None
        assert found.reason
        return
    theirs = kruskal(*([value for value, group in rows if group == name] for name in names))
    assert found.h == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-9)
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-12)


@given(ROWS, st.randoms(use_true_random=False))
def test_order_changes_no_bit(rows: list[tuple[float, str]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    assert kruskal_wallis(*zip(*rows, strict=True)) == kruskal_wallis(*zip(*shuffled, strict=True))


def test_a_value_that_is_missing_is_left_out() -> None:
    with_gap = kruskal_wallis([1, math.nan, 2, 3, 4, math.nan], "aaabbc")
    assert with_gap == kruskal_wallis([1, 2, 3, 4], "aabb")
    assert (with_gap.n, with_gap.groups) == (4, 2)


@pytest.mark.parametrize(
    ("values", "groups", "reason"),
    [
        ([], "", "no value"),
        ([1, 2, 3], "aaa", "only one group"),
        ([0.5, 0.5, 0.5, 0.5], "aabb", "all values are equal"),
        ([1, 2, 3], "abc", "every group has only one value"),
    ],
)
def test_what_cannot_be_told_says_why(values: list[float], groups: str, reason: str) -> None:
    found = kruskal_wallis(np.array(values, dtype=float), groups)
    assert (found.h, found.df, found.p_value) == (None, None, None)
    assert reason in (found.reason or "")
