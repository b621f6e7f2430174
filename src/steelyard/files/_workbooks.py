"""Sheets of an Excel workbook (.xlsx), written as CSV files with the values as the workbook shows their kind.

A percentage is written as `87.5%`, an amount with its currency and a date in ISO 8601: numbers are unrounded.
"""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import PurePosixPath
from typing import Any
from xml.parsers import expat

from steelyard.errors import UnreadableFileError

WORKBOOK = "xl/workbook.xml"
ReadEntry = Callable[[str], Iterator[bytes]]
"""The bytes of an entry of the zip, by its name."""
_MAX_COLUMNS = 16_384
_MAX_ROWS = 1_048_576
_MAX_ROW_CHARACTERS = 16 << 20
_PIECE_BYTES = 4_096
"""Of XML that is parsed at once: its rows are in memory, and each can have many columns or long texts."""
_WRITTEN_CHARACTERS = 1 << 20
_SECONDS_PER_DAY = 86_400
_DATES = frozenset({14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58})
_TIMES = frozenset({18, 19, 20, 21, 32, 33, 45, 46, 47})
_PERCENTAGES = frozenset({9, 10})
"""Numbers of built-in formats."""
_PART = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|\[(?P<elapsed>h+|m+|s+)\]'
    r"|\[[^\]]*\]|[_*].|General|AM/PM|A/P|(?P<time>[hs]+)|(?P<date>[yd]+|m+)|(?P<digit>[0#?]+)|(?P<sign>[$€£¥%])|.",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What the format of a number says about it."""

    kind: str = "number"
    """`number`, `percent`, `date` or `time`."""
    before: str = ""
    after: str = ""
    """Currency or unit next to the number."""


def is_workbook(archive: zipfile.ZipFile) -> bool:
    """Return whether the zip is an Excel workbook."""
    return WORKBOOK in archive.namelist()


def sheets(read: ReadEntry, names: frozenset[str], shown: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The worksheets that have cells: a file name for each, and its rows as CSV."""
    book = _Book()
    _parse(read(WORKBOOK), book.start, shown=f"{shown}!/{WORKBOOK}")
    links: dict[str, str] = {}

    def link(tag: str, given: dict[str, str]) -> None:
        if tag == "Relationship":
            target = given.get("Target", "")
            links[given.get("Id", "")] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"

    if "xl/_rels/workbook.xml.rels" in names:
        _parse(read("xl/_rels/workbook.xml.rels"), link, shown=shown)
    strings = _Strings()
    if "xl/sharedStrings.xml" in names:
        _parse(read("xl/sharedStrings.xml"), strings.start, strings.end, strings.text, shown=shown)
    styles = _Styles()
    if "xl/styles.xml" in names:
        _parse(read("xl/styles.xml"), styles.start, styles.end, shown=shown)
    taken: set[str] = set()
    for title, key in book.sheets:
        entry = links.get(key, "")
        if entry not in names:
            continue  # a chart
        widest = _Width()
        _parse(read(entry), widest.start, shown=f"{shown}!/{entry}")
        if widest.columns:
            plain = re.sub(r'[\x00-\x1f/\\:*?"<>|]+', "_", title).strip(". ")[:80] or "sheet"
            name = plain if plain not in taken else f"{plain}-{len(taken) + 1}"
            taken.add(name)
            yield f"{PurePosixPath(name)}.csv", _csv(read(entry), _Cells(book, strings.found, styles, widest), shown)


@dataclass(slots=True)
class _Book:
    sheets: list[tuple[str, str]] = field(default_factory=list)
    first_day: datetime = datetime(1899, 12, 30)  # noqa: DTZ001 # sheets have no time zones

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag == "workbookPr" and given.get("date1904") in ("1", "true"):
            self.first_day = datetime(1904, 1, 1)  # noqa: DTZ001 # as above
        elif tag == "sheet":
            key = next((value for name, value in given.items() if name.rpartition(":")[2] == "id"), "")
            self.sheets.append((given.get("name", "sheet"), key))


@dataclass(slots=True)
class _Strings:
    found: list[str] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _is_text: bool = False
    _phonetic: int = 0

    def start(self, tag: str, given: dict[str, str]) -> None:
        del given
        if tag == "si":
            self._parts = []
        self._phonetic += tag == "rPh"
        self._is_text = tag == "t" and not self._phonetic

    def end(self, tag: str) -> None:
        self._phonetic -= tag == "rPh"
        self._is_text = False
        if tag == "si":
            self.found.append("".join(self._parts))

    def text(self, data: str) -> None:
        if self._is_text:
            self._parts.append(data)


@dataclass(slots=True)
class _Styles:
    codes: dict[int, str] = field(default_factory=dict)
    cells: list[int] = field(default_factory=list)
    _in_cells: bool = False

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag == "numFmt":
            self.codes[int(given.get("numFmtId", "0"))] = given.get("formatCode", "")
        elif tag == "cellXfs":
            self._in_cells = True
        elif tag == "xf" and self._in_cells:
            self.cells.append(int(given.get("numFmtId", "0")))

    def end(self, tag: str) -> None:
        if tag == "cellXfs":
            self._in_cells = False

    def of(self, style: str | None) -> NumberFormat:
        """The format of a cell with this style."""
        index = int(style) if style and style.isdecimal() else 0
        number = self.cells[index] if index < len(self.cells) else 0
        if number in self.codes:
            return parse_format(self.codes[number])
        kinds = (("date", _DATES), ("time", _TIMES), ("percent", _PERCENTAGES))
        return NumberFormat(next((kind for kind, numbers in kinds if number in numbers), "number"))


@cache
def parse_format(code: str) -> NumberFormat:
    """Return what a format code says about a number.

    >>> parse_format("0.0%").kind, parse_format('#,##0.00 "€"').after, parse_format('[$$-409]#,##0.00').before
    ('percent', '€', '$')
    """
    kind, before, after, has_digits, is_time = "number", "", "", False, False
    for part in _PART.finditer(code.split(";", maxsplit=1)[0]):
        literal = part["quoted"] or part["escaped"] or part["currency"] or ""
        if part["sign"] and part["sign"] != "%":
            literal = part["sign"]
        if part["sign"] == "%":
            kind = "percent"
        elif part["time"] or part["elapsed"]:
            is_time = True
        elif part["date"] and not (is_time and part["date"].lower().startswith("m")):
            kind = "date" if part["date"].lower()[0] in "yd" or kind == "number" else kind
        elif part["digit"]:
            has_digits = True
        if has_digits:
            after += literal
        else:
            before += literal
    if kind == "date" and is_time and not re.search(r"[yd]", re.sub(r'"[^"]*"|\\.|\[[^\]]*\]', "", code.lower())):
        kind = "time"  # its m are minutes
    elif is_time and kind == "number":
        kind = "time"
    if kind in ("date", "time") or not has_digits:
        return NumberFormat(kind if kind != "percent" or has_digits else "number")
    return NumberFormat(kind, before.strip(), after.strip())


class _Width:
    """The number of columns of a sheet, by the cells that it has."""

    def __init__(self) -> None:
        self.columns = 0
        self._at = 0

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag == "row":
            self._at = 0
        elif tag == "c":
            self._at = _column(given.get("r"), self._at)
        elif tag in ("v", "t") and self._at > self.columns:
            self.columns = self._at


def _column(reference: str | None, before: int) -> int:
    """The number of a cell's column, from 1; without a reference the one after the cell before."""
    if not reference:
        return before + 1
    number = 0
    for char in reference:
        if not "A" <= char <= "Z":
            break
        number = number * 26 + ord(char) - 64
    if not 0 < number <= _MAX_COLUMNS:
        raise ValueError(f"invalid cell reference {reference[:20]!r}")
    return number


class _Cells:
    """The rows of a sheet, as they are parsed."""

    def __init__(self, book: _Book, strings: list[str], styles: _Styles, width: _Width) -> None:
        self._book, self._strings, self._styles, self.width = book, strings, styles, width.columns
        self.rows: list[list[str]] = []
        """Rows that are complete and not yet taken, each up to its last cell."""
        self._row: list[str] = []
        self._number = self._at = self._phonetic = self._row_characters = 0
        self._cell: dict[str, str] = {}
        self._parts: list[str] | None = None

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag == "c":
            self._at = _column(given.get("r"), self._at)
            self._cell = given
            self._parts = None
        elif tag == "row":
            stated = given.get("r", "")
            number = int(stated) if stated.isdecimal() else self._number + 1
            if not self._number < number <= _MAX_ROWS:
                raise ValueError(f"invalid row number {number}")
            self.rows += [[] for _ in range(number - self._number - 1)]
            self._number, self._at, self._row, self._row_characters = number, 0, [], 0
        elif tag == "rPh":
            self._phonetic += 1
        elif tag in ("v", "t") and not self._phonetic:
            self._parts = self._parts or []

    def text(self, data: str) -> None:
        if self._parts is not None and not self._phonetic:
            self._parts.append(data)

    def end(self, tag: str) -> None:
        if tag == "rPh":
            self._phonetic -= 1
        elif tag == "c" and self._parts is not None:
            if self._at <= self.width:
                self._put(self._shown("".join(self._parts)))
            self._parts = None
        elif tag == "row":
            self.rows.append(self._row)

    def _put(self, text: str) -> None:
        self._row_characters += len(text)
        if self._row_characters > _MAX_ROW_CHARACTERS:  # many cells can share one long text
            raise ValueError(f"a row has more than {_MAX_ROW_CHARACTERS:,} characters")
        self._row += [""] * (self._at - len(self._row))
        self._row[self._at - 1] = text

    def _shown(self, text: str) -> str:
        match self._cell.get("t", "n"):
            case "s":
                return self._strings[int(text)]
            case "b":
                return "TRUE" if text.strip() == "1" else "FALSE"
            case "n":
                return self._number_text(float(text)) if text.strip() else ""
        return text  # a formula's text, an inline text, an error or an ISO date

    def _number_text(self, value: float) -> str:
        form = self._styles.of(self._cell.get("s"))
        if not math.isfinite(value):
            return str(value)
        if form.kind == "date":
            return _date(self._book.first_day, value)
        if form.kind == "time" and value >= 0:
            return _clock(value)
        if form.kind == "percent":
            return form.before + _plain(Decimal(repr(value)) * 100) + "%"
        number = _plain(Decimal(repr(value)))
        before = f"{form.before} " if form.before.isalpha() else form.before
        return f"{before}{number}{' ' if form.after else ''}{form.after}"


def _plain(number: Decimal) -> str:
    """The number without an exponent, and without zeros at its end."""
    text = f"{number:f}" if abs(number.adjusted()) < 30 else str(number)
    return text.rstrip("0").rstrip(".") if "." in text and "E" not in text else text


def _date(first_day: datetime, days: float) -> str:
    moment = first_day + timedelta(seconds=round(days * _SECONDS_PER_DAY))
    return moment.date().isoformat() if moment.time() == datetime.min.time() else moment.isoformat()


def _clock(days: float) -> str:
    seconds = round(days * _SECONDS_PER_DAY)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _csv(chunks: Iterator[bytes], cells: _Cells, shown: str) -> Iterator[bytes]:
    parser = _parser(cells.start, cells.end, cells.text)
    for chunk in chunks:
        for start in range(0, len(chunk), _PIECE_BYTES):
            _feed(parser, chunk[start : start + _PIECE_BYTES], shown)
            yield from _written(cells)
    _feed(parser, b"", shown, is_last=True)
    yield from _written(cells)


def _written(cells: _Cells) -> Iterator[bytes]:
    """The complete rows as CSV, in pieces: a few bytes of a sheet can be a row of many columns, or of a long text."""
    rows, cells.rows = cells.rows, []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        padding = [""] * (cells.width - len(row)) if row else []
        writer.writerow([*(cell.replace("\r", " ").replace("\n", " ") for cell in row), *padding])
        if out.tell() > _WRITTEN_CHARACTERS:
            yield out.getvalue().encode("utf-8", "replace")
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode("utf-8", "replace")


def _parse(
    chunks: Iterator[bytes],
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
    *,
    shown: str,
) -> None:
    parser = _parser(start, end, text)
    for chunk in chunks:
        _feed(parser, chunk, shown)
    _feed(parser, b"", shown, is_last=True)


def _parser(
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None,
    text: Callable[[str], None] | None,
) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, given: start(tag.rpartition(":")[2], given)
    if end is not None:
        parser.EndElementHandler = lambda tag: end(tag.rpartition(":")[2])
    if text is not None:
        parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = _reject_doctype
    return parser


def _reject_doctype(*declaration: Any) -> None:  # Any: expat's description of it
    del declaration
    raise ValueError("the XML has a document type declaration")


def _feed(parser: expat.XMLParserType, chunk: bytes, shown: str, *, is_last: bool = False) -> None:
    try:
        parser.Parse(chunk, is_last)  # expat takes no keywords
    except (expat.ExpatError, ValueError, IndexError, OverflowError) as error:
        raise UnreadableFileError(
            shown, f"not a readable workbook: {error}", hint="save it again, or export the sheet as CSV"
        ) from error
