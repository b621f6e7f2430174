"""Run records as Parquet: columns as `_run_records.py` names them, or nested as the records are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from steelyard.errors import UnreadableFileError
from steelyard.files import parquet_batches
from steelyard.records import DecodeError, Rejected
from steelyard.sources.formats._log_format import Head, LogFormat, PlacedRun
from steelyard.sources.formats._run_records import column_problem, named_columns, run_of_row


def recognizes(head: Head) -> bool:
    """Parquet's magic number."""
    return head.start.startswith(b"PAR1")


def read(path: Path) -> Iterator[PlacedRun | Rejected]:
    """Each row's Run, or why it was rejected; the line is the row's number from 1."""
    name = str(path)

    def check(columns: Sequence[str]) -> None:
        problem = column_problem(named_columns(columns))
        if problem:
            raise UnreadableFileError(name, problem.reason, hint=problem.hint)

    from steelyard.sources.formats._typed_columns import CHUNK_ROWS, runs_of_frame  # brings Polars

    for first, read_batch in parquet_batches(path, check=check):
        batch = read_batch.rename(dict(zip(read_batch.columns, named_columns(read_batch.columns), strict=True)))
        for start, rows in zip(count(first, CHUNK_ROWS), batch.iter_slices(CHUNK_ROWS), strict=False):
            runs = runs_of_frame(rows)
            if runs is None:
                yield from _one_by_one(rows.iter_rows(named=True), name, start)
            else:
                for number, run in enumerate(runs, start):
                    yield PlacedRun(run, name, number)


def _one_by_one(
    rows: Iterable[dict[str, Any]], path: str, start: int
) -> Iterator[PlacedRun | Rejected]:  # Any: cells of any type
    for number, row in enumerate(rows, start):
        try:
            yield PlacedRun(run_of_row(row, from_text=False), path, number)
        except DecodeError as error:
            yield Rejected(path=path, line=number, reason=error.reason, hint=error.hint)


FORMAT = LogFormat(
    name="runs-parquet",
    title="Steelyard run records (Parquet)",
    kind="runs",
    yields=("every field of a run record",),
    recognizes=recognizes,
    read=read,
    priority="last",
)
