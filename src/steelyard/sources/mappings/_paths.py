"""Paths into JSON values: `a.b[0].c`, `a[-1]`, `a[*].b`, `a."key.with.dot"`, and what a path may begin with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from steelyard.errors import MappingError

STAR: Final = "*"
_ROOT = re.compile(r"\$(?P<name>[a-z][a-z0-9_]*)(?P<rest>$|[.\[].*)", re.DOTALL)
_STEP = re.compile(r'\.?(?:"(?P<quoted>[^"]+)"|(?P<plain>[^.\[\]"]+)|\[(?P<index>-?\d{1,9})\]|\[(?P<star>\*)\])')
MAX_STEPS = 50

Getter = Callable[[Any], Any]  # Any: JSON values


class Several(tuple[Any, ...]):  # Any: JSON values
    """The values that a path with `[*]` leads to; one that is not there is None."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Key:
    """A step to an object's entry."""

    name: str


Step = Key | int | str
"""A key, an index, or `STAR`."""


@dataclass(frozen=True, slots=True)
class ValuePath:
    """A path: the root it begins with, None for the row, and the steps from there."""

    root: str | None
    steps: tuple[Step, ...]

    @property
    def is_several(self) -> bool:
        """Whether it can lead to several values."""
        return STAR in self.steps


@cache
def parse_path(text: str) -> ValuePath:
    """The path that a text writes."""
    rooted = _ROOT.fullmatch(text)
    rest = rooted["rest"] if rooted else text
    return ValuePath(rooted["name"] if rooted else None, tuple(_steps(rest, text)))


def root_of(text: str) -> str | None:
    """The root that a text names; None for a column or a path within the row."""
    rooted = _ROOT.fullmatch(text)
    return rooted["name"] if rooted else None


def _steps(text: str, whole: str) -> Iterator[Step]:
    at = number = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or (at == 0 and text[0] == "." and whole == text) or (number := number + 1) > MAX_STEPS:
            hint = 'write a.b[0].c, a[*].b, or "a.b" in quotes for a key that contains a dot'
            raise MappingError(f"{whole[:100]!r} is not a path", hint=hint)
        at = match.end()
        if match["index"] is not None:
            yield int(match["index"])
        else:
            yield STAR if match["star"] else Key(match["quoted"] or match["plain"])


def getter(steps: tuple[Step, ...]) -> Getter:
    """The function that follows the steps; what is not there is None."""
    if not steps:
        return lambda value: value
    first, rest = steps[0], getter(steps[1:])
    if first == STAR:
        return lambda value: _flat(rest(item) for item in entries(value)) if isinstance(value, (list, dict)) else None
    if isinstance(first, Key):
        name = first.name
        if len(steps) == 1:
            return lambda value: value.get(name) if isinstance(value, dict) else None
        return lambda value: rest(value.get(name)) if isinstance(value, dict) else None
    index = int(first)

    def at_index(value: Any) -> Any:  # Any: JSON values
        inside = isinstance(value, (list, Several)) and -len(value) <= index < len(value)
        return rest(value[index]) if inside else None

    return at_index


def entries(value: list[Any] | dict[str, Any]) -> Iterator[Any]:  # Any: JSON values
    """Items of a list or values of an object's entries."""
    return iter(value.values() if isinstance(value, dict) else value)


def _flat(values: Iterator[Any]) -> Several:  # Any: JSON values
    flat: list[Any] = []
    for value in values:
        flat.extend(value if isinstance(value, Several) else (value,))
    return Several(flat)
