"""Arguments that are not UTF-8 are answered like any other that is not known, and files may be named so."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from commands import steelyard
from steelyard.cli import run

BAD = os.fsdecode(b"a\xff")
REFUSED = (
    ("arena", "show", BAD),
    ("arena", "show", "s1", BAD),
    ("arena", "leaderboard", BAD),
    ("arena", "leaderboard", "--by", BAD),
    ("arena", "leaderboard", "task", "--score", BAD),
    ("arena", "leaderboard", "task", "--policy", BAD),
    ("arena", "leaderboard", "--store", f"sqlite:///{BAD}"),
    ("arena", "init", "--store", f"sqlite:///{BAD}"),
    ("arena", "init", "--store", f"postgresql://{BAD}@127.0.0.1:1/x"),
    ("arena", "init", "--profile", BAD),
    ("arena", "history", "--submitter", BAD),
    ("arena", "history", "--task", BAD),
    ("arena", "changes", "--since", BAD),
    ("arena", "rescore", BAD),
    ("arena", "review", "list", BAD),
    ("arena", "leaderboard", BAD, "--out", "out.csv"),
    ("arena", "task", "show", BAD),
    ("arena", "compare-profiles", "arena-1", "arena-1", "--task", BAD),
    ("explain", "steelyard.db", "speed_score", "--run", BAD),
    ("explain", "sqlite:///steelyard.db", "speed_score", "--run", BAD),
    ("explain", "runs.jsonl", "pass_rate", "--run", BAD),
    ("explain", "runs.jsonl", BAD, "--run", "r1"),
    ("measure", "runs.jsonl", "--by", BAD),
    ("compare", "runs.jsonl", "-a", f"agent={BAD}", "-b", "agent=ant"),
    ("rank", "runs.jsonl", "--metrics", BAD),
    ("metrics", BAD),
    ("profiles", BAD),
    ("repeatability", "canon", "retire", BAD),
)
WRITTEN = (
    ("arena", "leaderboard", "--out"),
    ("measure", "runs.jsonl", "--by", "agent", "--allow-rejected", "--out"),
    ("read", "runs.jsonl", "--out"),
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.json").write_text('{"id": "task"}')
    (tmp_path / "given.jsonl").write_text(
        '{"id": "s1", "task_id": "task", "total_tokens": 9, "tool_calls": 5, "submitter": "ada"}'
    )
    (tmp_path / "runs.jsonl").write_text(
        '{"id": "r1", "task": "t", "agent": "ant", "passed": true}\n{"id": "r2", "task": "t", "agent": "bee"}\n'
    )
    assert run(["arena", "init"]) == 0
    assert run(["arena", "task", "add", "task.json"]) == 0
    assert run(["arena", "submit", "given.jsonl"]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", REFUSED, ids=lambda words: ascii(" ".join(words)))
def test_a_name_that_is_not_utf8_is_refused_as_unknown(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(list(words)) == 2
    told = capsys.readouterr()
    assert told.err.startswith("steelyard: ")
    assert told.out == ""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("words", WRITTEN, ids=" ".join)
def test_a_file_may_have_a_name_that_is_not_utf8(
    here: Path, words: tuple[str, ...], ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, f"{BAD}.{ending}"]) == 0
    assert (here / f"{BAD}.{ending}").stat().st_size > 0
    capsys.readouterr()
    assert run([*words, f"{BAD}.{ending}", "--json"]) == 0
    json.loads(capsys.readouterr().out or "{}")


@pytest.mark.parametrize(
    "words", [("measure",), ("report", "--out", "x.html"), ("report", "--out", "x.md")], ids=" ".join
)
def test_a_file_of_runs_may_have_such_a_name(
    here: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "runs.jsonl").rename(here / f"{BAD}.jsonl")
    assert run([words[0], f"{BAD}.jsonl", *words[1:]]) == 0
    capsys.readouterr()
    assert run([words[0], f"{BAD}.jsonl", "--json"]) == 0
    json.loads(capsys.readouterr().out)


def test_a_process_of_its_own_takes_such_bytes(here: Path) -> None:
    done = steelyard("arena", "show", BAD, cwd=here)
    assert done.status == 2
    assert "unknown submission" in done.stderr
    assert "Traceback" not in done.stderr
