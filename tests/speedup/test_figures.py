"""The specification's figures: the unit vector to the digit, laws for all inputs, both failure paths, the rules."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from steelyard.questions.speedup import speedup
from steelyard.questions.speedup._benchmark_table import broke_tests, snapshot_failed, succeeded
from steelyard.records import Missing, Snapshot, TestResults, place_of
from timing_sides import (
    UNIT_AGENT,
    UNIT_NOP,
    UNIT_ORACLE,
    at,
    attempt,
    measured,
    measures_of,
    payload_of,
    shape_of,
    side,
)

SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"
PAYLOAD_FIELDS = {
    "per_benchmark_speedups",
    "pytest_summary",
    "snapshot_summary",
    "pytest_failed",
    "snapshot_failed",
    "success",
    "fallback_to_baseline",
    "agent_advantage",
    "agent_advantage_level1",
    "agent_advantage_level2",
    "agent_advantage_level3",
    "agent_advantage_level4",
    "num_benchmarks",
    "num_valid_benchmarks",
    "task_speedup",
    "task_cost_usd",
    "trajectory_length",
}
SUMMARY_FIELDS = {
    "mean_speedup",
    "mean_success_rate",
    "num_benchmarks",
    "num_valid_benchmarks",
    "agent_advantage",
    "agent_advantage_level1",
    "agent_advantage_level2",
    "agent_advantage_level3",
    "agent_advantage_level4",
    "mean_cost_per_task",
    "cost_weighted_advantage",
    "mean_trajectory_length",
    "accuracy",
    "pass@k",
    "total_cost",
}
GOOD, BAD = TestResults(passed=3), TestResults(passed=2, failed=1)


def unit_vector(**more: object) -> dict[str, object]:
    return payload_of(measured(attempt(UNIT_NOP, UNIT_ORACLE, UNIT_AGENT, **more)))


def test_the_unit_vector_to_the_last_digit() -> None:
    found = unit_vector(tests=GOOD)
    assert found["task_speedup"] == 2.0
    assert found["agent_advantage_level1"] == found["agent_advantage_level4"] == -0.5198420997897459
    assert found["agent_advantage_level2"] == found["agent_advantage_level3"] == -0.25
    assert (found["num_benchmarks"], found["num_valid_benchmarks"]) == (4, 3)
    assert (found["success"], found["fallback_to_baseline"]) == (True, False)


def three_of(entry: Mapping[str, float | None]) -> tuple[float | None, ...]:
    return entry["agent/nop"], entry["oracle/nop"], entry["advantage"]


def test_the_unit_vector_after_the_fallback() -> None:
    found = unit_vector(tests=BAD)
    assert found["task_speedup"] == 1.0
    assert found["agent_advantage"] == found["agent_advantage_level4"] == -1.519842099789746
    assert (found["num_benchmarks"], found["num_valid_benchmarks"]) == (4, 3)
    assert (found["success"], found["fallback_to_baseline"], found["pytest_failed"]) == (False, True, True)
    speedups = found["per_benchmark_speedups"]
    assert isinstance(speedups, dict)
    assert three_of(speedups["m.A.time_x(2)"]) == (1.0, 4.0, -3.0)


def test_the_unit_vector_as_stated_speedups() -> None:
    found = speedup(SAMPLES / "fceval-results.json").to_dict()
    first, second = (at(found, "t1", number) for number in (1, 2))
    assert (first["task_speedup"], first["agent_advantage_level4"]) == (2.0, -0.5198420997897459)
    assert (second["task_speedup"], second["agent_advantage_level4"]) == (1.0, -1.519842099789746)
    assert (second["num_benchmarks"], second["num_valid_benchmarks"]) == (4, 3)


def test_answer_has_the_field_names_of_the_specification() -> None:
    found = shape_of(measured(attempt(UNIT_NOP, UNIT_ORACLE, UNIT_AGENT, tests=GOOD)))
    assert set(found["attempts"][0]) >= PAYLOAD_FIELDS
    assert set(found["summary"]["tool:model"]) >= SUMMARY_FIELDS
    assert {"accuracy", "pass@k", "total_cost", "cost_by_agent_model"} <= set(found["run"])
    entry = found["attempts"][0]["per_benchmark_speedups"]["m.time_f"]
    assert set(entry) >= {"agent/nop", "oracle/nop", "advantage"}


def test_nothing_valid_is_missing_and_not_parity() -> None:
    found = shape_of(measured(attempt({"a.time_x": 1.0}, {"a.time_x": None}, {"a.time_x": 1.0})))
    payload = found["attempts"][0]
    assert payload["task_speedup"] is None
    assert payload["agent_advantage"] is None
    assert "no benchmark is valid" in found["attempts"][0]["missing"]["task_speedup"]
    assert found["summary"]["tool:model"]["mean_speedup"] is None
    assert "nothing_valid" in {finding["code"] for finding in found["findings"]}


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_a_median_that_is_not_a_positive_number_is_invalid(bad: float) -> None:
    for position in range(3):
        sides = [{"a.time_x": 1.0, "a.time_y": 2.0} for _ in range(3)]
        sides[position]["a.time_y"] = bad
        found = payload_of(measured(attempt(*sides, tests=GOOD)))
        assert found["num_valid_benchmarks"] == 1


def test_samples_win_over_a_stated_median() -> None:
    one = attempt({"a.time_x": [1.0, 2.0, 30.0]}, {"a.time_x": 1.0}, {"a.time_x": [0.5, 0.5]})
    assert payload_of(measured(one))["task_speedup"] == 4.0  # median 2.0 over 0.5


# Laws

times = st.floats(1e-6, 1e3)
sample_lists = st.lists(times, min_size=1, max_size=8)
names = st.lists(
    st.builds(
        "{}.{}time_{}({})".format,
        st.sampled_from(["m", "n.p"]),
        st.sampled_from(["", "A.", "B."]),
        st.sampled_from("fg"),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=12,
    unique=True,
)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[dict[str, list[float]], ...]:
    keys = draw(names)
    return tuple({key: draw(sample_lists) for key in keys} for _ in range(3))


FIGURES = ("task_speedup", *(f"agent_advantage_level{level}" for level in range(1, 5)))


def near(a: object, b: object) -> bool:
    if not isinstance(a, float) or not isinstance(b, float):
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def mean_gap(agent: list[float], oracle: list[float], groups: list[tuple[object, ...]]) -> float:
    """The specification's words: mean over the groups of gmean(agent) - gmean(oracle)."""
    members = {group: [at for at, other in enumerate(groups) if other == group] for group in groups}
    return statistics.fmean(
        statistics.geometric_mean([agent[at] for at in inside])
        - statistics.geometric_mean([oracle[at] for at in inside])
        for inside in members.values()
    )


@given(task=tasks())
def test_the_figures_are_those_of_the_formulas_in_plain_python(task: tuple[dict[str, list[float]], ...]) -> None:
    nop, oracle, agent = task
    keys = sorted(nop)
    before, theirs, mine = ([statistics.median(one[key]) for key in keys] for one in task)
    agent_speedups = [b / a for b, a in zip(before, mine, strict=True)]
    oracle_speedups = [b / o for b, o in zip(before, theirs, strict=True)]
    found = payload_of(measured(attempt(nop, oracle, agent), intervals=False))
    assert near(found["task_speedup"], statistics.geometric_mean(agent_speedups))
    for level, depth in ((1, 1), (2, 2), (3, 3), (4, 0)):
        expected = mean_gap(agent_speedups, oracle_speedups, [place_of(key)[:depth] for key in keys])
        assert near(found[f"agent_advantage_level{level}"], expected)


@given(task=tasks(), factor=st.floats(1e-3, 1e3))
def test_scaling_all_times_changes_no_speedup(task: tuple[dict[str, list[float]], ...], factor: float) -> None:
    scaled = [{name: [value * factor for value in values] for name, values in one.items()} for one in task]
    before, after = (payload_of(measured(attempt(*one), intervals=False)) for one in (task, scaled))
    assert all(near(before[name], after[name]) for name in FIGURES)


@given(task=tasks())
@settings(max_examples=40)
def test_swapping_agent_and_oracle_negates_the_log_advantage(task: tuple[dict[str, list[float]], ...]) -> None:
    nop, oracle, agent = task
    one, other = measured(attempt(nop, oracle, agent)), measured(attempt(nop, agent, oracle))
    assert near(measures_of(one)["log_advantage"], -measures_of(other)["log_advantage"])


@given(task=tasks(), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_permuting_benchmarks_changes_not_a_bit(task: tuple[dict[str, list[float]], ...], seed: int) -> None:
    order = sorted(task[0])
    random.Random(seed).shuffle(order)
    shuffled = [{name: one[name] for name in order} for one in task]
    assert shape_of(measured(attempt(*task))) == shape_of(measured(attempt(*shuffled)))


@given(task=tasks())
@settings(max_examples=40)
def test_an_agent_that_changed_nothing_has_speedup_1(task: tuple[dict[str, list[float]], ...]) -> None:
    nop, oracle, _ = task
    found = measured(attempt(nop, oracle, nop))
    assert payload_of(found)["task_speedup"] == 1.0
    assert measures_of(found)["worst_speedup"] == 1.0


@given(task=tasks(), where=st.integers(0, 2))
@settings(max_examples=40)
def test_one_invalid_benchmark_changes_no_other(task: tuple[dict[str, list[float]], ...], where: int) -> None:
    broken: list[dict[str, list[float] | None]] = [dict(one) for one in task]
    for one in broken:
        one["z.time_new(1)"] = [1.0] * 7
    broken[where]["z.time_new(1)"] = None
    whole = [{**one, "z.time_new(1)": [1.0] * 7} for one in task]
    one, other = measured(attempt(*task)), measured(attempt(*broken))
    before, after = payload_of(one), payload_of(other)
    assert all(before[name] == after[name] for name in FIGURES)
    # limits and verdicts are corrected for the benchmarks tested; without times of the oracle, it is tested as well
    alike = one if where != 1 else measured(attempt(*whole))
    for name in before["per_benchmark_speedups"]:
        assert after["per_benchmark_speedups"][name] == payload_of(alike)["per_benchmark_speedups"][name]
    shape, again = shape_of(alike), shape_of(other)
    sure, still = (found["attempts"][0]["per_benchmark_speedups"] for found in (shape, again))
    assert all(still[name] == sure[name] for name in before["per_benchmark_speedups"])


@given(first=tasks(), second=tasks())
@settings(max_examples=40)
def test_tasks_measured_together_are_as_if_measured_alone(
    first: tuple[dict[str, list[float]], ...], second: tuple[dict[str, list[float]], ...]
) -> None:
    pair = [attempt(*first, task="a"), attempt(*second, task="b")]
    together = shape_of(measured(*pair))
    for one in pair:
        assert at(shape_of(measured(one)), one.task) | {"levels": []} == at(together, one.task)


# Failure


@pytest.mark.parametrize(
    ("tests", "oracle", "failed"),
    [
        (GOOD, None, False),
        (BAD, None, True),
        (TestResults(passed=2, errors=1), None, True),  # an error counts, also when there is exactly one
        (BAD, BAD, False),  # no more failures than the expert
        (TestResults(passed=1, failed=2), BAD, True),
        (TestResults(failed=("a",)), TestResults(failed=("a",)), False),
        (TestResults(failed=("b",)), TestResults(failed=("a",)), True),  # as many, but another test
        (TestResults(failed=("a",)), TestResults(failed=("a", "b")), False),
        (TestResults(failed=("b",)), TestResults(failed=2), False),  # no names on one side: by count
        (TestResults(passed=("a",), failed=("c",)), TestResults(passed=3), True),  # none failed: names are known
    ],
)
def test_tests_fail_beyond_the_oracle_by_name_or_count(
    tests: TestResults, oracle: TestResults | None, failed: bool
) -> None:
    assert broke_tests(tests, oracle) is failed


@pytest.mark.parametrize(
    ("snapshot", "failed"),
    [
        (None, False),
        (Snapshot(status="passed"), False),
        (Snapshot(status="passed", pass_to_fail=0), False),
        (Snapshot(status="passed", pass_to_fail=1), True),
        (Snapshot(status="failed"), True),
        (Snapshot(status="error", pass_to_fail=0), True),
    ],
)
def test_a_snapshot_fails_by_status_or_by_what_it_broke(snapshot: Snapshot | None, failed: bool) -> None:
    assert snapshot_failed(snapshot) is failed


def test_success_is_unknown_without_tests_unless_the_snapshot_says_no() -> None:
    unknown = broke_tests(None, GOOD)
    assert isinstance(unknown, Missing)
    assert isinstance(succeeded(unknown, snapshot=False), Missing)
    assert succeeded(unknown, snapshot=True) is False
    assert succeeded(False, snapshot=False) is True
    assert succeeded(True, snapshot=False) is False


def test_fallback_keeps_the_oracle_and_spares_what_is_invalid() -> None:
    one = attempt(
        {"a.time_x": 2.0, "a.time_y": 2.0},
        {"a.time_x": 4.0, "a.time_y": 1.0},
        {"a.time_x": 0.5, "a.time_y": None},
        snapshot=Snapshot(status="failed"),
        tests=GOOD,
    )
    found = payload_of(measured(one))
    assert three_of(found["per_benchmark_speedups"]["a.time_x"]) == (1.0, 0.5, 0.5)
    assert three_of(found["per_benchmark_speedups"]["a.time_y"]) == (None, 2.0, None)
    assert (found["num_valid_benchmarks"], found["agent_advantage"]) == (1, 0.5)


# A benchmark that fails only under the agent

NOP = {"a.time_x": 4.0, "a.time_y": 4.0, "a.time_z": 4.0}
ORACLE = {"a.time_x": 2.0, "a.time_y": 2.0, "a.time_z": 2.0}
AGENT = {"a.time_x": 1.0, "a.time_y": 8.0, "a.time_z": None}


@pytest.mark.parametrize(
    ("rule", "speedups"),
    [("drop", (4.0, 0.5)), ("baseline", (4.0, 0.5, 1.0)), ("worst", (4.0, 0.5, 0.5))],
)
def test_an_agent_only_failure_counts_by_the_rule(rule: str, speedups: tuple[float, ...]) -> None:
    found = measured(attempt(NOP, ORACLE, AGENT, tests=GOOD), agent_only_failures=rule)
    payload = payload_of(found)
    assert near(payload["task_speedup"], statistics.geometric_mean(speedups))
    assert near(payload["agent_advantage"], statistics.geometric_mean(speedups) - 2.0)
    assert payload["num_valid_benchmarks"] == 2
    assert payload_of(found)["num_agent_only_failures"] == 1
    assert "agent_only_failures" in {finding.code for finding in found.findings}


def test_worst_is_never_better_than_no_change() -> None:
    found = measured(attempt(NOP, ORACLE, {"a.time_x": 1.0}, tests=GOOD), agent_only_failures="worst")
    assert payload_of(found)["per_benchmark_speedups"]["a.time_y"]["agent/nop"] == 1.0


def test_a_failed_attempt_counts_its_agent_only_failures_as_unchanged_too() -> None:
    found = measured(attempt(NOP, ORACLE, AGENT, tests=BAD), agent_only_failures="worst")
    assert payload_of(found)["task_speedup"] == 1.0


def test_bounds_hold_the_figure_between_them() -> None:
    found = measures_of(measured(attempt(NOP, ORACLE, AGENT, tests=GOOD)))
    low, figure, high = (found[name] for name in ("log_advantage_low", "log_advantage", "log_advantage_high"))
    assert low < figure < high
    # ratios to the expert 2 and 1/4, and the missing one 0.5/2 or 4/2
    assert near(low, (math.log(2) - math.log(4) - math.log(4)) / 3)
    assert near(high, (math.log(2) - math.log(4) + math.log(2)) / 3)


def test_benchmarks_not_in_seconds_are_set_aside() -> None:
    assert side({"a.peakmem_x": 5.0}, unit="bytes").names == ()
