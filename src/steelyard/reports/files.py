"""Results as files: CSV with `inf` and empty cells, strict JSON, Parquet with IEEE values."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.reports.measurement import Measurement


def csv_text(result: Measurement) -> str:
    """One line a group and metric; full precision, infinity as `inf`, missing as an empty cell."""
    rows = result.to_dicts()
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def write_measurement(result: Measurement, path: Path) -> None:
    """Write the result in the format that the file's ending names."""
    match path.suffix:
        case ".json":
            path.write_text(json.dumps(result.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n", "utf-8")
        case ".csv":
            path.write_text(csv_text(result), "utf-8")
        case ".parquet":
            result.to_polars().write_parquet(path)
        case other:
            raise UsageError(f"cannot write {other or 'a file without an ending'}", hint="use .json, .csv or .parquet")
