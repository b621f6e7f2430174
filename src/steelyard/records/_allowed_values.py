"""Values that records, stores and JSON can hold: finite numbers, and text that every database takes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

MAX_VALUE = 2**53
"""The largest count that a float holds exactly; more is no count of anything here."""


def leaves(values: Any) -> Iterator[tuple[str, Any]]:  # Any: JSON or TOML values, and records of them
    """Every value that holds no others, with its place; however deep, and in no order that means something."""
    waiting: list[tuple[str, Any]] = [("", values)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, msgspec.Struct):
            value = msgspec.structs.asdict(value)
        if isinstance(value, dict):
            waiting += [(f"{place}.{key}".lstrip("."), inner) for key, inner in value.items()]
        elif isinstance(value, (list, tuple)):
            waiting += [(f"{place}[{number}]", inner) for number, inner in enumerate(value, 1)]
        else:
            yield place, value


def find_non_finite(values: Any) -> tuple[str, str] | None:  # Any: as above
    """The place of a number that is not finite, and how it is shown; None when all are.

    >>> find_non_finite({"a": [1.0, float("inf")]})
    ('a[2]', 'inf')
    """
    for place, value in leaves(values):
        if isinstance(value, float) and not math.isfinite(value):
            return place, str(value)
        if isinstance(value, int) and not _fits_a_float(value):
            return place, "an integer too large for a float"
    return None


def _fits_a_float(value: int) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


_FORBIDDEN = re.compile("[\0\ud800-\udfff]")
"""Characters that databases reject: NUL bytes and lone surrogates."""

MAX_NAME_BYTES = 1024
"""The longest name by which something is found, in bytes of UTF-8: an entry of PostgreSQL's index holds 2,704."""


def is_storable(text: str) -> bool:
    r"""Whether every database takes the text: nothing that one holds is named by what it does not take.

    Command-line bytes that are not UTF-8 become lone surrogates.

    >>> is_storable("ant"), is_storable("a\udcff"), is_storable("a\0")
    (True, False, False)
    """
    return _FORBIDDEN.search(text) is None


def forbidden_text(values: Any) -> str | None:  # Any: JSON or TOML values, and records of them
    """The place of a text that no database takes; None when there is none.

    >>> forbidden_text({"tools": ["ant", "b" + chr(0)]})
    'tools[2]'
    """
    return next((place for place, leaf in leaves(values) if isinstance(leaf, str) and not is_storable(leaf)), None)


def is_too_long(name: str) -> bool:
    """Whether the name takes more bytes than an index holds for sure.

    >>> is_too_long("a" * 1024), is_too_long("\u6f22" * 1000)
    (False, True)
    """
    return len(name) * 4 > MAX_NAME_BYTES and len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES
