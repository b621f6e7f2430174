"""Submissions: reports, predictions and trajectories are joined within one and never across two."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest

import steelyard as sy
from reading_twin import PlainCluster, gathered
from steelyard.questions.measure import Statistics
from steelyard.records import Finding, Run, labels_of
from steelyard.sources import PlacedRun, gather, log_formats

TASKS = [f"demo__parcels-{number}" for number in range(1, 6)]


def put(path: Path, content: Any) -> Path:  # Any: JSON values, or text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def prediction(task: str, agent: str = "agent", patch: str = "diff") -> dict[str, str]:
    return {"instance_id": task, "model_name_or_path": agent, "model_patch": patch}


def predictions(path: Path, tasks: list[str], agent: str = "agent") -> None:
    put(path, "".join(json.dumps(prediction(task, agent)) + "\n" for task in tasks))


def run_report(passed: list[str], failed: list[str], total: int | None = None) -> dict[str, Any]:
    return {
        "total_instances": total or len(passed) + len(failed),
        "resolved_instances": len(passed),
        "resolved_ids": passed,
        "unresolved_ids": failed,
        "error_ids": [],
        "empty_patch_ids": [],
        "schema_version": 2,
    }


def instance_report(task: str, *, passed: bool) -> dict[str, Any]:
    return {task: {"patch_exists": True, "patch_successfully_applied": True, "resolved": passed}}


def trajectory(path: Path, task: str, cost: float) -> None:
    step = {"action": "ls", "observation": "x", "response": "r", "thought": "t", "state": {}}
    info = {"exit_status": "submitted", "model_stats": {"instance_cost": cost, "api_calls": 3}}
    config = {"problem_statement": {"id": task}, "agent": {"model": {"name": "m"}}}
    put(path, {"trajectory": [step], "info": info, "replay_config": json.dumps(config)})


def whole(folder: Path, passed: int) -> None:
    """Trajectories, predictions and a report."""
    for number, task in enumerate(TASKS):
        trajectory(folder / "trajs" / f"{task}.traj", task, 0.5 + number)
    predictions(folder / "all_preds.jsonl", TASKS)
    put(folder / "results" / "report.json", run_report(TASKS[:passed], TASKS[passed:]))


def only_report(folder: Path, passed: int) -> None:
    put(folder / "agent.run1.json", run_report(TASKS[:passed], TASKS[passed:]))


def instance_reports(folder: Path, passed: int) -> None:
    for number, task in enumerate(TASKS):
        put(folder / "logs" / task / "report.json", instance_report(task, passed=number < passed))
    put(folder / "preds.json", {task: prediction(task) for task in TASKS})


def harness(folder: Path, passed: int) -> None:
    logs = folder / "logs" / "run_evaluation" / "run1" / "agent"
    for number, task in enumerate(TASKS):
        put(logs / task / "report.json", instance_report(task, passed=number < passed))
    put(folder / "agent.run1.json", run_report(TASKS[:passed], TASKS[passed:]))
    predictions(folder / "preds.jsonl", TASKS)


def leaderboard(folder: Path, passed: int) -> None:
    put(folder / "results" / "results.json", {"no_generation": TASKS[4:], "no_logs": [], "resolved": TASKS[:passed]})
    put(folder / "metadata.yaml", f"info:\n  name: {folder.name} agent\ntags:\n  model:\n  - m-{passed}\n")
    predictions(folder / "all_preds.jsonl", TASKS)


def details(folder: Path, passed: int) -> None:
    rows = {task: {"cost": 0.5, "api_calls": 3, "resolved": number < passed} for number, task in enumerate(TASKS)}
    put(folder / "per_instance_details.json", rows)


def multi(folder: Path, passed: int) -> None:
    report = {
        "total_instances": 5,
        "completed_ids": TASKS[:4],
        "empty_error_patch_ids": TASKS[4:],
        "incomplete_ids": [],
        "resolved": TASKS[:passed],
    }
    put(folder / "results" / "results.json", report)


def multi_instances(folder: Path, passed: int) -> None:
    for number in range(5):
        report = {"org": "o", "repo": "r", "number": number, "valid": number < passed, "error_msg": ""}
        put(folder / "workdir" / f"pr-{number}" / "report.json", report)


def aider(folder: Path, passed: int) -> None:
    for number, task in enumerate(TASKS):
        row = {"testcase": task, "model": "m", "edit_format": "diff", "tests_outcomes": [number < passed], "cost": 0.5}
        row |= {"duration": 2.0, "test_timeouts": 0, "num_error_outputs": 0, "prompt_tokens": 5, "completion_tokens": 1}
        put(folder / task / ".aider.results.json", row)


def junit(folder: Path, passed: int) -> None:
    bad = "" if passed == 5 else "<failure/>"
    put(folder / "junit.xml", f'<testsuite><testcase classname="c" name="n">{bad}</testcase></testsuite>')


def ctrf(folder: Path, passed: int) -> None:
    tests = [{"name": task, "status": "passed" if number < passed else "failed"} for number, task in enumerate(TASKS)]
    summary = {"tests": 5, "passed": passed, "failed": 5 - passed, "pending": 0, "skipped": 0, "other": 0}
    put(folder / "ctrf.json", {"results": {"tool": {"name": "t"}, "summary": summary, "tests": tests}})


def pytest_report(folder: Path, passed: int) -> None:
    tests = [{"nodeid": task, "outcome": "passed" if n < passed else "failed"} for n, task in enumerate(TASKS)]
    summary = {"total": 5, "passed": passed, "failed": 5 - passed}
    put(folder / "report.json", {"created": 1.0, "duration": 1.0, "exitcode": 1, "summary": summary, "tests": tests})


def openhands(folder: Path, passed: int) -> None:
    for number, task in enumerate(TASKS):
        row = {"instance_id": task, "instruction": "x", "metadata": {"llm_config": {"model": "m"}}, "history": []}
        report = {"test_result": {"report": {"resolved": number < passed}}}
        put(folder / task / "output.jsonl", json.dumps(row | report) + "\n")


def records(folder: Path, passed: int) -> None:
    rows = [{"task": task, "passed": n < passed, "x_from": folder.name[:1]} for n, task in enumerate(TASKS)]
    put(folder / "runs.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    put(folder / "runs.json", [row | {"task": f"{row['task']}-more"} for row in rows])
    put(folder / "runs.csv", f"task,passed,x_from\nc,{str(passed > 2).lower()},{folder.name[:1]}\n")


def harbor(folder: Path, passed: int) -> None:
    for number, task in enumerate(TASKS):
        result = {
            "id": f"{folder.name}-{number}",
            "task_name": task,
            "trial_name": f"{task}__x",
            "config": {"agent": {"name": "a"}, "trials_dir": "jobs/j"},
            "agent_info": {"name": "a", "version": "1"},
            "agent_result": None,
            "verifier_result": {"rewards": {"reward": float(number < passed)}},
            "exception_info": None,
        }
        put(folder / f"{task}__x" / "result.json", result)


def terminal_bench(folder: Path, passed: int) -> None:
    """The results of a run, and those of each trial in its own directory."""
    rows = [
        {"id": f"{folder.name}-{n}", "trial_name": f"{task}.1-of-1.x", "task_id": task, "is_resolved": n < passed}
        for n, task in enumerate(TASKS)
    ]
    put(folder / "results.json", {"id": folder.name, "results": rows, "accuracy": passed / 5, "n_resolved": passed})
    for row in rows:
        put(folder / str(row["task_id"]) / str(row["trial_name"]) / "results.json", {**row, "failure_mode": "unset"})


def inspect(folder: Path, passed: int) -> None:
    samples = [
        {"id": task, "epoch": 1, "scores": {"s": {"value": "C" if n < passed else "I"}}} for n, task in enumerate(TASKS)
    ]
    scores = [{"name": "s", "metrics": {"accuracy": {"value": passed / 5}}}]
    log = {
        "version": 2,
        "status": "success",
        "eval": {"run_id": folder.name, "eval_id": folder.name, "task": "q", "model": "m"},
        "results": {"total_samples": 5, "completed_samples": 5, "scores": scores},
        "samples": samples,
    }
    put(folder / "log.json", log)


def promptfoo(folder: Path, passed: int) -> None:
    rows = [
        {
            "id": f"{folder.name}-{n}",
            "testIdx": n,
            "promptIdx": 0,
            "promptId": "p",
            "success": n < passed,
            "failureReason": int(n >= passed),
            "latencyMs": 5,
            "provider": {"id": "echo"},
            "vars": {"q": task},
            "prompt": {"label": "p"},
        }
        for n, task in enumerate(TASKS)
    ]
    stats = {"successes": passed, "failures": 5 - passed, "errors": 0}
    results = {"version": 3, "prompts": [], "results": rows, "stats": stats}
    put(folder / "out.json", {"evalId": folder.name, "results": results, "config": {}})


def lm_eval(folder: Path, passed: int) -> None:
    time = f"2026-03-0{passed}T10-00-00.000001"
    rows = [
        {
            "doc_id": n,
            "doc": {"q": task},
            "arguments": {},
            "resps": [["x"]],
            "filter": "none",
            "metrics": ["acc"],
            "doc_hash": task,
            "acc": float(n < passed),
        }
        for n, task in enumerate(TASKS)
    ]
    put(folder / f"samples_q_{time}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    results = {"results": {"q": {"acc,none": passed / 5}}, "group_subtasks": {}, "model_name": f"m-{passed}"}
    put(folder / f"results_{time}.json", results)


def scylla(folder: Path, passed: int) -> None:
    for number, task in enumerate(TASKS):
        verdict = {"judge_score": float(number < passed), "judge_passed": number < passed, "judges": None}
        path = folder / f"{folder.name}-{task}" / "T0" / "00" / "run_01" / "run_result.json"
        put(path, {"run_number": 1, "exit_code": 0, "token_stats": None, "cost_usd": 0.1, **verdict})


LAYOUTS: dict[str, Callable[[Path, int], None]] = {
    each.__name__: each
    for each in (
        whole, only_report, instance_reports, harness, leaderboard, details, multi, multi_instances, aider, junit, ctrf,
        pytest_report, openhands, records, harbor, terminal_bench, inspect, promptfoo, lm_eval, scylla,
    )
}  # fmt: skip
NAMED = ("harbor", "terminal_bench", "inspect", "promptfoo", "lm_eval", "scylla")
"""Formats that name each run, so that a copy is the same run unless labels say otherwise."""
UNNAMED = tuple(name for name in LAYOUTS if name not in (*NAMED, "records"))


def pass_rates(
    *paths: Path,
    by: tuple[str, ...] = (),
    **options: Any,  # Any: options of measure
) -> dict[tuple[Any, ...], tuple[float | None, int]]:
    """Mean and number of values by group."""
    found = {}
    for group in sy.measure(list(paths), by=by, **options).groups:
        rate = group.metrics["pass_rate"]
        assert isinstance(rate, Statistics)
        found[tuple(group.key.values())] = (rate.mean, rate.count)
    return found


def runs(*paths: Path, labels: str = "") -> list[Run]:
    return [
        item.run
        for item in gather(paths, labels=labels_of(labels) if labels else labels_of(()))
        if isinstance(item, PlacedRun)
    ]


def verdicts(*paths: Path, labels: str = "") -> Counter[tuple[str, bool | None, float | None]]:
    return Counter((run.task, run.verdict, run.cost_usd) for run in runs(*paths, labels=labels))


def content(found: list[Run]) -> Counter[bytes]:
    return Counter(msgspec.json.encode(run) for run in found)


@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("second", ["whole", "harness", "leaderboard", "multi_instances"])
def test_two_submissions_together_give_what_each_gives(first: str, second: str, tmp_path: Path) -> None:
    a, b = tmp_path / "x" / "a", tmp_path / "y" / "deep" / "b"
    LAYOUTS[first](a, 3)
    LAYOUTS[second](b, 2)
    alone = content([*runs(a), *runs(b)])
    assert sum(alone.values()) >= 2
    assert content(runs(tmp_path)) == content(runs(a, b)) == content(runs(b, a)) == alone


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_submission_inside_another_stays_its_own(name: str, tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "older" / "inner"
    LAYOUTS[name](inner, 2)
    alone = content(runs(inner))
    LAYOUTS["whole"](outer, 4)
    found = content(runs(outer))
    assert sum(found.values()) == sum(alone.values()) + 5
    assert alone <= found


@pytest.mark.parametrize("name", UNNAMED)
def test_a_copy_under_another_name_is_a_second_submission(name: str, tmp_path: Path) -> None:
    LAYOUTS[name](tmp_path / "a", 3)
    alone = verdicts(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert verdicts(tmp_path) == Counter({key: 2 * count for key, count in alone.items()})
    labeled = sy.read(tmp_path, set="agent={folder}")
    assert labeled.n == 2 * sum(alone.values())


@pytest.mark.parametrize("name", [*NAMED, "records"])
def test_a_copy_with_other_labels_is_a_second_submission(name: str, tmp_path: Path) -> None:
    for copy in ("copy1", "copy2"):
        LAYOUTS[name](tmp_path / copy / "s", 3)
    alone = pass_rates(tmp_path / "copy1")
    assert sy.measure(tmp_path).n == sy.measure(tmp_path / "copy1").n  # the same runs
    depth = max(len(path.relative_to(tmp_path).parts) for path in tmp_path.rglob("*") if path.is_file()) - 2
    found = pass_rates(tmp_path, by=("agent",), set=f"agent={{folder[{depth}]}}")
    assert found == dict.fromkeys([("copy1",), ("copy2",)], alone[()])


@pytest.mark.parametrize("name", LAYOUTS)
def test_workers_join_submissions_as_one_machine_does(name: str, tmp_path: Path) -> None:
    for folder, passed in (("a", 3), ("b", 2)):
        LAYOUTS[name](tmp_path / folder, passed)
    for labels in ((), "experiment=e"):
        how = {"labels": labels_of(labels)}
        local, _ = gathered([tmp_path], **how)
        assert gathered([tmp_path], cluster=PlainCluster(), **how)[0] == local


def test_every_format_with_verdicts_is_in_the_laws(tmp_path: Path) -> None:
    for name, layout in LAYOUTS.items():
        layout(tmp_path / name, 3)
    seen = {run.source.format for run in runs(tmp_path) if run.source}
    declared = {
        name for name, each in log_formats().items() if any(field.startswith("passed") for field in each.yields)
    }
    assert declared <= seen


def test_records_with_equal_ids_of_two_agents_all_count(tmp_path: Path) -> None:
    for agent, passed in (("a", 2), ("b", 2), ("c", 1)):
        rows = [{"id": str(number), "task": f"t{number}", "passed": number < passed} for number in range(3)]
        put(tmp_path / agent / "runs.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    labeled = sy.read(tmp_path, set="agent={folder}")
    assert sorted(labeled.frame.collect()["id"].to_list()) == sorted(
        f"{n}{end}" for n in range(3) for end in ("", "#2", "#3")
    )
    assert pass_rates(tmp_path, by=("agent",), set="agent={folder}") == {
        ("a",): (2 / 3, 3),
        ("b",): (2 / 3, 3),
        ("c",): (1 / 3, 3),
    }
    assert labeled.rejected_count == 0
    assert sy.read(tmp_path).rejected_count == 1  # without labels, an id is of one run


def test_reports_of_two_agents_keep_their_denominators(tmp_path: Path) -> None:
    put(tmp_path / "a" / "report.json", run_report(TASKS[:1], TASKS[1:3]))
    put(tmp_path / "b" / "report.json", run_report(TASKS[:2], TASKS[2:3]))
    rates = pass_rates(tmp_path, by=("agent",), set="agent={folder}")
    assert rates == {("a",): (1 / 3, 3), ("b",): (2 / 3, 3)}


def test_a_table_without_lists_of_passes_has_no_column_for_them(tmp_path: Path) -> None:
    only_report(tmp_path, 3)
    assert "lists_passes_only" not in sy.read(tmp_path).frame.collect_schema().names()


def test_two_runs_of_one_agent_keep_their_predictions(tmp_path: Path) -> None:
    for run in ("run1", "run2"):
        put(tmp_path / f"A.{run}.json", [prediction(task, "A", f"diff of {run}") for task in TASKS])
    assert Counter(run.task for run in runs(tmp_path)) == dict.fromkeys(TASKS, 2)


def test_each_report_takes_one_of_the_agents_predictions(tmp_path: Path) -> None:
    for number, run in enumerate(("run1", "run2"), 1):
        predictions(tmp_path / f"preds.{run}.jsonl", TASKS, "A")
        put(tmp_path / f"A.{run}.json", run_report(TASKS[:number], TASKS[number:]))
    found = runs(tmp_path)
    assert Counter(run.experiment for run in found) == {"A.run1": 5, "A.run2": 5}
    assert sum(run.passed or False for run in found) == 3
    assert {run.agent for run in found} == {"A"}


def test_predictions_in_two_forms_are_one_run(tmp_path: Path) -> None:
    predictions(tmp_path / "all_preds.jsonl", TASKS)
    put(tmp_path / "preds.json", {task: prediction(task) for task in TASKS})
    assert len(runs(tmp_path)) == 5


def test_a_report_elsewhere_is_not_on_the_trajectories(tmp_path: Path) -> None:
    for task in TASKS:
        trajectory(tmp_path / "A" / f"{task}.traj", task, 1.0)
    put(tmp_path / "B" / "report.json", run_report(TASKS[:3], TASKS[3:]))
    found = runs(tmp_path)
    assert Counter((run.cost_usd, run.passed) for run in found) == {(1.0, None): 5, (None, True): 3, (None, False): 2}
    [finding] = [item for item in gather([tmp_path]) if isinstance(item, Finding) and item.code == "not_joined"]
    assert finding.message.startswith(f"the verdicts are not assigned to the runs in {tmp_path / 'A'}")
    joined = runs(tmp_path, labels="experiment=e")
    assert Counter((run.cost_usd, run.passed) for run in joined) == {(1.0, True): 3, (1.0, False): 2}


def test_a_leaderboards_list_is_complete_with_its_predictions(tmp_path: Path) -> None:
    leaderboard(tmp_path / "20260101_demo", 3)
    found = runs(tmp_path)
    assert [run.passed for run in found] == [True, True, True, False, False]
    assert {(run.agent, run.model) for run in found} == {("agent", "m-3")}
    assert pass_rates(tmp_path) == {(): (0.6, 5)}  # 3 of 5


def test_a_leaderboards_list_alone_has_no_pass_rate(tmp_path: Path) -> None:
    for name, passed in (("20260101_a", 3), ("20260102_b", 2)):
        leaderboard(tmp_path / name, passed)
        (tmp_path / name / "all_preds.jsonl").unlink()
    for policy in ("exclude", "fail"):
        measured = sy.measure(tmp_path, by=["agent", "model"], unscored=policy)
        keys = {tuple(group.key.values()) for group in measured.groups}
        assert keys == {("20260101_a agent", "m-3"), ("20260102_b agent", "m-2")}
        for group in measured.groups:
            rate = group.metrics["pass_rate"]
            assert isinstance(rate, Statistics)
            assert rate.mean is None
            assert "lists only tasks that passed" in str(rate.reason)


def test_the_harness_own_lists_name_every_task(tmp_path: Path) -> None:
    lists = {"no_generation": TASKS[4:], "generated": TASKS[:4], "with_logs": TASKS[:4], "applied": TASKS[:4]}
    put(tmp_path / "agent" / "results.json", {**lists, "resolved": TASKS[:1]})
    assert pass_rates(tmp_path) == {(): (0.2, 5)}  # 1 of 5


def test_multi_swe_bench_counts_what_it_lists(tmp_path: Path) -> None:
    multi(tmp_path / "20250329_x", 2)
    report = {
        "total_instances": 3,
        "submitted_ids": TASKS[:3],
        "completed_ids": TASKS[:2],
        "incomplete_ids": [TASKS[2]],
    }
    put(tmp_path / "y" / "final_report.json", {**report, "resolved_ids": TASKS[:1], "unresolved_ids": TASKS[1:2]})
    assert pass_rates(tmp_path, by=("agent",)) == {("20250329_x",): (0.4, 5), ("y",): (0.5, 2)}
    assert pass_rates(tmp_path, by=("agent",), unscored="fail") == {("20250329_x",): (0.4, 5), ("y",): (1 / 3, 3)}


def test_per_instance_details_have_cost_and_calls(tmp_path: Path) -> None:
    details(tmp_path / "20260217_mini", 2)
    run = runs(tmp_path)[0]
    assert (run.agent, run.passed, run.cost_usd, run.iterations) == ("20260217_mini", True, 0.5, 3)


def test_records_of_two_agents_with_the_same_bytes_both_count(tmp_path: Path) -> None:
    for agent in ("a", "b"):
        put(tmp_path / agent / "runs.jsonl", json.dumps({"task": "t", "passed": True}) + "\n")
    assert sy.read(tmp_path).n == 1
    labeled = sy.read(tmp_path, set="agent={folder}")
    assert labeled.n == 2
    assert "alike" not in {finding.code for finding in labeled.findings}  # runs of two agents are no attempts


def test_order_of_files_makes_no_difference(tmp_path: Path) -> None:
    harness(tmp_path, 3)
    files = [tmp_path / "agent.run1.json", tmp_path / "logs", tmp_path / "preds.jsonl"]
    expected = content(runs(tmp_path))
    assert sum(expected.values()) == 5
    for order in permutations(files):
        assert content(runs(*order)) == expected
