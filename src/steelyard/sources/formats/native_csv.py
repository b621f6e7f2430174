"""Run records as CSV: one row per run, columns as `_run_records.py` names them; commas, semicolons or tabs between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import UnreadableFileError
from steelyard.files import SHORT_OR_LONG, Row, csv_rows, ends_with_line_end, separator_of
from steelyard.records import DecodeError, Finding, Rejected, plain_text
from steelyard.sources.formats._log_format import Head, LogFormat, PlacedRun
from steelyard.sources.formats._run_records import column_problem, named_columns, run_of_row


def recognizes(head: Head) -> bool:
    """A first line of names with `task` among them, separated by one of the separators."""
    first = head.start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if first.startswith((b"{", b"[", b"from ", b"import ")):  # code may import a task
        return False
    return separator_of(head.start, "task") is not None


def read(path: Path) -> Iterator[PlacedRun | Rejected | Finding]:
    """Each row's Run, or why it was rejected."""
    name = str(path)
    rows = csv_rows(path, column="task")
    header = next(rows)
    assert isinstance(header, Row)  # a broken header is an error
    header = header._replace(cells=[*map(plain_text, header.cells)])
    header = Row(header.line, named_columns(header.cells))
    problem = column_problem(header.cells)
    if problem:
        raise UnreadableFileError(name, problem.reason, hint=problem.hint)
    last = header.line
    for row in rows:
        if isinstance(row, Rejected):
            yield row
            return
        last = row.line
        yield _entry(header, row, name)
    if not ends_with_line_end(path):
        message = "the last row does not end with a newline; if the file was truncated, the last cell may be incomplete"
        yield Finding(code="no_line_end", severity="info", message=message, where=f"{name}:{last}")


def _entry(header: Row, row: Row, path: str) -> PlacedRun | Rejected:
    problem = row.problem(header)
    if problem is not None:
        return Rejected(path=path, line=row.line, reason=problem, hint=SHORT_OR_LONG)
    try:
        run = run_of_row(dict(zip(header.cells, map(plain_text, row.cells), strict=True)), from_text=True)
    except DecodeError as error:
        return Rejected(path=path, line=row.line, reason=error.reason, hint=error.hint)
    return PlacedRun(run, path, row.line)


FORMAT = LogFormat(
    name="runs-csv",
    title="Steelyard run records (CSV)",
    kind="runs",
    yields=("every field of a run record; lists as JSON in a cell",),
    recognizes=recognizes,
    read=read,
    priority="last",
)
