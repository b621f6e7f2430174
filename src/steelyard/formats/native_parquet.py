"""Run records as Parquet: columns as `_table_rows.py` names them, or nested as the records are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard.errors import UnreadableFile
from steelyard.files import parquet_rows
from steelyard.formats._log_format import Head, LogFormat, PlacedRun
from steelyard.formats._table_rows import column_problem, run_of_row
from steelyard.records import Refused, Rejected


def recognizes(head: Head) -> bool:
    """Parquet's magic number."""
    return head.start.startswith(b"PAR1")


def read(path: Path) -> Iterator[PlacedRun | Rejected]:
    """Each row's Run, or why it was set aside; the line is the row's number from 1."""
    name = str(path)

    def check(columns: Sequence[str]) -> None:
        problem = column_problem(columns)
        if problem:
            raise UnreadableFile(name, problem.reason, hint=problem.hint)

    for number, row in parquet_rows(path, check=check):
        try:
            yield PlacedRun(run_of_row(row, from_text=False), name, number)
        except Refused as refused:
            yield Rejected(path=name, line=number, reason=refused.reason, hint=refused.hint)


FORMAT = LogFormat(
    name="runs-parquet",
    title="Steelyard run records (Parquet)",
    tells="runs",
    yields=("everything a run record holds",),
    recognizes=recognizes,
    read=read,
    priority="last",
)
