"""Results as files: pages for people, CSV with `inf` and empty cells, strict JSON, Parquet with IEEE values."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from steelyard.figures import FIGURE_ENDINGS
from steelyard.reports._output_places import check_file, writing
from steelyard.reports._plain_text import json_text
from steelyard.results import Result, Row

RESULT_ENDINGS = (".json", ".csv", ".parquet", ".html", ".md")


def csv_text(rows: Sequence[Row]) -> str:
    """One line a row; full precision, infinity as `inf`, missing as an empty cell."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def write_result(result: Result, path: Path) -> None:
    """Write the result in the format that the file's ending names."""
    ending = path.suffix.lower()
    if ending in FIGURE_ENDINGS:
        result.figure().save(path)
        return
    check_file(path, endings=RESULT_ENDINGS)
    with writing(path):
        if ending == ".json":
            path.write_text(json_text(result.to_dict()) + "\n", "utf-8")
        elif ending == ".csv":
            path.write_text(csv_text(result.to_dicts()), "utf-8")
        elif ending in (".html", ".md"):
            from steelyard.reports._report_files import result_document, result_markdown  # pages bring rich

            # a file's name may hold half a character, which no page can
            made = result_document(result) if ending == ".html" else result_markdown(result)
            path.write_bytes(made.encode("utf-8", "replace"))
        else:
            with path.open("wb") as file:  # Polars itself does not take every name that a file may have
                result.to_polars().write_parquet(file)
