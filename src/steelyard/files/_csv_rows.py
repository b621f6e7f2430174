"""Rows of a CSV file, each with the line it ends on; commas, semicolons or tabs between the cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from steelyard.errors import InputLimitError, UnreadableFileError
from steelyard.files._file_bytes import beginning_of, open_file
from steelyard.records import Rejected
from steelyard.settings import LINE_BYTES, SHORT_ROWS

SEPARATORS = (",", ";", "\t")
"""Separators of cells: spreadsheets write semicolons where the comma is the decimal mark."""


class Row(NamedTuple):
    """Cells, and the line in the file that they end on."""

    line: int
    cells: list[str]

    def problem(self, header: Row) -> str | None:
        """Return why the cells cannot be identified by the header's names; None when they can."""
        if len(self.cells) == len(header.cells):
            return None
        return f"the row has {len(self.cells)} cells, but the header has {len(header.cells)}"


SHORT_OR_LONG = "quote cells that contain the separator"
"""What to do about a row that has not as many cells as the header."""


def separator_of(start: bytes, column: str) -> str | None:
    """What separates the names in the first line; None when the column's name is not among them."""
    first = start.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].strip()
    for separator in SEPARATORS:
        if column.encode() in [cell.strip(b' "\r') for cell in first.split(separator.encode())]:
            return separator
    return None


def csv_rows(
    path: Path, *, column: str = "", separator: str | None = None, skip: int = 0, encoding: str = "utf-8-sig"
) -> Iterator[Row | Rejected]:
    """The header, which comes after `skip` lines, and the rows that are not empty; where it is no CSV any more, why.

    Where no separator is given, it is the one between the names of a header that has the column.
    """
    most = LINE_BYTES.most
    csv.field_size_limit(most)
    separator = separator or separator_of(beginning_of(path), column) or ","
    with TextIOWrapper(open_file(path), encoding=encoding, newline="", errors="strict") as file:
        lines = _lines(file, path, most)
        rows = csv.reader(islice(lines, skip, None), strict=True, delimiter=separator)
        try:
            yield Row(skip + 1, next(rows, []))
        except _NOT_CSV as error:
            raise _unreadable(path, error) from error
        while True:
            try:
                cells = next(rows, None)
            except _NOT_CSV as error:
                wrong = _unreadable(path, error)
                reason = f"{wrong.message}; the rest was not read"
                yield Rejected(path=str(path), line=skip + rows.line_num + 1, reason=reason, hint=wrong.hint)
                return
            if cells is None:
                return
            if cells:
                yield Row(skip + rows.line_num, cells)


_NOT_CSV = (csv.Error, UnicodeDecodeError, InputLimitError)


def _unreadable(path: Path, error: Exception) -> UnreadableFileError:
    if isinstance(error, InputLimitError):
        return error
    if "field limit" in str(error):  # a cell in quotes may go over many lines
        return LINE_BYTES.passed(str(path))
    return UnreadableFileError(str(path), f"not CSV: {error}")


def _lines(file: IO[str], path: Path, most: int) -> Iterator[str]:
    number = size = 0
    while line := file.readline(most + 1):
        number += 1
        size += len(line)
        if len(line) > most:
            raise LINE_BYTES.passed(str(path))
        SHORT_ROWS.check(str(path), lines=number, size=size)
        yield line


def ends_with_line_end(path: Path) -> bool:
    """Whether the last row is whole for sure: of a file that was cut off, the last cell may be short."""
    with open_file(path) as file:
        if file.seek(0, 2) == 0:
            return True
        file.seek(-1, 2)
        return file.read() in (b"\n", b"\r")
