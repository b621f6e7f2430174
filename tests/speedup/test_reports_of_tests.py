"""Test reports (JUnit XML and others) beside timings: `--tests` with and without a name, `tests/` of a task."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import commands
from timing_sides import at

Command = Callable[..., commands.Done]
SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"
ASV = SAMPLES / "asv"
SIDES = ("--nop", str(ASV / "nop.json"), "--oracle", str(ASV / "oracle.json"))
ONE = ("--agent", f"tool:m={ASV / 'agent.json'}")
TWO = (*ONE, "--agent", f"other:m={ASV / 'agent.json'}")


def report(path: Path, **results: str) -> Path:
    """A JUnit file with a test for each name; its result is `passed`, `failure`, `error` or `skipped`."""
    cases = "".join(
        f'<testcase classname="t" name="{name}">{"" if result == "passed" else f"<{result}/>"}</testcase>'
        for name, result in results.items()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<?xml version="1.0"?><testsuites><testsuite name="s">{cases}</testsuite></testsuites>')
    return path


def agents_of(done: commands.Done) -> dict[str, Any]:
    assert done.status == 0, done.stderr
    return {each["agent"]: each for each in json.loads(done.stdout)["attempts"]}


@pytest.mark.parametrize(
    ("result", "success"), [("passed", True), ("skipped", True), ("failure", False), ("error", False)]
)
def test_a_junit_report_decides_the_success_of_the_one_agent(
    tmp_path: Path, result: str, success: bool, command: Command
) -> None:
    tests = report(tmp_path / "report.xml", works="passed", other=result)
    assert agents_of(command(*SIDES, *ONE, "--tests", str(tests), "--json"))["tool:m"]["success"] is success


def test_reports_of_several_agents_and_of_the_expert_are_named(tmp_path: Path, command: Command) -> None:
    broken, other, good = (
        report(tmp_path / f"{name}.xml", old=old, new=new)
        for name, old, new in (("b", "failure", "passed"), ("o", "passed", "failure"), ("g", "passed", "passed"))
    )
    named = ("--tests", f"tool:m={broken}", "--tests", f"other:m={other}", "--tests", f"oracle={broken}")
    agents = agents_of(command(*SIDES, *TWO, *named, "--json"))
    assert agents["tool:m"]["success"] is True  # it breaks what the expert broke
    assert agents["other:m"]["success"] is False  # it breaks another test
    alone = agents_of(command(*SIDES, *TWO, "--tests", f"tool:m={broken}", "--tests", f"other:m={good}", "--json"))
    assert (alone["tool:m"]["success"], alone["other:m"]["success"]) == (False, True)


def test_a_report_without_a_name_needs_a_single_agent(tmp_path: Path, command: Command) -> None:
    tests = report(tmp_path / "report.xml", works="passed")
    done = command(*SIDES, *TWO, "--tests", str(tests), "--json")
    assert done.status == 1
    assert "--tests agent:model=FILE" in json.loads(done.stdout)["error"]["hint"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<testsuites><testsuite>", "not XML"),
        ("plain words", "unknown test report format"),
        ('{"passed": 1}', "unknown test report format"),
    ],
)
def test_a_named_report_that_is_none_is_refused(tmp_path: Path, content: str, message: str, command: Command) -> None:
    (tmp_path / "report.xml").write_text(content)
    done = command(*SIDES, *ONE, "--tests", f"tool:m={tmp_path / 'report.xml'}", "--json")
    assert done.status == 1
    assert message in json.loads(done.stdout)["error"]["message"]


def test_a_report_in_which_no_test_ran_gives_no_verdict(tmp_path: Path, command: Command) -> None:
    tests = report(tmp_path / "report.xml", later="skipped")
    done = command(*SIDES, *ONE, "--tests", str(tests), "--json")
    assert done.status == 1
    assert json.loads(done.stdout)["attempts"][0]["success"] is None
    assert "contains no test results" in done.stdout


@pytest.mark.parametrize("given", [("a:m=x", "a:m=y"), ("x.json", "y.json")])
def test_tests_given_twice_are_a_usage_error(given: tuple[str, ...], command: Command) -> None:
    options = [word for path in given for word in ("--tests", path)]
    assert command(*SIDES, *ONE, *options).status == 2


def test_a_report_of_an_unknown_agent_is_an_error(tmp_path: Path, command: Command) -> None:
    tests = report(tmp_path / "report.xml", works="passed")
    done = command(*SIDES, *ONE, "--tests", f"tool:M={tests}", "--json")
    assert done.status == 1
    assert "unmatched_agent_key" in done.stdout


def test_a_folder_of_tasks_holds_a_report_of_each_agent(tmp_path: Path, command: Command) -> None:
    task = tmp_path / "t1"
    for place in ("nop.json", "oracle.json", "agents/tool/m.json", "agents/tool/m#2.json"):
        (task / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ASV / "nop.json", task / place)
    report(task / "tests" / "tool" / "m.xml", works="failure")
    report(task / "tests" / "tool" / "m#2.xml", works="passed")
    report(task / "tests" / "oracle.xml", works="passed")
    done = command(str(tmp_path), "--json")
    found = json.loads(done.stdout)
    assert done.status == 0
    assert [at(found, "t1", number)["success"] for number in (1, 2)] == [False, True]
