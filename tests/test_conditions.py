"""Conditions of runs: read from logs, compared between sides, and no claim across different limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.errors import UnknownNameError
from steelyard.questions.measure import Statistics
from steelyard.records import Conditions, Run
from steelyard.sources import PlacedRun, gather

TASKS = 24


def trial(folder: Path, arm: str, task: int, *, passed: bool, factor: float | None, **environment: Any) -> None:
    config = {
        "agent": {"name": arm, "model_name": "m", "override_timeout_sec": None, "kwargs": {"temperature": 1.0}},
        "environment": {"type": "docker", "override_cpus": None, "override_memory_mb": None, **environment},
        "timeout_multiplier": 1.0,
        "agent_timeout_multiplier": factor,
        "trials_dir": f"jobs/{arm}",
    }
    result = {
        "id": f"{arm}-{task}",
        "task_name": f"t{task}",
        "trial_name": f"t{task}__{arm}",
        "config": config,
        "agent_info": {"name": arm, "version": "1.0", "model_info": {"name": "m"}},
        "agent_result": {"n_input_tokens": 5, "n_output_tokens": 5, "cost_usd": 0.1},
        "verifier_result": {"rewards": {"reward": float(passed)}},
        "exception_info": None,
        "started_at": "2026-01-01T00:00:00Z",
        "finished_at": "2026-01-01T00:01:00Z",
    }
    path = folder / arm / f"t{task}__{arm}" / "result.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(result), encoding="utf-8")


def arms(folder: Path, *, factor: float | None = 2.0, **environment: Any) -> Path:
    for task in range(TASKS):
        trial(folder, "a", task, passed=task < 4, factor=None)
        trial(folder, "b", task, passed=task < 20, factor=factor, **environment)
    return folder


def verdict(runs: Any, **options: Any) -> tuple[str, str, list[str]]:
    compared = sy.compare(runs, baseline="agent=a", candidate="agent=b", metrics=["pass_rate"], **options)
    cell = compared.pairs[0].metrics["pass_rate"]
    found = [finding for finding in compared.findings if finding.code == "conditions_differ"]
    return cell.verdict, cell.sentence, [str(place.message) for finding in found for place in finding.places]


def test_a_harbor_arm_with_twice_the_time_is_not_better(tmp_path: Path) -> None:
    arms(tmp_path)
    found, sentence, places = verdict(tmp_path)
    assert found == "inconclusive"
    assert "inconclusive; different conditions (time_limit_seconds 1 x the task's limit vs. 2 x" in sentence
    assert "is better" not in sentence
    assert places == ["time_limit_seconds 1 x the task's limit vs. 2 x the task's limit (on 24 shared tasks)"]
    assert verdict(tmp_path, ignore_conditions=["time_limit_seconds"])[0] == "better"


def test_equal_conditions_allow_the_claim(tmp_path: Path) -> None:
    found, _, places = verdict(arms(tmp_path, factor=1.0))
    assert (found, places) == ("better", [])


def test_versions_and_settings_are_findings_only() -> None:
    runs = [
        {"task": f"t{n}", "agent": agent, "passed": n < passed, "conditions": {"agent_version": agent, "cpus": 4}}
        for agent, passed in (("a", 4), ("b", 20))
        for n in range(TASKS)
    ]
    found, _, places = verdict(runs)
    assert (found, places) == ("better", ["agent_version a vs. b (on 24 shared tasks)"])


@pytest.mark.parametrize(
    ("name", "values"),
    [("time_limit_seconds", (600, 1200)), ("cpus", (2, 8)), ("memory_mb", (2048, 4096)), ("network", ("none", "full")),
     ("harness", ("harbor", "inspect"))],
)  # fmt: skip
def test_limits_and_harness_withhold_the_claim(name: str, values: tuple[Any, Any], tmp_path: Path) -> None:
    runs = [
        {"task": f"t{n}", "agent": agent, "passed": n < passed, "conditions": {name: value}}
        for (agent, passed), value in zip((("a", 4), ("b", 20)), values, strict=True)
        for n in range(TASKS)
    ]
    assert verdict(runs)[0] == "inconclusive"
    assert verdict(runs, ignore_conditions=[name])[0] == "better"
    assert verdict([run for run in runs if run["agent"] == "b" or run.pop("conditions")])[0] == "better"


def test_limits_of_tasks_are_compared_task_by_task() -> None:
    runs = [
        {"task": f"t{n}", "agent": agent, "passed": n < passed, "conditions": {"time_limit_seconds": 600 + n}}
        for agent, passed in (("a", 4), ("b", 20))
        for n in range(TASKS)
    ]
    assert verdict(runs)[0] == "better"


def test_ranks_do_not_separate_groups_with_different_limits(tmp_path: Path) -> None:
    ranking = sy.rank(arms(tmp_path), by="agent", metrics=["pass_rate"])
    assert [tuple(group.rank_interval) for group in ranking.groups] == [(1, 2), (1, 2)]
    assert "conditions_differ" in {finding.code for finding in ranking.findings}
    ignored = sy.rank(tmp_path, by="agent", metrics=["pass_rate"], ignore_conditions="time_limit_seconds")
    assert [tuple(group.rank_interval) for group in ignored.groups] == [(1, 1), (2, 2)]


def test_a_gate_across_different_limits_is_inconclusive(tmp_path: Path) -> None:
    arms(tmp_path, override_cpus=8)
    for task in range(TASKS):
        path = tmp_path / "a" / f"t{task}__a" / "result.json"
        path.write_text(path.read_text(encoding="utf-8").replace('"override_cpus": null', '"override_cpus": 2'))
    arguments = (str(tmp_path / "b"), "--baseline", str(tmp_path / "a"), "--rule", "pass_rate >= baseline")
    assert steelyard("gate", *arguments).status == 4
    ignored = steelyard("gate", *arguments, "--ignore-conditions", "time_limit_seconds,cpus")
    assert ignored.status == 0
    assert steelyard("gate", str(tmp_path / "b"), "--rule", "pass_rate >= 0.5").status == 0


def test_unknown_conditions_are_rejected() -> None:
    with pytest.raises(UnknownNameError, match="time_limt"):
        verdict([{"task": "t", "agent": "a"}, {"task": "t", "agent": "b"}], ignore_conditions=["time_limt_seconds"])


def only(path: Path) -> Run:
    [run] = [item.run for item in gather([path]) if isinstance(item, PlacedRun)]
    return run


def test_harbor_states_limits_and_settings(tmp_path: Path) -> None:
    trial(tmp_path, "b", 1, passed=True, factor=2.0, override_cpus=8, override_memory_mb=4096)
    assert only(tmp_path).conditions == Conditions(
        time_limit_multiplier=2.0,
        cpus=8,
        memory_mb=4096,
        harness="harbor",
        agent_version="1.0",
        settings={"environment": "docker", "temperature": 1.0},
    )


SAMPLES = Path(__file__).parent / "samples" / "formats"


@pytest.mark.parametrize(
    ("sample", "stated"),
    [
        ("claude-code/session.jsonl", {"agent_version"}),
        ("codex/rollout.jsonl", {"agent_version"}),
        ("copilot-cli/events.jsonl", {"agent_version"}),
        ("atif/trajectory.json", {"agent_version"}),
        ("mini-swe-agent/v2.traj.json", {"agent_version"}),
        ("lm-eval", {"harness"}),
        ("promptfoo", {"harness"}),
        ("terminal-bench", {"harness"}),
    ],
)
def test_formats_state_their_conditions(sample: str, stated: set[str]) -> None:
    runs = [item.run for item in gather([SAMPLES / sample]) if isinstance(item, PlacedRun)]
    found = {name for run in runs if run.conditions for name in stated if getattr(run.conditions, name) is not None}
    assert found == stated


def test_settings_of_tools_are_conditions(tmp_path: Path) -> None:
    experiment = {"experiment_id": "e", "timeout_seconds": 300, "max_turns": None, "use_containers": False}
    runs = [{"run_number": 1, "exit_code": 0, "judge_passed": True, "judge_score": 1.0}]
    tiers = {"T0": {"subtest_results": {"00": {"runs": runs}}}}
    (tmp_path / "result.json").write_text(json.dumps({"config": experiment, "tier_results": tiers}))
    assert only(tmp_path).conditions == Conditions(
        time_limit_seconds=300, harness="scylla", settings={"use_containers": False}
    )
    model = {"name": "m", "temperature": 1.0, "per_instance_cost_limit": 3.0, "api_key": "k"}
    step = {"action": "ls", "observation": "x"}
    info = {"exit_status": "submitted", "swe_agent_version": "1.0.1"}
    (tmp_path / "result.json").unlink()
    log = {"trajectory": [step], "info": info, "replay_config": json.dumps({"agent": {"model": model}})}
    (tmp_path / "t.traj").write_text(json.dumps(log))
    assert only(tmp_path).conditions == Conditions(
        agent_version="1.0.1", settings={"temperature": 1.0, "per_instance_cost_limit": 3.0}
    )
    row = {"instance_id": "i", "instruction": "x", "history": [], "metrics": {}}
    llm = {"model": "m", "temperature": 0.0, "base_url": "http://127.0.0.1/v1", "api_key": "k"}
    about = {"llm_config": llm, "max_iterations": 50}
    folder = tmp_path / "openhands"
    folder.mkdir()
    (folder / "output.jsonl").write_text(json.dumps(row | {"metadata": about}) + "\n")
    assert only(folder).conditions == Conditions(
        endpoint="http://127.0.0.1/v1", settings={"temperature": 0.0, "max_iterations": 50}
    )


def test_named_conditions_are_keys() -> None:
    runs = [
        {"task": f"t{n}", "passed": n < passed, "conditions": {"agent_version": version, "harness": version}}
        for version, passed in (("1", 4), ("2", 20))
        for n in range(TASKS)
    ]
    groups = sy.measure(runs, by="agent_version").groups
    assert [group.key for group in groups] == [{"agent_version": "1"}, {"agent_version": "2"}]
    assert sy.measure(runs, where="harness=2").n == TASKS
    options: dict[str, Any] = {"metrics": ["pass_rate"]}
    by_version = sy.compare(runs, baseline="agent_version=1", candidate="agent_version=2", **options)
    assert by_version.pairs[0].metrics["pass_rate"].verdict == "inconclusive"  # the harness differs as well
    by_harness = sy.compare(runs, baseline="harness=1", candidate="harness=2", **options)
    assert by_harness.pairs[0].metrics["pass_rate"].verdict == "better"
    assert sy.usage(runs, by="agent_version").groups[0].key == {"agent_version": "1"}


def test_an_inspect_log_of_the_header_alone_names_its_samples(tmp_path: Path) -> None:
    log: dict[str, Any] = {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "q",
            "model": "m",
            "eval_id": "e",
            "dataset": {"sample_ids": [1, "b"]},
            "config": {"epochs": 2},
        },
        "results": {
            "total_samples": 4,
            "completed_samples": 4,
            "scores": [{"name": "s", "metrics": {"accuracy": {"value": 0.5}}}],
        },
    }
    (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
    done = steelyard("read", str(tmp_path / "log.json"), "--json")
    report = json.loads(done.stdout)
    assert (done.status, report["total"]["runs"]) == (0, 4)
    assert {finding["code"] for finding in report["findings"]} >= {"incomplete_log", "stated_accuracy"}
    measured = sy.measure(tmp_path).groups[0].metrics["pass_rate"]
    assert isinstance(measured, Statistics)
    assert (measured.mean, measured.missing) == (None, 4)


def test_inspect_states_limits_and_settings(tmp_path: Path) -> None:
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "q",
            "model": "m",
            "model_base_url": "http://127.0.0.1/v1",
            "config": {"time_limit": 600, "message_limit": 30},
            "packages": {"inspect_ai": "0.3"},
        },
        "plan": {"config": {"temperature": 0.5}},
        "samples": [{"id": 1, "epoch": 1, "scores": {"s": {"value": "C"}}}],
    }
    (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
    assert only(tmp_path).conditions == Conditions(
        time_limit_seconds=600,
        harness="inspect",
        harness_version="0.3",
        endpoint="http://127.0.0.1/v1",
        settings={"temperature": 0.5, "message_limit": 30},
    )
