"""Clean verdicts in `integrity` and `rank`, and categories of failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from integrity.inspect_log import LoggedRun, write_log
from steelyard.errors import NoValidInputError, UsageError

LOOK = ("git log --oneline -3", "sed -i 's/a/b/' src/core.py")
CHEAT = ("git log --all -p", "sed -i 's/a/b/' src/core.py")
OTHER = ("sed -i 's/a/b/' src/other.py",)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Model A passes 4 of 4 tasks, 2 of them with a violation; model B passes 3 of 4."""
    a = [LoggedRun(f"t{number}", True, CHEAT if number < 2 else LOOK) for number in range(4)]
    b = [LoggedRun(f"t{number}", number != 3, LOOK if number != 3 else OTHER) for number in range(4)]
    write_log(tmp_path / "a.json", "x/a", a)
    write_log(tmp_path / "b.json", "x/b", b)
    return tmp_path


def test_clean_pass_rate_counts_violations_as_failed(logs: Path) -> None:
    answer = sy.integrity(logs, by=["model"])
    rates = {
        group.key["model"]: (group.pass_rate.estimate, group.clean_pass_rate.estimate, group.passed_with_violation)
        for group in answer.groups
        if group.pass_rate is not None and group.clean_pass_rate is not None
    }
    assert rates == {"x/a": (1.0, 0.5, 2), "x/b": (0.75, 0.75, 0)}  # 2 of 4, 3 of 4
    total = answer.total.clean_pass_rate
    assert total is not None
    assert total.estimate == 5 / 8
    assert total.low is not None
    assert total.low < 5 / 8 < (total.high or 0)


def test_rank_clean_counts_violations_as_failed(logs: Path) -> None:
    stated = sy.rank(logs, by=["model"], metrics=["pass_rate"], resamples=200)
    clean = sy.rank(logs, by=["model"], metrics=["pass_rate"], clean=True, resamples=200)
    assert [(group.key["model"], group.score.estimate) for group in stated.groups] == [("x/a", 1.0), ("x/b", 0.75)]
    assert [(group.key["model"], group.score.estimate) for group in clean.groups] == [("x/b", 0.75), ("x/a", 0.5)]
    assert (stated.clean, clean.clean) == (False, True)
    found = {finding.code: finding for finding in clean.findings}
    assert found["clean_failed"].count == 2
    assert found["clean_failed"].places[0].message == "future_history"
    assert "clean_unchecked" not in found


def test_unchecked_runs_have_no_clean_verdict(logs: Path) -> None:
    records = [{"task": f"bugs/t{number}", "model": "x/c", "passed": True} for number in range(4)]
    (logs / "c.jsonl").write_text("\n".join(map(json.dumps, records)), "utf-8")
    group = sy.integrity(logs, by=["model"]).groups[-1]
    assert (group.n, group.checked, group.clean_pass_rate) == (4, 0, None)
    assert group.pass_rate is not None
    assert group.pass_rate.estimate == 1.0
    clean = sy.rank(logs, by=["model"], metrics=["pass_rate"], clean=True, resamples=200, unscored="fail")
    assert [finding.message for finding in clean.findings if finding.code == "clean_unchecked"] == [
        "4 of 12 runs could not be checked and have no clean verdict"
    ]
    assert clean.groups[-1].key == {"model": "x/c"}
    assert clean.groups[-1].score.estimate == 0.0


def test_truncated_transcript_is_not_clean(logs: Path, tmp_path: Path) -> None:
    table = sy.read(logs)
    before = sy.rank(table, by=["model"], metrics=["pass_rate"], clean=True, resamples=200)
    assert [group.key["model"] for group in before.groups] == ["x/b", "x/a"]
    session = tmp_path / "session.jsonl"
    sample = Path(__file__).parents[1] / "samples" / "formats" / "claude-code" / "session.jsonl"
    session.write_bytes(sample.read_bytes()[:-40])
    total = sy.integrity(session).total
    assert (total.n, total.checked, total.violations) == (1, 0, 0)


def test_rank_clean_needs_transcripts() -> None:
    with pytest.raises(NoValidInputError, match="no run has a transcript that could be checked"):
        sy.rank(sy.demo_runs(), by=["tier"], clean=True)
    with pytest.raises(UsageError, match="clean needs runs with transcripts"):
        sy.rank("sqlite:///none.db", clean=True)


def test_failures_name_wrong_files_and_giving_up(logs: Path) -> None:
    write_log(
        logs / "d.json",
        "x/d",
        [
            LoggedRun("t0", False, ("cat a.py", "ls")),
            LoggedRun("t1", False, LOOK, "I was unable to complete the task."),
            LoggedRun("t2", False, LOOK),
            LoggedRun("t3", False, OTHER),
        ],
    )
    answer = sy.failures(logs, by=["model"])
    assert [run.category for run in answer.failed_runs if run.where is not None and run.where.endswith("d.json")] == [
        "empty_patch",
        "gave_up",
        "failed_tests",
        "wrong_file",
    ]
    assert len(answer.failed_runs) == 5
    by_model = {group.key["model"]: group.categories for group in answer.groups}
    assert by_model["x/a"]["passed"].runs == 4
    assert by_model["x/b"]["wrong_file"].solved_elsewhere == 1
    assert by_model["x/d"]["empty_patch"].fraction == 0.25  # 1 of 4


@pytest.mark.parametrize(
    ("failure", "category"),
    [
        ("the time limit was reached after 3 calls", "time_limit"),
        ("AgentTimeoutError: 600 s", "time_limit"),
        ("VerifierTimeoutError", "tests_not_run"),
        ("LimitsExceeded", "budget"),
        ("submitted (exit_cost)", "budget"),
        ("limit: token", "budget"),
        ("exit_forfeit", "gave_up"),
        ("no patch", "empty_patch"),
        ("the patch does not apply", "tests_not_run"),
        ("exit code 137", "crash"),
        ("connection refused", "crash"),
        ("something else", "crash"),
    ],
)
def test_stated_failure_gives_the_category(failure: str, category: str) -> None:
    run = {"task": "t", "outcome": "errored", "failure": {"cause": "agent", "message": failure}}
    listed = sy.failures([run]).failed_runs
    assert [(each.category, each.reason) for each in listed] == [(category, failure)]


@pytest.mark.parametrize(
    ("facts", "category"),
    [
        ({"tests": {"passed": 3, "failed": 1}}, "failed_tests"),
        ({"tests": {"passed": 0}}, "tests_not_run"),
        ({"passed": False}, "failed_tests"),
        ({}, "unknown"),
        ({"outcome": "errored"}, "crash"),
        ({"passed": False, "failure": {"cause": "agent", "message": "odd"}, "tests": {"failed": 1}}, "failed_tests"),
    ],
)
def test_results_give_the_category(facts: dict[str, object], category: str) -> None:
    assert [each.category for each in sy.failures([{"task": "t", **facts}]).failed_runs] == [category]


def test_failures_add_up_to_all_runs() -> None:
    answer = sy.failures(sy.demo_runs(), by=["tier"])
    assert sum(count.runs for group in answer.groups for count in group.categories.values()) == answer.n == 1400
    assert answer.failed_count == 1400 - sum(group.categories["passed"].runs for group in answer.groups)
