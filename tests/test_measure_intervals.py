"""`measure --interval`: each figure with its range, the method named, never from one task."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from commands import steelyard
from matchups import made_runs, write
from steelyard.errors import UnknownNameError
from steelyard.metrics import catalog
from steelyard.questions.analysis import METHODS
from steelyard.questions.measure import GroupValue, Statistics
from steelyard.records import Run, TaskCounts
from steelyard.statistics import bounded_mean, clopper_pearson, clustered, mover_ratio, wilson


def group(runs, **options):
    return sy.measure(runs, by=["agent"], **options).groups[0]


def test_single_attempts_get_clopper_and_pearsons_interval_and_repeated_ones_gaffkes_over_tasks() -> None:
    once = made_runs({"x": 0.6}, tasks=25)
    often = made_runs({"x": 0.6}, tasks=25, attempts=4)
    single = group(once, interval="auto").metrics["pass_rate"].intervals["mean"]
    assert single == clopper_pearson(sum(run.passed for run in once), 25)
    several = group(often, interval="auto").metrics["pass_rate"].intervals["mean"]
    names = sorted({run.task for run in often})
    expected = bounded_mean([sum(run.passed for run in often if run.task == name) / 4 for name in names])
    assert (several.method, several.n, several.clusters) == ("gaffke", 100, 25)
    assert (several.low, several.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_amounts_get_intervals_corrected_for_skew_and_a_geometric_mean_beside() -> None:
    runs = made_runs({"x": 0.6}, tasks=25, attempts=4)
    metrics = group(runs, interval="auto").metrics
    tasks, costs = [run.task for run in runs], [run.cost_usd for run in runs]
    plain = clustered(costs, tasks)
    mean = metrics["cost_usd"].intervals["mean"]
    assert (mean.method, mean.approx_coverage) == ("hall", 0.89)
    assert (mean.low, mean.high) == pytest.approx((plain.low, plain.high), rel=0.02)  # these costs are hardly skewed
    names = sorted(set(tasks))
    halves = (
        [sum(value for task, value in zip(tasks, values, strict=True) if task == name) / 4 for name in names]
        for values in (costs, [float(run.passed) for run in runs])
    )
    expected, found = mover_ratio(*halves), metrics["cost_of_pass"].interval
    assert (found.method, found.n, found.clusters) == ("mover-r", 100, 25)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    between = metrics["cost_usd"].intervals["geometric_mean"]
    assert between.estimate == pytest.approx(np.exp(np.mean(np.log(costs))))
    assert between.low < between.estimate < between.high
    assert metrics["cost_usd"].intervals["median"].method == "median-clustered"


def test_attempts_at_one_task_give_no_interval_but_the_reason() -> None:
    runs = made_runs({"x": 0.6}, tasks=1, attempts=10)
    metrics = group(runs, interval="auto").metrics
    found = metrics["pass_rate"].intervals["mean"]
    assert not found.known
    assert found.reason == "all 10 runs are attempts on one task; at least two tasks are needed"
    assert group(runs, interval="wilson").metrics["pass_rate"].intervals["mean"].known


def test_tenfold_attempts_narrow_the_naive_interval_only() -> None:
    runs = made_runs({"x": 0.6}, tasks=25)
    tenfold = [
        Run(id=f"{run.id}-{i}", task=run.task, agent="x", passed=run.passed, attempt=i)
        for run in runs
        for i in range(10)
    ]

    def width(some, method):
        interval = group(some, interval=method).metrics["pass_rate"].intervals["mean"]
        return interval.high - interval.low

    assert width(tenfold, "clustered") == pytest.approx(width(runs, "clustered"))
    assert width(tenfold, "wilson-clustered") == pytest.approx(width(runs, "wilson-clustered"))
    assert width(tenfold, "wilson") < 0.4 * width(runs, "wilson")


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"none"}))
def test_every_method_holds_the_figure_it_is_for(method: str) -> None:
    runs = made_runs({"x": 0.6}, tasks=30, attempts=2)
    shown = 0
    for name, value in group(runs, interval=method).metrics.items():
        intervals = value.intervals if isinstance(value, Statistics) else {"value": value.interval}
        for figure, interval in intervals.items():
            if interval is None or not interval.known:
                continue
            shown += 1
            estimate = interval.estimate if figure == "geometric_mean" else getattr(value, figure)
            assert interval.low <= estimate <= interval.high, name
            assert catalog()[name].bounds[0] <= interval.low
            assert interval.high <= catalog()[name].bounds[1]
            assert method in ("auto", interval.method)
    assert shown


def test_infinite_values_and_totals_have_no_interval_but_a_reason() -> None:
    metrics = group(made_runs({"x": 0.6}, tasks=30), interval="auto").metrics
    assert metrics["cost_of_pass_per_run"].intervals["mean"].reason == "a value is infinite"
    demo = sy.measure(sy.demo_runs(), by=["tier"], interval="auto").groups[3].metrics
    assert demo["schema_overhead"].interval.reason == "the metric is a total over these runs, not an estimate"
    assert demo["skill_efficiency"].interval.known


def test_order_of_rows_changes_no_byte_and_without_the_option_nothing_changes(tmp_path: Path) -> None:
    runs = made_runs({"x": 0.6, "y": 0.3}, tasks=20, attempts=3)
    shuffled = list(runs)
    random.Random(2).shuffle(shuffled)
    first = json.dumps(sy.measure(runs, by=["agent"], interval="auto").to_dict())
    assert first == json.dumps(sy.measure(shuffled, by=["agent"], interval="auto").to_dict())
    without = sy.measure(runs, by=["agent"])
    values = [value for each in without.groups for value in each.metrics.values()]
    assert {bool(value.intervals if isinstance(value, Statistics) else value.interval) for value in values} == {False}


def test_an_unknown_method_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="wilson"):
        sy.measure(made_runs({"x": 0.5}, tasks=2), interval="wilsom")


def test_the_command_shows_limits_in_table_csv_and_json(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", made_runs({"x": 0.6}, tasks=20, attempts=2))
    table = steelyard("measure", file, "--by", "agent", "--interval", "auto", "--quiet").stdout
    shown = json.loads(steelyard("measure", file, "--by", "agent", "--interval", "auto", "--json").stdout)
    interval = shown["groups"][0]["metrics"]["pass_rate"]["intervals"]["mean"]
    assert f"{100 * interval['low']:.1f}% to {100 * interval['high']:.1f}%" in table
    text = steelyard("measure", file, "--by", "agent", "--interval", "auto", "--csv", "--quiet").stdout
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(text))}
    assert float(rows["pass_rate"]["mean_low"]) == interval["low"]
    assert rows["cost_of_pass"]["interval_method"] == "mover-r"
    frame = sy.measure(file, by=["agent"], interval="auto").to_polars()
    assert frame["mean_low"].null_count() < frame.height


def test_a_group_value_without_a_value_has_no_interval() -> None:
    value = group(made_runs({"x": 0.6}, tasks=5), interval="auto").metrics["skill_efficiency"]
    assert isinstance(value, GroupValue)
    assert value.interval is None


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"none"}))
def test_no_interval_is_a_point(method: str) -> None:
    runs = [
        Run(id=f"{task}-{attempt}", task=f"task-{task}", agent="x", attempt=attempt, passed=True, cost_usd=0.5)
        for task in range(12)
        for attempt in (1, 2)
    ]
    for name, value in group(runs, interval=method).metrics.items():
        intervals = value.intervals.values() if isinstance(value, Statistics) else [value.interval]
        for interval in intervals:
            assert interval is None or not interval.known or interval.low < interval.high, name
            assert interval is None or interval.known or interval.reason


def test_a_grade_whose_median_is_not_settled_is_a_finding() -> None:
    # every second task passes: the median composite lies between two humps, at 0.1 and at 1
    halves = [Run(task=f"{n}", agent="x", passed=n % 2 == 0, impl_rate=1.0 if n % 2 == 0 else 0.2) for n in range(21)]
    steady = [Run(task=f"{n}", agent="y", passed=True, impl_rate=1.0) for n in range(21)]
    result = sy.measure([*halves, *steady], by=["agent"], interval="auto")
    told = [finding for finding in result.findings if finding.code == "uncertain_grade"]
    assert [(finding.where, finding.message) for finding in told] == [
        (
            "agent x",
            "grade A is uncertain: the 95% CI of the median composite score (10.0% to 100.0%) spans grades F to A",
        )
    ]
    plain = sy.measure(halves, by=["agent"])
    assert "uncertain_grade" not in {finding.code for finding in plain.findings}


def test_a_summary_has_wilsons_interval_of_its_counts() -> None:
    def summary(passed: int, agent: str) -> Run:
        return Run(task="board", agent=agent, cost_usd=14.41, task_counts=TaskCounts(total=225, passed=passed))

    runs = [summary(80, "x"), summary(100, "y"), summary(110, "y")]
    measured = sy.measure(runs, by=["agent"], interval="auto").groups
    rate = measured[0].metrics["summary_pass_rate"]
    assert isinstance(rate, GroupValue)
    assert rate.value == 80 / 225
    expected = wilson(80, 225)
    assert rate.interval is not None
    assert (rate.interval.low, rate.interval.high, rate.interval.n) == (expected.low, expected.high, 225)
    assert rate.interval.assumes == "independent tasks"
    pooled = measured[1].metrics["summary_pass_rate"]  # two rows on the same tasks: counts are not independent
    assert isinstance(pooled, GroupValue)
    assert pooled.value == 210 / 450
    assert pooled.interval is not None
    assert (pooled.interval.low, pooled.interval.reason is None) == (None, False)
    verdicts = measured[0].metrics["pass_rate"]
    assert isinstance(verdicts, Statistics)
    assert (verdicts.mean, verdicts.missing) == (None, 1)


def test_counts_of_a_summary_never_exceed_its_tasks() -> None:
    with pytest.raises(ValueError, match=r"passed \(6\) exceeds total \(5\)"):
        TaskCounts(total=5, passed=6)
