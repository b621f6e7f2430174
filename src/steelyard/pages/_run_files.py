"""Runs as files: JSON Lines, CSV and Parquet, in the shape that the native readers read back."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import astuple

from steelyard.errors import UsageError
from steelyard.pages._files import check_file, check_folder, writing
from steelyard.records import Record, Run, custom_cell, encode_run, escaped_text, plain_type

RUN_FILE_ENDINGS = (".jsonl", ".csv", ".parquet")
FLAT_PARTS = ("usage", "failure", "source")
"""Parts with one column per field; other parts are JSON in a cell."""


FOLDER_RUNS = 250_000
"""Runs in each file of a folder, so that any number is written in bounded memory."""


def check_runs_folder(path: Path) -> None:
    """Reject a folder that is not writable or not empty."""
    check_folder(path)
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(
            f"directory {path} is not empty",
            hint="use a new directory: files that are in it already would be read as well",
        )


def write_runs_folder(runs: Iterable[Run], folder: Path) -> int:
    """Writes the runs as Parquet files of a folder and gives their number; memory stays bounded whatever it is."""
    check_runs_folder(folder)
    waiting, count = iter(runs), 0
    with writing(folder):
        folder.mkdir(exist_ok=True)
    for number in itertools.count():
        batch = list(itertools.islice(waiting, FOLDER_RUNS))
        if batch or not number:
            count += write_runs(batch, folder / f"runs-{number:05}.parquet")
        if len(batch) < FOLDER_RUNS:
            break
    return count


def write_runs(runs: Iterable[Run], path: Path) -> int:
    """Write the runs in the format of the extension and return their number. Remove the file on failure."""
    check_file(path, endings=RUN_FILE_ENDINGS)
    writers: dict[str, Callable[[Iterable[Run], Path], int]] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
    partial = path.with_name(path.name + ".partial")
    try:
        with writing(path):
            count = writers[path.suffix.lower()](runs, partial)
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def _jsonl(runs: Iterable[Run], path: Path) -> int:
    count = 0
    with path.open("wb") as file:
        for run in runs:
            file.write(encode_run(run) + b"\n")
            count += 1
    return count


Row = dict[str, Any]  # Any: cells of any type
_PLAIN = (str, int, float, bool, datetime)


def flat_row(run: Run) -> Row:
    """The run as columns: text, numbers, flags and times as they are, lists and objects as JSON.

    Custom fields are kept as they are: what a cell can hold depends on the format.
    """
    row: Row = {}
    for name, value in zip(Run.__struct_fields__, astuple(run), strict=True):
        if value is None:
            continue
        if isinstance(value, _PLAIN):
            row[name] = value
        elif name in FLAT_PARTS:
            row |= _part_cells(name, value)
        elif name == "extra":
            row |= value
        else:
            row[name] = _json(value)
    return row


def _part_cells(name: str, part: Record) -> Row:
    """Return one column per field; a part whose columns would all be empty is JSON, so that it can be read back."""
    cells = {f"{name}.{leaf}": cell for leaf in part.__struct_fields__ if (cell := getattr(part, leaf)) is not None}
    return cells if cells and "" not in cells.values() else {name: _json(part)}


def _json(value: Any) -> str:  # Any: a part of a run
    return msgspec.json.encode(value, order="deterministic").decode()


def _columns(rows: Iterable[Row]) -> list[str]:
    seen = {name for row in rows for name in row}
    known = [name for name in Run.__struct_fields__ if name in seen]
    parts = sorted(name for name in seen if name.partition(".")[0] in FLAT_PARTS and name not in known)
    own = sorted(name for name in seen if name.startswith("x_"))
    return [*known, *parts, *own]


def _csv(runs: Iterable[Run], path: Path) -> int:
    rows = [flat_row(run) for run in runs]
    columns = _columns(rows) or ["task"]
    with path.open("w", encoding="utf-8", newline="") as file:
        bare = csv.writer(file, lineterminator="\n")
        # Python before 3.13 leaves a lone carriage return unquoted, which readers take for the end of the row.
        quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for cells in itertools.chain(
            [[*map(escaped_text, columns)]], ([_text(name, row) for name in columns] for row in rows)
        ):
            (quoted if any("\r" in cell for cell in cells) else bare).writerow(cells)
    return len(rows)


def _text(name: str, row: Row) -> str:
    if name not in row:
        return ""
    cell = row[name]
    if isinstance(cell, str):
        return escaped_text(custom_cell(cell) if name.startswith("x_") else cell)
    if name.startswith("x_"):
        return custom_cell(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.isoformat() if isinstance(cell, datetime) else repr(cell) if isinstance(cell, float) else str(cell)


def _parquet(runs: Iterable[Run], path: Path) -> int:
    import polars as pl  # heavy: not needed by those who write JSON Lines

    rows = [flat_row(run) for run in runs]
    columns = _columns(rows) or ["task"]
    frame = pl.DataFrame({name: _typed(name, rows) for name in columns}, strict=False)
    with path.open("wb") as file:  # Polars itself does not take every name that a file may have
        frame.write_parquet(file)
    return len(rows)


def _typed(name: str, rows: Sequence[Row]) -> list[Any]:  # Any: cells that a column of one type holds
    """The column's cells, all of one type.

    Own values of several types are bytes of JSON, which no reader takes for text; times are text unless all of them
    are in UTC, or none has a zone.
    """
    if name.startswith("x_") and plain_type([row[name] for row in rows if name in row]) is None:
        return [custom_cell(row[name]).encode() if name in row else None for row in rows]
    cells = [row.get(name) for row in rows]
    if datetime in set(map(type, cells)) and {cell.tzinfo for cell in cells if cell is not None} not in ({UTC}, {None}):
        return [None if cell is None else cell.isoformat() for cell in cells]
    return cells
