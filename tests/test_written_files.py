"""A command that writes a file answers all the same, and says which file it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.cli import run
from steelyard.demo import demo_files

STORE = ("--store", "sqlite:///arena.db")
RUNS = "few.jsonl"
COMMANDS = {
    "measure": [RUNS],
    "compare": [RUNS, "-a", "tier=T0", "-b", "tier=T2"],
    "rank": [RUNS, "--by", "tier"],
    "gate": [RUNS, "--rule", "pass_rate >= 0.1"],
    "matrix": [RUNS, "--by", "tier"],
    "judges": [RUNS, "--by", "tier"],
    "completeness": [RUNS],
    "show": [RUNS, "--run", "demo-T3-fix-race-01"],
    "usage": [RUNS],
    "speedup": ["timings"],
    "repeatability": ["outputs", "--no-repair"],
    "arena": ["leaderboard", "fix-race", *STORE],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's data with few runs, and an arena."""
    folder = tmp_path_factory.mktemp("written")
    for name, content in demo_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    lines = (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (folder / RUNS).write_bytes(b"".join(line for line in lines if b'"fix-race"' in line or b'"add-flag"' in line))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for words in (["init"], ["task", "add", "tasks.toml"], ["submit", "submissions.jsonl"]):
            assert run(["arena", *words, *STORE]) == 0
    return folder


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_written_file_is_named_after_the_answer(
    verb: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.delenv("COLUMNS", raising=False)
    words = [verb, *COMMANDS[verb]]
    status = run(words)
    whole = capsys.readouterr().out.splitlines()
    assert run([*words, "--out", f"{verb}.svg"]) == status
    *answer, written = capsys.readouterr().out.splitlines()
    assert written == f"wrote {verb}.svg"
    assert answer
    assert answer[0] == whole[0]
    assert len(answer) < len(whole)
    assert (place / f"{verb}.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize("verb", ["measure", "repeatability", "arena"])
def test_json_stays_clean_beside_a_written_file(
    verb: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert run([verb, *COMMANDS[verb], "--json", "--out", f"{verb}.svg"]) == 0
    assert json.loads(capsys.readouterr().out)
