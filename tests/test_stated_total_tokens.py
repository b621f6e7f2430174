"""A total of tokens that a record states without its kinds: shown and summed, and it prices nothing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given

import steelyard as sy
from steelyard.pages import write_runs
from steelyard.questions.measure import Statistics
from steelyard.questions.read import RunReading
from steelyard.records import TOKEN_KINDS, Missing, Usage, add_usage, derived_fields, kinds_of, submission_from_run
from strategies import usages

MODEL = "claude-sonnet-4-20250514"
RECORDS = [
    {"id": "total", "task": "t", "model": MODEL, "usage": {"total_tokens": 500}},
    {"id": "kinds", "task": "t", "model": MODEL, "usage": {"input_tokens": 100, "output_tokens": 20}},
    {"id": "more", "task": "t", "model": MODEL, "usage": {"input_tokens": 100, "total_tokens": 150}},
    {
        "id": "less",
        "task": "t",
        "model": MODEL,
        "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 90},
    },
    {"id": "neither", "task": "t", "model": MODEL},
]
ENDINGS = ["jsonl", "csv", "parquet", "nested parquet"]


def write(folder: Path, ending: str) -> str:
    runs = [sy.Run(**record | {"usage": Usage(**record["usage"]) if "usage" in record else None}) for record in RECORDS]
    path = folder / f"runs.{ending.rsplit(maxsplit=1)[-1]}"
    if ending == "nested parquet":
        pl.DataFrame([record | {"files_created": ["a"]} for record in RECORDS]).write_parquet(path)
    else:
        write_runs(runs, path)
    return str(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_stated_total_counts_where_kinds_are_unknown(tmp_path: Path, ending: str) -> None:
    result = sy.measure(write(tmp_path, ending), metrics=["total_tokens_all_kinds", "cost_usd"], interval="none")
    # 500 as stated, 120 of two kinds, 150 since a third kind may be in it, 120 since kinds beat a smaller total
    assert result.to_dict()["groups"][0]["metrics"]["total_tokens_all_kinds"]["value"] == 890
    cost = result.groups[0].metrics["cost_usd"]
    assert isinstance(cost, Statistics)
    assert (cost.count, cost.missing) == (2, 3)  # only input and output together can be priced
    [differs] = [finding for finding in result.findings if finding.code == "total_tokens_differ"]
    assert [place.where for place in differs.places or ()] == ["run less"]
    unpriced = [finding for finding in result.findings if finding.code == "unpriced"]
    assert sum(finding.count or 0 for finding in unpriced) == 2  # total and more; a run without tokens asks for none


@pytest.mark.parametrize("ending", ENDINGS)
def test_read_shows_a_stated_total(tmp_path: Path, ending: str) -> None:
    reading = RunReading([write(tmp_path, ending)])
    assert len(list(reading)) == 5
    total = reading.summary.to_dict()["total"]
    assert (total["total_tokens"], total["tokens_known_runs"], total["tokens_unknown_runs"]) == (890, 4, 1)
    assert total["tokens"]["input_tokens"] == 300


def test_a_column_may_be_called_total_tokens(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("task,total_tokens\nt,1200\n")
    (run,) = RunReading([tmp_path / "runs.csv"])
    assert run.usage == Usage(total_tokens=1200)


def test_a_total_that_is_none_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('{"task": "t", "usage": {"total_tokens": -1}}\n')
    reading = RunReading([tmp_path / "runs.jsonl"])
    assert list(reading) == []
    assert "total_tokens" in reading.summary.rejected[0].message


def test_all_kinds_beat_any_stated_total() -> None:
    usage = Usage(**dict.fromkeys(TOKEN_KINDS, 10), total_tokens=99)
    assert usage.total == 60


def test_a_submission_takes_the_stated_total() -> None:
    run = sy.Run(id="r", task="t", tool_calls=1, usage=Usage(total_tokens=500))
    assert submission_from_run(run, task_id="t", estimated_cost=None).total_tokens == 500


def test_no_total_is_not_zero() -> None:
    facts = derived_fields(sy.Run(task="t", usage=Usage()))
    assert isinstance(facts["total_tokens"], Missing)
    assert isinstance(facts["stated_total_tokens"], Missing)


@given(one=usages, other=usages)
def test_the_total_of_a_sum_is_the_sum_of_the_totals(one: Usage, other: Usage) -> None:
    together = add_usage([one, other])
    assert together is not None
    totals = [usage.total for usage in (one, other) if usage.total is not None]
    assert (together.total or 0) == sum(totals)
    assert [count or 0 for count in kinds_of(together)] == [
        (a or 0) + (b or 0) for a, b in zip(kinds_of(one), kinds_of(other), strict=True)
    ]
