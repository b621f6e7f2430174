"""`-` stands for what is piped in, wherever a command reads records, tasks, submissions or timings."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from matchups import made_runs, write
from steelyard.cli import run

SAMPLES = Path(__file__).parent / "samples"
ASV = SAMPLES / "speedup" / "asv"
TASK = {"id": "t", "title": "A task"}
SUBMISSIONS = [{"id": f"s{n}", "task_id": "t", "total_tokens": 1000 + n, "tool_calls": 3} for n in range(3)]


class Piped:
    """Runs commands in this process with something piped in."""

    def __init__(self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self.patch, self.captured = patch, captured

    def __call__(self, content: bytes, *arguments: str) -> tuple[int, str, str]:
        self.patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        status = run(list(arguments))
        shown = self.captured.readouterr()
        return status, shown.out, shown.err


@pytest.fixture
def piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Piped:
    monkeypatch.chdir(tmp_path)
    return Piped(monkeypatch, capsys)


@pytest.fixture
def arena(piped: Piped) -> Piped:
    assert piped(b"", "arena", "init")[0] == 0
    assert piped(json.dumps(TASK).encode(), "arena", "task", "add", "-")[0] == 0
    return piped


def parquet(rows: list[dict[str, object]]) -> bytes:
    made = io.BytesIO()
    pl.DataFrame(rows).write_parquet(made)
    return made.getvalue()


def test_explain_takes_runs_that_are_piped_in(piped: Piped, tmp_path: Path) -> None:
    runs = Path(write(tmp_path / "runs.jsonl", made_runs({"a": 0.5}, tasks=3))).read_bytes()
    asked = ("pass_rate", "--run", "a-0-1", "--json")
    status, shown, _ = piped(runs, "explain", "-", *asked)
    assert status == 0
    assert shown.replace("stdin", "runs.jsonl") == piped(b"", "explain", "runs.jsonl", *asked)[1]
    status, _, said = piped(runs, "explain", "-", "pass_rate", "--run", "a-00-1")
    assert status == 2
    assert "stdin: unknown run 'a-00-1'" in said
    assert "did you mean 'a-0-1'?" in said  # the nearest, although nothing can be piped in twice
    assert piped(runs, "explain", "-", "pass_rate", "--by", "agent")[0] == 0


def test_repeat_takes_runs_that_are_piped_in(piped: Piped) -> None:
    outputs = SAMPLES / "repeatability" / "clamp_runs.jsonl"
    status, shown, _ = piped(outputs.read_bytes(), "repeatability", "-", "--json")
    assert status == 0
    assert shown == piped(b"", "repeatability", str(outputs), "--json")[1]


def test_speedup_takes_one_side_that_is_piped_in(piped: Piped) -> None:
    sides = ("--nop", str(ASV / "nop.json"), "--oracle", str(ASV / "oracle.json"), "--json")
    status, shown, _ = piped((ASV / "agent.json").read_bytes(), "speedup", *sides, "--agent", "a:m=-")
    assert status == 0
    agents = json.loads(piped(b"", "speedup", *sides, "--agent", f"a:m={ASV / 'agent.json'}")[1])["attempts"]
    assert json.loads(shown)["attempts"] == agents
    status, _, said = piped(b"{}", "speedup", "--nop", "-", "--oracle", "-", "--agent", "a:m=-")
    assert status == 2
    assert "only one file can be read from stdin" in said
    status, _, said = piped(b"hello", "speedup", *sides, "--agent", "a:m=-")
    assert status == 1
    assert "stdin: unknown timing file format" in said


def test_speedup_takes_results_that_are_piped_in(piped: Piped) -> None:
    results = SAMPLES / "speedup" / "fceval-results.json"
    status, shown, _ = piped(results.read_bytes(), "speedup", "-", "--json")
    assert status == piped(b"", "speedup", str(results), "--json")[0]
    assert json.loads(shown)["attempts"]


@pytest.mark.parametrize(
    "content",
    [
        b"".join(json.dumps(one).encode() + b"\n" for one in SUBMISSIONS),
        json.dumps(SUBMISSIONS).encode(),
        json.dumps({"submissions": SUBMISSIONS}).encode(),
        json.dumps(SUBMISSIONS, indent=2).encode(),
        json.dumps({"submissions": SUBMISSIONS}, indent=2).encode(),
        b"id,task_id,total_tokens,tool_calls\n" + b"".join(b"s%d,t,%d,3\n" % (n, 1000 + n) for n in range(3)),
        parquet(SUBMISSIONS),
    ],
)
def test_submissions_of_every_format_can_be_piped_in(arena: Piped, content: bytes) -> None:
    status, shown, _ = arena(content, "arena", "submit", "-", "--json")
    assert status == 0
    assert [one["submission_id"] for one in json.loads(shown)["receipts"]] == ["s0", "s1", "s2"]


def test_what_is_wrong_with_piped_submissions_is_told_with_its_line(arena: Piped) -> None:
    status, _, said = arena(json.dumps(SUBMISSIONS[0]).encode() + b"\n{}\n", "arena", "submit", "-")
    assert status == 1
    assert "stdin:2" in said
    assert "stdin: the file contains no submissions" in arena(b"", "arena", "submit", "-")[2]


def test_runs_that_are_piped_in_can_be_submitted(arena: Piped) -> None:
    record = {"id": "r", "task": "t", "tool_calls": 2, "usage": {"input_tokens": 10, "output_tokens": 1}}
    status, shown, _ = arena(json.dumps(record).encode(), "arena", "submit", "--from-runs", "-", "--json")
    assert status == 0
    assert [one["submission_id"] for one in json.loads(shown)["receipts"]] == ["r"]


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        (b'id = "toml"\ntitle = "T"\n', ["toml"]),
        (b'[[tasks]]\nid = "a"\n[[tasks]]\nid = "b"\n', ["a", "b"]),
        (b'[{"id": "c"}]', ["c"]),
        (b'{"tasks": [{"id": "d"}]}', ["d"]),
    ],
)
def test_tasks_in_toml_and_json_can_be_piped_in(piped: Piped, content: bytes, ids: list[str]) -> None:
    assert piped(b"", "arena", "init")[0] == 0
    status, shown, said = piped(content, "arena", "task", "add", "-", "--json")
    assert (status, said) == (0, "")
    assert [one["id"] for one in json.loads(shown)["tasks"]] == ids


def test_a_task_that_cannot_be_read_is_told_of_by_name(piped: Piped) -> None:
    assert piped(b"", "arena", "init")[0] == 0
    assert "stdin: not JSON" in piped(b'{"id": ', "arena", "task", "add", "-")[2]


def test_python_reads_what_is_piped_in_too(piped: Piped) -> None:
    piped.patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"task": "t"}\n')))
    assert sy.read("-").n == 1
