"""Where two JSON documents differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = Any  # Any: what json.loads gives
SHOWN = 300
"""Characters of a value that are shown."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which two documents differ, with both values as they are shown."""

    path: tuple[str, ...]
    old: str
    new: str
    only_new: bool = False
    """The old document has nothing at this place."""


def differences(old: Json, new: Json, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Every place that differs. Numbers are equal when they are written alike: 1 is not 1.0, and neither is true.

    >>> [difference.path for difference in differences({"a": [1, 2]}, {"a": [1, 2.0]})]
    [('a', '1')]
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key in new:
                yield from differences(value, new[key], (*path, key))
            else:
                yield Difference((*path, key), shown(value), "nothing")
        for key, value in new.items():
            if key not in old:
                yield Difference((*path, key), "nothing", shown(value), only_new=True)
    elif isinstance(old, list) and isinstance(new, list):
        for at, (first, second) in enumerate(zip(old, new, strict=False)):
            yield from differences(first, second, (*path, str(at)))
        if len(old) != len(new):
            yield Difference((*path, "length"), str(len(old)), str(len(new)))
    elif type(old) is not type(new) or old != new:
        yield Difference(path, shown(old), shown(new))


def shown(value: Json) -> str:
    """A value as JSON, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"
