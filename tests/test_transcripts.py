"""Steps of runs shown and searched: ranges, whole texts, matches, redaction, and bounds of time and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli import run
from steelyard.errors import MissingExtraError, UnknownNameError, UsageError
from steelyard.questions.show_steps import MAX_CHARACTERS, show_steps

SAMPLES = Path(__file__).parent / "samples" / "formats"
SESSION = SAMPLES / "claude-code" / "session.jsonl"
KEY = "sk-abcdefghijklmnopqrstuvwx0123456789"


def line(number: int, role: str, content: object, **more: object) -> str:
    message = {"role": role, "content": content, **more}
    if role == "assistant":
        message |= {"id": f"m{number}", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 2}}
    fields = {"uuid": f"u{number}", "parentUuid": None, "sessionId": "s", "type": role, "message": message}
    return json.dumps(fields | {"timestamp": f"2026-01-01T00:00:{number % 60:02}Z"})


def session(folder: Path, *lines: str) -> Path:
    path = folder / "log.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_steps_lists_the_requested_range() -> None:
    answer = show_steps(SESSION, steps="3:5")
    assert [step.index for step in answer.steps] == [3, 4, 5]
    assert answer.next == 6
    assert [step.tool for step in answer.steps] == ["Write", None, "Bash"]
    assert show_steps(SESSION, steps="7:99").next is None
    assert [step.index for step in show_steps(SESSION, steps="8").steps] == [8]


@pytest.mark.parametrize("steps", ["0:4", "5:3", "a", "1:b", "-1"])
def test_steps_rejects_what_is_not_a_range(steps: str) -> None:
    with pytest.raises(UsageError):
        show_steps(SESSION, steps=steps)


def test_steps_without_a_value_lists_the_first_ones(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["show", str(SESSION), "--steps"], ["show", "--steps", str(SESSION)]):
        assert run(words) == 0
        assert "steps 1 to 8." in capsys.readouterr().out


def test_step_shows_the_whole_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "word " * 1_000
    path = session(tmp_path, line(1, "user", text))
    assert run(["show", str(path), "--step", "1"]) == 0
    assert capsys.readouterr().out.count("word") >= 1_000
    assert show_steps(session(tmp_path, line(1, "user", "a" * (MAX_CHARACTERS + 5)))).steps[0].text == (
        "a" * MAX_CHARACTERS + "\n[5 more characters]"
    )


def test_run_is_needed_if_there_are_several() -> None:
    with pytest.raises(UsageError, match="the input contains 4 runs"):
        show_steps(SAMPLES / "claude-code")


def test_records_without_a_log_have_no_steps() -> None:
    with pytest.raises(UsageError, match="no steps: the record contains no messages"):
        list(sy.steps([{"id": "a", "task": "t"}]))


def test_find_reports_run_step_line_and_context() -> None:
    answer = sy.find(SESSION, pattern="count.py", context=7)
    found = [(each.step, each.tool, each.where, each.before, each.after) for each in answer.matches]
    assert found == [
        (3, "Write", f"{SESSION}:4", "parcel/", ""),
        (5, "Bash", f"{SESSION}:6", "python ", ""),
    ]
    assert (answer.match_count, answer.run_count, answer.searched_runs) == (2, 1, 1)


def test_find_selects_tools_with_their_results_and_roles() -> None:
    assert [each.step for each in sy.find(SESSION, pattern="1", tool="Bash").matches] == [6]
    assert [each.step for each in sy.find(SESSION, pattern="parcel", role="user").matches] == [1]
    with pytest.raises(UnknownNameError):
        sy.find(SESSION, pattern="a", role="robot")


def test_find_counts_runs_without_messages() -> None:
    answer = sy.find([{"id": "a", "task": "t"}], pattern="x")
    assert (answer.searched_runs, answer.without_steps) == (0, 1)
    assert [each.code for each in answer.findings] == ["no_steps"]


@pytest.mark.parametrize("written", ["needle", "n\\u0065edle"])
def test_find_sees_words_that_json_escapes(tmp_path: Path, written: str) -> None:
    text = line(1, "user", "x" * 300_000 + "a needle").replace("needle", written)
    path = session(tmp_path, text)
    assert sy.find(path, pattern="a needle").match_count == 1
    assert sy.find(path, pattern="a noodle").match_count == 0


def test_find_regex_is_linear_or_names_the_extra(tmp_path: Path) -> None:
    path = session(tmp_path, line(1, "user", "a" * 50_000 + "!"))
    try:
        import re2  # noqa: F401 # an optional library
    except ImportError:
        with pytest.raises(MissingExtraError, match="google-re2"):
            sy.find(path, pattern="(a+)+$", regex=True)
        return
    start = time.process_time()
    assert sy.find(path, pattern="(a+)+$", regex=True).match_count == 0
    assert time.process_time() - start < 2
    assert sy.find(SESSION, pattern=r"c[o]unt\.py$", regex=True).match_count == 2
    with pytest.raises(UsageError, match="invalid regular expression"):
        sy.find(path, pattern="(", regex=True)


def test_no_surface_shows_a_planted_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"x {KEY}", "password": "hunter2-3"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": f"out {KEY}"}
    path = session(
        tmp_path, line(1, "user", f"my key is {KEY}"), line(2, "assistant", [call]), line(3, "user", [result])
    )
    words = (["--steps"], ["--step", "2"], ["--steps", "--json"], ["--steps", "--csv"])
    for more in words:
        assert run(["show", str(path), *more]) == 0
    for pattern in (KEY, "my key", "hunter2", "out "):
        assert run(["find", pattern, str(path), "--json"]) == 0
    shown = capsys.readouterr().out
    assert "[API key 1]" in shown
    assert KEY not in shown
    assert "hunter2-3" not in shown
    assert sy.find(path, pattern=KEY).match_count == 0
    assert sy.find(path, pattern=KEY, redact=False).match_count == 3
    texts = [text for step in sy.steps(path) for text in step.content]
    assert not any(KEY in text or "hunter2-3" in text for text in texts)


def trial_folder(folder: Path, name: str) -> Path:
    trial = json.loads((SAMPLES / "terminal-bench" / "trial.json").read_text())
    place = folder / name / trial["task_id"] / trial["trial_name"]
    for below in ("panes", "agent-logs/episode-0", "agent-logs/episode-1"):
        (place / below).mkdir(parents=True)
    (place / "results.json").write_text(json.dumps(trial | {"is_resolved": False}))
    return place


def test_steps_of_terminal_bench_are_episodes_else_the_pane(tmp_path: Path) -> None:
    place = trial_folder(tmp_path, "run")
    (place / "panes" / "post-agent.txt").write_text("$ sort parcels\n")
    (place / "panes" / "post-test.txt").write_text("E   assert sorted == parcels\n")
    (step,) = sy.steps(tmp_path / "run")
    assert (step.kind, step.result) == ("tool_result", "$ sort parcels\n")
    assert step.where == f"{place}/panes/post-agent.txt"
    (failure,) = sy.show(tmp_path / "run").failures
    assert failure.assertion == "assert sorted == parcels"
    for number, text in enumerate(("Sort the parcels.", "Sort them again.")):
        (place / "agent-logs" / f"episode-{number}" / "prompt.txt").write_text(text)
        (place / "agent-logs" / f"episode-{number}" / "response.txt").write_text(f"answer {number}")
    assert [(step.role, step.text) for step in sy.steps(tmp_path / "run")] == [
        ("user", "Sort the parcels."),
        ("assistant", "answer 0"),
        ("user", "Sort them again."),
        ("assistant", "answer 1"),
    ]


def test_steps_of_harbor_are_those_of_the_agents_log(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "verifier").mkdir()
    trial = json.loads((SAMPLES / "harbor" / "trial.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(trial | {"verifier_result": {"rewards": {"reward": 0.0}}}))
    trajectory = (SAMPLES / "atif" / "trajectory.json").read_text()
    (tmp_path / "agent" / "trajectory.json").write_text(trajectory)
    (tmp_path / "verifier" / "test-stdout.txt").write_text("FAILED t.py::a\nE   assert 1 == 2\n")
    assert [step.text for step in sy.steps(tmp_path)] == [
        step.text for step in sy.steps(SAMPLES / "atif" / "trajectory.json")
    ]
    assert [each.assertion for each in sy.show(tmp_path).failures] == ["assert 1 == 2"]


HISTORY = """
# aider chat started at 2026-01-01 00:00:00

> Aider v0.86.1
> Model: gpt-5

#### write the parcel counter
#### in Python

I will write it.

> Applied edit to count.py
"""


def test_steps_of_an_aider_exercise_are_in_its_history(tmp_path: Path) -> None:
    results = tmp_path / "aider.results.json"
    results.write_bytes((SAMPLES / "aider" / "aider.results.json").read_bytes())
    assert show_steps(results).about.endswith("the log contains no messages")
    (tmp_path / ".aider.chat.history.md").write_text(HISTORY)
    assert [(step.role, step.text or step.result, step.source_line) for step in sy.steps(results)] == [
        ("tool", "Aider v0.86.1\nModel: gpt-5", 4),
        ("user", "write the parcel counter\nin Python", 7),
        ("assistant", "I will write it.", 10),
        ("tool", "Applied edit to count.py", 12),
    ]


def test_steps_of_a_planned_run_are_in_its_folder(tmp_path: Path) -> None:
    trial = "0123456789abcdef"
    home = tmp_path / "trials" / trial / "retry-0" / "home"
    home.mkdir(parents=True)
    (tmp_path / "trials.jsonl").write_text("")
    (tmp_path / "runs.jsonl").write_text(json.dumps({"id": trial, "task": "t", "x_trial": trial, "x_retry": 0}))
    (tmp_path / "secret.jsonl").write_bytes(SESSION.read_bytes())
    (home / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(UsageError, match="no steps"):
        list(sy.steps(tmp_path))
    (home / "log.jsonl").write_bytes(SESSION.read_bytes())
    assert [step.text for step in sy.steps(tmp_path)] == [step.text for step in sy.steps(SESSION)]
    verify = home.parent / "verify"
    verify.mkdir()
    (verify / "report.xml").write_text(
        '<testsuite><testcase name="a"><failure message="assert 2"/></testcase></testsuite>'
    )
    assert [each.assertion for each in sy.show(tmp_path).failures] == ["assert 2"]


@pytest.mark.long
def test_first_page_of_a_large_log_is_fast(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "x" * 20_000}]
    with path.open("w") as file:
        for number in range(10_000):  # 200 MB
            file.write(line(number, "user", result) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "steelyard", "show", str(path), "--steps"]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime <= 0.5
    assert after.ru_maxrss <= 100_000  # KB
