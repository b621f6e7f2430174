"""Base class of records, allowed values, messages for unknown fields, and `Missing`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin

import msgspec

from steelyard.suggestions import nearest

MAX_VALUE = 2**53
"""Largest count that a float represents exactly."""


def leaves(values: Any) -> Iterator[tuple[str, Any]]:  # Any: JSON or TOML values, and records of them
    """Yield each scalar with its location, at any depth and in no particular order."""
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
    """Return the location of a non-finite number and its text; None if all numbers are finite.

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
"""Maximum length of a name in bytes of UTF-8. Index entries of PostgreSQL are limited to 2,704 bytes."""


def is_storable(text: str) -> bool:
    r"""Return whether every database can store the text: without NUL bytes and lone surrogates.

    Command-line bytes that are not UTF-8 become lone surrogates.

    >>> is_storable("ant"), is_storable("a\udcff"), is_storable("a\0")
    (True, False, False)
    """
    return _FORBIDDEN.search(text) is None


def forbidden_text(values: Any) -> str | None:  # Any: JSON or TOML values, and records of them
    """Return the location of a string that databases reject; None if there is none.

    >>> forbidden_text({"tools": ["ant", "b" + chr(0)]})
    'tools[2]'
    """
    return next((place for place, leaf in leaves(values) if isinstance(leaf, str) and not is_storable(leaf)), None)


def is_too_long(name: str) -> bool:
    """Return whether the name is longer than MAX_NAME_BYTES.

    >>> is_too_long("a" * 1024), is_too_long("\u6f22" * 1000)
    (False, True)
    """
    return len(name) * 4 > MAX_NAME_BYTES and len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES


Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_VALUE)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Weight = Annotated[float, msgspec.Meta(gt=0)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]


class Record(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, repr_omit_defaults=True
):
    """Base of all records: frozen, typed, without unknown keys; absent fields are omitted when written."""


_UNKNOWN_FIELD = re.compile(r"unknown field `(?P<name>.*?)`(?: - at `\$\.?(?P<place>.*)`)?$", re.DOTALL)
MAX_NAME_LENGTH = 100
_NONE: Mapping[str, str] = {}


def unknown_field(
    error: msgspec.ValidationError, record: type[Record], *, other_names: Mapping[str, str] = _NONE
) -> tuple[str, str] | None:
    """Return message and hint for an unknown field, with the nearest known one; None for other errors.

    `other_names` maps names that other records use to the name in this record, which spelling alone would not suggest.
    """
    match = _UNKNOWN_FIELD.search(str(error))
    if match is None:
        return None
    name, place = match["name"][:MAX_NAME_LENGTH], match["place"] or ""
    known = fields_at(record, place)
    close = nearest(name, known) if place else other_names.get(name) or nearest(name, known)
    within = f" in {place}" if place else ""
    hint = f"did you mean {close!r}?" if close else f"known: {', '.join(sorted(known))}"
    return f"unknown field {name!r}{within}", hint


def problem_text(error: msgspec.ValidationError) -> str:
    """Return the error text after its place, in the terms of the file's author.

    >>> from steelyard.records._run import Run
    >>> try:
    ...     _ = msgspec.convert({"task": "t", "judgments": [{"judge": 7}]}, Run)
    ... except msgspec.ValidationError as error:
    ...     problem_text(error)
    "judgments number 1, judge: Expected 'str | null', got 'int'"
    """
    text = str(error).replace("`", "'")
    message, found, place = text.rpartition(" - at '$")
    if not found:
        return text
    steps = re.sub(r"\[([0-9]+)\]", lambda match: f" number {int(match[1]) + 1}", place.removesuffix("'"))
    return f"{', '.join(step for step in steps.strip().split('.') if step)}: {message}"


def fields_at(record: type[Record], place: str) -> set[str]:
    """Return the names of the fields at a location such as `judgments[0].criteria[...]`, of all possible records.

    >>> from steelyard.records._run import Run
    >>> sorted(fields_at(Run, "failure"))
    ['cause', 'message']
    """
    here = [record]
    for name in re.sub(r"\[.*?\]", "", place).split(".") if place else ():
        here = [inner for record_type in here for inner in _records_under(record_type, name)]
    return {name for record_type in here for name in record_type.__struct_encode_fields__}


def _records_under(record: type[Record], name: str) -> list[type[Record]]:
    fields = [field for field in msgspec.structs.fields(record) if field.encode_name == name]
    return [inner for field in fields for inner in _records_in(field.type)]


def _records_in(hint: Any) -> list[type[Record]]:  # Any: a type annotation
    if isinstance(hint, type) and get_origin(hint) is None:
        return [hint] if issubclass(hint, Record) else []
    return [record for inner in get_args(hint) for record in _records_in(inner)]


class Missing:
    """Missing value with the reason. It is false and never equal to a number.

    Arithmetic and order comparisons return it, as with null in a column, so a formula behaves the same on plain numbers
    and on tables.

    >>> Missing("no usage in the log") * 3 + 1
    Missing('no usage in the log')
    """

    __slots__ = ("reason",)
    reason: str

    def __init__(self, reason: str) -> None:
        object.__setattr__(self, "reason", reason)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Missing is frozen; cannot set {name}")

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Missing) and other.reason == self.reason

    def __hash__(self) -> int:
        return hash(("Missing", self.reason))

    def __repr__(self) -> str:
        return f"Missing({self.reason!r})"

    def __str__(self) -> str:
        return f"missing: {self.reason}"

    def _same(self, *_other: Any) -> Missing:  # Any: whatever the other side of an operator is
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __pow__ = __rpow__ = __neg__ = __abs__ = __and__ = __rand__ = __or__ = __ror__ = __invert__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _same
