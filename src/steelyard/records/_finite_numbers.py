"""Numbers that are none, or have no end: no record, task or profile has a use for them, and JSON cannot hold them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

MOST = 2**53
"""The largest count that a float holds exactly; more is no count of anything here."""


def leaves(values: Any) -> Iterator[tuple[str, Any]]:  # Any: JSON or TOML values, and records of them
    """Every value that holds no others, with its place; however deep they lie, and in no order that means something."""
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


def endless_number(values: Any) -> tuple[str, str] | None:  # Any: as above
    """The place of a number that is not finite, and how it is shown; None when all are.

    >>> endless_number({"a": [1.0, float("inf")]})
    ('a[2]', 'inf')
    """
    for place, value in leaves(values):
        if isinstance(value, float) and not math.isfinite(value):
            return place, str(value)
        if isinstance(value, int) and not _fits_a_float(value):
            return place, "an integer that no float can hold"
    return None


def _fits_a_float(value: int) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
