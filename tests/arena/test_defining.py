"""Which tasks an arena takes: what could not be scored later is refused when the task is defined."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from arena_makers import as_submission, as_task, make_arena
from steelyard.arena.receipts import Receipt
from steelyard.errors import UsageError
from steelyard.records.finding import Rejected
from steelyard.records.finite import MOST
from steelyard.records.run import Step
from steelyard.records.task import BaselineDefaults, CommandSucceeds, Task, convert_task
from steelyard.store import Store
from steelyard.surfaces.cli import run
from steelyard.workflow._arena_files import read_tasks
from steelyard.workflow.arena import arena_at

INF, NAN = float("inf"), float("nan")
EVEN = {"efficiency": 0.25, "speed": 0.25, "cost": 0.25, "correctness": 0.25}


def criterion(**values: Any) -> dict[str, Any]:
    return {"success_criteria": [{"command": ["true"], **values}]}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"baseline": {"max_tokens": INF}}, "baseline.max_tokens is inf, not a finite number"),
        ({"baseline": {"median_iterations": NAN}}, "baseline.median_iterations is nan"),
        ({"baseline": {"min_cost": -INF}}, "baseline.min_cost is -inf"),
        ({"baseline": {"max_tokens": 10**400}}, "baseline.max_tokens is an integer that no float can hold"),
        ({"baseline": {"max_tokens": MOST + 2}}, "<= 9007199254740992"),
        ({"baseline": {"max_execution_time": 1e300}}, "<= 9007199254740992"),
        ({"baseline": {"min_cost": -0.1}}, ">= 0"),
        ({"baseline": {"min_cost": 2, "max_cost": 1}}, "min_cost is above max_cost"),
        ({"weights": EVEN | {"speed": NAN}}, "weights.speed is nan"),
        (criterion(type="command", seconds=INF), r"success_criteria[1].seconds is inf"),
        (criterion(type="command", seconds=3601), "<= 3600"),
        (criterion(type="command", exit_status=256), "<= 255"),
        (criterion(type="command", exit_status=-1), ">= 0"),
        (criterion(type="judge", threshold=NAN), "threshold is nan"),
        (criterion(type="judge", threshold=1.1), "<= 1"),
        ({"expected_steps": [{"id": "a", "weight": INF}]}, r"expected_steps[1].weight is inf"),
    ],
)
def test_a_number_that_a_task_has_no_use_for_is_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason.replace("[", r"\[").replace(".", r"\.")):
        convert_task({"id": "t", **values})


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"baseline": {"foo": 1}}, "unknown field 'foo' in baseline (known: max_cost,"),
        ({"baseline": {"max_token": 1}}, "unknown field 'max_token' in baseline (did you mean 'max_tokens'?)"),
        ({"weights": EVEN | {"sped": 1}}, "unknown field 'sped' in weights (did you mean 'speed'?)"),
        (criterion(type="command", second=1), "in success_criteria[0] (did you mean 'seconds'?)"),
        ({"titel": "x"}, "unknown field 'titel' (did you mean 'title'?)"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_of_its_place(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        convert_task({"id": "t", **values})


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("given.jsonl", '{"id": "a", "task_id": "t"}', "steelyard arena submit takes submissions"),
        ("given.json", '[{"id": "a", "task_id": "t"}]', "this looks like a submission"),
        ("given.toml", "id = ", "tasks are TOML or JSON"),
    ],
)
def test_what_is_no_file_of_tasks_is_shown_the_way(
    store_address: str, tmp_path: Path, name: str, text: str, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    run(["arena", "init", "--store", store_address])
    assert run(["arena", "task", "add", str(tmp_path / name), "--store", store_address]) == 1
    assert advice in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "text", "reason"),
    [
        (["task", "add"], '{"id": "t", "tools": []}', "tools is empty, so that nobody could take part"),
        (["task", "add"], '{"id": "t", "models": []}', "models is empty"),
        (["task", "add"], '{"tasks": [{"id": "m1"}], "id": "m2"}', "'id' stands beside 'tasks'"),
        (["submit"], '{"submissions": [], "task_id": "t"}', "'task_id' stands beside 'submissions'"),
    ],
)
def test_nothing_of_a_file_is_dropped_silently(
    store_address: str, tmp_path: Path, command: list[str], text: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "given.json").write_text(text)
    run(["arena", "init", "--store", store_address])
    assert run(["arena", *command, str(tmp_path / "given.json"), "--store", store_address]) == 1
    assert reason in capsys.readouterr().err
    assert arena_at(store_address).tasks() == []


def test_a_bad_task_map_is_not_called_a_task(
    store_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "map.toml").write_text("a = ")
    (tmp_path / "runs.jsonl").write_text('{"task": "t"}\n')
    run(["arena", "init", "--store", store_address])
    given = ["--from-runs", str(tmp_path / "runs.jsonl"), "--task-map", str(tmp_path / "map.toml")]
    assert run(["arena", "submit", *given, "--store", store_address]) == 1
    assert "a task map is TOML or JSON" in capsys.readouterr().err


@pytest.mark.parametrize(
    "task",
    [
        Task(id="t", baseline=BaselineDefaults(max_tokens=INF)),
        Task(id="t", expected_steps=(Step(id="a", weight=INF),)),
        Task(id="t", success_criteria=(CommandSucceeds(command=("true",), seconds=NAN),)),
        Task(id="t", success_criteria=(CommandSucceeds(command=("true",), seconds=9999),)),
        Task(id="t", title=object()),  # type: ignore[arg-type]  # what a program may do
    ],
)
def test_a_task_made_by_a_program_is_held_to_the_same_rules(store: Store, task: Task) -> None:
    with pytest.raises(UsageError):
        make_arena(store).add_task(task)


def test_a_task_with_an_endless_baseline_costs_no_batch(store_address: str, tmp_path: Path) -> None:
    at = ("--store", store_address)
    (tmp_path / "endless.toml").write_text('id = "endless"\n[baseline]\nmax_tokens = inf\n')
    (tmp_path / "sound.toml").write_text('id = "sound"\n')
    given = {"total_tokens": 5000, "tool_calls": 3}
    rows = [{"id": f"{task}-1", "task_id": task, **given} for task in ("endless", "sound")]
    (tmp_path / "given.json").write_text(json.dumps(rows))
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "task", "add", str(tmp_path / "endless.toml"), *at]) == 1
    assert run(["arena", "task", "add", str(tmp_path / "sound.toml"), *at]) == 0
    assert run(["arena", "submit", str(tmp_path / "given.json"), *at]) == 1
    assert run(["arena", "show", "sound-1", *at]) == 0


def test_the_widest_baseline_can_be_scored(store: Store) -> None:
    arena = make_arena(store)
    sides = {f"{which}_{name}": end for name in ("tokens", "cost") for which, end in (("min", 0), ("max", MOST))}
    arena.add_task(as_task({"id": "wide", "baseline": sides}))
    given = {"id": "s", "task_id": "wide", "total_tokens": MOST, "tool_calls": MOST, "iterations": MOST}
    (receipt,) = arena.submit([as_submission(given)])
    assert isinstance(receipt, Receipt)
    assert receipt.efficiency_score == 0


@pytest.mark.parametrize(("kind", "field"), [("tests_pass", "tests"), ("command", "files"), ("judge", "files")])
def test_folders_of_the_task_s_own_lie_beside_its_file(tmp_path: Path, kind: str, field: str) -> None:
    (tmp_path / "own").mkdir()
    more = {"threshold": 0.5} if kind == "judge" else {}
    made = [{"id": name, **criterion(type=kind, **{field: name}, **more)} for name in ("own", "gone")]
    (tmp_path / "tasks.json").write_text(json.dumps(made))
    found, refused = read_tasks(tmp_path / "tasks.json")
    assert isinstance(found, Task)
    assert getattr(found.success_criteria[0], field) == str(tmp_path / "own")
    assert isinstance(refused, Rejected)
    assert refused.reason == f"task 'gone': there is no folder of {field} at 'gone'"
