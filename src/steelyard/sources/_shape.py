"""The shape of a JSON text from its beginning alone: which keys stand where, without decoding the whole."""

from __future__ import annotations

import re
from typing import Any

import msgspec

MAX_DEPTH = 4
"""Keys nested deeper than this tell no formats apart."""
MAX_RECORDS = 40
"""How many lines are decoded to recognise a file."""

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"|([{}\[\],:])|([^\s{}\[\],:"]+)', re.DOTALL)
_WORDS: dict[bytes, Any] = {b"true": True, b"false": False, b"null": None}


def shape_of(text: bytes) -> dict[str, Any]:  # Any: JSON scalars
    """Paths of keys to the first scalar seen there (None for containers); stops where the first value or the text ends.

    >>> shape_of(b'{"results": [{"id": "a", "n": 1}, {"id": "b"')
    {'results': None, 'results[].id': 'a', 'results[].n': '1'}
    """
    found: dict[str, Any] = {}
    places: list[str] = []
    key: str | None = None
    waiting = ""
    for match in _TOKEN.finditer(text):
        string, mark, word = match.groups()
        if mark == b":":
            key = waiting
        elif mark in (b"{", b"["):
            prefix = _below(places, key)
            if key is not None and len(places) <= MAX_DEPTH:
                found.setdefault(prefix, None)
            places.append(prefix + "[]" if mark == b"[" else prefix)
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
                found.setdefault(_below(places, key), value)
            key = None
    return found


def _below(places: list[str], key: str | None) -> str:
    place = places[-1] if places else ""
    if key is None:
        return place
    return f"{place}.{key}" if place else key


def _word(word: bytes) -> Any:  # Any: a JSON scalar
    return _WORDS[word] if word in _WORDS else word[:40].decode("ascii", "replace")


def first_records(text: bytes, *, whole: bool) -> list[dict[str, Any]]:  # Any: JSON values
    """Objects on lines of their own; the last line counts only when it is complete."""
    lines = text.split(b"\n")
    if not whole:
        lines = lines[:-1]
    found: list[dict[str, Any]] = []
    for line in lines[:MAX_RECORDS]:
        if not line.lstrip().startswith(b"{"):
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
