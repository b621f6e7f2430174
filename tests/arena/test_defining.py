"""Which tasks an arena takes: what could not be scored later is refused when the task is defined."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from arena_makers import as_submission, as_task, make_arena
from steelyard.arena import Receipt
from steelyard.cli import run
from steelyard.errors import UsageError
from steelyard.questions import open_arena
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import (
    MAX_VALUE,
    CommandSucceeds,
    DecodeError,
    Step,
    Submission,
    Task,
    convert_task,
    decode_submission,
)
from steelyard.records._task import BaselineDefaults
from steelyard.store import Store

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
        ({"baseline": {"max_tokens": 10**400}}, "baseline.max_tokens is an integer too large for a float"),
        ({"baseline": {"max_tokens": MAX_VALUE + 2}}, "<= 9007199254740992"),
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
        ("given.jsonl", '{"id": "a", "task_id": "t"}', "for submissions, use: steelyard arena submit"),
        ("given.json", '[{"id": "a", "task_id": "t"}]', "this is a submission"),
        ("given.toml", "id = ", "tasks must be TOML or JSON"),
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
        (["task", "add"], '{"id": "t", "tools": []}', "tools is empty, so no submission would be allowed"),
        (["task", "add"], '{"id": "t", "models": []}', "models is empty"),
        (["task", "add"], '{"tasks": [{"id": "m1"}], "id": "m2"}', "unknown key 'id' next to 'tasks'"),
        (["submit"], '{"submissions": [], "task_id": "t"}', "unknown key 'task_id' next to 'submissions'"),
    ],
)
def test_nothing_of_a_file_is_dropped_silently(
    store_address: str, tmp_path: Path, command: list[str], text: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "given.json").write_text(text)
    run(["arena", "init", "--store", store_address])
    assert run(["arena", *command, str(tmp_path / "given.json"), "--store", store_address]) == 1
    assert reason in capsys.readouterr().err
    assert open_arena(store_address).tasks() == []


def test_a_bad_task_map_is_not_called_a_task(
    store_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "map.toml").write_text("a = ")
    (tmp_path / "runs.jsonl").write_text('{"task": "t"}\n')
    run(["arena", "init", "--store", store_address])
    given = ["--from-runs", str(tmp_path / "runs.jsonl"), "--task-map", str(tmp_path / "map.toml")]
    assert run(["arena", "submit", *given, "--store", store_address]) == 1
    assert "a task map must be TOML or JSON" in capsys.readouterr().err


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
    sides = {f"{which}_{name}": end for name in ("tokens", "cost") for which, end in (("min", 0), ("max", MAX_VALUE))}
    arena.add_task(as_task({"id": "wide", "baseline": sides}))
    given = {"id": "s", "task_id": "wide", "total_tokens": MAX_VALUE, "tool_calls": MAX_VALUE, "iterations": MAX_VALUE}
    (receipt,) = arena.submit([as_submission(given)])
    assert isinstance(receipt, Receipt)
    assert receipt.efficiency_score == 0


FORBIDDEN_TEXTS = [
    {"title": "a\0b"},
    {"category": "\0"},
    {"tools": ["ant", "b\0"]},
    {"models": ["\udc00"]},
    {"expected_steps": [{"id": "\ud800"}]},
    {"success_criteria": [{"type": "file_exists", "file_path": "a\0b"}]},
    {"success_criteria": [{"type": "no_errors", "error_log": "\0"}]},
    criterion(type="tests_pass", tests="te\0sts"),
    criterion(type="command", command=["run", "a\0"]),
    criterion(type="command", command=["true"], files="\udc00"),
    criterion(type="judge", threshold=0.5, judge="\0"),
]


@pytest.mark.parametrize("values", FORBIDDEN_TEXTS, ids=repr)
def test_text_that_no_database_takes_is_refused_and_the_other_tasks_are_added(
    store_address: str, tmp_path: Path, values: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tasks.json").write_text(json.dumps([{"id": "bad", **values}, {"id": "good"}]))
    run(["arena", "init", "--store", store_address])
    assert run(["arena", "task", "add", str(tmp_path / "tasks.json"), "--store", store_address]) == 1
    said = capsys.readouterr().err
    assert "task 'bad': " in said
    assert "contains a NUL byte or a lone surrogate" in said
    arena = open_arena(store_address)
    assert [one.id for one in arena.tasks()] == ["good"]
    with pytest.raises(UsageError, match="lone surrogate"):
        arena.add_task(as_task({"id": "bad", **values}))


@pytest.mark.parametrize("name", ["a" * 1025, "\u6f22" * 342, "\U0001f600" * 257, "\0", "\ud800"])
def test_an_id_that_does_not_fit_an_index_is_refused(store: Store, name: str) -> None:
    with pytest.raises(UsageError):
        make_arena(store).add_task({"id": name})


def hard_to_pack(n: int) -> str:
    """Characters of three bytes each that no database can compress, so that an index holds them at full length."""
    rng = random.Random(7)
    return "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(n))


def test_the_longest_ids_are_taken_and_found_again(store: Store) -> None:
    arena = make_arena(store)
    task = hard_to_pack(341)  # 1,023 bytes
    assert arena.add_task({"id": task})
    (receipt,) = arena.submit([{"id": task, "task_id": task, "total_tokens": 1, "tool_calls": 1}])
    assert isinstance(receipt, Receipt)
    assert arena.add_task({"id": task}) is False


@pytest.mark.parametrize("n", [342, 1000])
def test_a_submission_s_id_that_does_not_fit_an_index_costs_no_batch(
    store_address: str, tmp_path: Path, n: int
) -> None:
    at = ("--store", store_address)
    (tmp_path / "task.json").write_text('{"id": "t"}')
    shared = {"task_id": "t", "total_tokens": 1, "tool_calls": 1}
    rows = [{"id": name, **shared} for name in ("first", hard_to_pack(n), "last")]
    (tmp_path / "given.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "task", "add", str(tmp_path / "task.json"), *at]) == 0
    assert run(["arena", "submit", str(tmp_path / "given.jsonl"), *at]) == 1
    arena = open_arena(store_address)
    assert {one.submission_id for one in arena_task_leaderboard(arena, "t").leaderboard} == {"first", "last"}
    for escaped in (False, True):
        with pytest.raises(DecodeError, match="longer than 1024 bytes"):
            decode_submission(json.dumps(rows[1], ensure_ascii=escaped).encode())
    outcomes = arena.submit([Submission(**row) for row in rows] + [rows[1]])  # type: ignore[arg-type]  # made by a program
    assert [isinstance(one, Receipt) for one in outcomes] == [True, False, True, False]
