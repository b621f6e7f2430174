"""The shape of a JSON text from its beginning alone: which keys stand where, without decoding the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec

MAX_DEPTH = 4
"""Keys nested deeper than this tell no formats apart."""
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


class Records(Sequence[dict[str, Any]]):  # Any: JSON values
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
                except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
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

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        self._upto(index.stop if isinstance(index, slice) else index + 1)
        return self._found[index]
