"""Runs go to an arena as their trials are done: each once, none that broke off, and what is refused is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from runner.execution import needs_bubblewrap
from steelyard.errors import UsageError
from steelyard.questions import PlanRun

PLAN = """
[plan]
name = "weekly"
attempts = 2
retries = 0
deliver = "sqlite:///{folder}/arena.db"
{settings}
[[agents]]
use = "sheller"
{more}
"""
TASK = '[[tasks]]\nid = "greet"\nprompt = "Write hello.txt."\n'
ADAPTER = """
command = ["sh", "{home}/sheller.sh"]
logs = ["home/run.jsonl"]
[files]
"home/sheller.sh" = '''
echo hello > hello.txt
echo '%s' > ~/run.jsonl
'''
"""
LOG = {"task": "x", "tool_calls": 1, "iterations": 1, "usage": {"input_tokens": 900, "output_tokens": 100}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "sheller.toml").write_text(ADAPTER % json.dumps(LOG))
    arena = sy.init_arena(f"sqlite:///{tmp_path}/arena.db")
    arena.add_task(
        {
            "id": "greet",
            "title": "Write hello.txt.",
            "success_criteria": [{"type": "file_exists", "file_path": "hello.txt"}],
        }
    )
    return tmp_path


def run(folder: Path, *, settings: str = "", more: str = TASK) -> PlanRun:
    (folder / "plan.toml").write_text(PLAN.format(folder=folder, settings=settings, more=more))
    result = sy.run(folder / "plan.toml", out=folder / "runs")
    assert isinstance(result, PlanRun)
    return result


def places(folder: Path) -> list[tuple[str | None, float, tuple[str, ...]]]:
    leaderboard = sy.open_arena(f"sqlite:///{folder}/arena.db").task_leaderboard("greet").leaderboard
    return [(place.agent, place.correctness_score, place.claimed) for place in leaderboard]


def test_each_run_is_submitted_once_and_checked_by_its_work(folder: Path) -> None:
    result = run(folder)
    assert result.findings == (), result.findings
    # met by the file that the agent left, not claimed by anybody
    assert places(folder) == [("sheller", 100.0, ()), ("sheller", 100.0, ())]
    assert run(folder).done == 2
    assert len(places(folder)) == 2


def test_what_was_left_undelivered_is_delivered_by_the_same_command(folder: Path) -> None:
    run(folder)
    for mark in (folder / "runs").rglob("delivered.json"):
        mark.unlink()
    sy.init_arena(f"sqlite:///{folder}/other.db").add_task({"id": "greet", "title": "Write hello.txt."})
    (folder / "other.db").replace(folder / "arena.db")
    run(folder)
    assert len(places(folder)) == 2


def test_tasks_come_from_the_arena_and_the_plans_own_win(folder: Path) -> None:
    run(folder, settings='tasks_from = "arena"', more="")
    assert len(places(folder)) == 2
    shown = (folder / "runs" / "runs.jsonl").read_text()
    assert json.loads(shown.splitlines()[0])["task"] == "greet"
    own = run(folder, settings='tasks_from = "arena"', more=TASK.replace("Write", "Please write"))
    assert own.trials == 2


def test_a_task_that_the_arena_lacks_is_refused_before_anything_starts(folder: Path) -> None:
    with pytest.raises(UsageError, match="the arena has no task 'other'"):
        run(folder, more=TASK.replace('"greet"', '"other"'))
    assert not (folder / "runs" / "trials").exists()


def test_a_run_that_the_arena_cannot_score_is_told(folder: Path) -> None:
    (folder / "agents" / "sheller.toml").write_text(ADAPTER % json.dumps({"task": "x"}))
    [finding] = [finding for finding in run(folder).findings if finding.code == "not_delivered"]
    assert finding.count == 2
    assert "has no tool_calls" in finding.message
    assert places(folder) == []


@needs_bubblewrap
def test_a_run_that_broke_off_through_no_fault_of_the_agent_is_not_delivered(folder: Path) -> None:
    more = TASK + '[endpoints.gone]\nkind = "chat"\nurl = "http://127.0.0.1:9/v1"\n'
    path = folder / "agents" / "sheller.toml"
    path.write_text('speaks = "chat"\n' + path.read_text())
    result = run(folder, more=more)
    assert result.done == 0
    assert places(folder) == []


def test_without_an_arena_nothing_starts(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        PLAN.format(folder=tmp_path, settings="", more=TASK).replace('use = "sheller"', 'use = "nop"')
    )
    with pytest.raises(UsageError, match="store not found"):
        sy.run(tmp_path / "plan.toml", out=tmp_path / "runs")
    assert not (tmp_path / "arena.db").exists()
