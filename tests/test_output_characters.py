"""Nothing that a log says drives a terminal, hides in JSON or runs in a spreadsheet; run records stay as they are."""

from __future__ import annotations

import csv
import io
import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

import steelyard as sy
from steelyard.cli import run
from steelyard.plain_text import visible_json

HOSTILE = "=cmd|' /C calc'!A0 \x1b[31m\x1b]0;title\x07 \x9b31m \x9d \u202e\u2066 \u200b\U000e0041\x7f\r\n@x\t"
AGENTS = ("=1+1", f"-1{HOSTILE}", "@SUM(A1)")
SAMPLES = Path(__file__).parent / "samples"
FIXED = ("tier", "tier_scheme", "outcome", "type", "usage", "at", "started_at", "ended_at", "task", "name")
RUNS = "runs.jsonl"
STORE = ("--store", "sqlite:///arena.db")
PRINTED = (
    ("measure", RUNS, "--by", "agent,model"),
    ("compare", RUNS, "-a", "agent==1+1", "-b", "agent=@SUM(A1)"),
    ("rank", RUNS, "--by", "agent"),
    ("gate", RUNS, "--rule", "pass_rate >= 0.1"),
    ("matrix", RUNS, "--by", "agent"),
    ("judges", RUNS, "--by", "agent"),
    ("usage", RUNS, "--by", "agent"),
    ("completeness", RUNS),
    ("read", RUNS),
    ("repeatability", RUNS, "--no-repair"),
    ("speedup", "--baseline", "timings.json", "--candidate", "@x=timings.json"),
    ("show", RUNS, "--run", "r0"),
)
"""With `--csv`."""
ONLY_TOLD = (
    ("mapping", "suggest", "table.csv"),
    ("explain", RUNS, "cost_usd", "--run", "r0", "--quiet"),
    ("arena", "leaderboard", "t0", *STORE),
    ("arena", "show", HOSTILE.strip(), *STORE),
    ("arena", "history", *STORE),
    ("measure", "--quiet", HOSTILE),
    ("measure", "--quiet", RUNS, "--metrics", HOSTILE),
    (HOSTILE,),
    ("measure", RUNS, f"--{HOSTILE}"),
)


def planted(value: Any, name: str = "") -> Any:
    """The record with hostile characters in every text that may be any text."""
    if isinstance(value, dict):
        return {key: planted(part, key) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [planted(part, name) for part in value]
    return f"{HOSTILE}{value}" if isinstance(value, str) and name not in FIXED else value


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, timings, a table and an arena whose every name is hostile."""
    place = tmp_path_factory.mktemp("hostile")
    records = []
    for number, demo in enumerate(islice(sy.demo_runs(), 12)):
        names = {"id": f"r{number}", "task": f"t{number % 2}", "agent": AGENTS[number % 3]}
        written = {"output": {"text": f"x = {number % 3}  # {HOSTILE!r}"}}
        records.append(planted(msgspec.to_builtins(demo)) | names | written)
    (place / RUNS).write_text("".join(json.dumps(record) + "\n" for record in records))
    timings = json.loads((SAMPLES / "speedup" / "google-benchmark.json").read_text())
    for benchmark in timings["benchmarks"]:
        benchmark["name"] = benchmark["run_name"] = HOSTILE + benchmark["name"]
    (place / "timings.json").write_text(json.dumps(timings))
    (place / "table.csv").write_bytes(f'job,"{HOSTILE}",ok\na,b,yes\n'.encode())
    (place / "task.json").write_text(json.dumps({"id": "t0", "title": HOSTILE}))
    given = {"id": HOSTILE.strip(), "task_id": "t0", "total_tokens": 9, "tool_calls": 1, "agent": HOSTILE}
    (place / "given.jsonl").write_text(json.dumps(given | {"model": HOSTILE, "submitter": HOSTILE}))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        for words in (["init"], ["task", "add", "task.json"], ["submit", "given.jsonl"]):
            assert run(["arena", *words, *STORE]) == 0
    return place


class Screen(io.StringIO):
    """A terminal that keeps what it is sent."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise io.UnsupportedOperation


def on_screen(words: list[str], folder: Path) -> list[str]:
    """The lines that a command sends to a terminal, wherever it sends them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("NO_COLOR", "1")
        shown = Screen()
        patched.setattr(sys, "stdout", shown)
        patched.setattr(sys, "stderr", shown)
        run(words)
    assert shown.getvalue()
    return shown.getvalue().split("\n")


@pytest.mark.parametrize("form", [(), ("--csv",), ("--csv", "--no-csv-escape"), ("--json",)], ids=" ".join)
@pytest.mark.parametrize("words", PRINTED, ids=lambda words: words[0])
def test_a_terminal_is_sent_no_control_character(words: tuple[str, ...], form: tuple[str, ...], folder: Path) -> None:
    assert [line for line in on_screen([*words, *form, "--quiet"], folder) if not line.isprintable()] == []


@pytest.mark.parametrize("words", ONLY_TOLD, ids=lambda words: ascii(words[0]))
def test_whatever_is_asked_a_terminal_is_sent_no_control_character(words: tuple[str, ...], folder: Path) -> None:
    assert [line for line in on_screen(list(words), folder) if not line.isprintable()] == []


@pytest.mark.parametrize("words", [*PRINTED, *ONLY_TOLD[1:5]], ids=lambda words: " ".join(words[:2]))
def test_json_shows_every_character_and_means_the_same(
    words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    run([*words, "--json"])
    text = capsys.readouterr().out
    assert [line for line in text.split("\n") if not line.isprintable()] == []
    assert isinstance(json.loads(text), dict)
    if words[0] == "show":
        assert json.loads(text)["record"]["model"].startswith(HOSTILE.strip())


@pytest.mark.parametrize(
    "character", ["\x1b", "\x7f", "\x85", "\x9b", "\u061c", "\u202e", "\u2069", "\ufeff", "\ud800", "\U000e0041"]
)
def test_an_escaped_character_is_read_back(character: str) -> None:
    written = visible_json(json.dumps([f"é漢🚀{character}x"], ensure_ascii=False))
    assert written.isprintable()
    assert "é漢🚀" in written
    assert json.loads(written) == [f"é漢🚀{character}x"]


def cells_of(text: str) -> list[str]:
    rows = list(csv.reader(io.StringIO(text, newline="")))
    return [cell for row in rows for cell in row]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("words", PRINTED, ids=lambda words: words[0])
def test_no_cell_of_a_result_table_is_a_formula(
    words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    run([*words, "--csv", "--quiet"])
    safe = cells_of(capsys.readouterr().out)
    run([*words, "--csv", "--no-csv-escape", "--quiet"])
    raw = cells_of(capsys.readouterr().out)
    assert len(safe) == len(raw) > 0
    for cell, was in zip(safe, raw, strict=True):
        is_formula = was.startswith(("=", "+", "-", "@", "\t", "\r")) and not (is_number(was) and cell == was)
        assert cell == (f"'{was}" if is_formula else was)
    if words[0] not in ("read", "repeatability", "completeness", "gate", "show"):  # in these no cell begins with a name
        assert raw != safe


def test_out_writes_tables_and_records_without_formulas(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(folder)
    measured = sy.measure(RUNS, by="agent", metrics="cost_usd")
    measured.save(tmp_path / "safe.csv")
    measured.save(tmp_path / "raw.csv", no_csv_escape=True)
    agents = {entry.key["agent"] for entry in measured.groups}
    assert agents == {*AGENTS}

    def column(name: str) -> set[str]:
        with (tmp_path / name).open(newline="") as file:
            return {row["agent"] for row in csv.DictReader(file)}

    assert column("safe.csv") == {f"'{agent}" for agent in agents}
    assert column("raw.csv") == agents
    assert run(["measure", RUNS, "--by", "agent", "--out", str(tmp_path / "asked.csv"), "--no-csv-escape"]) == 0
    assert column("asked.csv") == agents
    assert run(["read", RUNS, "--out", str(tmp_path / "records.csv"), "--quiet"]) == 0
    assert column("records.csv") == {f"'{agent}" for agent in agents}  # reading takes the quote off again
    assert {*sy.read(tmp_path / "records.csv").to_polars()["agent"]} == agents


def test_negative_numbers_stay_numbers(tmp_path: Path) -> None:
    runs = [{"task": "t", "agent": agent, "passed": passed} for agent, passed in (("a", True), ("b", False))]
    sy.compare(runs, baseline={"agent": "a"}, candidate={"agent": "b"}).save(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        differences = [cell for row in csv.DictReader(file) for cell in row.values() if cell.startswith("-")]
    assert differences
    assert all(is_number(cell) for cell in differences)


def test_csv_raw_without_csv_is_wrong_usage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert run(["measure", RUNS, "--no-csv-escape"]) == 2
    assert run(["measure", RUNS, "--no-csv-escape", "--out", "x.json"]) == 2
    assert run(["arena", "leaderboard", "t0", "--no-csv-escape", *STORE]) == 2
