"""JSON documents and JSON Lines, bounded and tolerant: their shape, their records, and loose values in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from steelyard.errors import InputLimitError, UnreadableFileError
from steelyard.files._file_bytes import open_file, whole_file
from steelyard.records import JSON_ERRORS, MAX_VALUE, Finding, Rejected, check_density, json_problem
from steelyard.settings import LINE_BYTES, SHORT_EVENTS, ShortLines

MAX_DEPTH = 4
"""Keys nested deeper than this distinguish no formats."""
MAX_RECORDS = 40
"""How many lines are decoded to recognize a file."""

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"|([{}\[\],:])|([^\s{}\[\],:"]+)', re.DOTALL)
_WORDS: dict[bytes, Any] = {b"true": True, b"false": False, b"null": None}


def shape_of(text: bytes) -> dict[str, Any]:  # Any: JSON scalars
    """Paths of keys to the first scalar seen there (None for containers); stops where the first value or the text ends.

    >>> shape_of(b'{"results": [{"id": "a", "n": 1}, {"id": "b"')
    {'results': None, 'results[].id': 'a', 'results[].n': '1'}
    """
    first_values: dict[str, Any] = {}
    places: list[str] = []
    key: str | None = None
    waiting = ""
    for match in _TOKEN.finditer(text):
        string, mark, word = match.groups()
        if mark == b":":
            key = waiting
        elif mark in (b"{", b"["):
            deep = len(places) > MAX_DEPTH
            prefix = "" if deep else _below(places, key)
            if key is not None and not deep:
                first_values.setdefault(prefix, None)
            places.append(prefix + "[]" if mark == b"[" and not deep else prefix)
            key = None
        elif mark in (b"}", b"]"):
            if places:
                places.pop()
            if not places:
                break
            key = None
        elif string is not None and key is None:
            waiting = string[:200].decode("utf-8", "replace")
        elif mark is None and key is not None:
            if len(places) <= MAX_DEPTH:
                value = string[:400].decode("utf-8", "replace") if string is not None else _word(word)
                first_values.setdefault(_below(places, key), value)
            key = None
    return first_values


def _below(places: list[str], key: str | None) -> str:
    place = places[-1] if places else ""
    if key is None:
        return place
    return f"{place}.{key}" if place else key


def _word(word: bytes) -> Any:  # Any: a JSON scalar
    return _WORDS[word] if word in _WORDS else word[:40].decode("ascii", "replace")


class Records:  # Any: JSON values
    """Objects on lines of their own, decoded when they are asked for; the last line counts only when it is complete."""

    def __init__(self, text: bytes, *, whole: bool) -> None:
        self._found: list[dict[str, Any]] = []
        self._coming = self._decoded(text, whole=whole)

    @staticmethod
    def _decoded(text: bytes, *, whole: bool) -> Iterator[dict[str, Any]]:
        start = 0
        for _ in range(MAX_RECORDS):
            end = text.find(b"\n", start)
            if end < 0 and (not whole or start >= len(text)):
                return
            line = text[start : end if end >= 0 else len(text)]
            start += len(line) + 1
            if line.lstrip().startswith(b"{"):
                try:
                    value = msgspec.json.decode(line)
                except JSON_ERRORS:
                    continue
                if isinstance(value, dict):
                    yield value

    def _upto(self, count: int | None) -> None:
        while count is None or len(self._found) < count:
            value = next(self._coming, None)
            if value is None:
                return
            self._found.append(value)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        at = 0
        while True:
            self._upto(at + 1)
            if at >= len(self._found):
                return
            yield self._found[at]
            at += 1

    def __len__(self) -> int:
        self._upto(None)
        return len(self._found)

    def __bool__(self) -> bool:
        self._upto(1)
        return bool(self._found)

    def __getitem__(self, index: int) -> dict[str, Any]:
        self._upto(index + 1)
        return self._found[index]


MAX_AMOUNT = 1e12
"""Largest cost that is taken for one."""


def label(value: Any) -> str | None:  # Any: whatever a log holds where a name should be
    """The text as a name of a record: trimmed, at most 1,024 characters; None when there is none."""
    if not isinstance(value, str):
        return None
    if 0 < len(value) <= 1024 and value[0] > " " and value[-1] > " ":
        return value
    return value.strip()[:1024] or None


def number(value: object) -> float | None:
    """The value as a float; None for anything that is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def amount(value: object) -> float | None:
    """The value as an amount of money; None when it is negative, not finite or absurd."""
    known = number(value)
    return known if known is not None and 0 <= known <= MAX_AMOUNT else None


def count(value: object) -> int | None:
    """The value as a whole number that is not negative; None otherwise."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_VALUE else None


def text_or_none(value: object) -> str | None:
    """The value when it is a text with something in it."""
    return value if isinstance(value, str) and value else None


T = TypeVar("T")

CUT = "the record is truncated"
_NOT_FINITE = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|-?\b(?:NaN|Infinity)\b', re.DOTALL)


def problem(error: Exception) -> str:
    """What is wrong with the JSON, or with a value in it, as a sentence."""
    if isinstance(error, msgspec.ValidationError):
        text = str(error).replace("`", "'")
        return f"unexpected value: {text[:1].lower()}{text[1:]}"
    return json_problem(error)


def unreadable(where: str, error: Exception, *, hint: str | None = None) -> UnreadableFileError:
    """The error of a document that one of `JSON_ERRORS` was raised for."""
    refusal = InputLimitError if isinstance(error, RecursionError) else UnreadableFileError
    return refusal(where, problem(error), hint=hint)


def decoded(data: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """The value of a JSON text; `NaN` and `Infinity`, which Python writes though JSON has them not, are unknown."""
    check_density(data)
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
        raise unreadable(str(path), error) from error


_SKIPPED_BYTES = 1 << 20
"""At once, of a line that is too long."""


def numbered_lines(path: Path, short: ShortLines | None = None) -> Iterator[tuple[int, bytes]]:
    """Lines that hold something, numbered; of one over the limit only the beginning is kept in memory."""
    most = LINE_BYTES.most
    with open_file(path) as file:
        number = size = 0
        while line := file.readline(most + 1):
            number += 1
            size += len(line)
            if short is not None:
                short.check(str(path), lines=number, size=size)
            is_cut = len(line) > most and not line.endswith(b"\n")
            while is_cut and (rest := file.readline(_SKIPPED_BYTES)):
                is_cut = not rest.endswith(b"\n")
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.isspace():
                yield number, line


def records(
    path: Path, decoder: msgspec.json.Decoder[T], short: ShortLines = SHORT_EVENTS
) -> Iterator[tuple[int, T] | Rejected | Finding]:
    """Each line's record, or why the line was rejected. Several objects on one line are all read, with a finding."""
    for number, line in numbered_lines(path, short):
        try:
            yield number, decoded(line, decoder)
        except JSON_ERRORS as error:
            yield from recovered(path, number, line, decoder, error)


def recovered(
    path: Path, number: int, line: bytes, decoder: msgspec.json.Decoder[T], error: Exception
) -> Iterator[tuple[int, T] | Rejected | Finding]:
    """Return the objects one after another on a broken line, and what is left of it as rejected."""
    if "trailing characters" not in str(error):
        yield rejected_line(path, number, line, error)
        return
    text = line.decode("utf-8", "replace").strip()
    at = objects = 0
    while at < len(text):
        try:
            start = at
            _, at = _ANY.raw_decode(text, start)
            yield number, decoder.decode(text[start:at])
            objects += 1
            if objects == 2:
                yield glued(path, number)
        except (ValueError, RecursionError) as broken:  # msgspec's errors are ValueErrors too
            yield rejected_line(path, number, line, broken)
            return
        while at < len(text) and text[at].isspace():
            at += 1


_ANY = json.JSONDecoder()


def glued(path: Path, number: int) -> Finding:
    """Return the finding about a line that holds several objects, as two writers at once leave it."""
    message = "several JSON objects on one line; all were read"
    return Finding(code="glued_objects", severity="info", message=message, where=f"{path}:{number}")


def too_long(path: Path, number: int, line: bytes) -> Rejected | None:
    """The line as rejected when it is over the limit, so that only its beginning is there; None when it is not."""
    if len(line) <= LINE_BYTES.most:
        return None
    return Rejected(path=str(path), line=number, reason=LINE_BYTES.reason, hint=LINE_BYTES.hint)


def rejected_line(path: Path, number: int, line: bytes, error: Exception) -> Rejected:
    """The line as rejected; one that was cut off or is too long is distinguished from one that is wrong."""
    if (rejected := too_long(path, number, line)) is not None:
        return rejected
    unended = not line.endswith(b"\n") and not line.rstrip().endswith(b"}")
    if "truncated" in str(error) or (unended and not isinstance(error, msgspec.ValidationError)):
        return Rejected(path=str(path), line=number, reason=CUT, code="cut_off")
    return Rejected(path=str(path), line=number, reason=problem(error))
