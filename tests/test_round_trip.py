"""Runs that are written and read again are the same runs, whatever the format."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

import steelyard as sy
from steelyard.pages import write_runs
from steelyard.records import (
    FORMULA_SIGNS,
    DecodeError,
    Failure,
    Finding,
    Origin,
    Run,
    Usage,
    custom_cell,
    custom_value,
    encode_run,
)
from steelyard.sources import PlacedRun, RunPart, gather, log_formats, run_of_row
from strategies import runs

ENDINGS = ("jsonl", "csv", "parquet")
TRICKY = ("007", "1e5", "1e16", "1.50", "-0", "9" * 23, "true", "null", "", '"', '"12"', "[1]", "[1, 2]")

texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(TRICKY)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
own_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=5
)
custom_columns = st.sampled_from([st.booleans(), st.integers(), st.floats(0, 1), texts, own_values])
moments = st.builds(
    lambda seconds, zone: datetime.fromtimestamp(seconds, UTC).replace(tzinfo=zone),
    st.floats(0, 4e9),
    st.sampled_from([None, UTC, timezone(timedelta(hours=2)), timezone(timedelta(0))]),
)


@st.composite
def runs_with_custom_fields(draw: st.DrawFn) -> list[Run]:
    columns = {
        f"x_{name}": draw(custom_columns) for name in draw(st.lists(texts.filter(bool), unique=True, max_size=3))
    }
    made = []
    for number in range(draw(st.integers(1, 4))):
        kept = [key for key in columns if draw(st.booleans())]
        start = draw(st.none() | moments)
        changed = {
            "id": f"r{number}",
            "started_at": start,
            "ended_at": None,
            "failure": draw(st.none() | st.builds(Failure, cause=st.just("agent"), message=st.none() | texts)),
            "source": draw(st.none() | st.builds(Origin, path=st.none() | texts)),
            "extra": {key: draw(columns[key]) for key in kept} or None,
        }
        made.append(msgspec.structs.replace(draw(runs()), **changed))
    return made


def read_back(path: Path) -> list[Run]:
    return [item.run for item in gather([path]) if isinstance(item, PlacedRun)]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(made=runs_with_custom_fields())
@example(made=[Run(id="a", task="t", usage=Usage(), calls=(), provenance={})])
@example(made=[Run(id="a", task="t", extra={"x_a": 1}), Run(id="b", task="t", extra={"x_a": 1.0})])
@pytest.mark.parametrize("ending", ENDINGS)
def test_runs_come_back_from_a_file_as_they_were_written(tmp_path: Path, ending: str, made: list[Run]) -> None:
    path = tmp_path / f"runs.{ending}"
    write_runs(made, path)
    # as JSON, since Python takes 1, 1.0 and True for equal
    assert [encode_run(run) for run in read_back(path)] == [encode_run(run) for run in made]


FORMULAS = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1dcmd",
    "'=1",
    "''=1",
    "'",
    "'quoted'",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs.csv"
    run = Run(id="a", task=text, failure=Failure(cause="agent", message=text), extra={f"x_{text}": text}, cost_usd=0.0)
    write_runs([run], path)
    with path.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(FORMULA_SIGNS)]
    assert [encode_run(again) for again in read_back(path)] == [encode_run(run)]


@pytest.mark.parametrize("value", [1200, 0.5, True, "words", "007", "1200", [1, "a"], {"a": {"b": 1.5}}, None])
def test_a_run_read_from_three_formats_counts_once(tmp_path: Path, value: Any) -> None:
    run = Run(id="a", task="t", passed=True, extra={"x_own": value})
    paths = [tmp_path / f"runs.{ending}" for ending in ENDINGS]
    for path in paths:
        write_runs([run], path)
    measured = sy.measure(paths, interval="none")
    assert (measured.n, measured.rejected_count) == (1, 0)


@given(cell=texts | own_values.map(custom_cell))
def test_a_cell_that_was_read_is_written_as_it_stood(cell: str) -> None:
    value = custom_value(cell)
    if cell and not isinstance(value, list | dict):  # the spaces in a list are not part of it
        assert custom_cell(value) == cell


@given(value=own_values)
def test_a_cell_gives_back_the_value_it_was_made_from(value: Any) -> None:
    again = custom_value(custom_cell(value))
    assert msgspec.json.encode(again, order="deterministic") == msgspec.json.encode(value, order="deterministic")


def test_digits_that_a_number_would_change_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("task,x_a,x_b,x_c,x_d,x_e\nt,007,1e5,1200,true,1.50\n", encoding="utf-8")
    (run,) = read_back(path)
    assert run.extra == {"x_a": "007", "x_b": "1e5", "x_c": 1200, "x_d": True, "x_e": "1.50"}


def test_parquet_keeps_the_types_of_own_columns(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    day = datetime(2026, 1, 2, tzinfo=UTC)
    frame = pl.DataFrame({"task": ["t"], "x_text": ["12"], "x_count": [12], "x_flag": [True], "x_day": [day]})
    frame.write_parquet(path)
    (run,) = read_back(path)
    assert run.extra == {"x_text": "12", "x_count": 12, "x_flag": True, "x_day": "2026-01-02T00:00:00Z"}
    written = tmp_path / "again.parquet"
    write_runs([run], written)
    assert pl.read_parquet_schema(written)["x_count"] == pl.Int64


@pytest.mark.parametrize("zone", [None, UTC])
def test_a_column_of_moments_stays_one_however_often_it_is_written(tmp_path: Path, zone: timezone | None) -> None:
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    start = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=zone)
    write_runs([Run(id="a", task="t", started_at=start), Run(id="b", task="t")], first)
    write_runs(read_back(first), second)
    assert pl.read_parquet_schema(second)["started_at"] == pl.Datetime("us", zone and "UTC")
    assert [run.started_at for run in read_back(second)] == [start, None]


NAIVE = datetime(2026, 1, 2)  # noqa: DTZ001 # a time without a zone is what is tested
BAD_CELLS = [
    *({"task": ["t", None]}, {"tier": ["T1", "T9"]}, {"impl_rate": [0.5, 1.5]}, {"cost_usd": [1.0, float("nan")]}),
    *({"usage.input_tokens": [1, -1]}, {"outcome": ["passed", "pased"]}, {"calls": ["[]", "null"]}),
    *({"provenance": ['{"usage": "reported"}', "{"]}, {"failure.message": ["a", "b"]}, {"x_a": [1.5, float("inf")]}),
    *({"started_at": [NAIVE, NAIVE], "ended_at": [None, NAIVE - timedelta(days=1)]},),
]
GOOD_CELLS = [
    *({"tier_scheme": ["spec", None]}, {"tier": ["gold", "T1"], "tier_scheme": ["mine", None]}, {"impl_rate": [1, 0]}),
    *({"usage.input_tokens": [None, 1], "usage.output_tokens": [None, None]}, {"total_tokens": [5, None]}),
    *({"provenance": ['{"usage": "reported"}', None]}, {"calls": ['[{"usage": {"input_tokens": 1}}]', None]}),
    *({"x_a": [1, None], "x_b": [None, None], "x_c": ["12", "[1]"]}, {"x_day": [NAIVE, None]}),
    *({"files_created": [["a"], None]}, {"usage": [{"input_tokens": 1}, None]}, {"cost_usd": [1, None]}),
    *({"started_at": [datetime(2026, 1, 2, tzinfo=UTC), None]}, {"started_at": ["2026-01-02T03:04:05+02:00", None]}),
    *({"tests.passed": [3, None], "tests.failed": [0, 1]}, {"source.path": ["", "b"]}, {"success": [True, None]}),
]


@pytest.mark.parametrize("cells", [*GOOD_CELLS, *BAD_CELLS], ids=str)
def test_rows_read_together_are_what_each_of_them_is(tmp_path: Path, cells: dict[str, list[Any]]) -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "task": ["t", "t"]} | cells, strict=False)
    path = tmp_path / "runs.parquet"
    frame.write_parquet(path)
    one_by_one: list[str] = []
    for row in frame.iter_rows(named=True):
        try:
            one_by_one.append(encode_run(run_of_row(row, from_text=False)).decode())
        except DecodeError as refused:
            one_by_one.append(refused.reason)
    together = [
        encode_run(item.run).decode() if isinstance(item, PlacedRun) else item.reason
        for item in log_formats()["runs-parquet"].read(path)
        if not isinstance(item, Finding | RunPart)
    ]
    assert together == one_by_one
    assert any("{" not in answer[:1] for answer in together) == (cells in BAD_CELLS)


def test_bytes_that_are_no_text_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    pl.DataFrame({"id": ["a", "b"], "task": ["t", "t"], "x_a": [b"\xff", b"12"]}).write_parquet(path)
    reading = sy.measure([path], interval="none")
    assert (reading.n, reading.rejected_count) == (1, 1)
    (rejected,) = [finding for finding in reading.findings if finding.severity == "error"]
    assert "contains invalid UTF-8" in rejected.message
