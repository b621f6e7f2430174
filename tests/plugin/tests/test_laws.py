"""The plug-in keeps the laws of every metric and format. Run where it is installed, with tests/support importable."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st

from format_laws import (
    check_cut_anywhere,
    check_kind,
    check_reading,
    check_recognized,
    check_same_twice,
    check_says_how,
    check_valid_and_placed,
    mutated,
)
from metric_laws import (
    check_inside_bounds,
    check_nothing_measured_is_missing,
    check_scalar_is_column,
    rows_of,
)
from steelyard.metrics import catalog
from steelyard.records import Run, derived_fields
from steelyard.sources import log_formats
from strategies import runs

SAMPLE = Path(__file__).parent.parent / "samples" / "session.jsonl"
METRIC = catalog()["output_fraction"]
SETTINGS = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_nothing_measured_is_missing() -> None:
    check_nothing_measured_is_missing(METRIC)


@SETTINGS
@given(rows=rows_of(METRIC))
def test_plain_numbers_and_columns_give_the_same(rows: list) -> None:
    check_scalar_is_column(METRIC, rows)


@SETTINGS
@given(run=runs())
def test_the_metric_stays_inside_its_bounds(run: Run) -> None:
    check_inside_bounds(METRIC, derived_fields(run), {})


def test_the_sample_keeps_the_laws_of_formats(tmp_path: Path) -> None:
    assert log_formats()["acme"].priority == "plugin"
    check_recognized("acme", SAMPLE)
    check_kind(log_formats()["acme"], SAMPLE)
    check_valid_and_placed(SAMPLE)
    check_says_how("acme", SAMPLE)
    check_cut_anywhere(SAMPLE, tmp_path)
    check_same_twice(SAMPLE)


@SETTINGS
@given(data=st.one_of(mutated([SAMPLE]), st.binary(max_size=200)))
def test_any_bytes_keep_the_laws(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mutated"
    path.write_bytes(data)
    check_reading(path)


def test_it_recognizes_no_sample_of_another_format() -> None:
    folders = [folder for folder in Path(os.environ["SAMPLES"]).iterdir() if folder.is_dir()]
    assert len(folders) > 20
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path.name != "ORIGIN.md":
                check_recognized(folder.name, path)
