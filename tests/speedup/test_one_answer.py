"""One answer everywhere: figures have the same bits wherever they are asked for, and intervals hold their figures."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy import stats

from commands import steelyard
from steelyard import metrics
from steelyard.metrics import geometric_mean, harmonic_mean
from steelyard.questions import TaskFiles
from steelyard.questions.speedup import result_of, speedup
from steelyard.questions.speedup._benchmark_table import Attempt, side_of
from steelyard.questions.speedup._summary import Speedups
from steelyard.records import Missing, TestResults, Timing
from timing_sides import attempt, measured

GOOD, BAD = TestResults(passed=3), TestResults(passed=2, failed=1)
RULES = ("drop", "baseline", "worst")

positive = st.floats(1e-6, 1e6)


@given(st.lists(positive, min_size=1, max_size=20), st.randoms(use_true_random=False))
@example([1.1, 1.1, 1.1], None)
def test_a_mean_lies_among_its_values_and_knows_no_order(values: list[float], random: Any) -> None:
    shuffled = list(values)
    if random is not None:
        random.shuffle(shuffled)
    for kind in (geometric_mean, harmonic_mean):
        assert min(values) <= kind(values) <= max(values)
        assert kind(shuffled) == kind(values)
        assert kind([values[0]] * 3) == values[0]


samples = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=9)
names = st.lists(
    st.builds("{}.{}time_{}".format, st.sampled_from(("m", "n")), st.sampled_from(("", "A.")), st.sampled_from("fgh")),
    min_size=1,
    max_size=6,
    unique=True,
)


@st.composite
def tasks(draw: st.DrawFn) -> tuple[dict[str, Any], ...]:
    """Three sides, of which the expert's and the agent's may lack benchmarks."""
    listed = draw(names)
    nop = {name: draw(samples) for name in listed}
    return nop, *({name: draw(st.none() | samples) for name in listed} for _ in range(2))


def same(value: float | Missing, shown: float | None) -> bool:
    return shown is None if isinstance(value, Missing) else value == shown


@given(task=tasks(), seed=st.integers(0, 99))
@settings(max_examples=60)
def test_python_gives_every_figure_of_a_task_to_the_last_bit(task: tuple[dict[str, Any], ...], seed: int) -> None:
    found = measured(attempt(*task, tests=GOOD))
    (shown,) = found.attempt_records()
    entries = shown.per_benchmark_speedups
    for side, median in (("agent", "agent_median"), ("oracle", "oracle_median")):
        for name, entry in entries.items():
            times = task[2 if side == "agent" else 1][name]
            if times is not None:
                medians = {"nop_median": statistics.median(task[0][name]), median: statistics.median(times)}
                assert metrics.catalog()[f"{side}_speedup"](**medians) == getattr(entry, f"{side}_speedup")
    valid = {name: entry for name, entry in entries.items() if None not in (entry.agent_speedup, entry.oracle_speedup)}
    order = np.random.default_rng(seed).permutation(sorted(valid)).tolist()  # whatever the order
    mine = [valid[name].agent_speedup for name in order]
    theirs = [valid[name].oracle_speedup for name in order]
    both = {"agent_speedups": mine, "oracle_speedups": theirs}
    assert same(metrics.task_speedup(agent_speedups=mine), shown.task_speedup)
    assert same(metrics.agent_advantage_level4(**both), shown.agent_advantage)
    modules = [name.split(".")[0] for name in order]
    assert same(metrics.agent_advantage_level1(**both, modules=modules), shown.agent_advantage_level1)
    assert same(metrics.agent_advantage_level3(**both, functions=order), shown.agent_advantage_level3)
    for name in ("log_advantage", "speedup_ratio_gmean", "speedup_ratio_hmean"):
        assert same(metrics.catalog()[name](**both), shown.measures[name])
    for name in ("harmonic_speedup", "worst_speedup"):
        assert same(metrics.catalog()[name](agent_speedups=mine), shown.measures[name])
    for entry in entries.values():
        if entry.agent_speedup is not None:
            assert metrics.log_speedup(agent_speedup=entry.agent_speedup) == entry.log_speedup
    assert shown.levels[0].agent_speedup == shown.task_speedup


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.1, 10.0)), min_size=1, max_size=8))
@settings(max_examples=40)
def test_python_gives_every_figure_over_tasks_to_the_last_bit(speeds: list[tuple[str, float]]) -> None:
    found = measured(
        *(
            attempt({"a.time_x": 4.0}, {"a.time_x": 2.0}, {"a.time_x": 4.0 / speed}, task=task, number=number)
            for number, (task, speed) in enumerate(speeds, start=1)
        )
    )
    figures: dict[str, list[Mapping[str, float | Missing]]] = {}
    for figure, tried in zip(found.figures, found.table.attempts, strict=True):
        figures.setdefault(tried.task, []).append(figure)

    def by_task(name: str, mean: Any) -> list[float]:
        return [mean([figure[name] for figure in of_task]) for of_task in figures.values()]

    exact = statistics.mean  # the standard library's, which rounds once
    summary, ours = found.summaries["tool:model"], found.overall["tool:model"]
    assert summary["mean_speedup"] == metrics.mean_speedup(task_speedups=by_task("task_speedup", exact))
    assert summary["agent_advantage"] == exact(by_task("agent_advantage", exact))
    assert ours["mean_log_advantage"] == metrics.mean_log_advantage(log_advantages=by_task("log_advantage", exact))
    for kind, mean in (("gmean", geometric_mean), ("hmean", harmonic_mean)):
        name = f"speedup_ratio_{kind}_over_tasks"
        ratios = by_task("speedup_ratio_gmean", mean)
        assert ours[name] == metrics.catalog()[name](speedup_ratios=ratios)


def record(times: Mapping[str, list[float]]) -> dict[str, Any]:
    return {"task": "t", "benchmarks": [{"name": name, "samples": values} for name, values in times.items()]}


def pyperf(times: Mapping[str, list[float]]) -> dict[str, Any]:
    benchmarks = [
        {"metadata": {"name": name}, "runs": [{"values": [one]} for one in own]} for name, own in times.items()
    ]
    return {"version": "1.0", "metadata": {}, "benchmarks": benchmarks}


def asv(times: Mapping[str, list[float]]) -> dict[str, Any]:
    rows = {name: [[statistics.median(values)], [], "v", [values]] for name, values in times.items()}
    columns = ["result", "params", "version", "samples"]
    return {"commit_hash": "c", "version": 2, "result_columns": columns, "results": rows, "params": {}}


def test_three_file_formats_and_shuffled_rows_give_the_same_bits(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    listed = [f"m{at % 3}.A.time_{at}" for at in range(20)]
    sides = {
        which: {name: random.lognormal(0, 1, 9).tolist() for name in listed} for which in ("nop", "oracle", "agent")
    }
    answers = []
    for written in (record, pyperf, asv):
        paths = {}
        for which, times in sides.items():
            order = random.permutation(listed).tolist()
            paths[which] = tmp_path / f"{written.__name__}-{which}.json"
            paths[which].write_text(json.dumps(written({name: times[name] for name in order})))
        files = TaskFiles(nop=paths["nop"], oracle=paths["oracle"], agents={"tool:m": paths["agent"]})
        found = speedup(files).to_dict()
        answers.append((found["attempts"], found["summary"]))
    assert answers[0] == answers[1] == answers[2]


def test_a_verb_that_makes_no_speedups_says_so(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(record({"m.time_x": [1.0]}) | {"id": "r"}) + "\n")
    for arguments in (("measure", path, "--metrics"), ("explain", path), ("rank", path, "--metrics")):
        done = steelyard(*map(str, arguments), "task_speedup", *(("--run", "r") if arguments[0] == "explain" else ()))
        assert done.status == 2
        assert "the input contains no timings" in done.stderr


# Intervals


def intervals_of(found: Speedups) -> list[tuple[float | None, float | None, float | None]]:
    """Every figure with ends in the answer: low, figure, high."""
    shown = result_of(found, found.findings)
    listed = []
    for tried in shown.attempts:
        for row in tried.per_benchmark_speedups.values():
            listed.append((row.log_speedup_low, row.log_speedup, row.log_speedup_high))
            listed.append((row.log_ratio_low, row.log_ratio, row.log_ratio_high))
        listed.append(tuple(tried.measures[f"log_advantage{end}"] for end in ("_low", "", "_high")))
    for ours in shown.summary.values():
        interval = ours.log_advantage_interval
        assert interval.estimate == ours.mean_log_advantage
        listed.append((interval.low, ours.mean_log_advantage, interval.high))
    return listed


def check(found: Speedups) -> int:
    """How many figures have ends; each lies between its own, and ends come in pairs."""
    count = 0
    for low, figure, high in intervals_of(found):
        assert (low is None) == (high is None)
        if low is not None and high is not None and figure is not None:
            assert low <= figure <= high
            count += 1
    return count


many_samples = st.lists(
    st.sampled_from((1e-7, 0.1, 0.3, 0.30000000000000004, 1.0, 1.1, 3.0, 7.5)), min_size=6, max_size=9
)


@given(
    times=st.lists(st.tuples(many_samples, many_samples, many_samples), min_size=1, max_size=4),
    method=st.sampled_from(("order", "bootstrap")),
    together=st.booleans(),
)
@example(times=[([3.0] * 6, [0.3] * 7, [0.1] * 8)], method="order", together=False)
@settings(max_examples=150)
def test_an_interval_holds_the_figure_it_is_of(
    times: list[tuple[list[float], ...]], method: str, together: bool
) -> None:
    def columns(which: int) -> Any:
        return side_of(
            Timing(
                name=f"m.time_{at}",
                samples=tuple(of_benchmark[which]),
                process_sizes=(2,) + (1,) * (len(of_benchmark[which]) - 2) if together else None,
            )
            for at, of_benchmark in enumerate(times)
        )

    tried = [
        Attempt(task=task, agent="tool:model", nop=columns(0), oracle=columns(1), side=columns(which))
        for task, which in (("a", 2), ("b", 1), ("c", 0))
    ]
    found = measured(*tried, interval_method=method, resamples=100)
    # equal tasks leave open how others would differ
    equal = "equal on every task" in found.overall["tool:model"]["log_advantage_interval"].get("reason", "")
    # two a benchmark, one a task and one over tasks
    assert check(found) + equal >= (4 if together else 6 * len(times) + 4)


@given(
    times=st.lists(
        st.tuples(st.floats(0.1, 10.0), st.none() | st.floats(0.1, 10.0), st.none() | st.floats(0.1, 10.0)),
        min_size=1,
        max_size=5,
    ),
    rule=st.sampled_from(RULES),
    tests=st.sampled_from((GOOD, BAD, None)),
)
@example(times=[(1.0, 0.5, 1.0), (1.0, 10.0, None)], rule="drop", tests=GOOD)
@example(times=[(1.0, 0.5, 1.0), (1.0, 10.0, None)], rule="baseline", tests=BAD)
@settings(max_examples=150)
def test_what_is_missing_under_the_agent_moves_the_figure_within_its_bounds(
    times: list[tuple[float, float | None, float | None]], rule: str, tests: TestResults | None
) -> None:
    columns = [{f"m.time_{at}": of_benchmark[which] for at, of_benchmark in enumerate(times)} for which in range(3)]
    check(measured(attempt(*columns, tests=tests), agent_only_failures=rule))


@pytest.mark.parametrize("outlier", [1.0, 1e9, 1e40])
def test_the_interval_over_many_tasks_holds_its_figure_whatever_one_of_them_does(outlier: float) -> None:
    speeds = [1.0 + at / 1000 for at in range(119)] + [outlier]
    found = measured(
        *(
            attempt({"a.time_x": 1.0}, {"a.time_x": 1.0}, {"a.time_x": 1.0 / speed}, task=f"t{at:03}")
            for at, speed in enumerate(speeds)
        ),
        resamples=200,
    )
    check(found)
    interval = found.overall["tool:model"]["log_advantage_interval"]
    assert interval["low"] < interval["estimate"] < interval["high"]
    assert interval["method"] in ("hall", "clustered")


def test_the_interval_over_tasks_weighs_uneven_attempts_as_its_figure_does() -> None:
    def tried(speed: float, task: str, number: int = 1) -> Attempt:
        return attempt({"a.time_x": 1.0}, {"a.time_x": 1.0}, {"a.time_x": 1.0 / speed}, task=task, number=number)

    found = measured(tried(1.0, "a"), tried(4.0, "a", 2), tried(4.0, "a", 3), tried(1.0, "b")).overall["tool:model"]
    # the tasks' means are ln 4 x 2/3 and 0; over attempts the mean would be ln 4 / 2 instead of ln 4 / 3
    middle, half = math.log(4) / 3, stats.t.ppf(0.975, 1) * math.log(4) / 3  # two values d apart: d / 2 is the error
    interval = found["log_advantage_interval"]
    assert (interval["low"], interval["estimate"], interval["high"]) == pytest.approx(
        (middle - half, middle, middle + half)
    )


# SWE-fficiency's score


def test_the_ratio_to_the_expert_over_tasks_is_worked_out_by_hand() -> None:
    def tried(speed: float, expert: float, **more: Any) -> Attempt:
        return attempt({"a.time_x": 4.0}, {"a.time_x": 4.0 / expert}, {"a.time_x": 4.0 / speed}, **more)

    one_each = [
        tried(4.0, 2.0, task="a", tests=GOOD),  # ratio 2
        tried(8.0, 4.0, task="b", tests=BAD),  # failed, so as if nothing had changed: 1/4
        tried(2.0, 4.0, task="c", tests=GOOD),  # 1/2
    ]
    found = measured(*one_each).overall["tool:model"]
    assert found["speedup_ratio_hmean_over_tasks"] == pytest.approx(3 / (1 / 2 + 4 + 2))  # 6/13
    assert found["speedup_ratio_gmean_over_tasks"] == pytest.approx((2 / 4 / 2) ** (1 / 3))
    assert found["speedup_ratio_gmean_over_tasks"] == pytest.approx(math.exp(found["mean_log_advantage"]))
    again = measured(*one_each, tried(4.0, 2.0, task="a", tests=BAD, number=2)).overall["tool:model"]
    # task a now has the ratios 2 and 1/2: their harmonic mean is 2 / (1/2 + 2) = 0.8, their geometric mean 1
    assert again["speedup_ratio_hmean_over_tasks"] == pytest.approx(3 / (1 / 0.8 + 4 + 2))
    assert again["speedup_ratio_gmean_over_tasks"] == pytest.approx((1 / 4 / 2) ** (1 / 3))


def test_a_task_without_an_expert_is_in_no_ratio_and_is_counted() -> None:
    with_expert = attempt({"a.time_x": 4.0}, {"a.time_x": 2.0}, {"a.time_x": 4.0}, task="a", tests=GOOD)
    without = attempt({"a.time_x": 4.0}, None, {"a.time_x": 1.0}, task="b", tests=GOOD)
    found = measured(with_expert, without).overall["tool:model"]
    for name in ("speedup_ratio_hmean_over_tasks", "speedup_ratio_gmean_over_tasks"):
        assert (found[name], found["counts"][name]) == (0.5, {"n": 1, "of": 2})
    assert measured(without).overall["tool:model"]["speedup_ratio_hmean_over_tasks"] is None
