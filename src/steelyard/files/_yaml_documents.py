"""YAML documents as JSON, so that everything that reads JSON reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any

import msgspec

from steelyard.errors import MissingExtraError, UnreadableFileError
from steelyard.files._file_bytes import whole_file

YAML_SUFFIXES = (".yaml", ".yml")
_TAG = "tag:yaml.org,2002:"
_SCALARS: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {  # Any: JSON scalars
    "bool": (re.compile(r"true|True|TRUE|false|False|FALSE"), lambda text: text.lower() == "true"),
    "null": (re.compile(r"~|null|Null|NULL|"), lambda _: None),
    "int": (re.compile(r"[-+]?(?:0|[1-9][0-9]*)"), int),
    "float": (re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?"), float),
    "str": (re.compile(r"(?s:.*)"), str),
}
"""Scalars of YAML 1.2 by their tags, in the order in which a plain one is looked at: `no` is a text, and so are dates,
007 and 1:30."""


def is_yaml(path: PurePath) -> bool:
    """Return whether the file is called like a YAML document."""
    return path.suffix.lower() in YAML_SUFFIXES


def yaml_as_json(path: Path, shown: str) -> bytes:
    """Return the document as JSON, several of them as a list."""
    try:
        import yaml  # optional
    except ImportError as error:
        raise MissingExtraError("PyYAML", extra="yaml", purpose="reading YAML") from error

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # as fast as there is one
    text = whole_file(path)
    try:
        documents = [bytes(document) for document in _documents(yaml.parse(text, Loader=loader), shown)]
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" in line {mark.line + 1}"
        raise UnreadableFileError(shown, f"not YAML{where}: {getattr(error, 'problem', None) or error}") from error
    return documents[0] if len(documents) == 1 else b"[%b]" % b",".join(documents)


def _documents(events: Iterator[Any], shown: str) -> Iterator[bytearray]:  # Any: PyYAML's events
    """Yield each document as JSON, written event by event: PyYAML's own tree takes 250 times the size of the file."""
    made, open_values = bytearray(), list[list[int]]()  # of each: whether it is a mapping, and the texts in it so far
    for event in events:
        match type(event).__name__:
            case "DocumentStartEvent":
                made, open_values = bytearray(), []
            case "DocumentEndEvent":
                yield made
            case "AliasEvent":
                reason = "YAML aliases are not supported: a short file can expand to any size"
                raise UnreadableFileError(shown, reason, hint="write the values out, or convert the file to JSON")
            case "SequenceEndEvent" | "MappingEndEvent":
                is_mapping, _ = open_values.pop()
                made += b"}" if is_mapping else b"]"
            case "ScalarEvent":
                is_key = _separate(made, open_values)
                made += msgspec.json.encode(event.value if is_key else _scalar(event))
            case "SequenceStartEvent" | "MappingStartEvent" as name:
                if _separate(made, open_values):
                    raise ValueError(f"a key in line {event.start_mark.line + 1} is a list or mapping")
                if event.tag not in (None, "!", f"{_TAG}seq", f"{_TAG}map"):
                    raise _unknown_tag(event)
                open_values.append([name == "MappingStartEvent", 0])
                made += b"{" if name == "MappingStartEvent" else b"["


def _separate(made: bytearray, open_values: list[list[int]]) -> bool:
    """Write what separates the next value from the one before; return whether it is a key."""
    if not open_values:
        return False
    is_mapping, count = open_values[-1]
    open_values[-1][1] += 1
    if count:
        made += b":" if is_mapping and count % 2 else b","
    return bool(is_mapping) and count % 2 == 0


def _scalar(event: Any) -> Any:  # Any: PyYAML's event, and a JSON scalar
    if event.tag in (None, "!"):
        if not event.implicit[0]:  # in quotes
            return event.value
        return next(make(event.value) for pattern, make in _SCALARS.values() if pattern.fullmatch(event.value))
    pattern, make = _SCALARS.get(event.tag.removeprefix(_TAG), (None, str))
    if pattern is None:
        raise _unknown_tag(event)
    if not pattern.fullmatch(event.value):
        raise ValueError(f"{event.value[:40]!r} on line {event.start_mark.line + 1} does not have the type of its tag")
    return make(event.value)


def _unknown_tag(event: Any) -> ValueError:  # Any: as above
    return ValueError(f"unknown tag {event.tag[:40]!r} in line {event.start_mark.line + 1}")
