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
