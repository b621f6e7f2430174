"""No file below 5 MB takes 300 MB, whatever is in it and whichever command reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile_files import MAX_BYTES, hostile_files, taken

pytestmark = pytest.mark.checkout

HOSTILE = hostile_files()
QUICK = (
    "log of objects",
    "gzip of a dense line",
    "workbook of long texts",
    "Parquet of constant texts",
    "YAML of lists",
    "CSV of rows",
)


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in HOSTILE)])
def test_a_hostile_file_takes_less_than_300_mb(name: str, tmp_path: Path) -> None:
    done = taken(HOSTILE[name], tmp_path)
    assert done.status in (0, 1, 2), done.said  # read, or rejected
    assert done.bytes < MAX_BYTES, f"{done.bytes >> 20} MB: {done.said}"
    assert "Traceback" not in done.said
