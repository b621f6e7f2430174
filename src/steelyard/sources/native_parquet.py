"""Run records as Parquet: columns as `sources/_flat.py` names them, or nested as the records are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import UnreadableFile
from steelyard.records.decode import Refused
from steelyard.records.finding import Rejected
from steelyard.sources._base import Entry, Head, Source
from steelyard.sources._flat import column_problem, run_of_row

BATCH_ROWS = 20_000


def recognises(head: Head) -> bool:
    """Parquet's magic number."""
    return head.start.startswith(b"PAR1")


def read(path: Path) -> Iterator[Entry | Rejected]:
    """Each row's Run, or why it was set aside; the line is the row's number from 1."""
    import polars as pl  # heavy: not needed by those who read other formats

    name = str(path)
    try:
        frame = pl.scan_parquet(path)
        problem = column_problem(frame.collect_schema().names())
        if problem:
            raise UnreadableFile(name, problem.reason, hint=problem.hint)
        rows = int(frame.select(pl.len()).collect().item())
        for start in range(0, rows, BATCH_ROWS):
            batch = frame.slice(start, BATCH_ROWS).collect()
            for offset, row in enumerate(batch.iter_rows(named=True)):
                try:
                    yield Entry(run_of_row(row, from_text=False), name, start + offset + 1)
                except Refused as refused:
                    yield Rejected(path=name, line=start + offset + 1, reason=refused.reason, hint=refused.hint)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # a broken file can make Polars panic
        raise UnreadableFile(name, f"not a readable Parquet file: {error}") from error


SOURCE = Source(
    name="runs-parquet",
    title="Steelyard run records (Parquet)",
    yields=("everything a run record holds",),
    recognises=recognises,
    read=read,
    priority="last",
)
