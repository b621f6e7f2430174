"""The API over an arena and over files of runs: the numbers of `--json`, paged, tagged and explained when refused."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

import steelyard as sy
from arena_makers import random_submission, random_task
from serving import Served, serving
from steelyard.errors import NoValidInputError
from steelyard.questions import ArenaSource, RunsSource
from steelyard.questions.arena.history import arena_history
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.questions.arena.task_list import arena_task_list
from steelyard.records import encode_run
from steelyard.server._pages import navigation

TASK = "fix/race 1"
"""An id that must be percent-encoded in a path."""
AT = "/tasks/fix%2Frace%201/leaderboard"


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> sy.Arena:
    rng = random.Random(7)
    made = sy.init_arena(f"sqlite:///{tmp_path_factory.mktemp('served')}/arena.db")
    for name in (TASK, "b", "c"):
        made.add_task(random_task(rng, name))
    made.submit([random_submission(rng, f"s{number}", (TASK, "b", "c")[number % 3], number) for number in range(90)])
    return made


@pytest.fixture(scope="module")
def of_arena(arena: sy.Arena) -> Iterator[Served]:
    with serving(ArenaSource(arena)) as served:
        yield served


@pytest.fixture(scope="module")
def of_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("runs") / "demo.jsonl"
    path.write_bytes(b"".join(encode_run(run) + b"\n" for run in list(sy.demo_runs())[:200]))
    with serving(RunsSource([path])) as served:
        yield served


@pytest.fixture
def mapped(tmp_path: Path) -> tuple[Path, Path]:
    """A sheet of no known format, and its mapping."""
    sheet, mapping = tmp_path / "results.csv", tmp_path / "mapping.toml"
    sheet.write_text("Ticket,LLM,Worked,Bill\nA,gpt-5,yes,1\nB,gpt-5,no,2\nA,o3,no,4\nB,o3,no,4\n", encoding="utf-8")
    mapping.write_text(sy.suggest_mapping(sheet).text, encoding="utf-8")
    return sheet, mapping


def test_files_are_served_by_a_mapping(mapped: tuple[Path, Path]) -> None:
    sheet, mapping = mapped
    with serving(RunsSource([sheet], map=str(mapping))) as served:
        assert served.api("/rank?by=model") == sy.rank(sheet, by=["model"], map=mapping).to_dict()
        assert served.api("/usage?by=model") == sy.usage(sheet, by=["model"], map=mapping).to_dict()
        assert served.api("/completeness") == sy.completeness(sheet, map=mapping).to_dict()
        runs = served.api("/runs")["items"]
        assert [run["task"] for run in runs] == ["A", "A", "B", "B"]
        assert served.api(f"/runs/{runs[0]['run']}")["record"]["source"]["format"] == "map:results"
        shown = served.ask("/usage").body.decode()
        assert "steelyard usage results.csv --map mapping.toml" in shown
        assert str(sheet.parent) not in shown


def test_files_are_read_again_when_their_mapping_changes(mapped: tuple[Path, Path]) -> None:
    sheet, mapping = mapped
    source = RunsSource([sheet], map=str(mapping))
    version = source.version()
    assert source.table().frame.collect()["task"].n_unique() == 2
    mapping.write_text(mapping.read_text("utf-8").replace('task = "Ticket"', 'task = { value = "all" }'), "utf-8")
    assert source.version() != version
    assert {run.task for run in source.records().values()} == {"all"}
    assert source.table().frame.collect()["task"].n_unique() == 1


def test_the_command_serves_by_a_mapping(mapped: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "steelyard", "serve", *map(str, [mapped[0], "--map", mapped[1], "--port", 0])]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            told = process.stderr.readline()
            assert told.startswith("serving at http://"), told
            asked = Served(told.split()[2].rstrip("/"), None)  # type: ignore[arg-type] # the site is elsewhere
            assert asked.api("/runs")["total"] == 4
        finally:
            process.terminate()


def test_files_of_no_known_format_are_named_as_other_commands_name_them(mapped: tuple[Path, Path]) -> None:
    sheet, runs = mapped[0], mapped[0].with_name("runs.jsonl")
    runs.write_text('{"task": "a", "passed": true}\n', encoding="utf-8")
    told = [str(error) for error in RunsSource([sheet, runs]).unrecognized()]
    with pytest.raises(NoValidInputError) as refused:
        sy.measure(sheet)
    assert told == [str(refused.value)]
    assert not list(RunsSource([sheet], map=str(mapped[1])).unrecognized())
    command = [sys.executable, "-m", "steelyard", "serve", str(sheet), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = list(takewhile(lambda line: not line.startswith("serving at"), process.stderr))
        finally:
            process.terminate()
    said = " ".join("".join(lines).split())
    assert "unknown format" in said
    assert "`steelyard map" in said


def test_the_numbers_are_those_of_the_verb(arena: sy.Arena, of_arena: Served, of_runs: Served) -> None:
    for top in (1, 2):
        assert of_arena.api(f"/leaderboard?top={top}") == arena_leaderboard(arena, top=top).to_dict()
    assert of_arena.api("/rank") == arena_leaderboard(arena).to_dict()
    assert of_arena.api("/tasks")["items"] == arena_task_list(arena).to_dict()["tasks"]
    assert of_arena.api(AT)["items"] == arena_task_leaderboard(arena, TASK).to_dict()["leaderboard"]
    assert of_arena.api("/history?limit=1000")["items"] == arena_history(arena).to_dict()["moments"]
    assert of_arena.api(f"{AT}?until=2025-01-01")["items"] == []  # nothing was accepted by then
    source = of_runs.site.source
    assert isinstance(source, RunsSource)
    path = source.paths[0]
    assert of_runs.api("/rank?by=tier") == sy.rank(path, by=["tier"]).to_dict()
    assert of_runs.api("/judges") == sy.judges(path).to_dict()
    assert of_runs.api("/usage?by=model") == sy.usage(path, by=["model"]).to_dict()
    assert of_runs.api("/completeness?by=tier") == sy.completeness(path, by=["tier"]).to_dict()
    for order in ("difficulty", "task"):
        asked = of_runs.api(f"/matrix?by=tier&order={order}")
        assert asked == sy.matrix(path, by=["tier"], order=order).to_dict()


def test_pages_of_a_list_make_the_whole_list(arena: sy.Arena, of_arena: Served) -> None:
    whole = arena_task_leaderboard(arena, TASK).to_dict()["leaderboard"]
    pages = [of_arena.api(f"{AT}?limit=7")]
    while pages[-1]["next"]:
        pages.append(of_arena.api(f"{AT}?limit=7&after={pages[-1]['next']}"))
    assert [row for page in pages for row in page["items"]] == whole
    assert [len(page["items"]) for page in pages] == [7, 7, 7, 7, 2]  # 30 rows
    assert {page["total"] for page in pages} == {30}


def test_a_cursor_is_ours_and_of_its_list(of_arena: Served) -> None:
    cursor = of_arena.api(f"{AT}?limit=7")["next"]
    for asked in (f"{AT}?limit=7&after=x{cursor}", f"{AT}?sort=-speed_score&after={cursor}", f"/tasks?after={cursor}"):
        answer = of_arena.ask(f"/api/v1{asked}")
        assert (answer.status, answer.json["kind"]) == (400, "bad_cursor"), asked


def test_missing_values_come_last_in_both_directions(of_arena: Served) -> None:
    for sign in ("", "-"):
        costs = [row["estimated_cost"] for row in of_arena.api(f"{AT}?sort={sign}estimated_cost")["items"]]
        known = [cost for cost in costs if cost is not None]
        assert None in costs
        assert costs == sorted(known, reverse=bool(sign)) + [None] * (len(costs) - len(known))


def test_rows_are_chosen_by_their_fields(arena: sy.Arena, of_arena: Served) -> None:
    chosen = of_arena.api(f"{AT}?agent=ant&agent=bee&model=small")["items"]
    whole = arena_task_leaderboard(arena, TASK).to_dict()["leaderboard"]
    assert chosen == [row for row in whole if row["agent"] in ("ant", "bee") and row["model"] == "small"]
    assert 0 < len(chosen) < len(whole)


@pytest.mark.parametrize(
    ("path", "status", "kind", "hint"),
    [
        ("/tasks/nowhere", 404, "unknown_name", "known: b, c, fix/race 1"),
        ("/taskz", 404, "no_such_address", "did you mean /api/v1/tasks?"),
        ("/runs", 404, "not_in_source", "start one with: steelyard serve RUNS"),
        ("/tasks?limit=0", 400, "usage", "see /api/v1/openapi.json"),
        ("/tasks?limit=1&limit=2", 400, "usage", "use it once"),
        ("/tasks?limt=1", 400, "unknown_name", "did you mean 'limit'?"),
        (f"{AT}?sort=sped_score", 400, "unknown_name", "did you mean 'speed_score'?"),
        (f"{AT}?policy=curent", 400, "usage", "see /api/v1/openapi.json"),
    ],
)
def test_what_is_asked_wrongly_is_told_how(of_arena: Served, path: str, status: int, kind: str, hint: str) -> None:
    answer = of_arena.ask(f"/api/v1{path}")
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    told = answer.json
    assert (told["kind"], told["hint"], told["status"]) == (kind, hint, status)
    assert told["type"] == f"/problems/{kind}"


def test_what_the_files_hold_nothing_of_is_not_there(of_runs: Served) -> None:
    for path, detail in (
        ("/speedup", "no attempts to measure"),
        ("/runs/nobody", "unknown run 'nobody'"),
        ("/tasks", "this server serves run files; this route requires an arena"),
    ):
        answer = of_runs.ask(f"/api/v1{path}")
        assert (answer.status, answer.json["detail"]) == (404, detail)


def test_every_page_of_the_navigation_is_there_and_says_what_the_files_lack(of_runs: Served) -> None:
    for _, path in navigation("runs"):
        assert of_runs.ask(path).status in (200, 400), path  # a comparison needs to be told of what
    body = of_runs.ask("/speedup").body
    assert b">Nothing to show</h1>" in body
    assert b"no attempts to measure" in body
    assert of_runs.ask("/speedup/nothing").status == 404


def test_an_answer_that_is_known_is_not_sent_again(of_arena: Served) -> None:
    first = of_arena.ask(f"/api/v1{AT}?limit=3")
    tag = first.headers["etag"]
    again = of_arena.ask(f"/api/v1{AT}?limit=3", headers={"If-None-Match": f'"x", {tag}'})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert of_arena.ask(f"/api/v1{AT}?limit=4", headers={"If-None-Match": tag}).status == 200


def test_the_same_table_is_had_as_csv(arena: sy.Arena, of_arena: Served) -> None:
    by_name = of_arena.ask("/api/v1/tasks.csv")
    by_type = of_arena.ask("/api/v1/tasks", headers={"Accept": "text/csv"})
    assert by_name.headers["content-type"] == "text/csv; charset=utf-8"
    assert by_name.body == by_type.body
    assert by_name.body.decode().splitlines()[1].startswith(f"{TASK},")


def test_every_page_answers(of_arena: Served) -> None:
    for path in ("/", "/tasks", "/tasks/fix%2Frace%201", "/review", "/api", "/metrics"):
        answer = of_arena.ask(path)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
        assert answer.body.count(b"<h1") == 1
    assert b">404 Not Found</h1>" in of_arena.ask("/nowhere").body


def test_no_path_of_the_machine_is_told(of_runs: Served, tmp_path: Path) -> None:
    folder = str(tmp_path.parent.parent)
    for path in (
        "/api/v1/rank",
        "/api/v1/compare?baseline=tier=T0&candidate=tier=T9",
        "/api/v1/runs?limit=1",
        "/runs",
    ):
        assert folder.encode() not in of_runs.ask(path).body, path
