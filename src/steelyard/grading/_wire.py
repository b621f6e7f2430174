"""Values between the two processes of a split test run: exact built-in types cross as data, all else as a reference.

Both processes run this file in a sandbox, so it imports nothing of ours. The text that the candidate's process sends is
parsed as JSON and can create nothing but the types that are listed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

MAX_LINE_BYTES = 64 * 1024 * 1024
_MAX_JSON_INT = 1 << 60
_MAX_DEPTH = 200
STANDARD_VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "collections.Counter": (lambda value: list(value.items()), lambda kind, items: kind(dict(items))),
    "collections.OrderedDict": (lambda value: list(value.items()), lambda kind, items: kind(items)),
    "collections.deque": (lambda value: [list(value), value.maxlen], lambda kind, parts: kind(*parts)),
    "datetime.date": (lambda value: value.isoformat(), lambda kind, text: kind.fromisoformat(text)),
    "datetime.datetime": (lambda value: value.isoformat(), lambda kind, text: kind.fromisoformat(text)),
    "datetime.time": (lambda value: value.isoformat(), lambda kind, text: kind.fromisoformat(text)),
    "datetime.timedelta": (
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda kind, parts: kind(*parts),
    ),
    "decimal.Decimal": (str, lambda kind, text: kind(text)),
    "fractions.Fraction": (lambda value: [value.numerator, value.denominator], lambda kind, parts: kind(*parts)),
    "pathlib.PosixPath": (str, lambda kind, text: kind(text)),
    "pathlib.PurePosixPath": (str, lambda kind, text: kind(text)),
    "uuid.UUID": (str, lambda kind, text: kind(text)),
}
"""Types of the standard library that are values, by name: how each is written and read."""


class WireError(Exception):
    """Data that the other process may not send."""


def standard_type(name: str) -> type:
    """The type of the standard library with that name, imported only when it is needed."""
    module, _, attribute = name.rpartition(".")
    found: type = getattr(__import__(module, fromlist=["_"]), attribute)
    return found


class Table:
    """The mutable values of a call, so that both processes know which is which."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.places: dict[int, int] = {}

    def add(self, value: Any) -> int:  # Any: a list, a dict, a set or a bytearray
        self.places[id(value)] = len(self.values)
        self.values.append(value)
        return len(self.values) - 1

    def copy(self) -> Table:
        """A table that values can be added to while this one stays as it is."""
        made = Table()
        made.values, made.places = list(self.values), dict(self.places)
        return made


class Wire:
    """Writes and reads values. `refer` and `resolve` are for objects that do not cross."""

    def __init__(self, refer: Callable[[Any], list[Any]], resolve: Callable[[list[Any]], Any]) -> None:
        self.refer, self.resolve = refer, resolve
        self.is_comparing = False
        """Whether what is written is only compared with what was written before."""

    def pack(self, value: Any, table: Table, depth: int = 0) -> Any:  # noqa: PLR0911 - one for each type; Any: JSON
        """The value as JSON."""
        kind = type(value)
        if value is None or kind is bool or kind is str or kind is float:
            return value
        if kind is int:
            return value if -_MAX_JSON_INT < value < _MAX_JSON_INT else ["i", hex(value)]
        if depth > _MAX_DEPTH:
            raise RecursionError("value is nested too deeply")
        place = table.places.get(id(value))
        if place is not None:
            return ["o", place]
        deeper = depth + 1
        if kind is tuple or kind is frozenset:
            return ["t" if kind is tuple else "z", [self.pack(item, table, deeper) for item in value]]
        if kind is list or kind is dict or kind is set or kind is bytearray:
            number = table.add(value)
            return [*self.content(value, table, deeper), number]
        if kind is bytes:
            return ["b", value.hex()]
        if kind is complex:
            return ["c", value.real, value.imag]
        if kind is range:
            return ["r", *(self.pack(part, table, deeper) for part in (value.start, value.stop, value.step))]
        if kind is slice:
            return ["S", *(self.pack(part, table, deeper) for part in (value.start, value.stop, value.step))]
        if value is Ellipsis:
            return ["e"]
        if value is NotImplemented:
            return ["n"]
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in STANDARD_VALUES and standard_type(name) is kind:
            return ["v", name, self.pack(STANDARD_VALUES[name][0](value), Table(), deeper)]
        return self.refer(value)

    def content(self, value: Any, table: Table, depth: int) -> list[Any]:  # Any: a mutable built-in value
        """Tag and content of a mutable value."""
        if type(value) is list:
            return ["l", [self.pack(item, table, depth) for item in value]]
        if type(value) is dict:
            return ["d", [[self.pack(key, table, depth), self.pack(item, table, depth)] for key, item in value.items()]]
        if type(value) is set:
            return ["s", [self.pack(item, table, depth) for item in value]]
        return ["B", value.hex()]

    def unpack(self, packed: Any, table: Table) -> Any:  # noqa: PLR0911 - one for each type; Any: from JSON
        """The value that was written."""
        if not isinstance(packed, list):
            if isinstance(packed, dict):
                raise WireError("an object is not a value")
            return packed
        tag, *parts = packed
        if tag == "o":
            return table.values[parts[0]]
        if tag in ("l", "d", "s", "B"):
            value: Any = {"l": list, "d": dict, "s": set, "B": bytearray}[tag]()
            if table.add(value) != parts[1]:
                raise WireError("values are out of order")
            self.fill(value, parts[0], table)
            return value
        if tag in ("t", "z"):
            items = [self.unpack(item, table) for item in parts[0]]
            return tuple(items) if tag == "t" else frozenset(items)
        if tag == "b":
            return bytes.fromhex(parts[0])
        if tag == "i":
            return int(parts[0], 16)
        if tag == "c":
            return complex(parts[0], parts[1])
        if tag in ("r", "S"):
            bounds = [self.unpack(part, table) for part in parts]
            return range(*bounds) if tag == "r" else slice(*bounds)
        if tag == "e":
            return Ellipsis
        if tag == "n":
            return NotImplemented
        if tag == "v":
            return STANDARD_VALUES[parts[0]][1](standard_type(parts[0]), self.unpack(parts[1], Table()))
        return self.resolve(packed)

    def fill(self, value: Any, content: Any, table: Table) -> None:  # Any: a mutable value; JSON
        """Replace what a mutable value holds."""
        if type(value) is bytearray:
            value[:] = bytes.fromhex(content)
        elif type(value) is list:
            value[:] = [self.unpack(item, table) for item in content]
        elif type(value) is set:
            items = [self.unpack(item, table) for item in content]
            value.clear()
            value.update(items)
        else:
            pairs = [(self.unpack(key, table), self.unpack(item, table)) for key, item in content]
            value.clear()
            value.update(pairs)

    def changes(self, table: Table, before: list[str]) -> list[Any]:
        """The mutable values of a call whose content is no longer what it was."""
        return [
            [place, self.content(table.values[place], table, 0)[1]]
            for place, was in enumerate(before)
            if self.compared(table.values[place], table) != was
        ]

    def contents(self, table: Table) -> list[str]:
        """What each mutable value holds now, to compare with later."""
        return [self.compared(value, table) for value in list(table.values)]

    def compared(self, value: Any, table: Table) -> str:
        """What a mutable value holds, as a text that is not sent."""
        self.is_comparing = True
        try:
            return json.dumps(self.content(value, table.copy(), 0))
        finally:
            self.is_comparing = False
