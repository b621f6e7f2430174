"""Names that would drive a terminal, forge a line or break a page: they are shown as they are, and harm nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.cli import run

NAMES = (
    "[/bold] :smile: x",
    "[red]",
    "\x1b[2J\x1b[1;1H1 winner",
    "two\nlines  task  100.00  rank 1",
    "\x9b31m",
    "a\tb",
)
VIEWS = (
    ("leaderboard", "task"),
    ("leaderboard",),
    ("history", "--task", "task"),
    ("changes", "--since", "2020-01-01"),
    ("task", "list"),
    ("task", "show", "task"),
    ("bias",),
    ("review", "list"),
    ("compare-profiles", "arena-1", "arena-1"),
)


@pytest.fixture
def filled(store_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    at = ("--store", store_address)
    given = [
        {"id": name, "task_id": "task", "total_tokens": 9, "tool_calls": 1, "execution_time": 1}
        | {"agent": name, "model": name, "submitter": name}
        for name in NAMES
    ]
    (tmp_path / "task.json").write_text(json.dumps({"id": "task", "title": NAMES[0] + NAMES[2]}))
    (tmp_path / "given.jsonl").write_text("\n".join(map(json.dumps, given)))
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "task", "add", str(tmp_path / "task.json"), *at]) == 0
    assert run(["arena", "submit", str(tmp_path / "given.jsonl"), *at]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("  accepted" in line for line in lines) == len(NAMES)  # a line for each, whatever it is called
    assert not any(control(line) for line in lines)
    return at


def control(line: str) -> bool:
    return any(not character.isprintable() for character in line)


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_a_view_shows_any_name_and_sends_no_control_character(
    filled: tuple[str, str], capsys: pytest.CaptureFixture[str], view: tuple[str, ...]
) -> None:
    assert run(["arena", *view, *filled]) == 0
    shown = capsys.readouterr().out
    assert not any(control(line) for line in shown.splitlines())
    if view != ("task", "list") and "compare-profiles" not in view:
        assert "[/bold]" in shown


def test_an_evaluation_of_any_name_is_shown(filled: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        assert run(["arena", "show", name, *filled]) == 0
        assert not any(control(line) for line in capsys.readouterr().out.splitlines())


def test_runs_and_prompts_of_any_name_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [{"id": name, "task": name, "agent": name, "passed": True, "files_created": [name]} for name in NAMES]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, runs)))
    for name in NAMES:
        assert run(["explain", str(tmp_path / "runs.jsonl"), "pass_rate", "--run", name]) == 0
        assert not any(control(line) for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"])
def test_a_moment_that_utc_cannot_hold_is_refused(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], moment: str
) -> None:
    given = {"id": "far", "task_id": "task", "total_tokens": 1, "tool_calls": 1, "submitted_at": moment}
    good = {**given, "id": "near", "submitted_at": "9999-12-31T23:59:59Z"}
    (tmp_path / "far.jsonl").write_text(json.dumps(given) + "\n" + json.dumps(good))
    assert run(["arena", "submit", str(tmp_path / "far.jsonl"), *filled]) == 1
    said = capsys.readouterr()
    assert "outside the years 1 to 9999" in said.err
    assert "1 accepted" in said.out
    assert run(["arena", "leaderboard", "task", *filled]) == 0
    assert run(["arena", "changes", "--since", moment, *filled]) == 2
    assert "is not a date" in capsys.readouterr().err
