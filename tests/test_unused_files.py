"""Files that are not used are named by every command that reads, with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard

RUN = '{"task": "a", "agent": "x", "passed": true, "started_at": "2026-01-02T03:04:05Z"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs.jsonl").write_text(RUN)
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "more.jsonl").write_text('{"b": 1}\n')
    (tmp_path / "notes.txt").write_text("hello\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("read",),
        ("usage",),
        ("measure",),
        ("completeness",),
        ("matrix", "--by", "agent"),
        ("rank", "--by", "agent"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_names_the_files_it_did_not_use(folder: Path, command: tuple[str, ...]) -> None:
    done = steelyard(command[0], ".", *command[1:], cwd=folder)
    line = (
        "warning: lines.jsonl: 3 files are not used: unknown format (2 .jsonl, 1 .txt); 2 more (see --json) [not_used]"
    )
    assert line in done.stderr.splitlines()


def test_unused_files_are_all_listed_as_json(folder: Path) -> None:
    findings = json.loads(steelyard("measure", ".", "--json", cwd=folder).stdout)["findings"]
    (unused,) = [finding for finding in findings if finding["code"] == "not_used"]
    assert [place["where"] for place in unused["places"]] == ["lines.jsonl", "more.jsonl", "notes.txt"]


@pytest.mark.parametrize("command", ["usage", "measure"])
def test_directory_without_runs_names_its_files(tmp_path: Path, command: str) -> None:
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n')
    done = steelyard(command, ".", cwd=tmp_path)
    assert done.status == 1
    assert "lines.jsonl: the input contains no runs; 1 file is not used: unknown format (1 .jsonl)" in done.stderr
    assert "`steelyard mapping suggest lines.jsonl` suggests a mapping" in done.stderr


def test_files_that_a_mapping_does_not_select_are_named(folder: Path) -> None:
    mapping = {"mapping": 1, "name": "m", "rows": {"format": "jsonl", "files": "runs.jsonl"}, "run": {"task": "task"}}
    (finding,) = [each for each in sy.measure(folder, map=mapping).findings if each.code == "not_used"]
    assert finding.message == "3 files are not used: not selected by the mapping (2 .jsonl, 1 .txt)"


def test_named_file_of_an_unknown_format_is_an_error_and_no_finding(folder: Path) -> None:
    table = sy.read([folder / "runs.jsonl", folder / "lines.jsonl"])
    assert [finding.code for finding in table.notes] == []
    assert [rejected.code for rejected in table.rejected] == ["unreadable_file"]
