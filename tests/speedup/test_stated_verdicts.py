"""Verdicts that FC-Eval's files state, and what their run folders show besides them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import SteelyardError
from steelyard.questions import TaskFiles
from steelyard.questions.speedup import speedup

SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"
KEY = "tool:m"
PASSED = {"status": "passed", "pass_to_fail": 0}
NO_TESTS = {"passed": 0, "failed": 0, "error": 0}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def trial(task: str = "t", **facts: Any) -> dict[str, Any]:
    speedups = {"m.time_x": {"agent/nop": 4.0, "oracle/nop": 2.0, "advantage": 2.0}}
    fine = {"per_benchmark_speedups": speedups, "pytest_summary": {"passed": 3}, "snapshot_summary": PASSED}
    metrics = {"agent_metrics_by_agent": {KEY: fine | facts}}
    return {"task_id": task, "trial_name": f"{task}.1-of-1.run", "is_resolved": True, "parser_extra_metrics": metrics}


def test_a_log_without_its_tests_block_has_failed(tmp_path: Path) -> None:
    text = (SAMPLES / "fceval.log").read_text(encoding="utf-8")
    start, end = text.index("FORMULACODE_TESTS_START"), text.index("FORMULACODE_TESTS_END")
    found = speedup(write(tmp_path / "t.log", text[:start] + text[end + len("FORMULACODE_TESTS_END") :])).attempts[0]
    assert (found.success, found.fallback_to_baseline, found.task_speedup) == (False, True, 1.0)


@pytest.mark.parametrize(
    ("facts", "success"),
    [
        ({"pytest_summary": NO_TESTS}, False),  # no test that ran is no pass
        ({"pytest_summary": NO_TESTS, "pytest_failed": True}, False),
        ({"pytest_summary": NO_TESTS, "pytest_failed": False}, True),
        ({"pytest_summary": NO_TESTS, "success": True}, True),
        ({"pytest_failed": True}, True),  # three passed, none failed
        ({}, True),
    ],
)
def test_stated_verdicts_win_where_no_test_ran(facts: dict[str, Any], success: bool, tmp_path: Path) -> None:
    result = speedup(write(tmp_path / "results.json", {"results": [trial(**facts)]}))
    found = result.attempts[0]
    assert (found.success, found.task_speedup) == (success, 4.0 if success else 1.0)
    stated = [finding for finding in result.findings if finding.code == "stated_verdict"]
    assert bool(stated) is bool(facts)


def test_the_files_own_accuracy_is_compared(tmp_path: Path) -> None:
    trials = [trial("a"), trial("b", pytest_summary={"passed": 2, "failed": 1})]
    for stated, severity in ((0.5, "info"), (1.0, "warning")):
        result = speedup(write(tmp_path / "results.json", {"accuracy": stated, "results": trials}))
        [finding] = [finding for finding in result.findings if finding.code == "stated_accuracy"]
        assert finding.severity == severity
        assert f"reported accuracy: {stated:g} over 2 trials" in str(finding.message)


def test_a_trials_own_result_is_read(tmp_path: Path) -> None:
    found = speedup(write(tmp_path / "results.json", trial())).attempts
    assert [(each.task, each.task_speedup) for each in found] == [("t", 4.0)]


def test_a_run_folder_shows_the_length_of_trajectories(tmp_path: Path) -> None:
    write(tmp_path / "results.json", {"results": [trial("a"), trial("b")]})
    write(tmp_path / "a" / "a.1-of-1.run" / "agent-logs" / "log.json", [{"source": "agent"}] * 3)
    header = json.dumps({"version": 2, "width": 80, "height": 24})
    cast = f'{header}\n[0.1, "i", "l"]\n[0.2, "i", "s"]\n[0.3, "o", "x"]' + "\n"
    write(tmp_path / "b" / "b.1-of-1.run" / "sessions" / "agent.cast", cast)
    found = speedup(tmp_path / "results.json").attempts
    assert [each.trajectory_length for each in found] == [3, 2]
    assert [each.trajectory_length for each in speedup(tmp_path).attempts] == [3, 2]


def test_an_empty_log_falls_back_to_the_recording(tmp_path: Path) -> None:
    write(tmp_path / "results.json", {"results": [trial()]})
    home = tmp_path / "t" / "t.1-of-1.run"
    write(home / "agent-logs" / "log.json", [])
    write(home / "sessions" / "agent.cast", '{"version": 2}\n[0.1, "i", "l"]\n')
    assert speedup(tmp_path / "results.json").attempts[0].trajectory_length == 1


@pytest.mark.parametrize(("key", "falls_back"), [(KEY, True), ("nop", False)])
def test_an_agent_named_nop_has_no_fallback(key: str, falls_back: bool, tmp_path: Path) -> None:
    asv = SAMPLES / "asv"
    tests = write(tmp_path / "tests.json", {"passed": 2, "failed": 1})
    found = speedup(TaskFiles(nop=asv / "nop.json", agents={key: asv / "agent.json"}, tests=tests)).attempts[0]
    assert found.fallback_to_baseline is falls_back


RATIOS = """task,agent,try,bench,ratio,expert,ok,usd
t1,codex,1,m.A.time_x(1),2.0,4.0,yes,0.5
t1,codex,1,m.A.time_x(2),8.0,4.0,yes,0.5
t1,codex,1,m.time_f,0.5,1.0,yes,0.5
t1,codex,1,n.B.time_y,1.0,0.0,yes,0.5
t1,codex,2,m.time_f,3.0,1.0,no,0.5
t1,aider,1,m.time_f,2.0,1.0,,
t1,aider,1,m.time_f,5.0,1.0,,
"""


def test_a_table_of_speedups_is_read_by_a_mapping(tmp_path: Path) -> None:
    table = tmp_path / "ratios.csv"
    table.write_text(RATIOS, encoding="utf-8")
    fields: dict[str, Any] = {
        "task": "task",
        "agent": "agent",
        "attempt": "try",
        "passed": "ok",
        "cost_usd": "usd",
        "x_benchmark": "bench",
        "x_speedup": {"from": "ratio", "as": "float"},
        "x_reference_speedup": {"from": "expert", "as": "float"},
    }
    mapping = {"mapping": 1, "name": "m", "rows": {"format": "csv"}, "run": fields}
    result = sy.speedup(table, map=mapping)
    first, second, other = sorted(result.attempts, key=lambda attempt: (attempt.agent != "codex", attempt.number))
    assert (first.task_speedup, first.num_benchmarks, first.num_valid_benchmarks) == (pytest.approx(2.0), 4, 3)
    assert first.agent_advantage == pytest.approx(-0.5198420997897459)
    assert (first.success, second.success, other.success) == (True, False, None)
    assert second.task_speedup == 1.0  # a failed attempt counts as unchanged
    assert (other.task_speedup, other.task_cost_usd) == (pytest.approx(2.0), None)
    assert result.rejected_count == 1  # a second row of the same benchmark
    del fields["x_speedup"]
    with pytest.raises(SteelyardError, match="no row has x_speedup"):
        sy.speedup(table, map=mapping)
