"""A duration that a record states, in every format of our own; it wins over end minus start, and a gap is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from commands import steelyard
from steelyard.questions.measure import Statistics
from steelyard.records import Missing, Usage, submission_from_run
from steelyard.sources import PlacedRun, gather

START = datetime(2026, 1, 1, tzinfo=UTC)
RECORDS = [
    {"id": "both", "task": "t", "duration_seconds": 12.5, "started_at": "2026-01-01T00:00:00Z"}
    | {"ended_at": "2026-01-01T00:00:10Z"},
    {"id": "stated", "task": "t", "duration_seconds": 0.1},
    {"id": "zero", "task": "t", "duration_seconds": 0},
    {"id": "neither", "task": "t"},
]


def write(folder: Path, ending: str) -> str:
    path = folder / f"runs.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    elif ending == "json":
        path.write_text(json.dumps(RECORDS))
    elif ending == "csv":
        pl.DataFrame(RECORDS).write_csv(path)
    elif ending == "parquet":
        pl.DataFrame(RECORDS).write_parquet(path)
    else:
        # a column that is a list keeps the file from being read by its columns
        path = folder / "nested.parquet"
        pl.DataFrame([record | {"files_created": ["a"]} for record in RECORDS]).write_parquet(path)
    return str(path)


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet", "nested parquet"])
def test_every_format_of_ours_states_a_duration(tmp_path: Path, ending: str) -> None:
    result = sy.measure(write(tmp_path, ending), metrics=["duration_seconds"])
    durations = result.groups[0].metrics["duration_seconds"]
    assert isinstance(durations, Statistics)
    # 12.5 as stated, not the 10 s between the times; 0.1; 0: the median is 0.1
    assert (durations.min, durations.median, durations.max) == (0.0, 0.1, 12.5)
    assert (durations.count, durations.missing) == (3, 1)
    [differs] = [finding for finding in result.findings if finding.code == "duration_differs"]
    assert "both" in str(differs)


def test_a_stated_duration_survives_reading_and_writing(tmp_path: Path) -> None:
    assert steelyard("read", write(tmp_path, "csv"), "--out", str(tmp_path / "again.jsonl")).status == 0
    written = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    assert [record.get("duration_seconds") for record in written] == [12.5, 0.1, 0.0, None]


def test_without_a_statement_it_is_the_end_minus_the_start() -> None:
    run = sy.Run(id="r", task="t", started_at=START, ended_at=START + timedelta(seconds=7))
    durations = sy.measure([run], metrics=["duration_seconds"]).groups[0].metrics["duration_seconds"]
    assert isinstance(durations, Statistics)
    assert durations.median == 7.0
    assert isinstance(sy.metrics.duration_seconds(), Missing)


@pytest.mark.parametrize(("stated", "told"), [(100.0, False), (100.9, False), (102.0, True), (98.0, True)])
def test_a_gap_of_more_than_a_hundredth_is_a_finding(stated: float, told: bool) -> None:
    run = sy.Run(id="r", task="t", started_at=START, ended_at=START + timedelta(seconds=100), duration_seconds=stated)
    codes = {finding.code for finding in sy.measure([run]).findings}
    assert ("duration_differs" in codes) is told


@pytest.mark.parametrize("duration", ["-1", '"soon"', "1e999"])
def test_a_duration_that_cannot_be_is_set_aside_with_its_line(tmp_path: Path, duration: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(f'{{"id": "a", "task": "t", "duration_seconds": {duration}}}\n{{"id": "b", "task": "t"}}\n')
    done = steelyard("measure", str(path), "--json")
    assert done.status == 1
    [rejected] = [finding for finding in json.loads(done.stdout)["findings"] if finding["severity"] == "error"]
    assert rejected["where"] == f"{path}:1"
    assert "unknown" not in rejected["message"]  # the field is known, its value cannot be


def test_an_explanation_and_a_submission_take_the_stated_duration() -> None:
    run = sy.Run(
        id="r",
        task="t",
        started_at=START,
        ended_at=START + timedelta(seconds=10),
        duration_seconds=12.5,
        usage=Usage(input_tokens=1, output_tokens=1),
        tool_calls=1,
    )
    explained = sy.explain([run], "duration_seconds", run="r").to_dict()["explanation"]
    assert explained["value"] == 12.5
    assert submission_from_run(run, task_id="t", estimated_cost=None).execution_time == 12.5


@pytest.mark.parametrize(("stated", "duration"), [(12.5, 12.5), (-1, None), (None, None)])
def test_inspect_states_how_long_a_sample_took(tmp_path: Path, stated: float | None, duration: float | None) -> None:
    log = json.loads((Path(__file__).parent / "samples" / "formats" / "inspect" / "log.json").read_text())
    for sample in log["samples"]:
        sample["total_time"] = stated
    (tmp_path / "log.json").write_text(json.dumps(log))
    runs = [item.run for item in gather([tmp_path / "log.json"]) if isinstance(item, PlacedRun)]
    assert {run.duration_seconds for run in runs} == {duration}
