"""Runs as files: JSON lines, CSV and Parquet, in the shape that the native readers read back."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UsageError
from steelyard.records.decode import encode_run
from steelyard.records.run import Run

FLAT_PARTS = ("usage", "failure", "source")
"""Parts whose fields stand in columns of their own; other parts are JSON in a cell."""


def write_runs(runs: Iterable[Run], path: Path) -> int:
    """Writes the runs and gives their number; the ending says how. A half-written file is not left behind."""
    writers: dict[str, Callable[[Iterable[Run], Path], int]] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
    write = writers.get(path.suffix.lower())
    if write is None:
        raise UsageError(
            f"cannot tell what to write from the name {path.name!r}", hint="end it with .jsonl, .csv or .parquet"
        )
    partial = path.with_name(path.name + ".partial")
    try:
        count = write(runs, partial)
        partial.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
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


def flat_row(run: Run) -> dict[str, Any]:  # Any: cells of any type
    """The run as columns: text, numbers, flags and times as they are, lists and objects as JSON."""
    row: dict[str, Any] = {}
    for name in Run.__struct_fields__:
        value = getattr(run, name)
        if value is None or value == ():
            continue
        if name in FLAT_PARTS:
            row |= {
                f"{name}.{leaf}": cell for leaf in value.__struct_fields__ if (cell := getattr(value, leaf)) is not None
            }
        elif name == "extra":
            row |= {key: _plain(cell) for key, cell in value.items()}
        else:
            row[name] = value if isinstance(value, str | int | float | bool | datetime) else _json(value)
    return row


def _plain(value: Any) -> Any:  # Any: whatever stands under an x_ key
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:  # Any: a part of a run
    return msgspec.json.encode(value, order="deterministic").decode()


def _columns(rows: Iterable[dict[str, Any]]) -> list[str]:  # Any: cells of any type
    seen = {name for row in rows for name in row}
    known = [name for name in Run.__struct_fields__ if name in seen]
    parts = sorted(name for name in seen if name.partition(".")[0] in FLAT_PARTS)
    own = sorted(name for name in seen if name.startswith("x_"))
    return [*known, *parts, *own]


def _csv(runs: Iterable[Run], path: Path) -> int:
    rows = [flat_row(run) for run in runs]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _columns(rows) or ["task"], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _text(cell) for name, cell in row.items()})
    return len(rows)


def _text(cell: Any) -> str:  # Any: a cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.isoformat() if isinstance(cell, datetime) else repr(cell) if isinstance(cell, float) else str(cell)


def _parquet(runs: Iterable[Run], path: Path) -> int:
    import polars as pl  # heavy: not needed by those who write JSON lines

    rows = [flat_row(run) for run in runs]
    columns = _columns(rows) or ["task"]
    frame = pl.DataFrame({name: [row.get(name) for row in rows] for name in columns}, strict=False)
    frame.write_parquet(path)
    return len(rows)
