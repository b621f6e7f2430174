"""Whether JSON that many tools write resembles our own run records."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from steelyard.files import SEPARATORS
from steelyard.formats._log_format import Head
from steelyard.formats._table_rows import unknown_columns
from steelyard.records import DecodeError, Run, convert_run

LOOKED_AT = 40
"""Elements of an array that are looked at: a broken one before a good one is rejected, not the whole file."""
MAX_HEADER_LENGTH = 60
"""What is longer is prose, not the name of a column."""
_DECODER = json.JSONDecoder()


def any_is_run(values: Iterable[dict[str, Any]]) -> bool:  # Any: JSON values
    """Whether one of them is a run record, or would be but for its values, which are then named one by one."""
    return any(is_cut_run(value) for value in values)


def run_refusal(head: Head) -> DecodeError | None:
    """Return why an unrecognized file that resembles run records contains none; None for other files."""
    if head.text[:1] not in (b"{", b"["):
        return _table_refusal(head)
    first = next(iter(head.records if head.text[:1] == b"{" else first_elements(head.text[1:].lstrip())), {})
    return _refusal(first) if "task" in first else None


def _table_refusal(head: Head) -> DecodeError | None:
    """What is wrong with the header of a table: two lines of as many cells."""
    lines = head.text.decode("utf-8", "replace").splitlines()[:2]
    if len(lines) < 2 or not lines[0].isprintable():
        return None
    for separator in SEPARATORS:
        names, cells = (
            next(csv.reader(lines[:1], delimiter=separator)),
            next(csv.reader(lines[1:], delimiter=separator)),
        )
        if len(names) == len(cells) > 1 and all(0 < len(name.strip()) <= MAX_HEADER_LENGTH for name in names):
            return unknown_columns([name.strip() for name in names])
    return None


def _refusal(value: dict[str, Any]) -> DecodeError | None:  # Any: as above
    try:
        convert_run(value)
    except DecodeError as error:
        return error
    return None


def is_cut_run(shape: dict[str, Any], *, within: str = "") -> bool:  # Any: JSON scalars
    """Whether what is there of a first record has a task and no key that a run record does not have."""
    known = set(Run.__struct_encode_fields__)
    keys = {key.removeprefix(within).partition(".")[0].removesuffix("[]") for key in shape}
    return isinstance(shape.get(within + "task"), str) and all(key in known or key.startswith("x_") for key in keys)


def first_elements(text: bytes) -> Iterator[dict[str, Any]]:  # Any: JSON values
    """The first objects of an array whose bracket is gone, as far as they are whole."""
    return islice(_elements(text.decode("utf-8", "replace")), LOOKED_AT)


def _elements(text: str) -> Iterator[dict[str, Any]]:  # Any: as above
    at = 0
    while text[at : at + 1] == "{":
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value
        while text[at : at + 1] and text[at] in ", \t\r\n":
            at += 1
