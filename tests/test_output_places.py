"""A result that cannot be written where it was asked for is an error of usage, told before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from matchups import made_runs, write
from steelyard.cli import run
from steelyard.errors import UsageError
from steelyard.pages import write_runs

FILES = [
    (["read", "NOTHING", "--out"], "runs.jsonl"),
    (["measure", "NOTHING", "--out"], "result.json"),
    (["demo", "--write"], "runs.jsonl"),
    (["gate", "NOTHING", "--baseline", "NOTHING", "--rule", "pass_rate >= baseline", "--summary"], "summary.md"),
    (["arena", "leaderboard", "--out"], "leaderboard.csv"),
]
FOLDERS = [(["repeatability", "NOTHING", "--csv-dir"], "logs")]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "name"), FILES + FOLDERS)
def test_a_missing_folder_is_refused_before_anything_is_read(
    command: list[str], name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # NOTHING is not there and there is no arena, which would be other errors if the command had begun its work
    assert run([*command, f"absent/{name}"]) == 2
    said = capsys.readouterr().err
    assert "no such directory: absent" in said
    assert "mkdir -p absent" in said
    assert list(here.iterdir()) == []


def test_a_store_is_not_made_in_a_missing_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["arena", "init", "--store", "sqlite:///absent/arena.db"]) == 2
    assert "no such directory: absent" in capsys.readouterr().err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(("command", "name"), FILES)
def test_a_folder_is_no_file_to_write(
    command: list[str], name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / name).mkdir()
    assert run([*command, name]) == 2
    assert f"{name} is a directory" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "name"), FOLDERS)
def test_a_file_is_no_folder_to_write_into(
    command: list[str], name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / name).touch()
    assert run([*command, name]) == 2
    assert f"{name} is a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["read", "NOTHING", "--out"], ["measure", "NOTHING", "--out"], ["arena", "leaderboard", "--out"]]
)
@pytest.mark.parametrize("name", ["out.txt", "out"])
def test_an_ending_that_says_nothing_is_refused_before_anything_is_read(
    command: list[str], name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, name]) == 2
    assert f"unsupported file type: {name!r}" in capsys.readouterr().err


def test_an_output_folder_is_made_and_a_summary_added_to_what_is_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = Path(__file__).parent / "samples" / "repeatability" / "clamp_runs.jsonl"
    assert run(["repeatability", str(outputs), "--csv-dir", "logs"]) == 0
    assert (here / "logs" / "metrics_summary.csv").is_file()
    runs = write(here / "runs.jsonl", made_runs({"a": 0.5}, tasks=12))
    (here / "summary.md").write_text("before\n", encoding="utf-8")
    gate = ["gate", runs, "--baseline", runs, "--rule", "pass_rate >= -0.5", "--summary", "summary.md"]
    assert run(gate) == 0
    assert (here / "summary.md").read_text(encoding="utf-8").startswith("before\n")
    capsys.readouterr()


def test_in_python_a_missing_folder_is_the_same_error(here: Path) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        write_runs(sy.demo_runs(), here / "absent" / "runs.csv")


@pytest.mark.parametrize("command", [["read"], ["measure"], ["rank"], ["judges"]])
def test_json_and_csv_exclude_each_other(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "NOTHING", "--json", "--csv"]) == 2
    assert "--json and --csv are mutually exclusive" in capsys.readouterr().out
