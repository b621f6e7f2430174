"""Comparing what an answer returned with what its contract expects, outside the process that ran it."""

from __future__ import annotations

import math
from typing import Any

from steelyard.questions.repeatability._contract import Case, ValueType


class Foreign:
    """A returned value of a type that no contract can expect; it equals nothing."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}>"


def decode(value: Any) -> Any:  # Any: JSON as the harness wrote it; a Python value comes out
    """The value that the harness encoded. Raises ValueError or TypeError for what it would not write."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind: object = value.get("type")
    content: Any = value.get("value")  # Any: of the form of the type, or the result is malformed
    if kind == "int":
        return int(content, 16)
    if kind == "float":
        return float.fromhex(content)
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind in ("tuple", "list"):
        return [decode(item) for item in content]
    if kind in ("set", "frozenset"):
        return sorted((decode(item) for item in content), key=repr)
    if kind == "dict":
        return {_key(decode(key)): decode(item) for key, item in content}
    return Foreign(str(kind))


def _key(key: Any) -> Any:
    # JSON has only text as keys, so numbers as keys are compared as text.
    return key if isinstance(key, str) else repr(key)


def equal(value: Any, expected: Any, case: Case) -> bool:
    """Whether the value is the expected one in the way the case compares."""
    if isinstance(value, bool) or isinstance(expected, bool) or value is None or expected is None:
        return type(value) is type(expected) and value == expected
    if isinstance(value, (int, float)) and isinstance(expected, (int, float)):
        if case.comparison == "close":
            return math.isclose(value, expected, rel_tol=case.tolerance, abs_tol=case.tolerance)
        return value == expected or (value != value and expected != expected)  # noqa: PLR0124 - NaN is what it is
    if isinstance(value, list) and isinstance(expected, list):
        if len(value) != len(expected):
            return False
        if case.comparison == "unordered":
            return _same_members(value, expected, case)
        return all(equal(mine, theirs, case) for mine, theirs in zip(value, expected, strict=True))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(equal(value[key], expected[key], case) for key in value)
    return type(value) is type(expected) and bool(value == expected)


def _same_members(value: list[Any], expected: list[Any], case: Case) -> bool:
    left = list(expected)
    for item in value:
        match = next((index for index, other in enumerate(left) if equal(item, other, case)), None)
        if match is None:
            return False
        left.pop(match)
    return True


_TYPES: dict[ValueType, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "list": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def of_type(value: Any, wanted: ValueType) -> bool:
    """Whether the value is of the type; true and false are no integers."""
    return isinstance(value, _TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool))
