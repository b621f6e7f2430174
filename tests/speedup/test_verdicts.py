"""What counts as success: trials without a verdict, missing snapshots, and shares over attempts and over tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import commands
import steelyard as sy
from steelyard.errors import UnreadableFileError
from steelyard.questions import TaskFiles
from steelyard.questions.speedup import speedup
from steelyard.questions.speedup._benchmark_table import succeeded
from steelyard.records import Missing, Snapshot, TestResults
from steelyard.sources import NO_BLOCK
from timing_sides import at, attempt, measured

SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"
KEY = "tool:m"
GOOD, BAD = TestResults(passed=3), TestResults(passed=2, failed=1)
PASSED = {"status": "passed", "pass_to_fail": 0}


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def payload(**facts: Any) -> dict[str, Any]:
    """An agent four times as fast as before, its tests and snapshot fine unless the facts say otherwise."""
    speedups = {"m.time_x": {"agent/nop": 4.0, "oracle/nop": 2.0, "advantage": 2.0}}
    fine = {"per_benchmark_speedups": speedups, "pytest_summary": {"passed": 3}, "snapshot_summary": PASSED}
    return {name: value for name, value in (fine | facts).items() if value is not ...}


def trial(task: str, *, resolved: Any = True, agents: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    extra = None if agents is None else {"agent_metrics_by_agent": agents}
    return {"task_id": task, "is_resolved": resolved, "parser_extra_metrics": extra} | more


def results(tmp_path: Path, *trials: dict[str, Any]) -> Path:
    return write(tmp_path / "results.json", {"results": list(trials)})


FAILED = payload(pytest_summary={"passed": 2, "failed": 1})


def five_trials(tmp_path: Path) -> Path:
    """Two tasks: of three trials one success, one failure, one without a verdict; of two trials one success."""
    return results(
        tmp_path,
        trial("a", agents={KEY: payload()}),
        trial("a", resolved=False, agents={KEY: FAILED}),
        trial("a", resolved=None),
        trial("b", agents={KEY: payload()}),
        trial("b", resolved=None),
    )


def test_a_trial_without_a_verdict_stays_in_the_denominators(tmp_path: Path) -> None:
    found = speedup(five_trials(tmp_path)).to_dict()
    agent, counts = found["summary"][KEY], found["summary"][KEY]["counts"]
    assert agent["accuracy"] == found["run"]["accuracy"] == 0.4  # 2 of 5, and not 2 of 2 tasks
    assert agent["mean_success_rate"] == pytest.approx(5 / 12)  # (1/3 + 1/2) / 2
    # k = 1 as above; k = 2: ((1 - C(2,2) / C(3,2)) + (1 - C(1,2) / C(2,2))) / 2 = (2/3 + 1) / 2
    assert agent["pass@k"] == {"1": pytest.approx(5 / 12), "2": pytest.approx(5 / 6)}
    assert (counts["accuracy"], counts["mean_success_rate"]) == ({"n": 5, "of": 5}, {"n": 2, "of": 2})
    assert agent["counts_by_k"]["pass@k"] == {"1": {"n": 2, "of": 2}, "2": {"n": 2, "of": 2}}
    assert found["unscored"] == "fail"
    ours = found["summary"][KEY]
    assert ours["fast_p"]["1.5"] == 0.4  # the same two of five
    assert ours["opt@k"]["1"] == pytest.approx(5 / 12)


def test_unscored_exclude_leaves_them_out_of_every_share(tmp_path: Path) -> None:
    found = sy.speedup(five_trials(tmp_path), unscored="exclude").to_dict()
    agent, counts = found["summary"][KEY], found["summary"][KEY]["counts"]
    assert agent["accuracy"] == pytest.approx(2 / 3)
    assert agent["mean_success_rate"] == 0.75  # (1/2 + 1/1) / 2
    assert agent["pass@k"] == {"1": 0.75, "2": 1.0}  # only a has two verdicts
    assert (counts["accuracy"], agent["counts_by_k"]["pass@k"]["2"]) == ({"n": 3, "of": 5}, {"n": 1, "of": 2})
    assert found["summary"][KEY]["fast_p"]["1.5"] == pytest.approx(2 / 3)
    assert found["unscored"] == "exclude"


def test_the_policy_changes_no_speed_and_hides_no_unknown(tmp_path: Path) -> None:
    path = five_trials(tmp_path)
    fail, exclude = (speedup(path, unscored=policy).to_dict() for policy in ("fail", "exclude"))
    assert fail["attempts"] == exclude["attempts"]
    assert at(fail, "a", 3, agent=KEY)["success"] is None
    assert fail["summary"][KEY]["mean_speedup"] == exclude["summary"][KEY]["mean_speedup"] == 3.25  # (2.5 + 4) / 2
    assert {finding["code"] for finding in fail["findings"]} == {finding["code"] for finding in exclude["findings"]}


def test_the_command_takes_the_policy_and_names_it(tmp_path: Path) -> None:
    path = str(five_trials(tmp_path))
    shown = commands.steelyard("speedup", path, "--unscored", "exclude")
    assert shown.status == 0  # a trial without a verdict is no bad input
    assert "attempts without a verdict: excluded" in shown.stdout
    assert "is excluded from success rates" in shown.stderr
    assert "attempts without a verdict: failed" in commands.steelyard("speedup", path).stdout
    assert commands.steelyard("speedup", path, "--unscored", "drop").status == 2


def test_a_trial_that_measured_nothing_belongs_to_whom_it_names_else_to_all_agents(tmp_path: Path) -> None:
    both = trial("a", agents={KEY: payload(), "other:m": payload(), "oracle:oracle": payload()})
    named = trial("b", resolved=None, costs_by_agent_model={"other:m": 0.25})
    own = trial("c", resolved=None)
    own["parser_extra_metrics"] = {"agent_model_key": KEY, "trajectory_length": 7}
    found = speedup(results(tmp_path, both, named, own, trial("d", resolved=None))).to_dict()
    assert [each["task"] for each in found["attempts"] if each["agent"] == KEY] == ["a", "c", "d"]
    assert [each["task"] for each in found["attempts"] if each["agent"] == "other:m"] == ["a", "b", "d"]
    assert at(found, "b", agent="other:m")["task_cost_usd"] == 0.25
    assert at(found, "c", agent=KEY)["trajectory_length"] == 7
    assert found["summary"][KEY]["accuracy"] == pytest.approx(1 / 3)


def test_a_trial_of_nobody_is_set_aside(tmp_path: Path) -> None:
    only_baselines = trial("a", agents={"oracle:oracle": payload()})
    done = commands.steelyard("speedup", str(results(tmp_path, only_baselines, trial("b", resolved=None))), "--json")
    assert done.status == 1
    error = json.loads(done.stdout)["error"]
    assert "trial 2 has no parser_extra_metrics" in error["message"]
    assert "its agent is unknown" in error["message"]


@pytest.mark.parametrize(
    ("resolved", "facts", "success"),
    [
        (None, {}, None),  # everything passes, but the harness gave no verdict
        (None, {"pytest_summary": {"failed": 1}}, False),  # what failed has failed
        (True, {"pytest_summary": ..., "success": True}, True),  # no test results: the harness's word
        (True, {"pytest_summary": ..., "success": False}, False),
        (True, {"pytest_summary": ...}, None),
        (False, {}, True),  # tests and snapshot decide where they are known
    ],
)
def test_tests_and_snapshot_decide_unless_the_harness_gave_no_verdict(
    tmp_path: Path, resolved: Any, facts: dict[str, Any], success: bool | None
) -> None:
    result = speedup(results(tmp_path, trial("a", resolved=resolved, agents={KEY: payload(**facts)})))
    assert result.attempts[0].success is success


def test_among_several_agents_the_trials_verdict_tells_of_none(tmp_path: Path) -> None:
    agents = {KEY: payload(), "other:m": FAILED}
    found = speedup(results(tmp_path, trial("a", resolved=None, agents=agents))).attempts
    assert {each.agent: each.success for each in found} == {KEY: True, "other:m": False}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from((GOOD, BAD, None))), min_size=1, max_size=9))
@settings(max_examples=40)
def test_the_shares_are_those_of_plain_counting(outcomes: list[tuple[str, TestResults | None]]) -> None:
    attempts = [
        attempt({"a.time_x": 4.0}, {"a.time_x": 2.0}, {"a.time_x": 1.0}, task=task, number=number, tests=tests)
        for number, (task, tests) in enumerate(outcomes, start=1)
    ]
    successes = [tests is GOOD for _, tests in outcomes]
    tasks = sorted({task for task, _ in outcomes})
    by_task = [[tests is GOOD for task, tests in outcomes if task == name] for name in tasks]
    found = measured(*attempts, intervals=False).summaries["tool:model"]
    if not any(tests for _, tests in outcomes):  # nothing was judged: unknown is not zero
        assert [found[name] for name in ("accuracy", "mean_success_rate", "pass@k")] == [None] * 3
        return
    assert found["accuracy"] == pytest.approx(sum(successes) / len(successes))
    assert found["mean_success_rate"] == pytest.approx(
        sum(sum(of_task) / len(of_task) for of_task in by_task) / len(tasks)
    )
    assert found["pass@k"]["1"] == pytest.approx(found["mean_success_rate"])
    assert len(found["pass@k"]) == min(map(len, by_task))


def test_a_harness_without_a_verdict_leaves_success_unknown() -> None:
    unscored = Missing("no verdict")
    assert succeeded(False, False, unscored) is unscored
    assert succeeded(True, False, unscored) is False
    assert succeeded(False, True, unscored) is False
    assert succeeded(Missing("no tests"), False, True) is True


@pytest.mark.parametrize(
    ("facts", "success", "speed"),
    [
        ({"passed": True}, True, 4.0),
        ({"outcome": "failed"}, False, 1.0),  # failed, so as if nothing had changed
        ({"judgments": [{"judge": "j", "weighted_score": 0.9, "passed": True}]}, True, 4.0),
        ({"passed": True, "tests": {"passed": 2, "failed": 1}}, False, 1.0),  # test results decide
        ({"outcome": "errored"}, None, 4.0),
        ({}, None, 4.0),
    ],
)
def test_a_run_record_has_the_verdict_that_other_verbs_give_it(
    tmp_path: Path, facts: dict[str, Any], success: bool | None, speed: float
) -> None:
    paths = {}
    for which, seconds, more in (("nop", 4.0, {}), ("oracle", 2.0, {}), ("agent", 1.0, facts)):
        record = {"task": "t", "id": which, "benchmarks": [{"name": "m.time_x", "seconds": seconds}]} | more
        paths[which] = write(tmp_path / f"{which}.json", record)
    result = speedup(TaskFiles(nop=paths["nop"], oracle=paths["oracle"], agents={KEY: paths["agent"]}))
    assert (result.attempts[0].success, result.attempts[0].task_speedup) == (success, speed)
    told = [finding.message for finding in result.findings if finding.code == "no_snapshot"]
    assert told == (["no snapshot: success is based on the reported verdict only"] if success else [])
    (group,) = sy.measure(paths["agent"], metrics=["pass_rate"]).to_dict()["groups"]
    assert group["metrics"]["pass_rate"]["mean"] == (None if success is None else float(success))


# Snapshots


def test_in_fcevals_own_files_a_missing_snapshot_is_a_failure(tmp_path: Path) -> None:
    for absent in (..., None, {}):
        agents = {KEY: payload(snapshot_summary=absent)}
        result = speedup(results(tmp_path, trial("a", agents=agents)))
        fields = result.attempts[0]
        assert (fields.snapshot_failed, fields.success, fields.fallback_to_baseline) == (True, False, True)
        assert fields.task_speedup == 1.0  # as if nothing had been changed
        assert "missing_snapshot_block" in {finding.code for finding in result.findings}


def test_a_log_without_its_snapshot_block_has_failed(tmp_path: Path) -> None:
    text = (SAMPLES / "fceval.log").read_text()
    assert speedup(SAMPLES / "fceval.log").attempts[0].success is True
    without = write(tmp_path / "t.log", text[: text.index("FORMULACODE_SNAPSHOT_START")])
    assert speedup(without).attempts[0].success is False
    asv = SAMPLES / "asv"
    files = TaskFiles(nop=asv / "nop.json", agents={KEY: asv / "agent.json"}, tests=without, snapshot=without)
    assert speedup(files).attempts[0].success is False
    (tmp_path / "t.log").write_text(text[text.index("FORMULACODE_RESULT_START") :])
    with pytest.raises(UnreadableFileError, match="the log has no TESTS block"):
        speedup(files)


def test_elsewhere_success_without_a_snapshot_rests_on_tests_alone_and_says_so() -> None:
    def codes(**facts: Any) -> set[str]:
        tried = attempt({"a.time_x": 4.0}, {"a.time_x": 2.0}, {"a.time_x": 1.0}, **facts)
        return {finding.code for finding in measured(tried).findings}

    assert attempt({"a.time_x": 4.0}, None, {"a.time_x": 1.0}, tests=GOOD).success is True
    assert "no_snapshot" in codes(tests=GOOD)
    assert "no_snapshot" not in codes(tests=GOOD, snapshot=Snapshot(status="passed"))
    assert "no_snapshot" not in codes(tests=BAD)  # failed: there is no success that could rest on anything
    assert "no_snapshot" not in codes()
    assert "missing_snapshot_block" in codes(tests=BAD, snapshot=NO_BLOCK)
