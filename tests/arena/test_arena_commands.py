"""The arena as its users meet it: commands, exit statuses, JSON."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from cyclopts import App

import steelyard as sy
from commands import Done, steelyard
from steelyard.cli import run
from steelyard.cli.arena import arena as arena_app
from steelyard.profiles import profile_text
from steelyard.questions import read_answer
from steelyard.questions.arena.watch import ArenaEvents, arena_watch

SAMPLES = Path(__file__).parent.parent / "samples" / "arena"


@pytest.fixture
def at(store_address: str) -> tuple[str, str]:
    return ("--store", store_address)


@pytest.fixture
def filled(at: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "task", "add", str(SAMPLES / "tasks.toml"), *at]) == 0
    assert run(["arena", "submit", str(SAMPLES / "submissions.jsonl"), *at]) == 0
    capsys.readouterr()
    return at


def output(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    assert run(["arena", *arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_a_day_in_the_arena_from_the_shell(store_address: str, tmp_path: Path) -> None:
    def arena(*arguments: str) -> Done:
        return steelyard("arena", *arguments, "--store", store_address, cwd=tmp_path)

    none = arena("leaderboard")
    assert none.status == 2
    assert "arena init" in none.stderr
    assert arena("init").status == 0
    assert arena("task", "add", str(SAMPLES / "tasks.toml")).status == 0
    done = arena("submit", str(SAMPLES / "submissions.jsonl"))
    assert done.status == 0
    assert "6 accepted, 0 already known, 0 rejected" in done.stdout
    assert "0 accepted, 6 already known" in arena("submit", str(SAMPLES / "submissions.jsonl")).stdout
    shown = arena("leaderboard", "fix-race")
    assert "bee-1" in shown.stdout
    assert "manual_review" in shown.stdout


def test_standings_keep_the_json_contract(filled: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    answer = output(capsys, "leaderboard", "fix-race", *filled)
    assert (answer["task_id"], answer["confidence_interval"]["n"]) == ("fix-race", 6)
    rows = answer["leaderboard"]
    assert [row["overall_ranking"] for row in rows] == [1, 2, 3, 4, 5, 6]
    expected = {"submission_id", "overall_score", "percentile", "adjusted_score", "baseline_version", "defaulted"}
    expected |= {"claimed", "flags", "efficiency_ranking", "speed_ranking", "cost_ranking"}
    assert all(expected <= set(row) for row in rows)
    odd = next(row for row in rows if row["submission_id"] == "odd-1")
    assert odd["flags"] == ["extremely_efficient_tokens", "extremely_fast", "minimal_tool_usage"]
    assert odd["recommended_action"] == "manual_review"
    assert odd["defaulted"] == ["iterations", "success"]
    assert output(capsys, "review", "list", *filled)["outliers"][0]["submission_id"] == "odd-1"
    by_cost = output(capsys, "leaderboard", "fix-race", "--score", "cost", "--top", "2", *filled)["leaderboard"]
    assert [row["cost_ranking"] for row in by_cost] == [1, 2]


def test_a_receipt_and_a_narrow_row_say_that_a_review_is_wanted(
    filled: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def actions() -> dict[str, str | None]:
        receipts = output(capsys, "submit", str(SAMPLES / "submissions.jsonl"), *filled)["receipts"]
        return {receipt["submission_id"]: receipt["recommended_action"] for receipt in receipts}

    assert [name for name, action in actions().items() if action] == ["odd-1"]
    assert run(["arena", "submit", str(SAMPLES / "submissions.jsonl"), *filled]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("odd-1"))
    assert "manual_review !" in row
    monkeypatch.setenv("COLUMNS", "70")
    assert run(["arena", "leaderboard", "fix-race", *filled]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[1] for line in shown.splitlines() if line.split()[2:3] == ["!"]] == ["odd-1"]
    assert "manual_review ! (1 row)" in " ".join(shown.split())
    assert run(["arena", "review", "accept", "odd-1", "--reason", "checked", *filled]) == 0
    capsys.readouterr()
    assert set(actions().values()) == {None}


def test_every_view_answers_in_text_and_in_json(filled: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["leaderboard"],
        ["leaderboard", "--by", "submitter"],
        ["leaderboard", "fix-race", "--policy", "as-submitted", "--confidence", "0.9"],
        ["show", "ant-1"],
        ["show", "ant-1", "speed_score"],
        ["task", "list"],
        ["task", "show", "fix-race"],
        ["review", "list", "fix-race"],
        ["history"],
        ["history", "--task", "fix-race"],
        ["history", "--submitter", "ada"],
        ["changes", "--since", "2026-01-01"],
        ["bias"],
        ["compare-profiles", "arena-1", "arena-1"],
        ["rescore", "fix-race"],
    ):
        assert run(["arena", *arguments, *filled]) == 0
        assert capsys.readouterr().out.strip()
        output(capsys, *arguments, *filled)


def test_the_largest_numbers_are_shown_in_every_view(
    at: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "task.toml").write_text('id = "t"\n')
    most = 2**53
    numbers = ("total_tokens", "tool_calls", "iterations", "execution_time", "estimated_cost")
    rows = [
        {"id": f"s{n}", "task_id": "t", "agent": "ant"} | dict.fromkeys(numbers, most if n % 2 else most - 1)
        for n in range(8)
    ]
    beyond = {**rows[0], "id": "beyond", "execution_time": 1.7e308}
    (tmp_path / "given.json").write_text(json.dumps([*rows, beyond]))
    run(["arena", "init", *at])
    run(["arena", "task", "add", str(tmp_path / "task.toml"), *at])
    capsys.readouterr()
    (refused,) = output(capsys, "submit", str(tmp_path / "given.json"), *at, status=1)["rejected"]
    assert "execution_time: expected float <= 9007199254740992.0" in refused["message"]
    assert output(capsys, "task", "show", "t", *at)["baseline"]["median_execution_time"] == most - 0.5
    for arguments in (["leaderboard", "t"], ["show", "s1"], ["leaderboard"], ["history", "--task", "t"], ["bias"]):
        output(capsys, *arguments, *at)


def test_an_evaluation_shows_its_numbers(filled: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    found = output(capsys, "show", "ant-1", *filled)
    scores = {one["name"]: one for one in found["scores"]}
    overall = scores["overall_score"]
    weighed = sum(
        overall["inputs"][f"{part}_score"] * overall["constants"][f"{part}_weight"]
        for part in ("efficiency", "speed", "cost", "correctness")
    )
    assert overall["unrounded"] == pytest.approx(weighed, rel=1e-12)
    assert overall["value"] == round(overall["unrounded"], 2)
    assert scores["speed_score"]["inputs"]["execution_time"] == 140.5


def test_bad_submissions_exit_1_and_the_rest_lands(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mixed.jsonl"
    good = {"id": "new", "task_id": "fix-race", "total_tokens": 1, "tool_calls": 1}
    lines = [
        {**good, "id": "x", "total_tokens": -1},
        good,
        {**good, "id": "y", "task_id": "fix-rce"},
        {**good, "id": "ant-1"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{")
    found = output(capsys, "submit", str(path), *filled, status=1)
    assert [receipt["submission_id"] for receipt in found["receipts"]] == ["new"]
    assert [one["where"] for one in found["rejected"]] == [f"{path}:{line}" for line in (1, 3, 4, 5)]
    assert run(["arena", "submit", str(path), "--allow-rejected", *filled]) == 0


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet"])
def test_submissions_are_read_from_every_format(
    at: tuple[str, str], tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["arena", "init", *at])
    run(["arena", "task", "add", str(SAMPLES / "tasks.toml"), *at])
    rows = [json.loads(line) for line in (SAMPLES / "submissions.jsonl").read_text().splitlines()]
    path = tmp_path / f"given.{ending}"
    if ending == "json":
        path.write_text(json.dumps({"submissions": rows}))
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    elif ending == "csv":
        names = sorted({name for row in rows for name in row})
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            for row in rows:
                cells = {name: json.dumps(value) if isinstance(value, list) else value for name, value in row.items()}
                writer.writerow(
                    {name: str(value).lower() if isinstance(value, bool) else value for name, value in cells.items()}
                )
    else:
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    assert run(["arena", "submit", str(path), *at]) == 0
    capsys.readouterr()
    assert output(capsys, "submit", str(SAMPLES / "submissions.jsonl"), *at)["rejected"] == []  # the very same content


def test_every_refusal_is_told_where_nobody_watches(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("{}\n" * 52)
    run(["arena", "submit", str(path), *filled])
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith(f"error: {path}:1: ")
    assert told[1:] == [f"    {path}:{number}" for number in range(2, 53)]  # the sentence of the first holds for all
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run(["arena", "submit", str(path), *filled])
    assert "; 51 more (see --json)" in " ".join(capsys.readouterr().err.split())  # 52 - 1


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_of_csv_are_named_by_their_line(
    filled: tuple[str, str], tmp_path: Path, separator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        ["id", "task_id", "total_tokens", "tool_calls", "submitter"],
        ["a", "fix-race", "10", "2", "ada"],
        [],
        ["b", "fix-race", "-1", "2", "bob"],
        ["c", "fix-race", "10.0", "2.0", '"two\nlines"'],
        ["d", "fix-race", "10"],
        ["e", "fix-race", "10", "2", "eve", "more"],
        ["f", "fix-race", "10", "2", '"never closed'],
    ]
    path = tmp_path / "given.csv"
    path.write_text("".join(separator.join(row) + "\n" for row in rows))
    found = output(capsys, "submit", str(path), *filled, status=1)
    assert [receipt["submission_id"] for receipt in found["receipts"]] == ["a", "c"]
    assert [one["where"] for one in found["rejected"]] == [f"{path}:{line}" for line in (4, 7, 8, 10)]
    for one, cells in zip(found["rejected"][1:3], (3, 6), strict=True):
        assert one["message"].startswith(f"the row has {cells} cells, but the header has 5")


def test_whole_numbers_of_a_table_with_gaps_are_counts(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"id": ["a", "b"], "task_id": ["fix-race"] * 2, "total_tokens": [10.0, 20.5], "tool_calls": [2.0, 2.0]}
    path = tmp_path / "given.parquet"
    pl.DataFrame(rows | {"iterations": [3.0, None]}).write_parquet(path)
    found = output(capsys, "submit", str(path), *filled, status=1)
    assert [receipt["submission_id"] for receipt in found["receipts"]] == ["a"]
    (refused,) = found["rejected"]
    assert refused["message"].startswith("total_tokens: expected int, got float")


def test_a_place_in_a_list_is_not_called_a_line(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"id": "new", "task_id": "fix-race", "total_tokens": 1, "tool_calls": 1}
    rows = [good, {**good, "id": "x", "total_tokens": -1}, {**good, "id": "y", "task_id": "nowhere"}]
    listed, table = tmp_path / "arr.json", tmp_path / "arr.parquet"
    listed.write_text(json.dumps(rows, indent=2))
    pl.DataFrame(rows).write_parquet(table)
    found = output(capsys, "submit", str(listed), str(table), *filled, status=1)
    assert [one["where"] for one in found["rejected"]] == [
        f"{path}, item {n}" for path in (listed, table) for n in (2, 3)
    ]


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
def test_a_byte_order_mark_costs_no_submission(
    filled: tuple[str, str],
    tmp_path: Path,
    ending: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = {"id": "marked", "task_id": "fix-race", "total_tokens": 1, "tool_calls": 1}
    cells = f"{','.join(row)}\n{','.join(map(str, row.values()))}\n"
    path = tmp_path / f"marked.{ending}"
    path.write_text(cells if ending == "csv" else json.dumps(row), encoding="utf-8-sig")
    (receipt,) = output(capsys, "submit", str(path), *filled)["receipts"]
    assert receipt["submission_id"] == "marked"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    (receipt,) = output(capsys, "submit", "-", *filled)["receipts"]
    assert receipt["status"] == "known"


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_packed_submissions_are_read_up_to_where_they_break_off(
    at: tuple[str, str],
    tmp_path: Path,
    packing: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(["arena", "init", *at])
    run(["arena", "task", "add", str(SAMPLES / "tasks.toml"), *at])
    pack = gzip.compress if packing == "gz" else zstandard.ZstdCompressor().compress
    lines = (SAMPLES / "submissions.jsonl").read_bytes().splitlines(keepends=True)
    packed = pack(b"".join(lines[:2]) + b"{}\n")
    path, broken, other = (tmp_path / f"{name}.jsonl.{packing}" for name in ("given", "broken", "other"))
    path.write_bytes(packed)
    capsys.readouterr()
    found = output(capsys, "submit", str(path), *at, status=1)
    assert len(found["receipts"]) == 2
    assert [one["where"] for one in found["rejected"]] == [f"{path}:3"]
    rng = random.Random(1)
    noise = json.dumps({"id": "big", "task_id": "fix-race", "agent": rng.randbytes(200_000).hex()}).encode()
    broken.write_bytes(pack(b"".join(lines) + noise)[:-1000])
    assert "cut_off" in [one["code"] for one in output(capsys, "submit", str(broken), *at, status=1)["rejected"]]
    other.write_bytes(b"not packed")
    (refused,) = output(capsys, "submit", str(other), *at, status=1)["rejected"]
    assert (refused["code"], refused["where"]) == ("unreadable_file", str(other))
    assert run(["arena", "submit", f"no-such-file.jsonl.{packing}", *at]) == 1
    capsys.readouterr()
    twice = tmp_path / f"twice.{packing}"
    twice.write_bytes(pack(packed))
    (refused,) = output(capsys, "submit", str(twice), *at, status=1)["rejected"]
    assert "another compressed file" in refused["message"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    piped = output(capsys, "submit", "-", *at, status=1)
    assert [receipt["status"] for receipt in piped["receipts"]] == ["known", "known"]
    assert [one["where"] for one in piped["rejected"]] == ["stdin:3"]


def test_submissions_without_an_id_have_the_same_one_in_every_format(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"task_id": "fix-race", "total_tokens": 9000, "tool_calls": 4, "execution_time": 77, "agent": "ant"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    (tmp_path / "b.json").write_text(json.dumps([row]))
    (tmp_path / "c.csv").write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
    (tmp_path / "d.csv").write_text(f"id,{','.join(row)}\n,{','.join(map(str, row.values()))}\n")
    pl.DataFrame([row]).write_parquet(tmp_path / "e.parquet")
    first = output(capsys, "submit", str(tmp_path / "a.jsonl"), *filled)["receipts"]
    assert [receipt["status"] for receipt in first] == ["accepted", "known"]
    files = [str(tmp_path / name) for name in ("b.json", "c.csv", "d.csv", "e.parquet")]
    again = output(capsys, "submit", *files, *filled)["receipts"]
    assert [receipt["status"] for receipt in again] == ["known"] * 4
    assert {receipt["submission_id"] for receipt in again} == {first[0]["submission_id"]}
    assert run(["schema", "submission"]) == 0
    assert "id" not in json.loads(capsys.readouterr().out)["$defs"]["Submission"]["required"]


def test_runs_are_submitted_through_a_task_map(
    at: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["arena", "init", *at])
    run(["arena", "task", "add", str(SAMPLES / "tasks.toml"), *at])
    usage = {"input_tokens": 1000, "output_tokens": 500, "cache_read_tokens": 20}
    runs = [
        {"id": "r1", "task": "race", "agent": "ant", "usage": usage, "tool_calls": 3, "cost_usd": 0.5},
        {"id": "r2", "task": "other", "usage": usage, "tool_calls": 3},
        {"id": "r3", "task": "race", "usage": usage},
    ]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in runs))
    (tmp_path / "map.toml").write_text('race = "fix-race"\n')
    capsys.readouterr()
    arguments = ["--from-runs", str(tmp_path / "runs.jsonl"), "--task-map", str(tmp_path / "map.toml"), *at]
    arguments += ["--submitter", "ada"]
    found = output(capsys, "submit", *arguments, status=1)
    assert [receipt["submission_id"] for receipt in found["receipts"]] == ["r1"]
    assert "is not in the task map" in found["rejected"][0]["message"]
    assert "the run has no tool_calls" in found["rejected"][1]["message"]
    (entry,) = output(capsys, "leaderboard", "fix-race", *at)["leaderboard"]
    assert entry["total_tokens"] == 1520  # all kinds added
    assert entry["submitter"] == "ada"


def test_a_lower_bound_is_marked_wherever_it_counts(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5}
    sound = {"task": "fix-race", "agent": "ant", "tool_calls": 3, "cost_usd": 0.5}
    bounds = [
        {"usage": usage, "provenance": {"usage": "lower_bound"}},
        {"usage": usage, "provenance": {"usage": "counted", "usage.output_tokens": "lower_bound"}},
        {"calls": [{"usage": usage}, {}]},
        {"calls": [{"usage": usage}, {"usage": {"input_tokens": 1}}]},
        {"usage": usage, "provenance": {"tool_calls": "lower_bound"}},
        {"usage": usage, "iterations": 1, "provenance": {"iterations": "lower_bound"}},
        {"usage": usage, "provenance": {"cost_usd": "lower_bound"}},
        {"usage": usage, "provenance": {"cost_usd": "reported", "usage": "counted"}},
    ]
    runs = [{"id": f"r{number}", **sound, **more} for number, more in enumerate(bounds)]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in runs))
    found = output(capsys, "submit", "--from-runs", str(tmp_path / "runs.jsonl"), *filled)
    marks = [one["lower_bounds"] for one in found["receipts"]]
    assert marks == [["total_tokens"]] * 4 + [["tool_calls"], ["iterations"], [], []]
    again = output(capsys, "submit", "--from-runs", str(tmp_path / "runs.jsonl"), *filled)
    assert [one["lower_bounds"] for one in again["receipts"]] == marks
    rows = {row["submission_id"]: row for row in output(capsys, "leaderboard", "fix-race", *filled)["leaderboard"]}
    assert [rows[f"r{number}"]["lower_bounds"] for number in range(8)] == marks
    *_, cost, known = found["receipts"]
    assert ("estimated_cost" in cost["defaulted"], cost["cost_score"]) == (True, 50.0)
    assert "estimated_cost" not in known["defaulted"]
    assert run(["arena", "leaderboard", "fix-race", *filled]) == 0
    assert "lower bound" in capsys.readouterr().out


def test_a_stated_failure_stands_in_the_row_of_a_task_without_criteria(
    at: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    (tmp_path / "tasks.toml").write_text('[[tasks]]\nid = "plain"\ntitle = "No criteria"\n')
    counts = {"task_id": "plain", "total_tokens": 10, "tool_calls": 1, "iterations": 1, "execution_time": 1.0}
    counts |= {"estimated_cost": 0.1, "agent": "ant"}
    told = [{"id": "won", "success": True, **counts}, {"id": "lost", "success": False, **counts}]
    (tmp_path / "sent.jsonl").write_text("".join(json.dumps(one) + "\n" for one in told))
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "task", "add", str(tmp_path / "tasks.toml"), *at]) == 0
    assert run(["arena", "submit", str(tmp_path / "sent.jsonl"), *at]) == 0
    capsys.readouterr()
    assert run(["arena", "leaderboard", "plain", *at]) == 0
    noted = [line for line in capsys.readouterr().out.splitlines() if "reports failure" in line]
    assert ["lost" in line for line in noted] == [True]
    shown = output(capsys, "leaderboard", "plain", *at)["leaderboard"]
    rows = {row["submission_id"]: (row["success"], row["correctness_score"]) for row in shown}
    assert rows == {"won": (True, 100.0), "lost": (False, 100.0)}  # the specification's score without criteria
    page = sy.open_arena(at[1]).task_leaderboard("plain").page()
    assert page.table is not None
    columns = {column.name: column.values for column in page.table.columns}
    assert "reports failure" in dict(zip(columns["submission_id"], columns["notes"], strict=True))["lost"]


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_the_standings_of_all_tasks_are_written_to_a_file(
    filled: tuple[str, str], tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"out.{ending}"
    written = output(capsys, "leaderboard", "--all-tasks", "--out", str(path), *filled)
    if ending == "json":
        assert json.loads(path.read_text()) == written
        ids = [row["submission_id"] for task in written["tasks"] for row in task["leaderboard"]]
    else:
        frame = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
        ids = frame["submission_id"].to_list()
    of_task = output(capsys, "leaderboard", "fix-race", *filled)
    assert (of_task["schema_version"], of_task["task_id"]) == (1, "fix-race")
    assert ids == [row["submission_id"] for row in of_task["leaderboard"]]


def test_notify_needs_targets_and_tells_what_failed(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["arena", "notify", "--once", *filled]) == 2
    capsys.readouterr()
    targets = tmp_path / "targets.toml"
    targets.write_text('[[targets]]\nname = "nobody"\nurl = "http://127.0.0.1:1/"\nnetwork = "loopback"\nseconds = 1\n')
    found = output(capsys, "notify", "--once", "--targets", str(targets), *filled, status=1)
    assert (found["sent"], found["failed"], found["put_off"], found["waiting"]) == (
        0,
        2,
        5,
        7,
    )  # six evaluations and an outlier; nobody answers
    assert datetime.fromisoformat(found["next_attempt_at"]) > datetime.now(UTC) - timedelta(minutes=1)
    assert run(["arena", "notify", "--once", "--targets", str(targets), *filled]) == 0
    assert "7 waiting, next attempt at 20" in capsys.readouterr().out  # too early to try again


def test_notify_prints_a_line_a_round_for_scripts_that_follow_it(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter([None, None])

    def sleep(_seconds: float) -> None:
        if next(rounds, "over") == "over":
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    targets = tmp_path / "targets.toml"
    targets.write_text('[[targets]]\nname = "nobody"\nurl = "http://127.0.0.1:1/"\nnetwork = "loopback"\nseconds = 1\n')
    with pytest.raises(SystemExit) as ended:
        run(["arena", "notify", "--targets", str(targets), "--json", *filled])
    assert ended.value.code == 130
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["failed"] for line in lines] == [2, 0, 0]


@pytest.mark.parametrize("flags", [[], ["--json"], ["--csv"]], ids=str)
def test_watch_prints_what_polls_find(
    filled: tuple[str, str], flags: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arena, numbers = sy.open_arena(filled[1]), iter(range(9))

    def sleep(_seconds: float) -> None:
        arena.submit([{"id": f"seen-{next(numbers)}", "task_id": "fix-race", "total_tokens": 9, "tool_calls": 1}])

    monkeypatch.setattr("time.sleep", sleep)
    assert run(["arena", "watch", "--max-polls", "3", *flags, *filled]) == 0
    shown = capsys.readouterr().out
    watched = list(arena_watch(filled[1], max_polls=3))
    events = [event for found in watched for event in found.events]
    assert {event.submission_id for event in events} >= {"seen-2", "seen-3"}
    if flags == ["--json"]:
        assert [type(read_answer(ArenaEvents, json.loads(line))) for line in shown.splitlines()] == [ArenaEvents] * 2
    elif flags == ["--csv"]:
        lines = shown.splitlines()
        assert [line.startswith("event_id,") for line in lines] == [True] + [False] * (len(lines) - 1)
    for name in ("seen-0", "seen-1"):
        assert name in shown
    arena.store.close()


def test_notify_sends_the_past_unless_it_is_told_since_when(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = tmp_path / "targets.toml"
    targets.write_text('[[targets]]\nname = "nobody"\nurl = "http://127.0.0.1:1/"\nnetwork = "loopback"\nseconds = 1\n')
    notify = ["arena", "notify", "--once", "--targets", str(targets), *filled]
    assert run([*notify, "--since", "2999-01-01"]) == 2
    assert "is in the future" in capsys.readouterr().err
    assert run([*notify, "--since", "2020-01-01"]) == 1  # nothing is older, and nobody answers
    assert capsys.readouterr().out.startswith("0 sent, 2 failed, 5 postponed, 7 waiting, next attempt at 20")
    now = datetime.now(UTC).isoformat()
    assert run([*notify, "--since", now]) == 0
    told = capsys.readouterr()
    assert told.out == "0 sent, 0 failed, 0 waiting.\n"
    assert told.err == "warning: discarded 7 older events [events_discarded]\n"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["leaderboard", "fix-rce"], 2),
        (["leaderboard", "--by", "agnt"], 2),
        (["leaderboard", "fix-race", "--score", "speedy"], 2),
        (["leaderboard", "fix-race", "--confidence", "95"], 2),
        (["leaderboard", "fix-race", "--by", "agent"], 2),
        (["leaderboard", "fix-race", "--top", "0"], 2),
        (["leaderboard", "--score", "speed"], 2),
        (["bias", "--confidence", "2"], 2),
        (["changes", "--since", "2026-11-01", "--submitter", "ada"], 2),
        (["submit", "s.jsonl", "--task-map", "m.toml"], 2),
        (["submit", "s.jsonl", "--prices", "spec"], 2),
        (["submit", "s.jsonl", "--submitter", "ada"], 2),
        (["submit", "--from-runs", "r.jsonl", "--artifacts", "."], 2),
        (["show", "ant-9"], 2),
        (["show", "ant-1", "sped_score"], 2),
        (["leaderboard", "--until", "2026-11-01"], 2),
        (["changes", "--since", "tomorrow"], 2),
        (["submit"], 2),
        (["rescore", "--policy", "curent"], 2),
        (["rescore", "fix-race", "--policy", "current"], 2),
        (["compare-profiles", "arena-1", "outcome-1"], 2),
        (["submit", "no-such-file.jsonl"], 1),
        (["task", "add", "no-such-file.toml"], 1),
    ],
)
def test_wrong_usage_is_an_error_with_advice(
    filled: tuple[str, str], arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["arena", *arguments, *filled]) == status
    assert capsys.readouterr().err.strip()


def test_the_first_places_across_tasks_can_be_asked_for(
    filled: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    every = output(capsys, "leaderboard", *filled)
    first = output(capsys, "leaderboard", "--top", "1", *filled)
    assert len(every["overall"]) == 3
    assert first["overall"] == every["overall"][:1]
    assert first["categories"] == [{**found, "leaders": found["leaders"][:1]} for found in every["categories"]]


def test_explain_works_on_evaluations(filled: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", filled[1], "speed_score", "--run", "bee-1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    score = found["explanation"]
    assert score["name"] == "speed_score"
    assert score["formula"]
    assert next(part["value"] for part in score["inputs"] if part["name"] == "execution_time") > 0
    assert run(["explain", filled[1], "sped_score", "--run", "bee-1"]) == 2
    assert "speed_score" in capsys.readouterr().err


def test_run_records_are_shown_the_way_in(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_record = {"id": "r1", "task": "fix-race", "agent": "ant", "tool_calls": 3}
    (tmp_path / "runs.jsonl").write_text(json.dumps(run_record) + "\n")
    (tmp_path / "runs.json").write_text(json.dumps([run_record]))
    (tmp_path / "runs.csv").write_text("id,task,tool_calls\nr1,fix-race,3\n")
    pl.DataFrame([run_record]).write_parquet(tmp_path / "runs.parquet")
    for ending in ("jsonl", "json", "csv", "parquet"):
        (found,) = output(capsys, "submit", str(tmp_path / f"runs.{ending}"), *filled, status=1)["rejected"]
        assert "(this is a run record, not a submission; submit it as a run)" in found["message"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("empty.jsonl", ""), ("blank.jsonl", "\n \n\n"), ("empty.json", "[]"), ("head.csv", "id,task_id\n")],
)
def test_a_file_without_submissions_says_so_and_is_no_success(
    filled: tuple[str, str], tmp_path: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert run(["arena", "submit", str(path), *filled]) == 1
    assert f"{path}: the file contains no submissions" in capsys.readouterr().err
    found = output(capsys, "submit", str(path), "--allow-rejected", *filled, status=1)
    assert [one["code"] for one in found["findings"]] == ["no_records"]
    assert run(["arena", "submit", str(path), str(SAMPLES / "submissions.jsonl"), *filled]) == 0


def test_a_file_of_which_nothing_can_be_used_is_no_success(filled: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": "a"}\n')
    assert run(["arena", "submit", str(path), "--allow-rejected", *filled]) == 1
    (tmp_path / "folder").mkdir()
    assert run(["arena", "submit", "--from-runs", str(tmp_path / "folder"), *filled]) == 1


@pytest.mark.parametrize("text", ['{"tasks": []}', "[]"])
def test_a_file_without_tasks_says_so_and_is_no_success(
    filled: tuple[str, str], tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.json"
    path.write_text(text)
    assert run(["arena", "task", "add", str(path), *filled]) == 1
    assert f"{path}: the file contains no tasks" in capsys.readouterr().err
    assert output(capsys, "task", "add", str(path), "--allow-rejected", *filled, status=1)["tasks"] == []


def test_the_tasks_beside_a_file_that_cannot_be_read_are_added(
    at: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("g1", 'id = "one"'), ("bad", "id = "), ("g2", 'id = "two"')):
        (tmp_path / f"{name}.toml").write_text(text)
    files = [str(tmp_path / f"{name}.toml") for name in ("g1", "bad", "gone", "g2")]
    run(["arena", "init", *at])
    capsys.readouterr()
    assert run(["arena", "task", "add", *files, *at]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[0] == "2 tasks added, 0 already known, 2 rejected."
    assert [line.split()[0] for line in shown.out.splitlines() if " added " in line] == ["one", "two"]
    assert f"error: {files[1]}: not TOML" in shown.err
    assert f"    {files[2]}: cannot be read" in shown.err
    found = output(capsys, "task", "add", *files, "--allow-rejected", *at)
    assert [task["id"] for task in found["tasks"]] == ["one", "two"]
    assert [one["where"] for one in found["rejected"]] == files[1:3]


def test_a_category_without_weights_is_pointed_out(
    at: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"efficiency": 1, "speed": 0, "cost": 0, "correctness": 0}
    tasks = [
        {"id": "a", "category": "debuging"},
        {"id": "b", "category": "debugging"},
        {"id": "c", "category": "gardening", "weights": own},
        {"id": "d"},
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    run(["arena", "init", *at])
    capsys.readouterr()
    found = output(capsys, "task", "add", str(path), *at)
    assert [task["id"] for task in found["tasks"]] == ["a", "b", "c", "d"]
    (doubt,) = found["findings"]
    assert (doubt["code"], doubt["where"]) == ("unknown_category", "a")
    assert "did you mean 'debugging'?" in doubt["message"]


def test_a_profile_without_a_task_s_category_is_pointed_out(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.toml"
    text = profile_text("arena-1").replace('name = "arena-1"', 'name = "few"')
    path.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("debugging =")))
    compared = output(capsys, "compare-profiles", "arena-1", str(path), *filled)
    rescored = output(capsys, "rescore", "--profile", str(path), *filled)
    for (doubt,) in (compared["findings"], rescored["findings"]):
        assert (doubt["code"], doubt["where"]) == ("unknown_category", "fix-race")
        assert "category 'debugging' has no weights in few" in doubt["message"]
    assert run(["arena", "compare-profiles", "arena-1", str(path), *filled]) == 0
    assert "[unknown_category]" in capsys.readouterr().err
    assert run(["arena", "rescore", "fix-race", *filled]) == 0
    assert "[unknown_category]" in capsys.readouterr().err
    assert output(capsys, "rescore", "--profile", "arena-1", *filled)["findings"] == []


def test_one_submission_is_not_many(at: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["arena", "init", *at])
    run(["arena", "task", "add", str(SAMPLES / "tasks.toml"), *at])
    path = tmp_path / "one.jsonl"
    path.write_text((SAMPLES / "submissions.jsonl").read_text().splitlines()[0])
    run(["arena", "submit", str(path), *at])
    capsys.readouterr()
    for arguments in (["rescore"], ["leaderboard", "fix-race"], ["history", "--task", "fix-race"]):
        run(["arena", *arguments, *at])
        shown = capsys.readouterr().out
        assert "1 submission" in shown
        assert "1 submissions" not in shown


def commands_of(app: App, *path: str) -> list[tuple[str, ...]]:
    """Every command under this one that does something by itself."""
    found: list[tuple[str, ...]] = []
    for name in app:
        if not name.startswith("-"):
            under = commands_of(app[name], *path, name)
            found += under or [(*path, name)]
    return found


@pytest.mark.parametrize("path", commands_of(arena_app), ids=" ".join)
def test_every_command_shows_an_example(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["arena", *path, "--help"]) == 0
    assert f"Examples:\n  steelyard arena {' '.join(path)}" in capsys.readouterr().out


def test_ranks_are_those_of_the_score_that_was_asked_for(
    filled: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["arena", "leaderboard", "fix-race", "--score", "speed", *filled]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    ranks = [words[:2] for words in shown if len(words) > 8 and words[0].isdigit() and "-" in words[1]]
    assert ranks[:3] == [["1", "odd-1"], ["2", "bee-1"], ["3", "bee-2"]]


def test_that_nothing_changed_is_said(filled: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["arena", "changes", "--since", "2999-01-01", *filled]) == 0
    assert "Nothing changed since 2999-01-01" in capsys.readouterr().out


def test_lower_bounds_stand_in_a_cell_as_every_list_does(
    filled: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "given.csv"
    path.write_text('id,task_id,total_tokens,tool_calls,lower_bounds\nc1,fix-race,900,3,"[""total_tokens""]"\n')
    found = output(capsys, "submit", str(path), *filled)
    assert [one["lower_bounds"] for one in found["receipts"]] == [["total_tokens"]]
