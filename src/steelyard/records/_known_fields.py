"""Which fields a record knows at a place inside it, so that a wrong name is answered with the right one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec

from steelyard.records._record_types import Record
from steelyard.suggestions import nearest

_UNKNOWN_FIELD = re.compile(r"unknown field `(?P<name>.*?)`(?: - at `\$\.?(?P<place>.*)`)?$", re.DOTALL)
MAX_NAME_LENGTH = 100
_NONE: Mapping[str, str] = {}


def unknown_field(
    error: msgspec.ValidationError, record: type[Record], *, other_names: Mapping[str, str] = _NONE
) -> tuple[str, str] | None:
    """Return the error text of a field that the record does not know, with the nearest it knows there; None for others.

    `other_names` has the record's own names of what other records call by another: spelling alone would miss them.
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
    """The names of the fields at a place such as `judgments[0].criteria[...]`; of all records that may be there.

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
