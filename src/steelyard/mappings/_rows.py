"""Rows of tables, JSON documents and JSON Lines, in batches."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping as AbstractMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import SHORT_OR_LONG, Row, csv_rows, document, records
from steelyard.mappings._batches import Batch, FileFacts
from steelyard.mappings._mapping import Mapping, listed
from steelyard.mappings._paths import STAR, Step, getter, parse_path
from steelyard.records import Finding, Rejected
from steelyard.settings import FILE_BYTES, TEXT_BYTES

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
    for item in [(0, document(file.path, _ANY))] if is_document else records(file.path, _ANY):
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
