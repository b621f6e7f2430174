"""Data frames of pandas and Polars are runs: columns as CSV has them, whatever types a frame has for their values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings

import steelyard as sy
from matchups import made_runs
from steelyard.errors import NoValidInputError, RecordError, SteelyardError, UsageError
from steelyard.pages import write_runs
from steelyard.records import Run
from steelyard.sources import frame_runs
from strategies import run_lists

RUNS = made_runs({"x": 0.7, "y": 0.4}, tasks=12, attempts=2)
COLUMNS: dict[str, list[Any]] = {
    name: [getattr(run, name) for run in RUNS]
    for name in ("id", "task", "agent", "model", "attempt", "passed", "impl_rate", "cost_usd")
}
FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas, nullable types": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas, objects": lambda columns: pd.DataFrame(columns).astype(object),
    "pandas, categories": lambda columns: pd.DataFrame(columns).astype("category"),
    "pandas, text": lambda columns: pd.DataFrame(columns).astype(str),
    "pandas, an index": lambda columns: pd.DataFrame(columns).set_index(["task", "agent"]),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "polars, text": lambda columns: pl.DataFrame({name: map(str, cells) for name, cells in columns.items()}),
    "polars, categories": lambda columns: pl.DataFrame(columns).cast(
        {"agent": pl.Categorical, "model": pl.Categorical}
    ),
}
VERBS: dict[str, Callable[[Any], Any]] = {
    "measure": lambda runs: sy.measure(runs, by=["agent"]),
    "compare": lambda runs: sy.compare(runs, baseline="agent=x", candidate="agent=y"),
    "rank": lambda runs: sy.rank(runs, by=["agent"]),
    "gate": lambda runs: sy.gate(runs, baseline=runs, rule="pass_rate >= baseline - 0.2"),
    "explain": lambda runs: sy.explain(runs, "pass_rate", by=["agent"]),
    "report": lambda runs: sy.report(runs, sections=["rank", "measure"]),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_holds_the_runs_that_records_hold(frame: str) -> None:
    made = FRAMES[frame](COLUMNS)
    assert [placed.run for placed in frame_runs(made)] == RUNS
    assert sy.measure(made, by=["agent"]).to_dict() == sy.measure(RUNS, by=["agent"]).to_dict()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_every_verb_over_runs_takes_frames(verb: str, frame: str) -> None:
    of_frame, of_records = (VERBS[verb](runs).to_dict() for runs in (FRAMES[frame](COLUMNS), RUNS))
    for answer in (of_frame, of_records):  # of a report, the digest of its inputs is of the records either way
        answer.pop("commands", None)
    assert of_frame == of_records


def test_judges_and_repeat_take_frames_with_parts_as_json_or_as_they_are() -> None:
    judgments = '[{"judge": "j", "weighted_score": 0.5}, {"judge": "k", "weighted_score": 0.25}]'
    whole = [{"judge": "j", "weighted_score": 0.5}, {"judge": "k", "weighted_score": 0.25}]
    for cell in (judgments, whole):
        frame = pd.DataFrame({"task": ["a", "b"], "judgments": [cell, cell], "output.text": ["x = 1", "x = 1"]})
        assert len(sy.judges(frame).judges) == 2
        assert sy.repeatability(frame, by=["agent"], repair=False).prompts[0].n == 2


def test_a_frame_and_its_csv_are_the_same_runs(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    write_runs(sy.demo_runs(), file)
    expected = sy.measure(file, by=["tier"]).to_dict()
    for frame in (pd.read_csv(file), pl.read_csv(file), pl.read_csv(file, infer_schema=False)):
        assert sy.measure(frame, by=["tier"]).to_dict() == expected


@given(made=run_lists)
@settings(max_examples=25, deadline=None)
def test_any_runs_survive_the_way_over_a_frame(made: list[Run]) -> None:
    if not made:
        return
    columns = {name: [getattr(run, name) for run in made] for name in ("id", "task", "agent", "cost_usd", "passed")}
    frame = pl.DataFrame(columns, infer_schema_length=None)
    kept = [Run(**{name: getattr(run, name) for name in columns}) for run in made]
    assert [placed.run for placed in frame_runs(frame)] == kept
    assert [placed.run for placed in frame_runs(pd.DataFrame(columns))] == kept


BERLIN = timezone(timedelta(hours=2))
CELLS: list[tuple[str, Any, Any]] = [
    ("passed", pd.array([True, None], dtype="boolean"), True),
    ("passed", [1.0, np.nan], True),
    ("passed", ["false", None], False),
    ("attempt", [3.0, np.nan], 3),
    ("attempt", pd.array([3, None], dtype="Int64"), 3),
    ("cost_usd", ["0.5", ""], 0.5),
    ("cost_usd", [Decimal("0.5"), Decimal("nan")], 0.5),
    ("cost_usd", pd.array([0.5, None], dtype="Float64"), 0.5),
    ("cost_usd", [np.float32(0.5), pd.NA], 0.5),
    ("agent", pd.Categorical(["a", None]), "a"),
    ("agent", [7, None], "7"),
    ("agent", [7.0, np.nan], "7"),
    ("agent", [7, "seven"], "7"),
    ("started_at", pd.to_datetime(["2026-01-02 03:04:05", None]), datetime.fromisoformat("2026-01-02T03:04:05")),
    (
        "started_at",
        pd.to_datetime(["2026-07-02 03:04:05", None]).tz_localize("Europe/Berlin"),
        datetime(2026, 7, 2, 1, 4, 5, tzinfo=UTC),
    ),
    ("started_at", ["2026-01-02T03:04:05Z", None], datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    ("started_at", [datetime(2026, 7, 2, 3, tzinfo=BERLIN), pd.NaT], datetime(2026, 7, 2, 1, tzinfo=UTC)),
    ("started_at", [date(2026, 1, 2), None], datetime.fromisoformat("2026-01-02")),
    ("duration_seconds", pd.to_timedelta([90, None], unit="s"), 90.0),
    ("tool_calls", [np.int64(4), None], 4),
]


@pytest.mark.parametrize(("column", "cells", "value"), CELLS)
def test_each_type_of_a_frame_is_the_value_that_it_stands_for(column: str, cells: Any, value: Any) -> None:
    first, second = (placed.run for placed in frame_runs(pd.DataFrame({"task": ["t", "u"], column: cells})))
    assert (getattr(first, column), type(getattr(first, column))) == (value, type(value))
    other = cells[1]
    assert getattr(second, column) == (None if not isinstance(other, str) or other == "" else other)


def test_own_columns_keep_their_types() -> None:
    frame = pd.DataFrame(
        {"task": ["t", "u"], "x_branch": ["001", np.nan], "x_size": [1.5, np.nan], "x_on": [date(2026, 1, 2)] * 2}
    )
    first, second = (placed.run for placed in frame_runs(frame))
    assert first.extra == {"x_branch": "001", "x_size": 1.5, "x_on": "2026-01-02"}
    assert second.extra == {"x_on": "2026-01-02"}


def test_arrow_backed_columns_are_read() -> None:
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow")
    assert [placed.run for placed in frame_runs(frame)] == RUNS
    moments = pa.array([datetime(2026, 7, 2, 3, tzinfo=UTC), None], pa.timestamp("us", tz="Europe/Berlin"))
    frame = pd.DataFrame(
        {"task": ["t", "u"], "started_at": pd.array(moments.to_pandas(), dtype=pd.ArrowDtype(moments.type))}
    )
    assert [placed.run.started_at for placed in frame_runs(frame)] == [datetime(2026, 7, 2, 3, tzinfo=UTC), None]


BAD: list[tuple[dict[str, Any], type[SteelyardError], str]] = [
    (
        {"task": ["t"], "cost": [1.0]},
        UsageError,
        "unknown column 'cost' (did you mean 'cost_usd'?; rename columns with frame.rename",
    ),
    ({"agent": ["a"]}, UsageError, "column 'task' is missing"),
    ({"task": ["t", None]}, RecordError, "data frame:2: key 'task' is missing"),
    ({"task": ["t", "u"], "cost_usd": [1.0, -1.0]}, RecordError, "data frame:2: cost_usd"),
    ({"task": ["t", "u"], "cost_usd": [1.0, float("inf")]}, RecordError, "data frame:2"),
    ({"task": ["t", "u"], "attempt": [1.0, 1.5]}, RecordError, "data frame:2: attempt"),
    ({"task": ["t", "u"], "passed": [True, "maybe"]}, RecordError, "'maybe' is not a boolean"),
    ({"task": ["t"], "tool_calls": [object()]}, RecordError, "data frame:1: tool_calls"),
    ({"task": []}, NoValidInputError, "the input contains no runs"),
    ({}, UsageError, "column 'task' is missing"),
]


@pytest.mark.parametrize(("columns", "error", "said"), BAD)
def test_a_bad_frame_is_an_error_that_says_where(
    columns: dict[str, Any], error: type[SteelyardError], said: str
) -> None:
    with pytest.raises(error) as raised:
        sy.measure(pd.DataFrame(columns))
    assert said in f"{raised.value.where}: {raised.value.message} ({raised.value.hint})"


def test_a_column_that_stands_twice_is_refused() -> None:
    frame = pd.DataFrame([["t", "a", "b"]], columns=["task", "agent", "agent"])
    with pytest.raises(UsageError, match="duplicate column"):
        sy.measure(frame)


def test_a_table_of_runs_has_the_manners_of_a_result() -> None:
    table = sy.read(pd.DataFrame({"task": ["<script>", "\x1b[31mred"], "passed": [True, None]}))
    assert repr(table) == f"RunTable(2 runs, prices {table.price_table})"
    assert "<script>" not in table._repr_html_()
    assert "\x1b" not in table._repr_html_()
    assert table.to_pandas()["task"].tolist() == table.to_polars()["task"].to_list() == ["<script>", "\x1b[31mred"]
    assert not [name for name in table.to_polars().columns if name.startswith("_")]
    many = sy.read(RUNS)
    assert "the first 20 of them" in many._repr_html_()


SHEET = {
    "Job": ["a", "a", "b", "b"],
    "Modell": ["x", "y", "x", "y"],
    "Kosten ($)": [0.5, 1.25, 2.0, None],
    "Result": ["OK", "KO", "OK", "?"],
    "Begun": [datetime(2026, 1, day, 3, 4) for day in (1, 2, 3, 4)],  # noqa: DTZ001 # as frames have them
}
SHEET_MAPPING = {
    "mapping": 1,
    "name": "sheet",
    "rows": {"format": "csv"},
    "numbers": {"decimal": ",", "thousands": "."},
    "run": {
        "task": "Job",
        "model": "Modell",
        "cost_usd": "Kosten ($)",
        "outcome": {"from": "Result", "words": {"ok": "passed", "ko": "failed"}},
        "started_at": {"from": "Begun", "format": "%d.%m.%Y"},
    },
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).to_dicts()])
def test_a_mapping_reads_frames_and_dicts_as_it_reads_files(make: Callable[[Any], Any]) -> None:
    usage = sy.usage(make(SHEET), map=SHEET_MAPPING, tz="UTC", by="day")
    assert [group.cost_usd for group in usage.groups] == [0.5, 1.25, 2.0, None]
    compared = sy.compare(make(SHEET), baseline="model=x", candidate="model=y", map=SHEET_MAPPING).to_dict()
    assert compared["baseline"]["runs"] == compared["pairs"][0]["candidate"]["runs"] == 2
    assert sy.read(make(SHEET), map=SHEET_MAPPING).n == 4


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).to_dicts()])
def test_blanks_around_the_names_of_columns_mean_nothing_in_frames_as_in_files(make: Callable[[Any], Any]) -> None:
    padded = {f" {name} ": cells for name, cells in SHEET.items()}
    assert sy.read(make(padded), map=SHEET_MAPPING).n == 4
    with pytest.raises(SteelyardError, match="duplicate column 'Job'"):
        sy.read(make({**padded, "Job": SHEET["Job"]}), map=SHEET_MAPPING)


def test_a_frame_without_a_column_of_the_mapping_is_refused_with_the_nearest() -> None:
    frame = pd.DataFrame(SHEET).rename(columns={"Job": "Jobs"})
    with pytest.raises(SteelyardError, match="unknown column 'Job'") as told:
        sy.read(frame, map=SHEET_MAPPING)
    assert told.value.hint == "did you mean 'Jobs'?"
    with pytest.raises(RecordError, match="'KO' is not in words"):
        sy.read(
            pd.DataFrame(SHEET),
            map={**SHEET_MAPPING, "run": {"task": "Job", "outcome": {"from": "Result", "words": {"ok": "passed"}}}},
        )


def test_a_column_named_ask_is_a_column() -> None:
    columns = {"task": ["t", "u"], "passed": [True, False], "ask": [1, 2]}
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns)):
        with pytest.raises(SteelyardError, match="ask"):
            sy.measure(frame)
