"""Results as text: counts with their nouns, Markdown, and strict JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from operator import is_
from typing import Any

import msgspec

from steelyard.formatting import quantity
from steelyard.plain_text import clean, visible_json

DASH = "-"
SCHEMA_VERSION = 1
"""Version of every JSON answer; renaming a field increments it."""
MAX_REPR_LENGTH = 110


def number_text(value: float | None, unit: str) -> str:
    """A number as every table shows it; a dash where it is missing."""
    return DASH if value is None else quantity(value, unit, in_table=True)


def markdown_text(text: str) -> str:
    """Text that Markdown and HTML leave alone."""
    plain = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|\[\]#!~@])", r"\\\1", plain)


def short_repr(kind: type[object], about: str) -> str:
    """Return a one-line `repr` of a result: its class and a short summary."""
    name, text = kind.__name__, clean(about)  # names come from logs: they must not break the line
    room = MAX_REPR_LENGTH - len(name)
    return f"{name}({text if len(text) <= room else text[: room - 3] + '...'})"


def versioned(shape: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON values
    """Return the JSON object, preceded by its schema version."""
    return {"schema_version": SCHEMA_VERSION, **shape}


def json_values(value: Any) -> Any:  # Any: JSON values
    """Return the value with infinity as a string, because JSON has no such number. What needs no change is kept."""
    if isinstance(value, float):
        assert not math.isnan(value), "a missing value is None, never NaN"
        return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        changed = {key: made for key, each in value.items() if (made := json_values(each)) is not each}
        return {**value, **changed} if changed else value
    if isinstance(value, (list, tuple)):
        values = [json_values(each) for each in value]
        return value if isinstance(value, list) and all(map(is_, values, value)) else values
    return value


def json_text(value: Any) -> str:  # Any: a JSON value
    """Strict JSON, indented, every invisible character as its escape.

    Python indents in Python; written without, it is written in C. msgspec then indents and keeps the numbers
    (its own writer would print 1e-05 as 1e-5).
    """
    written = _bare(value).encode("utf-8", "surrogatepass")  # file names may contain lone surrogates
    return visible_json(msgspec.json.format(written, indent=2).decode("utf-8", "surrogatepass"))


def json_bytes(value: Any) -> bytes:  # Any: a JSON value
    r"""The same without spaces, in UTF-8.

    >>> json_bytes({"name": "a\udcff"})
    b'{"name":"a\\udcff"}'
    """
    return visible_json(_bare(value)).encode()


def _bare(value: Any) -> str:  # Any: a JSON value
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
