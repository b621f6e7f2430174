"""The expert: its tests and snapshot count wherever they stand, and without one speedups stand alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import commands
from steelyard.questions import TaskFiles
from steelyard.questions.speedup import speedup
from steelyard.records import TestResults
from timing_sides import UNIT_AGENT, UNIT_NOP, attempt, measured, payload_of, shape_of

KEY = "tool:m"
TWO_FAIL = {"passed": ["c"], "failed": ["a", "b"]}
ONE_FAILS = {"passed": ["b", "c"], "failed": ["a"]}
"""What the agent broke: no more than the expert did."""
PASSED = {"status": "passed", "pass_to_fail": 0}
BROKEN = {"status": "failed", "pass_to_fail": 2}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def record(seconds: float, **facts: Any) -> dict[str, Any]:
    """A run record with one benchmark."""
    return {"task": "t", "benchmarks": [{"name": "m.time_x", "seconds": seconds}]} | facts


def task(root: Path, *, of_expert: dict[str, Any] | None = None, **agent_facts: Any) -> dict[str, Path]:
    """Files of one task: 4 seconds before, 2 under the expert, 1 under the agent."""
    return {
        "nop": write(root / "nop.json", record(4.0)),
        "oracle": write(root / "oracle.json", record(2.0, **(of_expert or {}))),
        "agent": write(root / "agents" / "tool" / "m.json", record(1.0, **agent_facts)),
    }


def beside_the_times(root: Path) -> Any:
    files = task(root, of_expert={"tests": TWO_FAIL, "snapshot": BROKEN}, tests=ONE_FAILS)
    return TaskFiles(nop=files["nop"], oracle=files["oracle"], agents={KEY: files["agent"]})


def in_files_of_their_own(root: Path) -> Any:
    files = task(root)
    tests = write(root / "by-key.json", {KEY: ONE_FAILS, "oracle": TWO_FAIL})
    snapshot = write(root / "snapshots.json", {"oracle": BROKEN})
    return TaskFiles(
        nop=files["nop"], oracle=files["oracle"], agents={KEY: files["agent"]}, tests=tests, snapshot=snapshot
    )


def in_a_folder(root: Path) -> Any:
    task(root / "t", of_expert={"tests": TWO_FAIL, "snapshot": BROKEN}, tests=ONE_FAILS)
    return root


def in_a_folder_by_key(root: Path) -> Any:
    task(root / "t")
    write(root / "t" / "tests.json", {KEY: ONE_FAILS, "oracle": TWO_FAIL})
    write(root / "t" / "snapshot.json", {"oracle": BROKEN})
    return root


def payload(**facts: Any) -> dict[str, Any]:
    speedups = {"m.time_x": {"agent/nop": 4.0, "oracle/nop": 2.0, "advantage": 2.0}}
    return {"per_benchmark_speedups": speedups, "snapshot_summary": PASSED} | facts


def trial(**agents: dict[str, Any]) -> dict[str, Any]:
    by_key = {name.replace("_", ":"): facts for name, facts in agents.items()}
    return {"task_id": "t", "is_resolved": True, "parser_extra_metrics": {"agent_metrics_by_agent": by_key}}


def in_the_same_trial(root: Path) -> Any:
    expert = payload(pytest_summary=TWO_FAIL, snapshot_summary=BROKEN)
    agent = payload(pytest_summary=ONE_FAILS)
    return write(root / "results.json", {"results": [trial(tool_m=agent, oracle_oracle=expert)]})


def in_another_trial_of_the_task(root: Path) -> Any:
    expert = payload(pytest_summary=TWO_FAIL, snapshot_summary=BROKEN)
    trials = [trial(tool_m=payload(pytest_summary=ONE_FAILS)), trial(oracle_oracle=expert)]
    return write(root / "results.json", {"results": trials})


PLACES = (
    beside_the_times,
    in_files_of_their_own,
    in_a_folder,
    in_a_folder_by_key,
    in_the_same_trial,
    in_another_trial_of_the_task,
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_the_experts_tests_and_snapshot_count_wherever_they_stand(tmp_path: Path, place: Callable[[Path], Any]) -> None:
    result = speedup(place(tmp_path))
    (of_agent,) = result.attempts
    assert of_agent.success is True  # "a" fails under the expert too; without the expert it would be a failure
    assert of_agent.task_speedup == 4.0  # 4 s / 1 s, no fallback to 1
    assert of_agent.agent_advantage == 2.0  # 4 - 4 s / 2 s
    codes = [finding.code for finding in result.findings]
    assert codes.count("oracle_tests_fail") == codes.count("oracle_snapshot_fails") == 1


def test_a_file_of_its_own_wins_over_what_stands_beside_the_times(tmp_path: Path) -> None:
    files = task(tmp_path, of_expert={"tests": TWO_FAIL}, tests=ONE_FAILS)
    tests = write(tmp_path / "by-key.json", {"oracle": {"passed": ["a", "b", "c"]}})
    agents = {KEY: files["agent"]}
    stricter = speedup(TaskFiles(nop=files["nop"], oracle=files["oracle"], agents=agents, tests=tests))
    assert stricter.attempts[0].success is False  # the expert broke nothing, so "a" counts


# No expert

NO_ORACLE = "no timings of a reference solution (oracle)"
ADVANTAGES = ("agent_advantage", *(f"agent_advantage_level{level}" for level in range(1, 5)))


def test_without_an_expert_speedups_stand_and_advantages_are_missing_with_the_reason() -> None:
    alone = attempt(UNIT_NOP, None, UNIT_AGENT)
    found = shape_of(measured(alone))
    fields, reasons = found["attempts"][0], found["attempts"][0]["missing"]
    assert fields["task_speedup"] == pytest.approx(8**0.25)  # speedups 2, 8, 1/2 and 1: all four are valid now
    assert (fields["num_benchmarks"], fields["num_valid_benchmarks"]) == (4, 4)
    assert {name: fields[name] for name in ADVANTAGES} == dict.fromkeys(ADVANTAGES)
    assert {name: reasons[name] for name in ADVANTAGES} == dict.fromkeys(ADVANTAGES, NO_ORACLE)
    entry = fields["per_benchmark_speedups"]["m.time_f"]
    assert (entry["agent/nop"], entry["oracle/nop"], entry["advantage"]) == (0.5, None, None)
    ours = found["attempts"][0]["measures"]
    assert (ours["worst_speedup"], ours["log_advantage"], ours["log_advantage_low"]) == (0.5, None, None)
    assert reasons["max_fraction"] == reasons["log_advantage"] == NO_ORACLE
    assert [finding["code"] for finding in found["findings"]].count("no_oracle") == 1


def test_without_an_expert_summaries_say_why_too() -> None:
    alone = attempt(UNIT_NOP, None, UNIT_AGENT, cost_usd=1.0, tests=TestResults(passed=3))
    found = shape_of(measured(alone))
    summary, why = found["summary"]["tool:model"], found["summary"]["tool:model"]["missing"]
    assert summary["mean_speedup"] == pytest.approx(8**0.25)
    assert why["agent_advantage"] == why["agent_advantage_level2"] == why["cost_weighted_advantage"] == NO_ORACLE
    ours = found["summary"]["tool:model"]
    assert (ours["mean_log_advantage"], ours["opt_p"], ours["opt@k"]) == (None, None, None)
    assert ours["missing"]["mean_log_advantage"] == NO_ORACLE
    assert NO_ORACLE in ours["missing"]["opt_p"]
    assert ours["fast_p"]["1.5"] == 1.0  # the fourth root of 8 is 1.68


def test_an_agent_that_breaks_a_benchmark_without_an_expert_is_still_told() -> None:
    found = measured(attempt({"a.time_x": 4.0, "a.time_y": 4.0, "a.time_z": 0.0}, None, {"a.time_x": 1.0}))
    assert payload_of(found)["num_agent_only_failures"] == 1  # time_y; a time of 0 is nop's own fault
    assert (payload_of(found)["task_speedup"], payload_of(found)["num_valid_benchmarks"]) == (4.0, 1)
    counted = measured(
        attempt({"a.time_x": 4.0, "a.time_y": 4.0}, None, {"a.time_x": 1.0}), agent_only_failures="baseline"
    )
    assert payload_of(counted)["task_speedup"] == pytest.approx(2.0)  # (4 x 1) ^ (1/2)


def test_a_failed_attempt_without_an_expert_counts_as_unchanged(tmp_path: Path) -> None:
    files = task(tmp_path, tests=ONE_FAILS)
    of_agent = speedup(TaskFiles(nop=files["nop"], agents={KEY: files["agent"]})).attempts[0]
    assert (of_agent.success, of_agent.fallback_to_baseline, of_agent.task_speedup) == (False, True, 1.0)


def test_tasks_with_and_without_an_expert_stand_side_by_side(tmp_path: Path) -> None:
    task(tmp_path / "with", tests={"passed": ["a"]})
    task(tmp_path / "without", tests={"passed": ["a"]})
    (tmp_path / "without" / "oracle.json").unlink()
    found = speedup(tmp_path).to_dict()
    assert found["summary"][KEY]["mean_speedup"] == 4.0
    assert found["summary"][KEY]["agent_advantage"] == 2.0  # of the task that has an expert
    counts = found["summary"][KEY]["counts"]
    assert (counts["mean_speedup"], counts["agent_advantage"]) == ({"n": 2, "of": 2}, {"n": 1, "of": 2})
    ours = found["summary"][KEY]
    assert (ours["counts"]["fast_p"], ours["counts"]["opt_p"]) == ({"n": 2, "of": 2}, {"n": 1, "of": 2})


def test_the_advantage_per_dollar_is_over_the_attempts_that_have_both() -> None:
    times: dict[str, Any] = {"nop": {"a.time_x": 4.0}, "changed": {"a.time_x": 1.0}}
    with_expert = attempt(oracle={"a.time_x": 2.0}, task="a", cost_usd=1.0, **times)
    without = attempt(oracle=None, task="b", cost_usd=9.0, **times)
    found = shape_of(measured(with_expert, without))
    assert found["summary"]["tool:model"]["cost_weighted_advantage"] == 2.0  # (4 - 2) / $1, and not / $5
    assert found["summary"]["tool:model"]["mean_cost_per_task"] == 5.0
    assert found["summary"]["tool:model"]["counts"]["cost_weighted_advantage"] == {"n": 1, "of": 2}
    unpaid = attempt(oracle={"a.time_x": 2.0}, task="c", **times)
    partly = shape_of(measured(with_expert, without, unpaid))
    missing = partly["summary"]["tool:model"]["missing"]
    assert missing["cost_weighted_advantage"] == "the cost of 1 of 2 attempts is unknown"


def test_stated_speedups_without_a_word_of_the_expert_have_none(tmp_path: Path) -> None:
    agent = payload(pytest_summary={"passed": 3}, per_benchmark_speedups={"m.time_x": {"agent/nop": 4.0}})
    path = write(tmp_path / "results.json", {"results": [trial(tool_m=agent)]})
    found = speedup(path).to_dict()
    assert found["attempts"][0]["task_speedup"] == 4.0
    assert found["attempts"][0]["missing"]["agent_advantage"] == NO_ORACLE


def test_the_command_needs_no_expert_and_says_that_there_is_none(tmp_path: Path) -> None:
    files = task(tmp_path)
    done = commands.steelyard("speedup", "--nop", str(files["nop"]), "--agent", f"{KEY}={files['agent']}")
    assert done.status == 0
    assert "4.000x" in done.stdout
    assert "expert" not in done.stdout
    assert NO_ORACLE in done.stderr
