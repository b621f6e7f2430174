"""Run records as CSV: one row a run, columns as `sources/_flat.py` names them; commas, semicolons or tabs between."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import UnreadableFile
from steelyard.records.decode import Refused
from steelyard.records.finding import Finding, Rejected
from steelyard.sources._base import Entry, Head, Source, head_of
from steelyard.sources._flat import column_problem, run_of_row

MAX_CELL_CHARACTERS = 16 * 1024 * 1024


SEPARATORS = (",", ";", "\t")
"""What stands between cells: spreadsheets write semicolons where the comma is the decimal mark."""


def recognises(head: Head) -> bool:
    """A first line of names with `task` among them, separated by one of the separators."""
    return _separator(head.start) is not None


def _separator(start: bytes) -> str | None:
    first = start.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
    if first.startswith((b"{", b"[", b"from ", b"import ")):  # code may import a task
        return None
    for separator in SEPARATORS:
        if b"task" in [cell.strip(b' "\r') for cell in first.split(separator.encode())]:
            return separator
    return None


def read(path: Path) -> Iterator[Entry | Rejected | Finding]:
    """Each row's Run, or why it was set aside."""
    name = str(path)
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    separator = _separator(head_of(path).start) or ","
    with path.open(encoding="utf-8-sig", newline="", errors="strict") as file:
        rows = csv.reader(file, strict=True, delimiter=separator)
        try:
            header = next(rows, [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise UnreadableFile(name, f"not CSV: {error}") from error
        problem = column_problem(header)
        if problem:
            raise UnreadableFile(name, problem.reason, hint=problem.hint)
        while True:
            try:
                row = next(rows, None)
            except (csv.Error, UnicodeDecodeError) as error:
                yield Rejected(path=name, line=rows.line_num + 1, reason=f"not CSV: {error}; the rest was not read")
                return
            if row is None:
                break
            if row:
                yield _entry(header, row, name, rows.line_num)
        if not _ends_with_line_end(path):
            message = "the last row has no line end: if the file was cut off, its last cell is short"
            yield Finding(code="no_line_end", severity="info", message=message, where=f"{name}:{rows.line_num}")


def _ends_with_line_end(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return True
        file.seek(-1, 2)
        return file.read() in (b"\n", b"\r")


def _entry(header: list[str], row: list[str], path: str, line: int) -> Entry | Rejected:
    if len(row) != len(header):
        reason = f"the row has {len(row)} cells, the header {len(header)}"
        return Rejected(path=path, line=line, reason=reason, hint="quote cells that hold the separator")
    try:
        return Entry(run_of_row(dict(zip(header, row, strict=True)), from_text=True), path, line)
    except Refused as refused:
        return Rejected(path=path, line=line, reason=refused.reason, hint=refused.hint)


SOURCE = Source(
    name="runs-csv",
    title="Steelyard run records (CSV)",
    yields=("every field of a run record; lists as JSON in a cell",),
    recognises=recognises,
    read=read,
    priority="last",
)
