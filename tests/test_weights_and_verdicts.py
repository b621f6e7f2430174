"""What counts once, and what a run without a verdict counts as: the worked examples, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import steelyard as sy
from commands import steelyard
from matchups import made_runs, write
from steelyard.records import Run

NINE_AND_ONE = [
    *(Run(id=f"a{i}", task="A", agent="x", model="m", passed=True, cost_usd=0.10) for i in range(9)),
    Run(id="b", task="B", agent="x", model="m", passed=False, cost_usd=5.0),
]
BY_RUNS, BY_TASKS = (0.9, 0.59, 0.6555555555555556), (0.5, 2.55, 5.1)


def answer(*arguments: str) -> Any:  # Any: JSON values
    done = steelyard(*arguments, "--json")
    assert done.status == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("weight_by", "expected"), [("runs", BY_RUNS), ("tasks", BY_TASKS)])
def test_nine_passes_on_one_task_and_a_failure_on_another(
    tmp_path: Path, weight_by: str, expected: tuple[float, float, float]
) -> None:
    runs = write(tmp_path / "runs.jsonl", NINE_AND_ONE)
    measured = answer("measure", runs, "--weight-by", weight_by)
    metrics = measured["groups"][0]["metrics"]
    figures = metrics["pass_rate"]["mean"], metrics["cost_usd"]["mean"], metrics["cost_of_pass"]["value"]
    assert measured["weight_by"] == weight_by
    assert figures == pytest.approx(expected, abs=1e-15)
    ranked = answer("rank", runs, "--metrics", "pass_rate", "--weight-by", weight_by)
    place = ranked["groups"][0]
    assert ranked["weight_by"] == weight_by
    assert (place["score"]["estimate"], place["cost_usd"], place["cost_of_pass"]) == figures


def test_verbs_have_the_weight_that_is_theirs_unless_another_is_asked_for(tmp_path: Path) -> None:
    runs = write(tmp_path / "runs.jsonl", NINE_AND_ONE)
    assert answer("measure", runs)["groups"][0]["metrics"]["pass_rate"]["mean"] == BY_RUNS[0]
    assert answer("rank", runs, "--metrics", "pass_rate")["groups"][0]["score"]["estimate"] == BY_TASKS[0]
    assert "weighted by runs" in steelyard("measure", runs).stdout
    table = steelyard("rank", runs, "--metrics", "pass_rate").stdout
    assert "weighted by tasks" in table
    assert "a run" not in table


def test_uneven_attempts_are_told_with_both_figures() -> None:
    finding = next(one for one in sy.measure(NINE_AND_ONE).findings if one.code == "uneven_attempts")
    assert "pass rate is 90.0% weighted by runs and 50.0% weighted by tasks" in str(finding)
    assert "cost of pass is $0.6556 weighted by runs and $5.1000 weighted by tasks" in str(finding)
    even = [msgspec.structs.replace(run, task=f"t{place}") for place, run in enumerate(NINE_AND_ONE)]
    assert not [one for one in sy.measure(even).findings if one.code == "uneven_attempts"]


NO_COST_NO_VERDICT = [
    Run(id="1", task="A", passed=True),
    Run(id="2", task="A", passed=False, cost_usd=1.0),
    Run(id="3", task="A", outcome="errored", cost_usd=9.0),
]


@pytest.mark.parametrize(("unscored", "known"), [("exclude", 1), ("fail", 2)])
def test_a_run_without_a_verdict_is_left_out_or_failed(tmp_path: Path, unscored: str, known: int) -> None:
    runs = write(tmp_path / "runs.jsonl", NO_COST_NO_VERDICT)
    measured = answer("measure", runs, "--unscored", unscored)
    assert measured["unscored"] == unscored
    price = measured["groups"][0]["metrics"]["cost_of_pass"]
    assert (price["value"], price["count"], price["missing"]) == ("Infinity", known, 3 - known)
    rate = measured["groups"][0]["metrics"]["pass_rate"]
    assert (rate["count"], rate["mean"]) == ((2, 0.5) if unscored == "exclude" else (3, pytest.approx(1 / 3)))


def test_runs_of_which_none_has_a_verdict_have_all_failed_if_that_is_the_policy() -> None:
    runs = [Run(id=f"{i}", task="A", outcome="errored", cost_usd=2.0) for i in range(3)]
    assert sy.measure(runs).groups[0].metrics["pass_rate"].mean is None
    failed = sy.measure(runs, unscored="fail").groups[0].metrics
    assert failed["pass_rate"].mean == 0.0
    assert failed["cost_of_pass"].value == float("inf")


def test_one_run_is_explained_under_the_policy(tmp_path: Path) -> None:
    runs = write(tmp_path / "runs.jsonl", NO_COST_NO_VERDICT)
    assert answer("explain", runs, "pass_rate", "--run", "3")["explanation"]["value"] is None
    failed = answer("explain", runs, "pass_rate", "--run", "3", "--unscored", "fail")["explanation"]
    assert failed["value"] == 0.0
    assert failed["constants"] == {"unscored_fails": 1}


def half_unscored() -> list[Run]:
    """Equal agents; half of y's failures have no verdict."""
    runs = made_runs({"x": 0.5, "y": 0.5}, tasks=250, attempts=3, seed=5)
    failures = [run.id for run in runs if run.agent == "y" and not run.passed]
    return [msgspec.structs.replace(run, passed=None) if run.id in failures[::2] else run for run in runs]


def test_what_rests_on_runs_without_a_verdict_is_not_shown() -> None:
    runs = half_unscored()
    compared = {
        unscored: sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"], unscored=unscored)
        for unscored in (None, "exclude", "fail")
    }
    alone = compared["exclude"].pairs[0].metrics["pass_rate"]
    assert (alone.verdict, alone.difference.low > 0) == ("better", True)  # the user's own assumption
    judged = compared[None].pairs[0].metrics["pass_rate"]
    assert judged.verdict == "inconclusive"
    assert "inconclusive; depends on runs without a verdict" in judged.sentence
    assert judged.missing_bounds.low < 0 < judged.missing_bounds.high
    assert compared["fail"].pairs[0].metrics["pass_rate"].verdict == "inconclusive"


def test_a_gate_neither_holds_nor_fails_on_runs_without_a_verdict() -> None:
    runs = half_unscored()
    sides = [[run for run in runs if run.agent == agent] for agent in "xy"]
    check = sy.gate(sides[1], baseline=sides[0], rule="pass_rate >= baseline + 0.005").rules[0]
    assert check.status == "inconclusive"
    assert "inconclusive; depends on runs without a verdict" in check.sentence
    whole = [msgspec.structs.replace(run, passed=bool(run.passed)) for run in sides[1]]
    assert sy.gate(whole, baseline=sides[0], rule="pass_rate >= -0.5").rules[0].status == "pass"


def few_unscored() -> list[Run]:
    """5% of each agent's runs without a verdict: too few to fill, but all of y's are tasks that x passed."""
    gained = {*range(6, 50), *range(50, 60)}  # x passes the first 50 tasks; y loses 6 of them and gains 10 others
    x = [Run(task=f"t{n:02}", agent="x", passed=None if n >= 95 else n < 50) for n in range(100)]
    y = [Run(task=f"t{n:02}", agent="y", passed=None if n < 5 else n in gained) for n in range(100)]
    return [*x, *y]


def test_compare_needs_both_policies_for_few_unscored_runs() -> None:
    runs = few_unscored()
    verdicts = {
        unscored: sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=["pass_rate"], unscored=unscored)
        .pairs[0]
        .metrics["pass_rate"]
        .verdict
        for unscored in ("exclude", "fail", None)
    }
    assert verdicts == {"exclude": "better", "fail": "inconclusive", None: "inconclusive"}


def test_gate_needs_both_policies_for_few_unscored_runs() -> None:
    x, y = ([run for run in few_unscored() if run.agent == agent] for agent in "xy")
    statuses = {
        unscored: sy.gate(y, baseline=x, rule="pass_rate >= baseline + 0.005", unscored=unscored).rules[0].status
        for unscored in ("exclude", "fail", None)
    }
    assert statuses == {"exclude": "pass", "fail": "inconclusive", None: "inconclusive"}


def test_places_leave_open_what_either_way_of_counting_leaves_open() -> None:
    ranking = sy.rank(half_unscored(), by=["agent"], metrics=["pass_rate"])
    assert [place.rank_text for place in ranking.groups] == ["1-2", "1-2"]
    assert [finding.code for finding in ranking.findings if finding.code == "unscored_ranks"]
    counted = [run for run in half_unscored() if run.passed is not None]
    assert [place.rank_text for place in sy.rank(counted, by=["agent"], metrics=["pass_rate"]).groups] == ["1", "2"]


def test_complete_cases_are_the_runs_that_have_both_facts() -> None:
    # only the second run has both: the first has no verdict, the third no cost
    runs = [
        Run(id="1", task="A", cost_usd=30.0),
        Run(id="2", task="A", passed=True, cost_usd=10.0),
        Run(id="3", task="B", passed=False),
    ]
    price = sy.measure(runs).groups[0].metrics["cost_of_pass"]
    assert (price.value, price.count, price.missing) == (10.0, 1, 2)


def broken_off() -> list[Run]:
    """Equal agents; every failure of x broke off and none of y did."""
    runs = made_runs({"x": 0.6, "y": 0.6}, tasks=50, attempts=3, seed=2)
    return [
        msgspec.structs.replace(run, passed=None, outcome="errored") if run.agent == "x" and not run.passed else run
        for run in runs
    ]


@pytest.mark.parametrize("unscored", ["exclude", "fail"])
def test_runs_that_broke_off_are_told_by_every_verb(unscored: str) -> None:
    runs = broken_off()
    x = [run for run in runs if run.agent == "x"]
    broken = sum(run.passed is None for run in x)
    results = [
        sy.measure(runs, by=["agent"], unscored=unscored),
        sy.compare(runs, baseline="agent=x", candidate="agent=y", unscored=unscored),
        sy.rank(runs, by=["agent"], metrics=["cost_usd"], unscored=unscored),
        sy.gate(x, rule="pass_rate >= 0.9", unscored=unscored),
        sy.report(runs, by=["agent"], unscored=unscored),
    ]
    for result in results:
        (finding,) = (each for each in result.findings if each.code == "unscored_runs")
        assert [place.message for place in finding.places] == [f"{broken} of 150 runs crashed"], result
        other = "count them as failed" if unscored == "exclude" else "exclude them"
        assert finding.message.endswith(f"; the option unscored can {other}")
        assert finding.severity == ("warning" if unscored == "exclude" else "info")


def test_runs_that_nobody_scored_are_no_finding_and_a_few_of_them_are() -> None:
    unscored = [Run(id=f"u{i}", task="A", cost_usd=1.0) for i in range(3)]
    assert "unscored_runs" not in {finding.code for finding in sy.measure(unscored).findings}
    (finding,) = (
        each for each in sy.measure([*unscored, *NO_COST_NO_VERDICT]).findings if each.code == "unscored_runs"
    )
    assert finding.places[0].message == "4 of 6 runs, 1 of them crashed"


def test_the_first_sentence_of_measure_names_runs_without_a_verdict(tmp_path: Path) -> None:
    runs = write(tmp_path / "runs.jsonl", NO_COST_NO_VERDICT)
    assert "1 run without a verdict is excluded from the pass rate." in steelyard("measure", runs).stdout
    assert "left out" not in steelyard("measure", runs, "--unscored", "fail").stdout.splitlines()[0]
