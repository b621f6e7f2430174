"""An execution becomes a Run: the metering proxy's counts stand in place of the log's, and a finding gives both."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runner.execution import job_of
from steelyard.records import Call, TestResults, Usage
from steelyard.runner import Ending
from steelyard.runner._adapters import Adapter
from steelyard.runner._execution import ExecutionEvidence
from steelyard.runner._metering_records import MeteredCall, MeteredCalls
from steelyard.runner._run_of_trial import log_files, run_of_trial
from steelyard.runner._verification import VerifyEvidence

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
AGENT = Adapter(name="mine", command=("mine",), speaks="chat", logs=("home/log.jsonl",))
PASSED = Ending(name="passed")
LOGGED: dict[str, Any] = {
    "task": "hello",
    "success": True,
    "tool_calls": 4,
    "cost_usd": 9.0,
    "calls": [{"model": "m-1", "usage": {"input_tokens": 100, "output_tokens": 10}}],
    "provenance": {"usage": "reported", "cost_usd": "reported"},
}


def call(number: int, model: str = "m-1", **facts: Any) -> MeteredCall:
    usage = Usage(input_tokens=100, output_tokens=10)
    known = {"status": 200, "usage": usage, "model_asked": model, "model_answered": model, "ended": NOON, **facts}
    return MeteredCall(number=number, path="/v1/chat/completions", started=NOON, **known)


def seen(*calls: MeteredCall) -> ExecutionEvidence:
    return ExecutionEvidence(
        started_at=NOON,
        ended_at=NOON,
        ended_by="itself",
        exit_status=0,
        count=MeteredCalls(calls=calls),
        needs_calls=True,
    )


def folder_with(tmp_path: Path, *records: dict[str, Any]) -> Path:
    folder = tmp_path / "retry-1"
    (folder / "home").mkdir(parents=True)
    lines = [json.dumps(record) + "\n" for record in records]
    (folder / "home/log.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def test_the_meter_counts_and_the_log_says_what_it_alone_knows(tmp_path: Path) -> None:
    run, findings = run_of_trial(job_of(AGENT, tmp_path), folder_with(tmp_path, LOGGED), seen(call(1)), PASSED)
    usage = Usage(input_tokens=100, output_tokens=10)
    assert run.calls == (Call(model="m-1", at=NOON, usage=usage),)
    assert (run.tool_calls, run.success, run.experiment, run.agent) == (4, True, "plan", "mine")
    assert run.cost_usd is None  # it is priced from what was counted
    assert (run.provenance or {})["usage"] == "counted"
    assert "cost_usd" not in (run.provenance or {})
    assert findings == ()
    assert ((run.extra or {})["x_retry"], (run.extra or {})["x_endpoint"]) == (1, "scripted")


def test_a_call_that_is_in_no_log_is_told_with_both_numbers(tmp_path: Path) -> None:
    evidence = seen(call(1), call(2, "m-small"))
    run, findings = run_of_trial(job_of(AGENT, tmp_path), folder_with(tmp_path, LOGGED), evidence, PASSED)
    assert run.total_usage == Usage(input_tokens=200, output_tokens=20)
    told = {finding.code: finding.message for finding in findings}
    assert set(told) == {"usage_differs_from_log", "calls_not_logged", "other_model_asked"}
    assert "input 100 in the log, 200 counted" in told["usage_differs_from_log"]
    assert told["calls_not_logged"] == "the agent's log has 1 model calls; the metering proxy counted 2"
    assert told["other_model_asked"] == "the agent also called m-small; the plan specifies m-1"


def test_a_call_without_an_end_makes_a_lower_bound(tmp_path: Path) -> None:
    cut = call(2, status=None, usage=None, ended=None, is_lower_bound=True)
    run, _ = run_of_trial(job_of(AGENT, tmp_path), folder_with(tmp_path, LOGGED), seen(call(1), cut), PASSED)
    assert (run.provenance or {})["usage"] == "lower_bound"
    assert len(run.calls or ()) == 2


def test_refused_calls_used_nothing(tmp_path: Path) -> None:
    refused = call(1, status=401, usage=None, model_answered=None)
    run, _ = run_of_trial(job_of(AGENT, tmp_path), folder_with(tmp_path), seen(refused), PASSED)
    assert run.calls is None
    assert run.total_usage is not None
    assert run.total_usage.total == 0


def test_several_sessions_are_one_run(tmp_path: Path) -> None:
    other = {**LOGGED, "id": "b", "tool_calls": 2}
    folder = folder_with(tmp_path, {**LOGGED, "id": "a"}, other)
    run, findings = run_of_trial(job_of(AGENT, tmp_path), folder, seen(call(1), call(2)), PASSED)
    assert run.tool_calls == 6
    assert findings == ()


def test_without_a_log_tool_calls_are_unknown_and_that_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "retry-0"
    folder.mkdir()
    run, findings = run_of_trial(job_of(AGENT, tmp_path), folder, seen(call(1)), PASSED)
    assert run.tool_calls is None
    assert [finding.code for finding in findings] == ["no_log"]


def test_what_need_not_be_a_log_is_no_finding(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, {"colour": "red"})
    codes = {}
    for logs_optional in (False, True):
        agent = msgspec.structs.replace(AGENT, logs_optional=logs_optional)
        _, findings = run_of_trial(job_of(agent, tmp_path), folder, seen(call(1)), PASSED)
        codes[logs_optional] = [finding.code for finding in findings]
    assert codes == {False: ["unreadable_log", "no_log"], True: []}


def test_without_a_meter_the_log_counts(tmp_path: Path) -> None:
    evidence = ExecutionEvidence(started_at=NOON, ended_at=NOON, ended_by="itself", exit_status=0)
    run, _ = run_of_trial(job_of(AGENT, tmp_path, kind=None), folder_with(tmp_path, LOGGED), evidence, PASSED)
    assert run.total_usage == Usage(input_tokens=100, output_tokens=10)
    assert (run.cost_usd, (run.provenance or {})["cost_usd"]) == (9.0, "reported")


@pytest.mark.parametrize(
    ("ending", "verified", "outcome", "passed"),
    [
        (PASSED, VerifyEvidence(exit_status=0, ending=""), "passed", True),
        (Ending(name="failed"), VerifyEvidence(exit_status=1, ending=""), "failed", False),
        (Ending(name="agent_timeout", cause="agent"), VerifyEvidence(exit_status=0, ending=""), "passed", True),
        (Ending(name="agent_crashed", cause="agent"), VerifyEvidence(exit_status=1, ending=""), "failed", False),
        (
            Ending(name="verifier_broken", cause="infrastructure"),
            VerifyEvidence(ending="", problem="x"),
            "errored",
            None,
        ),
        (Ending(name="not_started", cause="infrastructure"), None, "errored", None),
        (Ending(name="not_scored"), None, "not_scored", None),
    ],
)
def test_a_verdict_needs_a_check(
    ending: Ending, verified: VerifyEvidence | None, outcome: str, passed: bool | None, tmp_path: Path
) -> None:
    folder = folder_with(tmp_path, LOGGED)
    run, _ = run_of_trial(job_of(AGENT, tmp_path), folder, seen(call(1)), ending, verified=verified)
    assert (run.outcome, run.verdict) == (outcome, passed)
    assert (run.failure is not None) == (ending.cause is not None)


def test_results_of_tests_are_kept(tmp_path: Path) -> None:
    tests = TestResults(passed=("a",), failed=("b",))
    verified = VerifyEvidence(exit_status=1, ending="", tests=tests)
    folder = folder_with(tmp_path, LOGGED)
    run, _ = run_of_trial(job_of(AGENT, tmp_path), folder, seen(call(1)), Ending(name="failed"), verified=verified)
    assert run.tests == tests


def test_logs_are_found_by_patterns_and_never_through_links(tmp_path: Path) -> None:
    for path in ("home/a/x.jsonl", "home/a/b/y.jsonl", "home/a/b/z.txt", "work/x.jsonl", "outside/o.jsonl"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "home/linked").symlink_to(tmp_path / "outside")
    (tmp_path / "home/l.jsonl").symlink_to(tmp_path / "outside/o.jsonl")
    paths = log_files(tmp_path, ["stdout", "home/**/*.jsonl"])
    assert [str(path.relative_to(tmp_path)) for path in paths] == ["home/a/x.jsonl", "home/a/b/y.jsonl"]
