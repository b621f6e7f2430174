"""Comparing two configurations: paired by task, honest about what is not shown, the same whatever the order."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest

import steelyard as sy
from commands import steelyard
from matchups import made_runs, write
from steelyard.errors import InputError, NoValidInputError, UnknownNameError, UsageError
from steelyard.records import Judgment, Run


def judged(result, metric="pass_rate", pair=0):
    return result.pairs[pair].metrics[metric]


def singles(a: list[int], b: list[int]) -> list[Run]:
    return [
        Run(id=f"{agent}{task}", task=f"t{task}", agent=agent, passed=bool(passed))
        for agent, outcomes in (("x", a), ("y", b))
        for task, passed in enumerate(outcomes)
    ]


def test_the_sentence_says_how_much_how_sure_and_what_it_would_take() -> None:
    # of 80 tasks x alone passes 10 and y alone 14: 4 of 80 are 5 pp
    runs = singles([1] * 40 + [1] * 10 + [0] * 14 + [0] * 16, [1] * 40 + [0] * 10 + [1] * 14 + [0] * 16)
    found = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    # variance of the differences (24 - 80 x 0.05²) / 79 = 0.301: 5.0 +- 1.99 sqrt(0.301 / 80) = 5.0 +- 12.2, and about
    # (1.960 + 0.842)² x 0.301 / 0.05² = 946 tasks
    power = found.power_analysis
    assert found.sentence.startswith(
        "y passes 5.0 pp more than x on 80 shared tasks (67.5% vs. 62.5%; 95% CI -7.2 to 17.2): inconclusive. "
        f"{power.min_tasks:,} to {power.max_tasks:,} tasks needed to detect 5.0 pp (80% power)."
    )
    assert power.min_tasks < 946 < power.max_tasks
    assert (found.difference.method, found.test.method) == ("paired-t", "paired-t")
    assert len(found.by_task.higher) == 14
    assert len(found.by_task.lower) == 10


def test_a_clear_difference_is_called_better_and_worse_from_the_other_side() -> None:
    runs = made_runs({"good": 0.8, "bad": 0.3}, tasks=60, attempts=3)
    forth = judged(sy.compare(runs, baseline="agent=bad", candidate="agent=good"))
    back = judged(sy.compare(runs, baseline="agent=good", candidate="agent=bad"))
    assert (forth.verdict, back.verdict) == ("better", "worse")
    assert forth.sentence.endswith("good is better.")
    assert forth.difference.estimate == pytest.approx(-back.difference.estimate, abs=1e-12)
    assert forth.difference.low == pytest.approx(-back.difference.high, abs=1e-12)


def test_lower_cost_is_better() -> None:
    runs = made_runs({"dear": 0.5}, cost=1.0) + made_runs({"cheap": 0.5}, cost=0.1)
    found = judged(sy.compare(runs, baseline="agent=dear", candidate="agent=cheap"), "cost_usd")
    assert found.verdict == "better"
    assert found.sentence.startswith("cheap costs $1.3277 less")


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_data_set_against_itself_is_never_better(attempts: int) -> None:
    runs = made_runs({"one": 0.6}, attempts=attempts)
    copies = [msgspec.structs.replace(run, id=f"{run.id}-copy", agent="two") for run in runs]
    result = sy.compare([*runs, *copies], baseline="agent=one", candidate="agent=two")
    assert len(result.pairs[0].metrics) == 5  # no durations
    for one in result.pairs[0].metrics.values():
        assert one.difference.estimate == 0
        assert one.verdict in ("no difference", "unknown")
        assert one.test.p_value in (1.0, None)
    itself = sy.compare(runs, baseline="agent=one", candidate="agent=one")
    assert {one.difference.estimate for one in itself.pairs[0].metrics.values()} == {0.0}
    assert not any(one.verdict in ("better", "worse", "differs") for one in itself.pairs[0].metrics.values())


def test_noise_is_seldom_called_a_difference() -> None:
    called = 0
    for seed in range(60):
        runs = made_runs({"one": 0.5, "two": 0.5}, tasks=30, attempts=2, seed=seed)
        found = judged(
            sy.compare(runs, baseline="agent=one", candidate="agent=two", metrics=["pass_rate"], resamples=500)
        )
        called += found.verdict in ("better", "worse")
    assert called <= 9  # 3 expected of 60; more than 9 has a chance below one in a thousand


def test_only_common_tasks_count_and_the_others_are_told() -> None:
    runs = singles([1, 0, 1, 1], [1, 1])
    extra = Run(id="y9", task="t9", agent="y", passed=True)
    result = sy.compare([*runs, extra], baseline="agent=x", candidate="agent=y", metrics=["pass_rate"])
    pair = result.pairs[0]
    assert (pair.tasks.common, pair.tasks.only_baseline, pair.tasks.only_candidate) == (
        2,
        ("t2", "t3"),
        ("t9",),
    )
    assert judged(result).tasks == 2


def test_tasks_count_the_same_however_often_they_were_tried() -> None:
    runs = singles([1, 0], [1, 1])
    runs += [Run(id=f"x-{i}", task="t0", agent="x", passed=True) for i in range(8)]
    # x: task means 1 and 0, so 0.5, although 9 of its 10 runs passed
    assert judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"])).baseline == 0.5


def test_duplicated_attempts_do_not_make_it_surer() -> None:
    runs = made_runs({"one": 0.5, "two": 0.6}, tasks=30)
    tenfold = [msgspec.structs.replace(run, id=f"{run.id}-{i}", attempt=i) for run in runs for i in range(10)]
    asked = {"baseline": "agent=one", "candidate": "agent=two", "metrics": ["pass_rate"], "interval": "paired-t"}
    once, often = (judged(sy.compare(some, **asked)).difference for some in (runs, tenfold))
    assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=1e-12)


def test_order_of_rows_and_names_of_agents_change_nothing() -> None:
    runs = made_runs({"one": 0.5, "two": 0.6}, tasks=30, attempts=2)
    shuffled = list(runs)
    random.Random(3).shuffle(shuffled)
    renamed = [msgspec.structs.replace(run, agent={"one": "zz", "two": "aa"}[run.agent or ""]) for run in runs]
    first = sy.compare(runs, baseline="agent=one", candidate="agent=two").to_dict()
    assert first == sy.compare(shuffled, baseline="agent=one", candidate="agent=two").to_dict()
    other = sy.compare(renamed, baseline="agent=zz", candidate="agent=aa").to_dict()

    def bare(result):
        metrics = result["pairs"][0]["metrics"]
        return {name: {key: value for key, value in one.items() if key != "sentence"} for name, one in metrics.items()}

    assert bare(first) == bare(other)


def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", made_runs({"one": 0.5, "two": 0.6}, tasks=30, attempts=2))
    asked = ("compare", file, "-a", "agent=one", "-b", "agent=two", "--json", "--seed", "5")
    first, second = (steelyard(*asked, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first.status == 0
    assert first.stdout == second.stdout
    shown = json.loads(first.stdout)
    assert shown["seed"] == 5
    test = shown["pairs"][0]["metrics"]["composite_score"]["test"]
    assert (test["method"], test["n"]) == ("paired-t", 30)


def test_several_comparisons_share_the_error() -> None:
    runs = made_runs({"base": 0.5, "b1": 0.6, "b2": 0.55, "b3": 0.5}, tasks=50, attempts=2)
    alone = sy.compare(runs, baseline="agent=base", candidate="agent=b1", metrics=["pass_rate"])
    several = sy.compare(
        runs, baseline="agent=base", candidate=["agent=b1", "agent=b2", "agent=b3"], metrics=["pass_rate"]
    )
    assert several.comparisons == 3
    assert judged(several).difference == judged(alone).difference
    assert judged(several).by_task == judged(alone).by_task
    assert judged(several).effect == judged(alone).effect
    assert judged(several).test.p_value == judged(alone).test.p_value
    assert judged(several).test.adjusted_p_value >= judged(alone).test.adjusted_p_value
    assert judged(several).power_analysis.tasks_needed > judged(alone).power_analysis.tasks_needed
    plain = sy.compare(
        runs, baseline="agent=base", candidate=["agent=b1", "agent=b2"], metrics=["pass_rate"], correction="none"
    )
    assert judged(plain).test.adjusted_p_value == judged(plain).test.p_value


def test_missing_outcomes_are_not_failures_and_their_reach_is_told() -> None:
    runs = singles([0] * 30, [1] * 28 + [1, 1])
    runs = [msgspec.structs.replace(run, passed=None) if run.id in {"x0", "x1", "y0"} else run for run in runs]
    found = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    assert found.tasks == 28
    assert (found.missing.baseline, found.missing.candidate) == (2, 1)
    # of 30 tasks 28 differ by 1; the two open ones by -1 (y fails, x passes) or 0 (y passes, x too), or up to 1
    assert (found.missing_bounds.low, found.missing_bounds.high) == (pytest.approx(27 / 30), 1.0)
    assert "3 runs have no verdict (x 2, y 1); worst-case bounds of the difference: 90.0 to 100.0." in found.sentence
    runs = [msgspec.structs.replace(run, passed=True) if run.id in {"x1", "y0"} else run for run in runs]
    found = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    assert "1 run has no verdict (x 1); worst-case bounds of the difference:" in found.sentence


def test_missing_outcomes_that_could_undo_a_verdict_are_named() -> None:
    runs = made_runs({"one": 0.3, "two": 0.7}, tasks=30)
    extra = [Run(id=f"q{task}-{i}", task=f"task-{task:03}", agent="two") for task in range(30) for i in range(3)]
    found = judged(sy.compare([*runs, *extra], baseline="agent=one", candidate="agent=two", metrics=["pass_rate"]))
    # left out, the open runs say that two is better; counted as failed, they take three attempts in four from it
    assert found.verdict == "inconclusive"
    assert "inconclusive; depends on runs without a verdict." in found.sentence
    assert "90 runs have no verdict (two 90)" in found.sentence
    failed = sy.compare(
        [*runs, *extra], baseline="agent=one", candidate="agent=two", metrics=["pass_rate"], unscored="fail"
    )
    assert judged(failed).verdict != "better"


def test_equal_rates_that_hide_runs_that_broke_off_are_told_with_both_figures() -> None:
    runs = singles([0] * 15 + [1] * 15, [0] * 10 + [1] * 20)
    runs = [
        msgspec.structs.replace(run, passed=None, outcome="errored") if run.agent == "x" and not run.passed else run
        for run in runs
    ]
    found = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    # x passes 15 of the 15 tasks left; counted as failed, 15 of 30 against 20 of 30
    assert "With runs without a verdict counted as failed: 66.7% vs. 50.0%." in found.sentence
    failed = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"], unscored="fail"))
    assert "excluded: 100.0% vs. 100.0%." in failed.sentence


def test_sides_without_a_common_task_are_told_of_once(tmp_path: Path) -> None:
    runs = [Run(id=name, task=name, agent=name, passed=True, cost_usd=1.0) for name in "ab"]
    done = steelyard("compare", write(tmp_path / "runs.jsonl", runs), "-a", "agent=a", "-b", "agent=b")
    told = "Cannot compare b with a: no task in common."
    assert done.stdout.count("Cannot compare") == 1
    assert done.stdout.startswith(told)
    assert str(sy.compare(runs, baseline="agent=a", candidate="agent=b")).startswith(f"{told}\n")


def test_a_verdict_that_both_ways_of_counting_share_is_told_with_what_open_runs_could_undo() -> None:
    runs = singles([0] * 30, [1] * 24 + [0] * 6)
    extra = [Run(id=f"q{i}", task=f"t{i}", agent="x") for i in range(24)]
    found = judged(sy.compare([*runs, *extra], baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    assert found.verdict == "better"  # failed or left out, x passed nothing


def test_cost_of_pass_is_compared_as_a_ratio_of_means() -> None:
    runs = made_runs({"one": 0.3}, tasks=40, cost=0.5) + made_runs({"two": 0.8}, tasks=40, cost=0.1)
    found = judged(sy.compare(runs, baseline="agent=one", candidate="agent=two"), "cost_of_pass")
    one = [run for run in runs if run.agent == "one"]
    ratio = sum(run.cost_usd for run in one) / sum(run.passed for run in one)
    assert found.baseline == pytest.approx(ratio)
    assert (found.verdict, found.test.method) == ("better", "mover-d")


def test_infinite_values_are_refused_with_the_metric_to_take_instead() -> None:
    runs = made_runs({"one": 0.5, "two": 0.5}, tasks=12)
    found = judged(
        sy.compare(runs, baseline="agent=one", candidate="agent=two", metrics=["cost_of_pass_per_run"]),
        "cost_of_pass_per_run",
    )
    assert found.verdict == "unknown"
    assert "compare cost_of_pass instead" in found.sentence


def test_three_tasks_never_show_anything_and_say_how_many_would() -> None:
    runs = singles([0, 0, 0], [1, 1, 1])
    found = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    assert found.verdict == "inconclusive"
    assert found.test.p_value > 0.05
    assert not found.difference.excludes(0.0)


def lopsided(*agents: str) -> list[Run]:
    """The first agent alone passes one of 20 tasks, the others seven; costs differ and even out."""
    return [
        Run(
            id=f"{agent}{task}",
            task=f"t{task}",
            agent=agent,
            passed=task < 1 if not place else 1 <= task < 8,
            cost_usd=1 + 0.1 * (-1) ** task * min(place, 1),
        )
        for place, agent in enumerate(agents)
        for task in range(20)
    ]


@pytest.mark.parametrize(
    ("others", "metrics", "comparisons", "remedy"),
    [
        # 6/20 with variance (8 - 20 x 0.3²) / 19 = 0.326: t = 0.3 / sqrt(0.326 / 20) = 2.349 with 19 df, so p = 0.030
        # alone, times the number of comparisons after Holm
        (
            ["y"],
            ["pass_rate", "cost_usd"],
            "(p = 0.030, corrected 0.060). Corrected for 2 comparisons",
            "pass_rate alone.",
        ),
        (
            ["y", "z"],
            ["pass_rate"],
            "(p = 0.030, corrected 0.060). Corrected for 2 comparisons",
            "agent=y alone.",
        ),
        (
            ["y", "z"],
            ["pass_rate", "cost_usd"],
            "(p = 0.030, corrected 0.119). Corrected for 4 comparisons",
            "pass_rate of agent=y alone.",
        ),
    ],
)
def test_what_only_the_number_of_comparisons_leaves_open_is_told_with_how_to_ask_for_it_alone(
    others: list[str], metrics: list[str], comparisons: str, remedy: str
) -> None:
    runs = lopsided("x", *others)
    found = judged(
        sy.compare(runs, baseline="agent=x", candidate=[f"agent={name}" for name in others], metrics=metrics)
    )
    assert found.verdict == "inconclusive"
    values, corrected = comparisons.split(". ")
    assert f"inconclusive {values}." in found.sentence
    assert f"{corrected}; if only" in found.sentence
    assert f"if only this one was planned, compare {remedy}" in found.sentence
    alone = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    assert (alone.verdict, alone.sentence.count("planned")) == ("better", 0)


def test_compare_excludes_zero_from_the_interval_of_a_claim() -> None:
    runs = [msgspec.structs.replace(run, cost_usd=run.cost_usd + 5 * (run.agent == "y")) for run in lopsided("x", "y")]
    found = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate", "cost_usd"])
    passing = judged(found)
    assert passing.verdict == "better"
    assert passing.simultaneous is not None
    assert passing.simultaneous.low == 0.0  # 0.025 < p < 0.05: Holm finds it after the cost, Bonferroni does not
    assert "simultaneous 95% CI >0 to" in passing.sentence


def test_compare_plans_no_effect_beyond_the_bounds() -> None:
    found = judged(
        sy.compare(
            singles([1, 0] * 3, [1, 1, 1, 0, 1, 0]), baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]
        )
    )
    assert found.verdict == "inconclusive"
    assert found.power_analysis is not None
    assert found.power_analysis.tasks_needed is not None
    assert found.power_analysis.minimum_detectable_effect is None  # above 0.5, all that a baseline of 0.5 allows
    assert "Minimum detectable effect" not in found.sentence


def test_no_common_task_is_told_not_compared() -> None:
    runs = [Run(id="1", task="a", agent="x", passed=True), Run(id="2", task="b", agent="y", passed=True)]
    found = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    assert found.verdict == "unknown"
    assert "Cannot compare y with x: no task in common" in found.sentence


def test_runs_on_both_sides_are_a_finding() -> None:
    runs = made_runs({"one": 0.5}, tasks=12)
    runs += [msgspec.structs.replace(run, id=f"{run.id}n", model="n") for run in runs]
    result = sy.compare(runs, baseline="agent=one", candidate="agent=one,model=n", metrics=["pass_rate"])
    assert [finding.code for finding in result.findings] == ["pooled", "overlap"]


def test_nothing_in_common_exits_1(tmp_path: Path) -> None:
    runs = [Run(id="1", task="a", agent="x", passed=True), Run(id="2", task="b", agent="y", passed=True)]
    done = steelyard("compare", write(tmp_path / "runs.jsonl", runs), "-a", "agent=x", "-b", "agent=y")
    assert done.status == 1
    assert "0 shared tasks" in done.stdout


def test_names_are_text_and_never_markup_or_control(tmp_path: Path) -> None:
    runs = [
        Run(id=f"{agent}{i}", task=f"[bold]{i}[/x]\x1b[31m", agent=agent, passed=(agent == "[red]b") or i < 3)
        for agent in ("[/]a", "[red]b")
        for i in range(12)
    ]
    done = steelyard("compare", write(tmp_path / "runs.jsonl", runs), "-a", "agent=[/]a", "-b", "agent=[red]b")
    assert done.status == 0
    assert "[red]b passes 75.0 pp more than [/]a" in done.stdout
    assert "\x1b[31m" not in done.stdout


def test_pooled_configurations_are_a_finding() -> None:
    runs = made_runs({"one": 0.5, "two": 0.5}, tasks=5)
    runs += [msgspec.structs.replace(run, id=f"{run.id}n", model="n") for run in runs if run.agent == "two"]
    result = sy.compare(runs, baseline="agent=one", candidate="agent=two")
    assert [finding.message for finding in result.findings if finding.code == "pooled"] == [
        "two pools runs of 2 models; add them to the filter to compare one configuration"
    ]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"baseline": "agnt=one"}, UnknownNameError, "did you mean 'agent'"),
        ({"baseline": "agent=ome"}, UnknownNameError, "did you mean 'one'"),
        ({"baseline": "agent"}, UsageError, "is not KEY=VALUE"),
        ({"baseline": ""}, UsageError, "selects no runs"),
        ({"candidate": []}, UsageError, "no candidate to compare"),
        ({"candidate": ["agent=two", "agent=two"]}, UsageError, "given twice"),
        ({"metrics": ["pas_rate"]}, UnknownNameError, "pass_rate"),
        ({"metrics": ["schema_overhead"]}, UsageError, "schema_overhead_per_run"),
        ({"interval": "bcaa"}, UnknownNameError, "bca"),
        ({"confidence": 95}, UsageError, "between 0 and 1"),
        ({"resamples": 5}, UsageError, "out of range"),
        ({"seed": -1}, UsageError, "must be 0 or more"),
        ({"profile": "speedup-1"}, UsageError, "is for the speedup"),
    ],
)
def test_wrong_usage_is_answered_with_what_to_do(options, error, message) -> None:
    runs = made_runs({"one": 0.5, "two": 0.5}, tasks=4)
    with pytest.raises(error, match=message):
        sy.compare(runs, **({"baseline": "agent=one", "candidate": "agent=two"} | options))


def test_nothing_to_read_is_an_error() -> None:
    with pytest.raises(NoValidInputError):
        sy.compare([], baseline="agent=x", candidate="agent=y")


@pytest.mark.parametrize("method", ["paired-t", "percentile", "bca"])
def test_the_asked_for_method_is_used_and_named(method: str) -> None:
    runs = made_runs({"one": 0.5, "two": 0.6}, tasks=40, attempts=2)
    found = judged(
        sy.compare(runs, baseline="agent=one", candidate="agent=two", interval=method, metrics=["pass_rate"])
    )
    assert found.difference.method == method
    assert np.isfinite([found.difference.low, found.difference.high]).all()


def test_the_command_prints_sentences_tables_and_flips(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", made_runs({"one": 0.3, "two": 0.8}, tasks=30))
    done = steelyard("compare", file, "-a", "agent=one", "-b", "agent=two")
    assert done.status == 0
    assert "two (B) vs. one (A): 30 shared tasks" in done.stdout
    assert "two is better." in done.stdout
    assert "Pass rate on tasks that differ, two (B) vs. one (A): " in done.stdout


@pytest.mark.parametrize("amount", [0.0, 1.0])
def test_costs_that_are_all_0_or_1_are_still_costs(amount: float) -> None:
    runs = [
        Run(id=f"{agent}{task}", task=f"t{task}", agent=agent, passed=task % 2 == 0, cost_usd=amount)
        for agent in ("x", "y")
        for task in range(20)
    ]
    cost = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y"), "cost_usd").difference
    assert cost.estimate == 0
    assert (cost.low, cost.high) == (None, None)  # nothing says how much a cost could differ
    gate = sy.gate(runs[20:], baseline=runs[:20], rule=["cost_usd <= baseline + 0.01"])
    assert gate.status == "pass"  # the same on every one of 20 tasks
    measured = sy.measure(runs, metrics=["cost_usd", "pass_rate"], interval="auto").groups[0].metrics
    assert measured["cost_usd"].intervals["mean"].method == "hall"
    assert measured["pass_rate"].intervals["mean"].method == "gaffke"


def test_a_scaled_pass_rate_is_no_longer_a_count_of_successes() -> None:
    base = singles([1] * 40, [1] * 40)
    gate = sy.gate(base[40:], baseline=base[:40], rule=["pass_rate >= -10%"])
    assert gate.rules[0].interval.estimate == pytest.approx(0.1)  # 1 - 1 x 0.9


def test_values_too_large_to_compute_with_are_named_and_next_to_nothing_is_nothing() -> None:
    runs = singles([1] * 12, [0] * 12)
    huge = [msgspec.structs.replace(run, cost_usd=1e308) for run in runs]
    with pytest.raises(InputError, match=r"cost_usd is above 1e\+100 in 24 runs"):
        sy.compare(huge, baseline="agent=x", candidate="agent=y")
    tiny = [msgspec.structs.replace(run, cost_usd=5e-324 * place) for place, run in enumerate(runs)]
    assert judged(sy.compare(tiny, baseline="agent=x", candidate="agent=y"), "cost_usd").difference.estimate == 0
    cost = sy.measure(huge, metrics=["cost_usd"], interval="auto").groups[0].metrics["cost_usd"]
    assert (cost.mean, cost.std_dev) == (1e308, 0.0)
    assert cost.intervals["mean"].reason == "a value is too large to compute with"


def test_no_value_on_one_side_is_not_told_as_no_task_in_common() -> None:
    runs = [Run(id=f"x{i}", task=f"t{i}", agent="x", passed=True) for i in range(12)]
    runs += [Run(id=f"y{i}", task=f"t{i}", agent="y") for i in range(12)]
    found = judged(sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"]))
    told, _, counted_as_failed = found.sentence.partition(" With ")
    assert told == "Pass rate: cannot compare y with x: no task has a value on both sides."
    assert counted_as_failed.endswith("0.0% vs. 100.0%.")
    assert (found.test.p_value, found.test.adjusted_p_value) == (None, None)  # no test was made, so none is counted
    assert (found.missing.baseline, found.missing.candidate) == (0, 12)
    apart = [msgspec.structs.replace(run, task=run.id) for run in runs]
    assert (
        "no task in common"
        in judged(sy.compare(apart, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"])).sentence
    )


def test_a_name_with_a_line_end_makes_no_line_of_its_own(tmp_path: Path) -> None:
    runs = [msgspec.structs.replace(run, task=f"{run.task}\n1 forged") for run in singles([1] * 4, [0] * 4)]
    file = write(tmp_path / "runs.jsonl", runs)
    judged_runs = [
        msgspec.structs.replace(run, agent="x\n1 forged", judgments=[Judgment(judge="j\n1 forged", weighted_score=0.5)])
        for run in runs
    ]
    other = write(tmp_path / "judged.jsonl", judged_runs)
    shown = [
        steelyard("compare", file, "-a", "agent=x", "-b", "agent=y"),
        steelyard("rank", other, "--by", "agent", "--metrics", "pass_rate"),
        steelyard("judges", other),
        steelyard("measure", other, "--by", "agent"),
    ]
    for done in shown:
        assert "forged" in done.stdout
        assert not [line for line in done.stdout.splitlines() if line.strip().startswith("1 forged")]


def test_a_comparison_without_verdicts_says_so() -> None:
    runs = [{"task": f"t{n}", "agent": agent, "cost_usd": n + 1} for n in range(3) for agent in ("x", "y")]
    compared = sy.compare(runs, baseline="agent=x", candidate="agent=y")
    said = [finding.message for finding in compared.findings if finding.code == "no_verdicts"]
    assert said == ["pass rate not compared: no task has a verdict on both sides"]
    scored = sy.compare([{**run, "passed": True} for run in runs], baseline="agent=x", candidate="agent=y")
    assert "no_verdicts" not in {finding.code for finding in scored.findings}


def costly(costs: dict[str, list[float]]) -> list[Run]:
    return [
        Run(id=f"{agent}-{task}", task=f"t{task}", agent=agent, passed=True, cost_usd=cost)
        for agent, row in costs.items()
        for task, cost in enumerate(row)
    ]


def test_a_mean_that_one_run_carries_is_a_warning_with_that_run_and_the_medians() -> None:
    # 19 of 20 tasks cost y twice as much; the means are (19 x 0.99 + 300) / 20 = 15.94 and 2
    runs = costly({"x": [0.9 + task / 100 for task in range(19)] + [300], "y": [2.0] * 20})
    result = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["cost_usd"])
    assert "(mean $2.00 vs. $15.94;" in judged(result, "cost_usd").sentence
    (finding,) = [each for each in result.findings if each.code == "outlier_dominated_mean"]
    assert (finding.severity, finding.where) == ("warning", "x")
    assert finding.places[0].message == (
        "mean cost $15.94, but $0.9900 without the largest run: $300.00 (t19, run x-19); "
        "median $0.9950 vs. $2.0000 for y"
    )
    (back,) = [
        each
        for each in sy.compare(runs, baseline="agent=y", candidate="agent=x").findings
        if each.code == "outlier_dominated_mean"
    ]
    assert back.places[0] == finding.places[0]


def test_more_runs_than_three_that_carry_a_mean_are_counted() -> None:
    runs = costly({"x": [1.0] * 36 + [100, 101, 102, 103], "y": [2.0] * 40})
    (finding,) = [
        each
        for each in sy.compare(runs, baseline="agent=x", candidate="agent=y").findings
        if each.code == "outlier_dominated_mean"
    ]
    listed = "$103.00 (t39, run x-39), $102.00 (t38, run x-38), $101.00 (t37, run x-37), 1 more"
    assert f"without the 4 largest runs: {listed};" in (finding.places[0].message or "")


def test_equal_runs_that_carry_a_mean_are_named_whatever_the_order_of_rows() -> None:
    runs = costly({"x": [1.0] * 36 + [100, 100, 100, 100], "y": [2.0] * 40})
    told = set()
    for seed in range(3):
        random.Random(seed).shuffle(runs)
        found = sy.compare(runs, baseline="agent=x", candidate="agent=y").findings
        told |= {place.message for each in found if each.code == "outlier_dominated_mean" for place in each.places}
    (message,) = told
    assert "without the 4 largest runs: $100.00 (t36, run x-36)," in (message or "")


@pytest.mark.parametrize("last", [0.5, 30.0])
def test_means_that_agree_with_the_typical_run_carry_no_warning(last: float) -> None:
    runs = costly(
        {"x": [1.0 + task / 100 for task in range(20)], "y": [*[2.0 + task / 50 for task in range(19)], last]}
    )
    assert "outlier_dominated_mean" not in [
        each.code for each in sy.compare(runs, baseline="agent=x", candidate="agent=y").findings
    ]


def test_costs_of_nothing_have_no_geometric_mean_and_still_warn() -> None:
    runs = costly({"x": [0.0] * 19 + [300], "y": [1.0 + task / 100 for task in range(20)]})
    result = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["cost_usd"])
    assert judged(result, "cost_usd").geometric_ratio is None
    assert "outlier_dominated_mean" in [each.code for each in result.findings]


def timed_runs(tasks: int, *, gain: float = 0.6, reverse: bool = False) -> list[Run]:
    """Two sides with one run per task; of every ten tasks the baseline passes 2, the candidate 10 `gain` more."""
    runs = []
    for number in range(tasks):
        for side in "ab":
            passed = number % 10 < 2 if side == "a" else number % 10 < 2 + 10 * gain
            minute = tasks - number if reverse else number
            runs.append(
                Run(
                    id=f"{side}{number}",
                    task=f"task-{number:03}",
                    agent=side,
                    passed=passed,
                    started_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute),
                )
            )
    return runs


def sequential(runs: list[Run], planned: int = 100, **options: object) -> sy.Comparison:
    return sy.compare(runs, baseline="agent=a", candidate="agent=b", sequential=planned, **options)


def test_compare_sequential_decides_and_stays_decided() -> None:
    found = sequential(timed_runs(60)).pairs[0].metrics["pass_rate"]
    assert (found.verdict, found.difference.method) == ("better", "betting")
    assert (found.sequential.planned, found.sequential.completed) == (100, 60)
    first = found.sequential.decided_at
    assert 1 < first < 60
    assert f"Decided after {first} tasks of 100 planned" in found.sentence
    earlier = sequential(timed_runs(first)).pairs[0].metrics["pass_rate"]
    before = sequential(timed_runs(first - 1)).pairs[0].metrics["pass_rate"]
    assert (earlier.sequential.decided_at, before.sequential.decided_at) == (first, None)
    assert before.verdict == "inconclusive"
    assert before.power_analysis is None
    assert f"{first - 1} of 100 planned tasks completed; not decided yet." in before.sentence


def test_compare_sequential_orders_tasks_by_time() -> None:
    forward, backward = (sequential(timed_runs(57, reverse=reverse)) for reverse in (False, True))
    assert (
        forward.pairs[0].metrics["pass_rate"].difference.estimate
        == backward.pairs[0].metrics["pass_rate"].difference.estimate
    )
    assert forward.pairs[0].metrics["pass_rate"].difference.low != backward.pairs[0].metrics["pass_rate"].difference.low
    mixed = timed_runs(57)
    random.Random(3).shuffle(mixed)
    assert sequential(mixed) == forward


def test_compare_sequential_says_that_few_planned_tasks_save_nothing() -> None:
    codes = [finding.code for finding in sequential(timed_runs(30), 40).findings]
    assert "few_planned_tasks" in codes
    assert "few_planned_tasks" not in [finding.code for finding in sequential(timed_runs(30)).findings]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "cost_usd"}, "needs a metric with bounds, and cost_usd has none"),
        ({"metrics": "cost_of_pass"}, "needs a metric with bounds, and cost_of_pass has none"),
        ({"metrics": "pass_rate,impl_rate"}, "compares one metric of one candidate"),
        ({"cluster": "agent"}, "does not support cluster"),
        ({"weight_by": "runs"}, "does not support weight_by"),
        ({"interval": "bca"}, "does not support interval"),
        ({"planned": 1}, "at least 2 planned tasks"),
    ],
)
def test_compare_sequential_rejects(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        sequential(timed_runs(20), **options)
    assert message in str(caught.value)


def test_compare_sequential_needs_times_and_a_policy() -> None:
    runs = timed_runs(20)
    without = [*runs[:-1], msgspec.structs.replace(runs[-1], started_at=None)]
    with pytest.raises(UsageError, match="1 of 40 runs have neither started_at nor ended_at"):
        sequential(without)
    unscored = [*runs[:-1], msgspec.structs.replace(runs[-1], passed=None)]
    with pytest.raises(UsageError, match="needs a policy for runs without a verdict"):
        sequential(unscored)
    assert sequential(unscored, unscored="exclude").pairs[0].metrics["pass_rate"].sequential.completed == 19
    assert sequential(unscored, unscored="fail").pairs[0].metrics["pass_rate"].sequential.completed == 20


def test_compare_page_lists_each_metric_by_task() -> None:
    runs = [
        Run(task=task, agent=agent, passed=passed, cost_usd=cost)
        for task in ("a", "b", "c")
        for agent, passed, cost in (("ant", True, 0.25), ("bee", task == "a", 0.5))
    ]
    answer = sy.compare(runs, baseline="agent=ant", candidate="agent=bee", metrics="pass_rate,cost_usd")
    (table,) = [table for table in answer.page().tables if table.name == "task_values"]
    assert table.is_folded
    shown = {column.name: list(column.values) for column in table.columns}
    assert shown["metric"] == ["Cost"] * 3
    assert shown["baseline"] == [0.25] * 3
    assert shown["candidate"] == [0.5] * 3


def test_compare_ignores_rounding_of_equal_differences() -> None:
    # every task costs 2 cents less, which is no exact number in binary
    costs = [0.17, 0.23, 0.11, 0.31, 0.19, 0.29, 0.41, 0.07, 0.13, 0.37]
    runs = [
        Run(id=f"{side}{number}", task=f"t{number}", agent=side, passed=True, cost_usd=round(cost - change, 2))
        for number, cost in enumerate(costs)
        for side, change in (("a", 0.0), ("b", 0.02))
    ]
    found = sy.compare(runs, baseline="agent=a", candidate="agent=b", metrics=["cost_usd"]).pairs[0].metrics["cost_usd"]
    assert found.difference.estimate == pytest.approx(-0.02)
    assert (found.verdict, found.difference.low, found.test.p_value) == ("unknown", None, None)
    assert "the difference is the same on every task" in found.sentence
