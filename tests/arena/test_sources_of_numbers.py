"""An evaluation tells of each number where it comes from; exports carry what makes them comparable."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from arena_makers import as_task, make_arena
from steelyard.arena import evaluation
from steelyard.cli import run
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store

OWN_WEIGHTS = {"efficiency": 0.1, "speed": 0.1, "cost": 0.1, "correctness": 0.7}
TASKS = (
    {"id": "plain"},
    {"id": "category", "category": "debugging", "difficulty": "advanced"},
    {"id": "own", "category": "debugging", "weights": OWN_WEIGHTS, "baseline": {"max_tokens": 50_000}},
)


def give(store: Store, task: str, count: int) -> dict[str, str]:
    """The sources of the last of so many submissions, none of which states a cost."""
    arena = make_arena(store)
    for one in TASKS:
        arena.add_task(as_task(one))
    given = [
        {"id": f"s{n}", "task_id": task, "total_tokens": 10 * n, "tool_calls": n, "execution_time": n, "iterations": n}
        for n in range(1, count + 1)
    ]
    arena.submit([{**one, "estimated_cost": 0} for one in given])
    return evaluation(arena, f"s{count}").sources


def test_numbers_of_a_young_task_are_defaults(store: Store) -> None:
    found = give(store, "own", 4)
    assert found["total_tokens"] == "the submission"
    assert found["max_tokens"] == "default of the task"
    assert found["min_tokens"] == found["median_iterations"] == "default of the profile"
    assert found["efficiency_weight"] == "the task"
    assert found["speed_exponent"] == "profile"
    assert found["difficulty_factor"] == "the task has no difficulty"


def test_numbers_of_a_grown_task_are_its_submissions_where_they_state_them(store: Store) -> None:
    found = give(store, "category", 7)
    assert found["max_tokens"] == found["median_iterations"] == "baseline version 4, 7 submissions"
    assert found["min_execution_time"] == "baseline version 4, 7 submissions"
    assert found["min_cost"] == found["max_cost"] == "default of the profile"
    assert found["speed_weight"] == "profile, category debugging"
    assert found["difficulty_factor"] == "profile, difficulty advanced"


def test_every_number_of_every_score_has_its_source(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    sources = give(store, "plain", 6)
    found = evaluation(make_arena(store), "s6")
    scores = {one.name for one in found.scores}
    used = {name for one in found.scores for name in (*one.inputs, *one.constants)} - scores
    assert used <= sources.keys()
    address = store.url.set(drivername=store.url.get_backend_name()).render_as_string(hide_password=False)
    assert run(["arena", "show", "s6", "overall_score", "--store", address]) == 0
    assert re.search(r"efficiency_weight +0\.35  profile$", capsys.readouterr().out, re.MULTILINE)


def test_explain_takes_the_file_of_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arena.db"
    submissions = Path(__file__).parent.parent / "samples" / "arena"
    at = ("--store", f"sqlite:///{path}")
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "task", "add", str(submissions / "tasks.toml"), *at]) == 0
    assert run(["arena", "submit", str(submissions / "submissions.jsonl"), *at]) == 0
    capsys.readouterr()
    assert run(["explain", str(path), "speed_score", "--run", "bee-1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["explanation"]["name"] == "speed_score"


def test_a_table_of_standings_carries_the_interval_and_the_weights(store: Store, tmp_path: Path) -> None:
    give(store, "own", 6)
    found = arena_task_leaderboard(make_arena(store), "own", confidence=0.9)
    found.save(tmp_path / "out.csv")
    assert len(pl.read_csv(tmp_path / "out.csv")) == 6
    row = pl.read_csv(tmp_path / "out.csv").row(0, named=True)
    interval = found.confidence_interval
    assert (row["confidence_interval_low"], row["confidence_interval_high"]) == (interval.low, interval.high)
    assert (row["confidence_interval_level"], row["confidence_interval_method"]) == (0.9, "student")
    assert {name: row[f"{name}_weight"] for name in OWN_WEIGHTS} == OWN_WEIGHTS
