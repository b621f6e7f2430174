"""Rows of tables, JSON documents and JSON Lines in batches of some thousand, and the columns that paths select."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping as AbstractMapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec

from steelyard.errors import MappingError, UnreadableFileError
from steelyard.files import SHORT_OR_LONG, Row, csv_rows, document, records
from steelyard.records import Finding, Rejected
from steelyard.settings import FILE_BYTES, SHORT_ROWS, TEXT_BYTES
from steelyard.sources.mappings._conversions import plain_text
from steelyard.sources.mappings._mapping import ROOTS, Conditions, Mapping, Scalar, listed
from steelyard.sources.mappings._paths import STAR, Several, Step, ValuePath, getter, parse_path, root_of
from steelyard.suggestions import nearest

COLUMN = "$column"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the paths of one file can lead to besides its rows."""

    shown: str
    """How the user knows the file."""
    header: AbstractMapping[str, int] | None = None
    """A table's columns; None for JSON."""
    twice: frozenset[str] = frozenset()
    """Columns that occur twice in the header, and so are ambiguous."""
    document: Any = None  # Any: JSON
    extra_files: AbstractMapping[str, Any] = field(default_factory=dict)  # Any: JSON
    missing: frozenset[str] = frozenset({""})
    """Words, in lower case, that mean that a cell holds no value."""

    def root(self, name: str) -> Any:  # Any: a text, a list of texts, or JSON
        """What a root means that is the same for all rows."""
        path = PurePath(self.shown.replace("!/", "/"))
        match name:
            case "file":
                return path.name
            case "stem":
                return path.stem
            case "folder":
                return [folder.name for folder in path.parents if folder.name]
            case "doc":
                return self.document
        return self.extra_files[name]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows, each with its line and its place in the document."""

    facts: FileFacts
    rows: Sequence[Any]  # Any: lists of cells, or JSON
    lines: Sequence[int]
    keys: Sequence[tuple[Any, ...]] = ()
    """Keys and indices of the entries that were taken apart to come to each row, the outermost first."""
    outers: Sequence[Any] = ()
    """What was taken apart last but one."""
    columns: Sequence[str] = ()
    """The column that each row is the run of, where columns are runs."""
    _values: dict[str, list[Any]] = field(default_factory=dict)  # Any: cells or JSON

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, text: str) -> list[Any]:  # Any: cells or JSON
        """What the path leads to in each row; None where there is nothing."""
        if text not in self._values:
            self._values[text] = self._followed(text)
        return self._values[text]

    def _followed(self, text: str) -> list[Any]:  # Any: as above
        root = root_of(text)
        if root is None and self.facts.header is not None:
            return self._cells(text)
        path = parse_path(text)
        if root is None:
            follow = getter(path.steps)
            return [_there(follow(row)) for row in self.rows]
        return self._from_root(root, path)

    def _from_root(self, root: str, path: ValuePath) -> list[Any]:  # Any: as above
        follow = getter(path.steps)
        match root:
            case "row":
                starts: Sequence[Any] = self.rows
            case "key":
                if not path.steps:
                    return [key[-1] if key else None for key in self.keys] or [None] * len(self)
                starts = [list(key) for key in self.keys] or [None] * len(self)
            case "index":
                starts = [key[-1] + 1 if key and isinstance(key[-1], int) else None for key in self.keys]
                starts = starts or [None] * len(self)
            case "outer":
                starts = self.outers or [None] * len(self)
            case "column":
                starts = self.columns
            case "cell":
                return self._cells_of_columns(COLUMN)
            case _:
                value = follow(self.facts.root(root))
                return [_there(value)] * len(self)
        return [_there(follow(start)) for start in starts]

    def _cells(self, name: str) -> list[Any]:  # Any: texts or None
        if COLUMN in name:
            return self._cells_of_columns(name)
        index, missing = self._index(name), self.facts.missing
        column = [row[index] for row in self.rows]
        if not set(map(type, column)) <= {str}:  # the cells of a data frame
            return [None if isinstance(cell, str) and cell.strip().casefold() in missing else cell for cell in column]
        longest = max(map(len, missing))
        short = [cell for cell in set(column) if len(cell) <= longest or cell[0] <= " " or cell[-1] <= " "]
        empty = {cell for cell in short if cell.strip().casefold() in missing}
        return [None if cell in empty else cell for cell in column] if empty else column

    def _cells_of_columns(self, template: str) -> list[Any]:  # Any: cells or JSON
        """Return the cell of each row's own column, which the template names."""
        values: list[Any] = [None] * len(self)  # Any: as above
        rows: dict[str, list[int]] = {}
        for row, column in enumerate(self.columns):
            rows.setdefault(column, []).append(row)
        for column, own in rows.items():
            cells = self._picked(own).values(template.replace(COLUMN, column))
            for row, cell in zip(own, cells, strict=True):
                values[row] = cell
        return values

    def _index(self, name: str) -> int:
        assert self.facts.header is not None
        name = name.strip()
        if name not in self.facts.header:
            name = name.removeprefix('"').removesuffix('"')
        if name in self.facts.twice:
            raise UnreadableFileError(self.facts.shown, f"duplicate column {name!r}", hint="use unique names")
        if name not in self.facts.header:
            raise missing_column(name, self.facts)
        return self.facts.header[name]

    def meets(self, conditions: Conditions) -> list[bool]:
        """Which rows hold one of the wanted values under each path."""
        met = [True] * len(self)
        for path, wanted in conditions.items():
            wants = _any_of(_wanted(wanted if isinstance(wanted, tuple) else (wanted,)))
            met = [before and wants(value) for before, value in zip(met, self.values(path), strict=True)]
        return met

    def only(self, chosen: Sequence[bool]) -> Batch:
        """The chosen rows alone."""
        return self if all(chosen) else self._picked([row for row, is_chosen in enumerate(chosen) if is_chosen])

    def _picked(self, rows: Sequence[int]) -> Batch:
        def picked(values: Sequence[Any]) -> list[Any]:  # Any: cells or JSON
            return [values[row] for row in rows] if values else []

        keys, outers, columns = picked(self.keys), picked(self.outers), picked(self.columns)
        return Batch(self.facts, picked(self.rows), picked(self.lines), keys, outers, columns)


def missing_column(name: str, facts: FileFacts) -> UnreadableFileError:
    """The error of a table that lacks a column of the mapping."""
    header = list(facts.header or ())
    close = nearest(name, header)
    known = ", ".join(header[:12]) + (", ..." if len(header) > 12 else "")
    return UnreadableFileError(
        facts.shown,
        f"unknown column {name!r}",
        hint=f"did you mean {close!r}?" if close else f"its columns: {known}",
    )


class Scope(NamedTuple):
    """What paths lead through."""

    is_json: bool
    """JSON values, or a table's cells."""
    levels: int
    """How many lists and objects were taken apart to come to a row."""


def check_path(text: str, mapping: Mapping, scope: Scope) -> None:
    """Reject what is no path, begins with an unknown root, or can lead to nothing."""
    root = root_of(text)
    if root is not None and root not in ROOTS and root not in mapping.extra_files:
        close = nearest(root, [*ROOTS, *mapping.extra_files])
        hint = f"did you mean ${close}?" if close else "name the file in [extra_files]"
        raise MappingError(f"the path {text!r} starts with the unknown variable ${root}", hint=hint)
    if root in ("column", "cell") and not mapping.rows.columns:
        raise MappingError(f"${root} needs rows.columns")
    if scope.levels < _LEVELS.get(root or "", 0):
        raise MappingError(f"${root} is not available here", hint='it needs a list of rows: rows.at = "results[*]"')
    if scope.is_json or root is not None:
        parse_path(text)


_LEVELS = {"key": 1, "index": 1, "outer": 2}
"""How many lists and objects must be taken apart for a root to mean something."""


def _there(value: Any) -> Any:  # Any: JSON
    return None if value == "" else value


Wants = Callable[[Any], bool]  # Any: cells or JSON


def _any_of(wants: Wants) -> Wants:
    """Of several values one is enough."""
    return lambda value: any(map(wants, value)) if isinstance(value, Several) else wants(value)


def _wanted(values: tuple[Scalar, ...]) -> Wants:
    if "*" in values:
        return lambda value: value is not None
    words = {plain_text(value) for value in values}
    figures = {float(value) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)}

    def wants(value: Any) -> bool:  # Any: cells or JSON
        return plain_text(value) in words or (bool(figures) and _figure(value) in figures)

    return wants


def _figure(value: Any) -> float | None:  # Any: as above
    try:
        return float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None


BATCH_ROWS = 5_000
_ANY = msgspec.json.Decoder(Any)


class MappedFile(NamedTuple):
    """A file, and how the user knows it: in an archive it is shown as `a.zip!/b.csv`."""

    path: Path
    shown: str
    root: Path | None = None
    """The folder that files next to it must be in; None for a file of the user's own disk."""


def batches(file: MappedFile, mapping: Mapping) -> Iterator[Batch | Rejected | Finding]:
    """Yield all rows of the file, with broken ones as rejected in between."""
    if mapping.group is not None and file.path.stat().st_size > FILE_BYTES.most:
        raise FILE_BYTES.passed(file.shown)  # lines of one run may be anywhere, so all of them are kept
    facts = FileFacts(
        file.shown, extra_files={name: _extra_file(file, place) for name, place in mapping.extra_files.items()}
    )
    if mapping.rows.format == "csv":
        yield from _tables(file, mapping, facts)
    else:
        yield from _values(file, mapping, facts)


def _extra_file(file: MappedFile, place: str) -> Any:  # Any: JSON
    path = Path(os.path.normpath(file.path.parent / place))
    if Path(place).is_absolute() or (file.root is not None and not path.is_relative_to(file.root)):
        problem = "is an absolute path" if Path(place).is_absolute() else "is outside the archive"
        raise UnreadableFileError(
            file.shown, f"extra file {place!r} {problem}", hint="check extra_files in the mapping"
        )
    if not path.is_file():
        raise UnreadableFileError(
            file.shown, f"extra file {place!r} not found", hint="check extra_files in the mapping"
        )
    if path.stat().st_size > TEXT_BYTES.most:
        raise TEXT_BYTES.passed(str(path))
    return document(path, _ANY)


def _tables(file: MappedFile, mapping: Mapping, facts: FileFacts) -> Iterator[Batch | Rejected]:
    spec = mapping.rows
    encoding = "utf-8-sig" if spec.encoding == "utf-8" else spec.encoding
    found = csv_rows(file.path, separator=spec.delimiter, skip=spec.skip, encoding=encoding)
    header = next(found)
    assert isinstance(header, Row)  # a broken header is an error
    facts = _table_facts(facts, header.cells, mapping)
    width = len(header.cells)
    rows: list[list[str]] = []
    lines: list[int] = []
    for row in found:
        if isinstance(row, Rejected):
            yield msgspec.structs.replace(row, path=file.shown)
            break
        if len(row.cells) == width:
            rows.append(row.cells)
            lines.append(row.line)
        elif any(cell.strip() for cell in row.cells):
            yield Rejected(path=file.shown, line=row.line, reason=str(row.problem(header)), hint=SHORT_OR_LONG)
        if len(rows) >= BATCH_ROWS:
            yield _by_column(_filled(Batch(facts, rows, lines)), mapping)
            rows, lines = [], []
    yield _by_column(_filled(Batch(facts, rows, lines)), mapping)


def given_rows(rows: Sequence[AbstractMapping[str, Any]], mapping: Mapping, shown: str) -> Iterator[Batch]:
    """Rows that are in memory; their cells may have types of their own."""
    if mapping.extra_files:
        raise UnreadableFileError(
            shown,
            "the mapping needs extra files, which rows in memory do not have",
            hint="remove extra_files from the mapping",
        )
    is_table = mapping.rows.format == "csv"
    names = list(dict.fromkeys(name for row in rows for name in row)) if is_table else []
    facts = FileFacts(shown)
    if is_table:
        facts = _table_facts(facts, names, mapping)
    for start in range(0, len(rows), BATCH_ROWS):
        values: Sequence[Any] = rows[start : start + BATCH_ROWS]  # Any: lists of cells, or JSON
        lines = range(start + 1, start + len(values) + 1)
        values = [[row.get(name) for name in names] for row in values] if is_table else values
        yield _by_column(Batch(facts, values, lines), mapping)


def _table_facts(facts: FileFacts, names: Sequence[str], mapping: Mapping) -> FileFacts:
    """The facts of a table with these columns, whose names count without blanks around them."""
    plain = [str(name).strip() for name in names]  # a frame or a dictionary may have numbers for names
    return replace(
        facts,
        header={name: at for at, name in enumerate(plain) if name},
        twice=frozenset(name for name, number in Counter(plain).items() if name and number > 1),
        missing=_missing(mapping),
    )


def _missing(mapping: Mapping) -> frozenset[str]:
    return frozenset({"", *(word.strip().casefold() for word in listed(mapping.numbers.missing))})


def _filled(batch: Batch) -> Batch:
    """Without empty rows."""
    return batch.only([any(map(str.strip, row)) for row in batch.rows])


def _by_column(batch: Batch, mapping: Mapping) -> Batch:
    """Where columns are runs, each row once for each column in which it has a value."""
    names = mapping.rows.columns
    if not names:
        return batch
    at = [(row, name) for row in range(len(batch)) for name in names]
    return Batch(
        batch.facts,
        [batch.rows[row] for row, _ in at],
        [batch.lines[row] for row, _ in at],
        [batch.keys[row] for row, _ in at] if batch.keys else (),
        [batch.outers[row] for row, _ in at] if batch.outers else (),
        [name for _, name in at],
    )


def _values(file: MappedFile, mapping: Mapping, facts: FileFacts) -> Iterator[Batch | Rejected | Finding]:
    spec = mapping.rows
    is_document = spec.format == "json"
    steps = parse_path(spec.rows_at).steps
    gathered: list[_Place] = []
    number = 0
    for item in [(0, document(file.path, _ANY))] if is_document else records(file.path, _ANY, SHORT_ROWS):
        if not isinstance(item, tuple):
            yield item
            continue
        line, value = item
        if is_document:
            facts = FileFacts(facts.shown, document=value, extra_files=facts.extra_files)
        for place in taken_apart(value, steps):
            number += 1
            gathered.append(place._replace(line=number if is_document else line))
            if len(gathered) >= BATCH_ROWS:
                yield _by_column(_batch(facts, gathered), mapping)
                gathered = []
    if is_document and not number:
        hint = "set rows.at to a list or an object: results[*]"
        raise UnreadableFileError(file.shown, f"nothing found at {spec.rows_at!r}", hint=hint)
    yield _by_column(_batch(facts, gathered), mapping)


class _Place(NamedTuple):
    """A row of JSON, the keys that lead to it, and what was taken apart last but one."""

    value: Any  # Any: JSON
    keys: tuple[str | int, ...] = ()
    outer: Any = None  # Any: JSON
    line: int = 0


def _batch(facts: FileFacts, places: list[_Place]) -> Batch:
    values, keys, outers, lines = zip(*places, strict=True) if places else ((), (), (), ())
    return Batch(facts, values, lines, keys, outers)


def taken_apart(value: Any, steps: tuple[Step, ...]) -> Iterator[_Place]:  # Any: JSON
    """The rows that the steps lead to."""
    waiting: list[tuple[_Place, tuple[Step, ...]]] = [(_Place(value, outer=None), steps)]
    while waiting:
        place, left = waiting.pop()
        if STAR not in left:
            row = getter(left)(place.value)
            if row is not None:
                yield place._replace(value=row)
            continue
        at = left.index(STAR)
        container = getter(left[:at])(place.value)
        pairs = _pairs(container)
        rest = left[at + 1 :]
        outer = place.value if place.keys else None
        waiting += [(_Place(inner, (*place.keys, key), outer), rest) for key, inner in reversed(pairs)]


def _pairs(container: Any) -> list[tuple[str | int, Any]]:  # Any: JSON
    if isinstance(container, dict):
        return list(container.items())
    return list(enumerate(container)) if isinstance(container, list) else []
