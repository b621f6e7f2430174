"""Keys and tokens planted in every text of an arena and of runs: no answer, page, file or event holds one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import steelyard as sy
from canaries import unpacked
from report_makers import planted
from serving import Served, serving
from steelyard.arena import Receipt
from steelyard.arena.notifications._delivery import NoAnswer, notify_once
from steelyard.arena.notifications._targets import Target
from steelyard.cli import run
from steelyard.questions import Answer, Arena as LocalArena, ArenaSource, RunsSource
from steelyard.server import API, ROUTES, ServeOptions
from steelyard.store import open_store

BODY = "Zx9Qw7Er5Ty3Ui1Op0As2Df4Gh6Jk8Lz"
KEY = f" sk-{BODY} "
TASK = f"task{KEY}"


def submission(number: int) -> dict[str, Any]:
    name = f"{number}{KEY}"
    criterion = {"name": name, "weight": 1, "achieved": 1, "max": 2}
    return {
        "id": name,
        "task_id": TASK,
        "total_tokens": 1 if number == 3 else 1_000 + number,
        "tool_calls": 1 + number,
        "execution_time": 0.01 if number == 3 else 60.0 + number,
        "estimated_cost": 0.1,
        "iterations": 2,
        "success": True,
        "agent": name,
        "model": name,
        "submitter": name,
        "files_created": [name],
        "judgments": [{"judge": name, "weighted_score": 0.5, "criteria": [criterion]}],
    }


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the key in every text that an arena takes."""
    address = f"sqlite:///{tmp_path_factory.mktemp('keys')}/arena.db"
    arena = sy.init_arena(address)
    criteria = [{"type": "file_exists", "file_path": KEY}]
    steps = [{"id": KEY, "weight": 1.0}]
    arena.add_task({"id": TASK, "title": KEY, "category": KEY, "success_criteria": criteria, "expected_steps": steps})
    assert all(isinstance(each, Receipt) for each in arena.submit([submission(number) for number in range(8)]))
    arena.decide(f"0{KEY}", "excluded", by=KEY, reason=KEY)
    arena.decide(f"1{KEY}", "accepted", by=KEY, reason=KEY)
    return address


@pytest.fixture(scope="module")
def arena_served(address: str) -> Iterator[Served]:
    with serving(ArenaSource(sy.open_arena(address)), ServeOptions()) as server:
        yield server


@pytest.fixture(scope="module")
def runs_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("runs")
    lines = [json.dumps(record) for record in planted(KEY, count=40)]
    (folder / "runs.jsonl").write_text("\n".join(lines), "utf-8")
    with serving(RunsSource([folder]), ServeOptions()) as server:
        yield server


VALUES = {"task": quote(TASK, safe=""), "submission": quote(f"2{KEY}", safe="")}


def filled(path: str, values: dict[str, str]) -> str:
    whole = re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], "none"), path)
    return f"{whole}?since=2026-01-01" if path == "/changes" else whole


ASKED = [route for route in ROUTES if route.method == "GET" and route.path != "/events"]


def answers(server: Served, values: dict[str, str]) -> Iterator[tuple[str, bytes, str]]:
    """Every answer in each form: where, what, and what it says was taken out. Names that were asked for are removed."""
    for route in ASKED:
        addresses = [(API + filled(route.path, values), accept) for accept in ("application/json", "text/csv")]
        if route.page_path:
            addresses.append((filled(route.page_path, values), "text/html"))
        for asked, accept in addresses:
            answer = server.ask(asked, headers={"Accept": accept})
            said = unpacked(answer.body)
            for value in values.values():  # the address itself, which a page and a problem repeat
                said = said.replace(value.encode(), b"").replace(quote(value).encode(), b"")
            yield f"{asked} {accept} {answer.status}", said, answer.headers.get("steelyard-redacted", "")


def check(server: Served, values: dict[str, str], *, at_least: int) -> None:
    told = list(answers(server, values))
    assert [where for where, said, _ in told if BODY.encode() in said] == []
    marked = [where for where, said, _ in told if b"[API key 1]" in said]
    assert len(marked) >= at_least, marked
    assert {redacted for _, _, redacted in told} == {"", "1 API key"}
    pages = [said for where, said, redacted in told if "text/html 200" in where and redacted]
    assert pages
    assert all(b"1 API key" in page for page in pages)


def test_no_answer_of_an_arena_holds_a_key(arena_served: Served) -> None:
    check(arena_served, VALUES, at_least=20)


def test_no_answer_about_runs_holds_a_key(runs_served: Served) -> None:
    record = planted(KEY, count=1)[0]
    check(runs_served, {"run": quote(record["id"], safe=""), "task": quote(record["task"], safe="")}, at_least=12)


def test_what_is_looked_for_cannot_find_the_rest_of_a_key(arena_served: Served) -> None:
    """Else whoever knows its beginning could try one character after the other."""
    path = f"/tasks/{VALUES['task']}/leaderboard"
    assert arena_served.api(f"{path}?find=API+key")["items"]
    assert arena_served.api(f"{path}?find={BODY[:4]}")["items"] == []


def test_an_error_that_names_the_nearest_names_no_key(arena_served: Served) -> None:
    answer = arena_served.ask(f"{API}/tasks/{quote(f'task sk-{BODY[:-1]}', safe='')}")
    assert answer.status == 404
    assert BODY.encode() not in answer.body


RESULTS: dict[str, Callable[[LocalArena], Answer]] = {
    "task leaderboard": lambda arena: arena.task_leaderboard(TASK),
    "all leaderboards": lambda arena: arena.all_leaderboards(),
    "leaderboard": lambda arena: arena.leaderboard(),
    "task": lambda arena: arena.task_show(TASK),
    "submission": lambda arena: arena.show(f"2{KEY}"),
    "history": lambda arena: arena.history(task=TASK),
    "changes": lambda arena: arena.changes(since="2026-01-01"),
    "reviews": lambda arena: arena.review_log(),
    "outliers": lambda arena: arena.review_list(),
}


@pytest.mark.parametrize("ending", ["json", "csv", "html", "md", "svg"])
@pytest.mark.parametrize("name", RESULTS)
def test_no_file_of_an_arena_holds_a_key(address: str, tmp_path: Path, name: str, ending: str) -> None:
    result: Answer = RESULTS[name](sy.open_arena(address))
    assert BODY in json.dumps(result.to_dict())
    path = tmp_path / f"x.{ending}"
    try:
        result.save(path)
    except sy.SteelyardError:
        assert ending == "svg"  # not every result has a figure
        return
    assert BODY not in path.read_text("utf-8")


def test_the_command_says_what_was_taken_out(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    assert run(["arena", "leaderboard", TASK, "--store", address, "--out", str(path)]) == 0
    assert f"redacted in {path}: 1 API key" in capsys.readouterr().err
    assert "[API key 1]" in path.read_text("utf-8")


def test_no_event_that_is_sent_holds_a_key(address: str) -> None:
    bodies: list[bytes] = []

    def sender(target: Target, *, event_id: str, kind: str, body: bytes, timestamp: int) -> NoAnswer | None:
        bodies.append(body)
        return None

    notify_once(open_store(address), [Target(name="hook", url="https://hooks.example.org/")], sender=sender)
    assert len(bodies) > 8
    assert not [body for body in bodies if BODY.encode() in body]
    assert all(b"[API key 1]" in body for body in bodies)
