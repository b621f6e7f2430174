"""Which files that begin with a brace are taken for our own run records, and what is said of the others."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import InputLimitError, SteelyardError, UnreadableFileError
from steelyard.files import HEAD_BYTES, beginning_of, whole_file
from steelyard.records import Rejected
from steelyard.settings import Limit
from steelyard.sources import GatheringCount, PlacedRun, gather, head_of, recognized

TRIAL_CONFIG = {
    "task": {"path": "fix-it", "git_url": None},
    "trial_name": "fix-it__a",
    "trials_dir": "jobs/first",
    "agent": {"name": "some-agent", "model_name": "some-model"},
}
JOB_CONFIG = {"job_name": "first", "jobs_dir": "jobs", "n_attempts": 2, "agents": [{"name": "some-agent"}]}


def write(path: Path, value: Any, *, indent: int | None = None) -> Path:  # Any: JSON
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
    return path


def gathered(*paths: Path) -> tuple[list[Any], GatheringCount]:  # Any: what a gathering gives
    tally = GatheringCount()
    return list(gather(list(paths), tally=tally)), tally


def test_a_document_of_another_tool_is_one_message_and_not_one_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "results.json", {"evalId": "e", "results": {"results": [{"id": 1}] * 50}}, indent=2)
    items, _ = gathered(path)
    (rejected,) = items
    assert rejected.reason == "unknown format"
    assert f"steelyard mapping suggest {path}" in rejected.hint


def test_a_record_with_a_wrong_key_is_named_though_the_file_is_not_recognized(tmp_path: Path) -> None:
    (rejected,) = gathered(write(tmp_path / "runs.jsonl", {"task": "t", "cost": 1}))[0]
    assert isinstance(rejected, Rejected)
    assert rejected.where == f"{tmp_path / 'runs.jsonl'}:1"
    assert "unknown key 'cost'" in rejected.reason
    assert rejected.hint is not None
    assert "cost_usd" in rejected.hint
    assert "steelyard map" in rejected.hint


def test_harness_configurations_are_counted_by_name_and_hold_no_run(tmp_path: Path) -> None:
    write(tmp_path / "config.json", JOB_CONFIG, indent=4)
    for name in ("a", "b"):
        write(tmp_path / name / "config.json", TRIAL_CONFIG, indent=4)
    items, tally = gathered(tmp_path)
    assert [item.code for item in items] == ["no_runs_in_file"]
    assert tally.without_runs == {"harbor: config.json": 3}
    assert tally.unknown == []


def test_a_broken_first_line_does_not_hide_the_good_ones(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"task": "t", "cost": 1}\n{"task": "t"}\n', encoding="utf-8")
    items, _ = gathered(path)
    assert [type(item) for item in items] == [Rejected, PlacedRun]


def test_a_record_longer_than_the_beginning_of_the_file_is_recognized(tmp_path: Path) -> None:
    long_answer = {"task": "t", "x_note": 1, "output": {"text": "a" * 100_000}}
    for value, name in ((long_answer, "runs-jsonl"), ([long_answer], "runs-json")):
        log_format = recognized(head_of(write(tmp_path / "runs", value)))
        assert log_format is not None
        assert log_format.name == name


def test_a_long_line_of_another_tool_is_not_taken_for_a_record(tmp_path: Path) -> None:
    other = {"task": "t", "kind": "event", "text": "a" * 100_000}
    assert recognized(head_of(write(tmp_path / "one", other))) is None
    assert recognized(head_of(write(tmp_path / "list", [other]))) is None


def test_a_single_indented_document_with_a_task_is_not_read_line_by_line(tmp_path: Path) -> None:
    (rejected,) = gathered(write(tmp_path / "config.json", {"task": {"path": "x"}, "more": {}}, indent=2))[0]
    assert rejected.reason == "unknown format"


def test_a_file_that_a_shipped_mapping_reads_is_answered_with_its_name(tmp_path: Path) -> None:
    (rejected,) = gathered(write(tmp_path / "model_eval_all.json", [{"question_id": "q", "graded_list": [True]}]))[0]
    assert rejected.hint is not None
    assert rejected.hint.startswith("try the mapping livecodebench; ")


def test_a_file_is_opened_once_to_be_recognized_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "runs.json", [{"task": "t", "x_note": "a" * 100_000}])
    opened, real_open = [], os.open

    def counting(name: Any, *args: Any) -> int:  # Any: as the system call takes them
        opened.append(name)
        return real_open(name, *args)

    monkeypatch.setattr("os.open", counting)
    assert beginning_of(path) == path.read_bytes()[:HEAD_BYTES]
    assert whole_file(path) == path.read_bytes()
    assert opened == [path]
    whole_file(path)  # what was kept is gone, so that it is not held for long
    assert opened == [path, path]


def test_a_file_that_changed_after_it_was_recognized_is_read_as_it_is_now(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.json", [{"task": "before"}])
    beginning_of(path)
    other = write(tmp_path / "other.json", [{"task": "later!"}])  # as long as the first
    os.replace(other, path)
    assert b"later!" in whole_file(path)
    beginning_of(path)
    with path.open("ab") as file:
        file.write(b"\n")
    assert whole_file(path).endswith(b"\n")
    beginning_of(path)
    path.unlink()
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        whole_file(path)


def test_a_file_past_the_limit_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "runs.json", [{"task": "t"}])
    monkeypatch.setattr("os.read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(InputLimitError):
        whole_file(path, limit=Limit("it is long", default=5))


@pytest.mark.parametrize("size", [10, 70_000, 1_000_000])
def test_a_long_text_does_not_hide_the_keys_after_it(size: int, tmp_path: Path) -> None:
    patch = '+ line with "quotes" and \\ signs\n' * (size // 30)
    info = {"submission": patch, "exit_status": "submitted", "model_stats": {"instance_cost": 0.5, "api_calls": 2}}
    step = {"action": "ls", "observation": "x", "response": "r", "thought": "t", "state": {}}
    path = tmp_path / "demo__parcels-1.traj"
    path.write_text(json.dumps({"environment": patch, "info": info, "trajectory": [step]}), encoding="utf-8")
    numbers = [0.5] * (size // 4)
    listed = tmp_path / "listed.traj"
    listed.write_text(json.dumps({"numbers": numbers[:9000], "info": info, "trajectory": [step]}), encoding="utf-8")
    for file in (path, listed):
        declared = recognized(head_of(file))
        assert declared is not None
        assert declared.name == "swe-agent"


def test_timings_are_no_runs_and_the_hint_names_speedup(tmp_path: Path) -> None:
    timings = Path(__file__).parent / "samples" / "speedup"
    with pytest.raises(SteelyardError, match="pytest-benchmark timings of one side, and no runs") as caught:
        sy.measure(timings / "pytest-benchmark.json")
    assert caught.value.hint == "`steelyard speedup` compares two files of timings"
    other = tmp_path / "counts.json"
    other.write_text('{"a": [1, 2]}', encoding="utf-8")
    with pytest.raises(SteelyardError, match="unknown format"):
        sy.measure(other)
