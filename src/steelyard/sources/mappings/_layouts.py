"""What an unknown file looks like: how its rows are laid out, and what their columns contain."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import beginning_of, csv_rows, document, records
from steelyard.records import Rejected
from steelyard.sources.mappings._batches import taken_apart
from steelyard.sources.mappings._conversions import plain_text
from steelyard.sources.mappings._mapping import Numbers, Rows, listed
from steelyard.sources.mappings._paths import parse_path, root_of

MAX_ROWS = 2_000
"""How many rows of a file are looked at."""
MAX_COLUMNS = 300
MAX_DEPTH = 4
"""How deep in a row values are looked for."""
DELIMITERS = (",", ";", "\t", "|")
HEADER_LINES = 30
"""How far down a header is looked for."""
TOTAL_ROWS = 3
"""How far from the end a row of totals is looked for."""
TOTAL_WORDS = frozenset({
    "total", "totals", "sum", "summe", "gesamt", "gesamtsumme", "somme", "suma", "average", "mean", "mittelwert",
    "durchschnitt", "moyenne", "promedio", "media", "avg", "ø",
})  # fmt: skip
_ANY = msgspec.json.Decoder(Any)


def _plain_word(cell: Any) -> str:  # Any: a cell
    return str(cell or "").strip().rstrip(":").casefold()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or a path in JSON rows."""

    name: str
    cells: tuple[Any, ...]  # Any: texts or JSON scalars; None where there is nothing
    """One for each row."""

    @property
    def present(self) -> list[Any]:  # Any: as above
        """The cells that hold something."""
        return [cell for cell in self.cells if cell is not None]


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows that were looked at."""

    rows: Rows
    columns: tuple[Column, ...]
    count: int
    """How many rows were looked at."""
    keys: tuple[str, ...] = ()
    """The keys of rows that are entries of an object, such as ids of tasks."""
    key_path: str = "$key[0]"
    """The path of these keys."""
    others: tuple[str, ...] = ()
    """Where there are more rows like these, which are not among them."""
    totals: tuple[str, str] | None = None
    """The column, and the word in it, that mark a row of totals."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def without_totals(self) -> Layout:
        """The layout without rows at its end whose first filled cell says that they are totals."""
        if self.rows.format != "csv":
            return self
        found: list[int] = []
        marks: dict[str, Column] = {}
        for at in range(max(0, self.count - TOTAL_ROWS), self.count):
            column = next((each for each in self.columns if _plain_word(each.cells[at])), None)
            if column is not None and _plain_word(column.cells[at]) in TOTAL_WORDS:
                found.append(at)
                marks[f"{column.name}: {str(column.cells[at]).strip()}"] = column
        if len(marks) != 1:
            return self
        (first,) = marks.values()
        words = {str(first.cells[at]).strip() for at in found}
        if any(str(cell).strip() in words for cell in first.cells[: found[0]]):
            return self
        kept = [at for at in range(self.count) if at not in found]
        columns = tuple(Column(each.name, tuple(each.cells[at] for at in kept)) for each in self.columns)
        unless = {first.name: words.copy().pop()}
        rows = msgspec.structs.replace(self.rows, unless=unless)
        return replace(self, rows=rows, columns=columns, count=len(kept), totals=(first.name, words.pop()))


EMPTY_LAYOUT = Layout(Rows(format="csv"), (), 0)
"""That of a file that was not looked at."""


def layout_of(path: Path) -> Layout:
    """Return the layout of the file; a file without visible rows is rejected."""
    start = beginning_of(path)
    encoding = _encoding(start)
    text = start.decode("utf-8-sig" if encoding == "utf-8" else encoding, "ignore")
    is_json = text.lstrip()[:1] in ("{", "[")
    layout = _json_layout(path, text.lstrip()) if is_json else _table_layout(path, text, encoding)
    if layout is None or not layout.count:
        hint = "supported: CSV with a header, JSON documents and JSON Lines; export spreadsheets to CSV"
        raise UnreadableFileError(str(path), "no rows found", hint=hint)
    return layout.without_totals()


def _encoding(start: bytes) -> Any:  # Any: one of the words that Rows knows
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # which lets the last character be cut
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _table_layout(path: Path, text: str, encoding: Any) -> Layout | None:  # Any: as above
    lines = text.splitlines(keepends=True)[: HEADER_LINES * 4]
    if not lines or "\0" in text:
        return None
    delimiter = max(DELIMITERS, key=lambda sign: _regularity(lines, sign))
    cells = list(_cells(lines, delimiter))
    width = max(map(len, cells), default=0)
    if width < 2:
        return None
    filled = [sum(bool(cell.strip()) for cell in row) for row in cells[:HEADER_LINES]]
    enough = max(2, round(0.6 * max(filled)))
    skip = next((at for at, number in enumerate(filled) if number >= enough), None)
    if skip is None:
        return None
    other = {} if encoding == "utf-8" else {"encoding": encoding}  # defaults are left out of a suggestion
    spec = Rows(format="csv", skip=skip, delimiter=delimiter, **other)
    python_encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    found = csv_rows(path, separator=delimiter, skip=skip, encoding=python_encoding)
    names = [name.strip() for name in next(found).cells]  # type: ignore[union-attr] # a broken header is an error
    whole = (row.cells for row in islice(found, MAX_ROWS) if not isinstance(row, Rejected))
    rows = [cells for cells in whole if len(cells) == len(names) and any(map(str.strip, cells))]
    missing = {"", *listed(Numbers().missing)}
    columns = [
        Column(
            f'"{name}"' if root_of(name) else name,
            tuple(None if row[at].strip().casefold() in missing else row[at] for row in rows),
        )
        for at, name in enumerate(names[:MAX_COLUMNS])
        if name and names.count(name) == 1
    ]
    return Layout(spec, tuple(columns), len(rows))


def _cells(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(lines, delimiter=delimiter)
    except csv.Error:
        return


def _regularity(lines: list[str], delimiter: str) -> tuple[int, int]:
    """How many rows have the same number of cells, more than one, and how many cells those are."""
    widths = Counter(len(row) for row in _cells(lines, delimiter) if len(row) > 1)
    return max(((number, width) for width, number in widths.items()), default=(0, 0))


def _json_layout(path: Path, text: str) -> Layout | None:
    first, _, rest = text.partition("\n")
    values: list[Any]
    if rest.lstrip()[:1] in ("{", "[") and _is_json(first):
        values = [item[1] for item in islice(records(path, _ANY), MAX_ROWS) if isinstance(item, tuple)]
        return Layout(Rows(format="jsonl"), _paths_of(values), len(values))
    whole = document(path, _ANY)
    if _is_json(first) and isinstance(whole, dict) and not _places(whole):
        return Layout(Rows(format="jsonl"), _paths_of([whole]), 1)
    at, places = max(_candidates(whole), key=lambda candidate: len(candidate[1]), default=("", []))
    if not places:
        return Layout(Rows(format="json", at=""), _paths_of([whole]), 1) if isinstance(whole, dict) else None
    values = [place.value for place in places[:MAX_ROWS]]
    keys = [str(place.keys[0]) for place in places[:MAX_ROWS] if place.keys and isinstance(place.keys[0], str)]
    others = tuple(other for other, more in _candidates(whole) if _are_more_rows(at, places, other, more))
    layout = Layout(Rows(format="json", at=at), _paths_of(values), len(values), tuple(keys), others=others)
    return _with_two_keys(layout, places) if at.endswith("[*][*]") else layout


def _are_more_rows(at: str, places: list[Any], other: str, more: list[Any]) -> bool:  # Any: as above
    """Whether the rows at another place have most of the keys of these, and are no part of them."""
    folder, elsewhere = at.rstrip("[*]"), other.rstrip("[*]")
    if folder == elsewhere or elsewhere.startswith((f"{folder}.", f"{folder}[")) or not folder:
        return False
    keys, their_keys = ({key for place in each for key in place.value} for each in (places, more))
    return len(keys & their_keys) * 2 > len(keys | their_keys)


def _with_two_keys(layout: Layout, places: list[Any]) -> Layout:  # Any: as above
    """The layout of entries of entries: the keys with more values name the tasks, the others what is compared."""
    pairs = [tuple(place.keys) for place in places[:MAX_ROWS]]
    if not all(len(pair) == 2 and all(isinstance(key, str) for key in pair) for pair in pairs):
        return layout
    by_path = {"$key[0]": tuple(outer for outer, _ in pairs), "$key": tuple(inner for _, inner in pairs)}
    other, tasks = sorted(by_path, key=lambda path: len(set(by_path[path])))
    columns = (Column(other, by_path[other]), *layout.columns)
    return replace(layout, columns=columns, keys=by_path[tasks], key_path=tasks)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _places(whole: Any) -> list[Any]:  # Any: JSON
    return max((places for _, places in _candidates(whole)), key=len, default=[])


def _candidates(whole: Any) -> Iterator[tuple[str, list[Any]]]:  # Any: JSON
    """Where rows may be: lists of objects, objects of objects, and objects of lists of objects."""
    waiting: list[tuple[str, Any, int]] = [("", whole, 0)]
    while waiting:
        path, value, depth = waiting.pop(0)
        for stars in ("[*]", "[*][*]"):
            places = list(islice(taken_apart(value, parse_path(stars).steps), MAX_ROWS))
            if places and all(isinstance(place.value, dict) for place in places) and _are_alike(places):
                yield path + stars, places
                if any(not isinstance(inner, dict) for place in places for inner in place.value.values()):
                    break  # rows, and no objects of rows
        if isinstance(value, dict) and depth < MAX_DEPTH:
            inner = [(key, part) for key, part in value.items() if isinstance(part, (dict, list))]
            waiting += [(_joined(path, key), part, depth + 1) for key, part in inner[:50]]


def _are_alike(places: list[Any]) -> bool:
    """Whether rows share keys, as those of one table do."""
    keys = Counter(key for place in places for key in place.value)
    return bool(keys) and max(keys.values()) >= max(2, len(places) // 2) if len(places) > 1 else False


def _joined(path: str, key: str) -> str:
    plain = key and not set(key) & set('.[]"$')
    step = key if plain else f'"{key}"'
    return f"{path}.{step}" if path else step


def _paths_of(values: list[Any]) -> tuple[Column, ...]:  # Any: JSON
    """The scalars in rows by path, in the order in which they are met."""
    cells: dict[str, dict[int, Any]] = {}
    for at, value in enumerate(values):
        for path, scalar in _scalars(value, "", 0):
            if path in cells or len(cells) < MAX_COLUMNS:
                cells.setdefault(path, {})[at] = scalar
    return tuple(Column(path, tuple(found.get(at) for at in range(len(values)))) for path, found in cells.items())


def _scalars(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:  # Any: JSON
    if isinstance(value, dict) and depth < MAX_DEPTH:
        for key, part in value.items():
            if '"' not in key and key:
                yield from _scalars(part, _joined(path, key), depth + 1)
    elif path and plain_text(value):
        yield path, value
