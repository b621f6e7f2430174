"""The arena's records as JSON values and as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from steelyard.results._base import Result, Row


def as_json(value: Any) -> Any:  # Any: records, and JSON values
    """Records as JSON values, with lists for tuples as JSON reads them back."""
    return _with_lists(msgspec.to_builtins(value))


def _with_lists(value: Any) -> Any:  # Any: JSON values
    """The value itself, whose containers `to_builtins` has just made: changing them in place takes half the time."""
    if type(value) is dict:
        for name, part in value.items():
            if type(part) in _NESTED:
                value[name] = _with_lists(part)
        return value
    if type(value) in _NESTED:
        return [_with_lists(part) if type(part) in _NESTED else part for part in value]
    return value


_NESTED = frozenset((dict, list, tuple))


def as_object(value: object) -> dict[str, Any]:  # Any: JSON values
    """A result, or a mapping of records, as a JSON object."""
    shape: dict[str, Any] = as_json(value)  # Any: as above
    return shape


def flat_rows(records: Sequence[msgspec.Struct]) -> list[Row]:
    """The records as rows for a table: a list of words becomes one text, joined by semicolons."""
    return [
        {name: ";".join(value) if isinstance(value, list) else value for name, value in row.items()}
        for row in map(as_json, records)
    ]


class ArenaResult(Result):
    """Base class of arena results."""

    is_shared = True


class FieldsResult(ArenaResult):
    """A result whose JSON is its fields, each under its own name."""

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return as_object(self)
