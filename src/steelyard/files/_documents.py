"""Bounded, tolerant reading of JSON documents and JSON lines. What cannot be read is named with its file and line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from steelyard.errors import UnreadableFile
from steelyard.records import Rejected

T = TypeVar("T")

MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
CUT = "the record breaks off in the middle"
JSON_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_NOT_FINITE = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|-?\b(?:NaN|Infinity)\b', re.DOTALL)


def problem(error: Exception) -> str:
    """What is wrong with the JSON, as a sentence."""
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "not JSON: the text is not UTF-8"
    text = str(error).replace("`", "'")
    if isinstance(error, msgspec.ValidationError):
        return f"unexpected value: {text[:1].lower()}{text[1:]}"
    return f"not JSON: {text.removeprefix('JSON is malformed: ')}"


def whole_file(path: Path, *, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
    """The file's bytes; one past the limit is refused before it is read."""
    if path.stat().st_size > limit:
        raise UnreadableFile(str(path), f"the document is larger than {limit:,} bytes")
    return path.read_bytes().removeprefix(b"\xef\xbb\xbf")


def decoded(data: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """The value of a JSON text; `NaN` and `Infinity`, which Python writes though JSON has them not, are unknown."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        finite = _NOT_FINITE.sub(lambda match: match[1] or b"null", data) if _may_be_python(data) else data
        if finite == data:
            raise
        return decoder.decode(finite)


def _may_be_python(data: bytes) -> bool:
    return b"NaN" in data or b"Infinity" in data


def document(path: Path, decoder: msgspec.json.Decoder[T]) -> T:
    """The one JSON value that the file holds."""
    try:
        return decoded(whole_file(path), decoder)
    except JSON_ERRORS as error:
        raise UnreadableFile(str(path), problem(error)) from error


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines that hold something, numbered; of one past the limit only the beginning is kept in memory."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            rest = line
            while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
                rest = file.readline(MAX_LINE_BYTES + 1)
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.isspace():
                yield number, line


def records(path: Path, decoder: msgspec.json.Decoder[T]) -> Iterator[tuple[int, T] | Rejected]:
    """Each line's record, or why the line was set aside. Several objects on one line are all found."""
    for number, line in numbered_lines(path):
        try:
            yield number, decoded(line, decoder)
        except JSON_ERRORS as error:
            yield from recovered(path, number, line, decoder, error)


def recovered(
    path: Path, number: int, line: bytes, decoder: msgspec.json.Decoder[T], error: Exception
) -> Iterator[tuple[int, T] | Rejected]:
    """The objects that stand one after another on a broken line, and what is left of it as rejected."""
    if len(line) > MAX_LINE_BYTES:
        yield Rejected(path=str(path), line=number, reason=f"the line is longer than {MAX_LINE_BYTES:,} bytes")
        return
    if "trailing characters" not in str(error):
        yield rejected_line(path, number, line, error)
        return
    text = line.decode("utf-8", "replace").strip()
    at = 0
    while at < len(text):
        try:
            start = at
            _, at = _ANY.raw_decode(text, start)
            yield number, decoder.decode(text[start:at])
        except (ValueError, RecursionError) as broken:  # msgspec's errors are ValueErrors too
            yield rejected_line(path, number, line, broken)
            return
        while at < len(text) and text[at].isspace():
            at += 1


_ANY = json.JSONDecoder()


def rejected_line(path: Path, number: int, line: bytes, error: Exception) -> Rejected:
    """The line as set aside; one that was cut off is told apart from one that is wrong."""
    unended = not line.endswith(b"\n") and not line.rstrip().endswith(b"}")
    if "truncated" in str(error) or (unended and not isinstance(error, msgspec.ValidationError)):
        return Rejected(path=str(path), line=number, reason=CUT, code="cut_off")
    return Rejected(path=str(path), line=number, reason=problem(error))


def moment(value: Any) -> datetime | None:  # Any: whatever a log holds where a time should be
    """The time in ISO text or in seconds or milliseconds since 1970; None when it is none.

    >>> moment("2026-01-02T03:04:05Z") == moment(1767323045) == moment(1767323045000)
    True
    """
    try:
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            if parsed.tzinfo is UTC:
                return parsed
            return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def label(value: Any) -> str | None:  # Any: whatever a log holds where a name should be
    """The text as a name of a record: trimmed, at most 1,024 characters; None when there is none."""
    if not isinstance(value, str):
        return None
    if 0 < len(value) <= 1024 and value[0] > " " and value[-1] > " ":
        return value
    return value.strip()[:1024] or None
