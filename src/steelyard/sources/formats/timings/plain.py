"""Times written by hand: a table of names and seconds, one line per sample, or a JSON object of the same.

The header of the table is `name,seconds` (or `benchmark`); the object is `{"parse": [0.19, 0.2], "join": 0.5}`.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from typing import Any

from steelyard.files import separator_of
from steelyard.records import Finding, Rejected, Timing, place_of
from steelyard.sources.formats._timing_format import (
    OpenedFile,
    TimingFile,
    TimingFormat,
    collected,
    finite_numbers,
    total_seconds,
)

NAMES = ("name", "benchmark")
SECONDS = "seconds"


def _recognizes(opened: OpenedFile) -> bool:
    return _separator(opened.text) is not None or _is_object(opened.values)


def _separator(text: str) -> str | None:
    """What separates the cells of a table of names and seconds; None where the text is none."""
    first = text[:1000].encode()
    separator = separator_of(first, SECONDS)
    return separator if any(separator_of(first, name) == separator for name in NAMES) else None


def _is_object(values: Any) -> bool:  # Any: whatever JSON the file holds
    return isinstance(values, dict) and bool(values) and all(map(_are_seconds, values.values()))


def _are_seconds(value: Any) -> bool:  # Any: as above
    numbers = value if isinstance(value, list) else [value]
    return bool(numbers) and len(finite_numbers(numbers)) == len(numbers)


def _read(opened: OpenedFile) -> TimingFile:
    separator = _separator(opened.text)
    entries = _of_object(opened.values) if separator is None else _of_table(opened, separator)
    return collected(opened.path, "plain", entries)


def _of_object(values: dict[str, Any]) -> Iterator[Timing]:  # Any: numbers, or lists of them
    for name, value in values.items():
        yield _timing(name, value if isinstance(value, list) else [value])


def _of_table(opened: OpenedFile, separator: str) -> Iterator[Timing | Rejected | Finding]:
    rows = csv.reader(opened.text.removeprefix("\ufeff").splitlines(), delimiter=separator)
    header = [cell.strip() for cell in next(rows)]
    name_at, seconds_at = next(header.index(name) for name in NAMES if name in header), header.index(SECONDS)
    samples: dict[str, list[float]] = {}
    try:
        for row in filter(None, rows):
            try:
                name, seconds = row[name_at].strip(), float(row[seconds_at].replace(",", "."))
                if not name or not math.isfinite(seconds):
                    raise ValueError(row)
            except (IndexError, ValueError):
                reason = "the row has no name or no finite number of seconds"
                hint = "write a name and a number of seconds: parse,0.193"
                yield Rejected(path=str(opened.path), line=rows.line_num, reason=reason, hint=hint)
            else:
                samples.setdefault(name, []).append(seconds)
    except csv.Error as error:
        yield Rejected(path=str(opened.path), line=rows.line_num, reason=f"not CSV: {error}")
    yield from (_timing(name, seconds) for name, seconds in samples.items())
    if not opened.text.endswith(("\n", "\r")):
        message = "the last row does not end with a newline; if the file was truncated, the last cell may be incomplete"
        where = f"{opened.path}:{rows.line_num}"
        yield Finding(code="no_line_end", severity="info", message=message, where=where)


def _timing(name: str, seconds: list[float]) -> Timing:
    return Timing(
        name=name,
        **place_of(name)._asdict(),
        status="ok",
        samples=tuple(map(float, seconds)),
        measured_seconds=total_seconds(seconds),
    )


FORMAT = TimingFormat(
    name="plain",
    title="names and seconds, as CSV (`name,seconds`, one line per sample) or JSON (`{name: [seconds, ...]}`)",
    yields=("benchmarks",),
    recognizes=_recognizes,
    read=_read,
)
