"""What is one run and what is two: `read`, `measure`, `judges` and `explain` agree, and say so in the same words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import steelyard as sy
from commands import steelyard
from steelyard.questions.read import RunReading
from steelyard.records import Rejected, Run, RunIds, content_digest, decode_run, encode_run

ONE = {"id": "a", "task": "t", "passed": True}
OTHER = {"id": "a", "task": "t", "passed": False}
NAMELESS = {"task": "t", "judgments": [{"judge": "j", "weighted_score": 0.5}]}
_IDS = RunIds()
_DIGEST = content_digest(decode_run(json.dumps(NAMELESS).encode()))
NAMES = [str(_IDS.admit_digest(None, _DIGEST, path="f", line=line)) for line in range(3)]


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def by_read(paths: Sequence[Path]) -> tuple[list[str], list[str], list[str]]:
    """Ids of the runs, places rejected, and the codes of findings."""
    reading = RunReading(paths)
    ids = sorted(run.id or "" for run in reading)
    refused = [f"{one.where} {one.message}" for one in reading.summary.rejected]
    return ids, sorted(refused), sorted(finding.code for finding in reading.summary.findings)


def by_measure(paths: Sequence[Path]) -> tuple[list[str], list[str], list[str]]:
    table = sy.read(paths)
    refused = [f"{one.where} {one.message}" for one in table.rejected]
    codes = sorted(finding.code for finding in table.findings if finding.code != "unpriced")
    return sorted(table.frame.collect()["id"].to_list()), sorted(refused), codes


def test_read_counts_a_repeated_id_once_and_refuses_one_with_other_content(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", ONE, ONE, OTHER, NAMELESS, NAMELESS)
    out = tmp_path / "out.jsonl"
    done = steelyard("read", str(path), "--out", str(out), "--json")
    report = json.loads(done.stdout)
    assert done.status == 1
    assert report["total"]["runs"] == 3  # a, and two attempts without an id
    assert [(one["code"], one["where"]) for one in report["rejected"]] == [("id_conflict", f"{path}:3")]
    assert [finding["code"] for finding in report["findings"]] == ["repeated", "alike"]
    assert len(out.read_bytes().splitlines()) == 3


records = st.lists(
    st.sampled_from([ONE, OTHER, NAMELESS, {"id": "b", "task": "t"}, *({**NAMELESS, "id": name} for name in NAMES)]),
    max_size=8,
)


@given(files=st.lists(records, min_size=1, max_size=3))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_read_and_measure_agree_on_what_is_a_run(tmp_path: Path, files: list[list[dict[str, Any]]]) -> None:
    paths = [write(tmp_path / f"{number}.jsonl", *file) for number, file in enumerate(files) if file]
    if not paths:
        return
    found = by_read(paths)
    assert found == by_measure(paths)
    assert len(set(found[0])) == len(found[0])


def test_a_row_without_an_id_and_the_record_that_was_written_from_it_are_one_run(tmp_path: Path) -> None:
    flat = tmp_path / "runs.parquet"
    pl.DataFrame({"task": ["t", "t", "u"], "id": [None, None, "x"]}).write_parquet(flat)
    written = tmp_path / "written.jsonl"
    written.write_bytes(b"".join(encode_run(run) + b"\n" for run in RunReading([flat])))
    for order in ([flat, written], [written, flat]):
        assert by_measure(order)[0] == by_read(order)[0] == by_read([flat])[0]


def test_read_and_measure_agree_over_formats_folders_and_any_order(tmp_path: Path) -> None:
    lines = write(tmp_path / "runs.jsonl", OTHER, NAMELESS, {"id": "c", "task": "t"})
    flat = tmp_path / "runs.parquet"
    pl.DataFrame({"id": ["a", "b", "c"], "task": ["t", "t", "t"], "passed": [True, True, None]}).write_parquet(flat)
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "more.jsonl", ONE, {"id": "b", "task": "other"}, NAMELESS)
    shutil.copy(lines, folder / "same.jsonl")
    for order in permutations([lines, flat, folder]):
        assert by_read(order) == by_measure(order), order


def test_a_file_with_the_same_bytes_counts_once_for_every_command(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", NAMELESS, {"task": "u"})
    shutil.copy(first, tmp_path / "b.jsonl")
    assert by_read([tmp_path]) == by_measure([tmp_path])
    assert len(by_read([tmp_path])[0]) == 2
    assert by_read([tmp_path])[2] == ["file_repeated"]
    assert sy.judges(tmp_path).runs == 1


def test_what_read_writes_and_its_origin_are_the_same_runs(tmp_path: Path) -> None:
    origin = write(tmp_path / "runs.jsonl", NAMELESS, NAMELESS, {"id": "x", "task": "t"})
    written = tmp_path / "written.jsonl"
    written.write_bytes(b"".join(encode_run(run) + b"\n" for run in RunReading([origin])))
    for order in ([origin, written], [written, origin]):
        assert by_measure(order)[0] == by_read(order)[0] == by_read([origin])[0]


def test_judges_repeat_and_explain_refuse_the_same_id_in_the_same_words(tmp_path: Path) -> None:
    judged = {"judgments": [{"judge": "j", "weighted_score": 0.5}, {"judge": "k", "weighted_score": 0.75}]}
    outputs = [{**ONE, **judged, "output": {"text": "x = 1"}}, {**OTHER, **judged, "output": {"text": "x = 2"}}]
    path = write(tmp_path / "runs.jsonl", *outputs)
    for command, *options in (["read"], ["measure"], ["judges"], ["repeatability", "--no-repair"]):
        done = steelyard(command, "runs.jsonl", *options, cwd=tmp_path)
        said = done.stdout if command == "read" else done.stderr
        assert "id 'a' is already used by a different run" in said
        assert "runs.jsonl:2" in said
        assert "use a unique id per run" in said
        assert done.status == 1
    explained = json.loads(steelyard("explain", str(path), "pass_rate", "--run", "a", "--json").stdout)
    assert explained["explanation"]["value"] == 1.0  # the first counts


@pytest.mark.parametrize("command", ["read", "measure"])
def test_a_bad_table_in_a_folder_does_not_stop_the_others(tmp_path: Path, command: str) -> None:
    write(tmp_path / "runs.jsonl", ONE)
    (tmp_path / "bad.csv").write_text("task,tire\nt,T0\n", encoding="utf-8")
    done = steelyard(command, str(tmp_path), "--json")
    assert done.status == 1
    assert "unknown column 'tire'" in done.stdout
    report = json.loads(done.stdout)
    assert (report["total"]["runs"] if command == "read" else report["n"]) == 1


@pytest.mark.parametrize("held", [(False, False), (True, False), (False, True), (True, True)])
def test_a_record_that_is_held_in_memory_is_told_apart_as_any_other(held: tuple[bool, bool]) -> None:
    first = Run(id="a", task="t", passed=True)
    for second, expected in (
        (Run(id="a", task="t", passed=True), None),
        (Run(id="a", task="t", passed=False), Rejected),
    ):
        ids = RunIds()
        assert ids.admit(first, path="f", line=1, in_memory=held[0]) == "a"
        answer = ids.admit(second, path="f", line=2, in_memory=held[1])
        assert answer is None if expected is None else isinstance(answer, expected)
        again = [place.where for finding in ids.findings() for place in finding.places]
        assert again == (["f:2"] if expected is None else [])
