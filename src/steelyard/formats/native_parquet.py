"""Run records as Parquet: columns as `_table_rows.py` names them, or nested as the records are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import UnreadableFile
from steelyard.formats._log_format import Head, LogFormat, PlacedRun
from steelyard.formats._table_rows import column_problem, run_of_row
from steelyard.records import Refused, Rejected

BATCH_ROWS = 20_000


def recognizes(head: Head) -> bool:
    """Parquet's magic number."""
    return head.start.startswith(b"PAR1")


def read(path: Path) -> Iterator[PlacedRun | Rejected]:
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
                    yield PlacedRun(run_of_row(row, from_text=False), name, start + offset + 1)
                except Refused as refused:
                    yield Rejected(path=name, line=start + offset + 1, reason=refused.reason, hint=refused.hint)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # a broken file can make Polars panic
        raise UnreadableFile(name, f"not a readable Parquet file: {error}") from error


FORMAT = LogFormat(
    name="runs-parquet",
    title="Steelyard run records (Parquet)",
    tells="runs",
    yields=("everything a run record holds",),
    recognizes=recognizes,
    read=read,
    priority="last",
)
