from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings, strategies as st

from steelyard.questions.repeatability._distance import distance, edits, pairs_within, signature, within

texts = st.text(max_size=40) | st.text(alphabet="ab\n", max_size=40)


def plain_levenshtein(first: str, second: str) -> int:
    """The textbook's table, as an oracle."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


@given(texts, texts)
def test_the_distance_is_the_textbooks(first: str, second: str) -> None:
    assert edits(first, second) == (plain_levenshtein(first, second), False)


@given(texts, texts)
def test_it_is_symmetric_and_between_nothing_and_everything(first: str, second: str) -> None:
    there, back = distance(first, second).value, distance(second, first).value
    assert there == back
    assert 0 <= there <= 1


@given(texts, texts)
def test_it_is_zero_exactly_for_equal_signatures(first: str, second: str) -> None:
    assert (distance(first, second).value == 0) == (signature(first) == signature(second))


@given(texts, texts, texts)
def test_a_detour_is_never_shorter(first: str, second: str, third: str) -> None:
    assert edits(first, third)[0] <= edits(first, second)[0] + edits(second, third)[0]


@given(texts, texts, st.floats(0, 1))
def test_asking_for_tau_gives_the_same_answer_as_the_distance(first: str, second: str, tau: float) -> None:
    assert within(first, second, tau=tau) == (distance(first, second).value <= tau)


@given(st.lists(texts, max_size=8), st.floats(0, 1))
def test_counting_pairs_by_distinct_texts_is_counting_them_all(outputs: list[str], tau: float) -> None:
    near = sum(distance(outputs[a], outputs[b]).value <= tau for a in range(len(outputs)) for b in range(a))
    distinct = sorted(set(outputs))
    assert pairs_within(distinct, [outputs.count(text) for text in distinct], tau=tau) == near


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="ab\n", max_size=300), st.text(alphabet="ab\n", max_size=300))
def test_past_the_budget_there_is_a_marked_upper_bound(first: str, second: str) -> None:
    exact = distance(first, second)
    bound = distance(first, second, budget=0)
    assert bound.value >= exact.value
    assert bound.value <= 1
    assert bound == distance(second, first, budget=0)
    assert bound.approximate == (bool(first) and bool(second) and first != second)
    assert (bound.value == 0) == (first == second)


def test_long_texts_get_a_bound_near_the_truth_when_lines_were_inserted() -> None:
    lines = [f"value_{number} = {number}\n" for number in range(3000)]
    changed = [*lines[:100], *(f"extra_{number} = 0\n" for number in range(50)), *lines[100:]]
    first, second = "".join(lines), "".join(changed)
    exact = distance(first, second).value
    assert distance(first, second, budget=1000).value == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(
    ("first", "second", "count"), [("kitten", "sitting", 3), ("saturday", "sunday", 3), ("", "abc", 3)]
)
def test_published_vectors(first: str, second: str, count: int) -> None:
    assert edits(first, second)[0] == count


def test_empty_against_empty_and_against_something() -> None:
    assert distance("", "").value == 0
    assert distance("", "x").value == 1


def test_a_signature_is_the_sha256_of_the_utf8_text() -> None:
    assert signature("é\n") == hashlib.sha256("é\n".encode()).hexdigest()
    assert len(signature("\ud800")) == 64
