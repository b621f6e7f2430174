"""Laws of the arena's small parts, each against something slow and plain."""

from __future__ import annotations

import random
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from steelyard.arena import read_rules
from steelyard.arena.scoring._baseline import (
    BaselineBounds,
    BaselineInputs,
    baseline_of,
    median_of_sorted,
    own_baseline,
    quartile,
)
from steelyard.arena.scoring._receipts import ranks_of
from steelyard.arena.scoring._row_scores import ScoringContext, rows_in_cents, with_contexts
from steelyard.arena.scoring._scores import (
    KEPT_SCORES,
    SCORE_INPUTS,
    points,
    score_interval,
    to_cents,
    to_cents_column,
    unrounded_columns,
    unrounded_scores,
)
from steelyard.arena.scoring._submission_rows import frame_of
from steelyard.arena.scoring._tallies import count_values, each_once, rank_and_percentile
from steelyard.errors import ProfileError, UnknownNameError, UsageError
from steelyard.metrics import catalog
from steelyard.profiles import Profile, load_profile
from steelyard.records import Missing, Task, convert_task

RULES = read_rules(load_profile("arena-1"))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(0, 100) | st.integers(0, 20_000).map(lambda half: half / 200), min_size=1, max_size=50))
def test_cents_of_a_column_are_python_s_rounding(scores: list[float]) -> None:
    found = to_cents_column(np.array(scores)).tolist()
    assert found == [to_cents(score) for score in scores]
    assert [points(value) for value in found] == [round(score, 2) for score in scores]


def test_every_cent_survives() -> None:
    assert all(to_cents(points(value)) == value and points(value) == round(value / 100, 2) for value in range(10_001))


SOME = {
    "total_tokens": st.integers(0, 300_000) | st.just(2**53),
    "tool_calls": st.integers(0, 300),
    "iterations": st.none() | st.integers(1, 50),
    "execution_time": st.none() | st.just(0.0) | st.floats(0, 5000),
    "estimated_cost": st.none() | st.just(0.0) | st.floats(0, 10),
    "criteria_met": st.just(2),
    "criteria_total": st.integers(2, 4),
}
PAIR = st.tuples(st.floats(0, 2000), st.floats(0, 2000)).map(sorted)
BOUNDS = st.builds(
    lambda a, b, c, d, median: BaselineBounds(*a, *b, *c, *d, median),
    PAIR,
    PAIR,
    PAIR,
    PAIR,
    st.integers(2, 40).map(lambda n: n / 2),
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(st.fixed_dictionaries(SOME), BOUNDS), min_size=1, max_size=6))
def test_one_submission_and_a_column_of_them_get_the_same_bits(
    rows: list[tuple[dict[str, float], BaselineBounds]],
) -> None:
    constants = RULES.constants_of(Task(id="t", category="debugging", difficulty="advanced"))
    inputs = {name: [row[name] for row, _ in rows] for name in SCORE_INPUTS}
    frame = with_contexts(
        frame_of(inputs, SCORE_INPUTS), [ScoringContext(bounds, constants) for _, bounds in rows], range(len(rows))
    )
    table = unrounded_columns(frame, constants)
    for number, (row, bounds) in enumerate(rows):
        alone = unrounded_scores(row, bounds, constants)
        assert alone == {name: table[name][number] for name in alone}
        assert all(0 <= value <= 100 + 1e-9 for value in alone.values())


def test_many_rows_and_few_rows_give_the_same_to_cents() -> None:
    rng = random.Random(3)
    inputs: dict[str, list[float | None]] = {name: [] for name in SCORE_INPUTS}
    for _ in range(1000):
        inputs["total_tokens"].append(rng.randrange(200_000))
        inputs["tool_calls"].append(rng.randrange(200))
        inputs["iterations"].append(rng.choice((None, 1, 2, 3, 9)))
        inputs["execution_time"].append(rng.choice((None, 0, rng.uniform(0, 2000))))
        inputs["estimated_cost"].append(rng.choice((None, 0, rng.uniform(0, 0.3))))
        inputs["criteria_met"].append(1)
        inputs["criteria_total"].append(rng.choice((1, 2, 3)))
    task = Task(id="t")
    context = ScoringContext(
        BaselineBounds(*(float(RULES.defaults_of(task)[name]) for name in BaselineBounds._fields)),
        RULES.constants_of(task),
    )
    together = rows_in_cents(inputs, [context], np.zeros(1000, dtype=int))
    for start in range(0, 1000, 100):
        part = {name: values[start : start + 100] for name, values in inputs.items()}
        few = rows_in_cents(part, [context], np.zeros(100, dtype=int))
        assert all((few[name] == together[name][start : start + 100]).all() for name in KEPT_SCORES)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=40))
def test_quartiles_and_median_are_those_of_the_standard_library(values: list[int]) -> None:
    ordered = sorted(values)
    assert median_of_sorted(ordered) == statistics.median(values)
    assert [quartile(ordered, which) for which in (1, 2, 3)] == statistics.quantiles(values, n=4)


def test_a_tool_with_too_few_submissions_has_no_baseline_of_its_own() -> None:
    inputs = BaselineInputs([1, 2], [1, 2], [None, 1], [None, 2.0], [0.0, None])
    assert own_baseline(inputs, least=5) == Missing("2 of 5 submissions")
    assert baseline_of(inputs, defaults={"min_tokens": 7}, least=5)["min_tokens"] == 7


def test_the_baseline_is_made_from_the_submissions_as_soon_as_there_are_enough() -> None:
    inputs = BaselineInputs([1, 2], [1, 2], [None, 1], [None, 2.0], [0.0, None])
    assert [baseline_of(inputs, defaults={"min_tokens": 7}, least=least)["min_tokens"] for least in (3, 2)] == [7, 1]


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=40))
def test_ranks_are_competition_ranks_and_percentiles_the_share_below(values: list[int]) -> None:
    n = len(values)
    counted = count_values(each_once(np.zeros(n, dtype=int), np.array(values)), 1)
    expected = [
        (1 + sum(other > value for other in values), round(sum(other < value for other in values) / n * 100, 1))
        for value in values
    ]
    assert list(zip(*ranks_of(counted, np.full(n, n)), strict=True)) == expected
    assert [
        rank_and_percentile(sum(other > value for other in values), values.count(value), n) for value in values
    ] == expected


def test_another_level_takes_student_s_quantile() -> None:
    counts = {5000: 2, 6000: 2}  # mean 55, standard deviation sqrt(100 / 3)
    at_95 = score_interval(counts, RULES.interval)
    at_90 = score_interval(counts, RULES.interval, confidence=0.9)
    assert (at_95.method, at_90.method) == ("arena", "student")
    # t with 3 degrees of freedom at 90%: 2.3533634348
    assert at_90.high - 55 == pytest.approx(2.3533634348 * (100 / 3) ** 0.5 / 2, rel=1e-9)
    assert at_95.high - 55 == pytest.approx(2.776 * (100 / 3) ** 0.5 / 2, rel=1e-12)


CENTS = st.integers(0, 10_000) | st.integers(4_999, 5_001)
VALUES = st.dictionaries(CENTS | st.builds(Fraction, CENTS, st.integers(1, 7)), st.integers(1, 40), max_size=6)


@settings(max_examples=300, deadline=None)
@given(counts=VALUES, confidence=st.none() | st.floats(0.5, 0.999))
def test_an_interval_holds_its_mean_and_is_cut_only_at_the_ends_of_the_scale(
    counts: dict[int | Fraction, int], confidence: float | None
) -> None:
    shown = score_interval(counts, RULES.interval, confidence=confidence)
    values = [value for value, count in counts.items() for _ in range(count)]
    assert shown.n == len(values)
    if shown.estimate is None:
        assert not values
        return
    assert shown.estimate == float(statistics.mean(map(Fraction, values)) / 100)  # the exact mean, rounded once
    assert float(min(values) / 100) <= shown.estimate <= float(max(values) / 100)
    assert 0 <= shown.low <= shown.estimate <= shown.high <= 100
    if len(values) >= 3:
        # An end that is not cut lies as far from the mean as the other, so none was moved to hold it.
        reach = [shown.estimate - shown.low] * (shown.low > 0) + [shown.high - shown.estimate] * (shown.high < 100)
        assert len(reach) < 2 or reach[0] == pytest.approx(reach[1], rel=1e-9, abs=1e-11)
        deviation = statistics.stdev(map(float, values)) / 100
        seeds = confidence in (None, 0.95)  # the constants of the specification hold for 95%
        times = (2.776 if len(values) < 30 else 1.96) if seeds else student_times(values, confidence)
        for side in reach:
            assert side == pytest.approx(times * deviation / len(values) ** 0.5, rel=1e-6, abs=1e-9)


def student_times(values: list[int | Fraction], level: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, len(values) - 1))


def test_the_nine_scores_are_declared_under_their_names() -> None:
    names = {one.name for one in catalog().at("submission")}
    parts = {"token_efficiency", "tool_call_efficiency", "iteration_efficiency", *KEPT_SCORES}
    assert names == {f"{part}_score" for part in parts}


def test_a_profile_sets_every_constant_and_a_wrong_name_is_answered_with_the_nearest() -> None:
    held = load_profile("arena-1")
    declared = {name for one in catalog().at("submission") for name in one.constants} - {"difficulty_factor"}
    assert declared <= set(held.constants)
    wrong = Profile(name="mine", spec="arena", constants={**held.constants, "speed_exponnt": 1.0})
    with pytest.raises(UnknownNameError, match="speed_exponent"):
        read_rules(wrong)
    without = Profile(name="mine", spec="arena", constants={k: v for k, v in held.constants.items() if k != "outliers"})
    with pytest.raises(ProfileError, match="outliers"):
        read_rules(without)
    with pytest.raises(ProfileError, match="outcome"):
        read_rules(load_profile("outcome-1"))


def test_weights_come_from_the_task_then_its_category_then_the_profile() -> None:
    own = {"efficiency": 1.0, "speed": 0.0, "cost": 0.0, "correctness": 0.0}
    assert RULES.constants_of(convert_task({"id": "t", "category": "debugging", "weights": own}))["speed_weight"] == 0
    assert RULES.constants_of(Task(id="t", category="debugging"))["speed_weight"] == 0.35
    assert RULES.constants_of(Task(id="t", category="gardening"))["speed_weight"] == 0.25


def test_a_task_that_cannot_be_scored_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="intermediate"):
        RULES.check_task(Task(id="t", difficulty="intermediat"))
    with pytest.raises(UsageError, match="min_tokens above max_tokens"):
        RULES.check_task(convert_task({"id": "t", "baseline": {"min_tokens": 300_000}}))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"id": "t", "success_criteria": [{"type": "file_exist"}]}, "did you mean 'file_exists'"),
        ({"id": "t", "success_criteria": [{"type": "min_functionality"}]}, "needs a command"),
        ({"id": "t", "weights": {"efficiency": 1, "speed": 1, "cost": 0, "correctness": 0}}, "sum to 2"),
        ({"id": "t", "titel": "x"}, "did you mean 'title'"),
        ({"id": ""}, "length >= 1"),
        ({"title": "x"}, "missing required field 'id'"),
        ({"id": "a\0b"}, "NUL"),
    ],
)
def test_a_wrong_task_is_refused_when_it_is_defined(values: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason.replace("(", r"\(")):
        convert_task(values)
