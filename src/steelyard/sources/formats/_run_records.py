"""Our own run records as table rows, and whether JSON that many tools write resembles them.

A column is a field (`cost_usd`), a dotted path (`usage.input_tokens`) or, for the parts that are lists, the field's
name with JSON in the cell. Tokens may omit their `usage.`. Columns of the user's own keep the types that
the format has; cells without a type (CSV, columns of bytes) are read by `custom_value`.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from steelyard.files import SEPARATORS
from steelyard.records import (
    Conditions,
    DecodeError,
    Failure,
    Origin,
    Output,
    Record,
    Run,
    Snapshot,
    TestResults,
    Usage,
    convert_run,
    custom_value,
    own_fields,
)
from steelyard.sources.formats._log_format import Head
from steelyard.suggestions import nearest

NESTED: dict[str, type[Record]] = {
    "usage": Usage,
    "failure": Failure,
    "conditions": Conditions,
    "tests": TestResults,
    "snapshot": Snapshot,
    "output": Output,
    "source": Origin,
}
"""The parts whose fields can be columns of their own."""

FIELDS: tuple[str, ...] = tuple(name for name in Run.__struct_encode_fields__ if name != "x_")
ALIASES: dict[str, str] = {name: f"usage.{name}" for name in Usage.__struct_fields__}
COLUMNS: tuple[str, ...] = (
    *FIELDS,
    *(f"{part}.{name}" for part, record in NESTED.items() for name in record.__struct_fields__),
)


def column_problem(columns: Iterable[str]) -> DecodeError | None:
    """Why a table with these columns cannot hold run records; None when it can."""
    names = list(columns)
    unknown = unknown_columns(names)
    if unknown is not None:
        return unknown
    for name in names:
        if ALIASES.get(name, name) != name and ALIASES[name] in names:
            return DecodeError(f"columns {name!r} and {ALIASES[name]!r} are the same field", "remove one of them")
    if len(set(names)) != len(names):
        return DecodeError("duplicate column", "remove one of them")
    if "task" not in names:
        return DecodeError("column 'task' is missing", "every run needs a task")
    return None


def unknown_columns(names: Iterable[str]) -> DecodeError | None:
    """All columns that a run record does not have, in one message; None when it has them all."""
    unknown = [name for name in names if ALIASES.get(name, name) not in COLUMNS and not name.startswith("x_")]
    if not unknown:
        return None
    near = [(name, _meant(name, alone=len(unknown) == 1)) for name in unknown[:MAX_NAMED]]
    meant = ", ".join(f"{close!r}" if len(unknown) == 1 else f"{close!r} for {name!r}" for name, close in near if close)
    listed = ", ".join(repr(name[:60]) for name in unknown[:MAX_NAMED])
    more = f" and {len(unknown) - MAX_NAMED} more" if len(unknown) > MAX_NAMED else ""
    hints = [f"did you mean {meant}?" if meant else "custom columns start with x_"]
    hints.append("`steelyard mapping suggest FILE` suggests a mapping for all of them")
    return DecodeError(f"unknown column{'s' if len(unknown) > 1 else ''} {listed}{more}", "; ".join(hints))


def _meant(name: str, *, alone: bool) -> str | None:
    """The column that was meant; where many are unknown, only one that the name holds or is held by."""
    plain = name.strip().lower().replace(" ", "_")
    close = nearest(plain, [*COLUMNS, *ALIASES])
    return close if close and (alone or close in plain or plain in close) else None


MAX_NAMED = 20
"""Columns that one message names."""


def run_of_row(row: dict[str, Any], *, from_text: bool, own_typed: bool = False) -> Run:  # Any: cells of any type
    """The Run in one row; empty cells are absent fields. `own_typed`: the user's own columns have their types."""
    values: dict[str, Any] = {}
    for column, cell in row.items():
        if cell is None or (from_text and cell == ""):
            continue
        name = ALIASES.get(column, column)
        part, _, leaf = name.partition(".")
        if name.startswith("x_"):
            values[name] = custom_value(cell) if from_text and not own_typed else _own(cell)
        elif leaf:
            holder = values.setdefault(part, {})
            if not isinstance(holder, dict):
                raise DecodeError(f"columns {part!r} and {name!r} are the same field", "remove one of them")
            holder[leaf] = _cell(cell)
        else:
            values[name] = _field(name, cell)
    try:
        return convert_run(values, from_text=from_text)
    except DecodeError as error:
        raise (_with_cell_text(error, row) if from_text else error) from error


def _with_cell_text(error: DecodeError, row: dict[str, Any]) -> DecodeError:  # Any: cells of any type
    """Return the error for a text that is no flag or number, with the text itself and the allowed values."""
    match = _NOT_THE_TYPE.match(error.reason)
    if match is None:
        return error
    cell = next((cell for column, cell in row.items() if ALIASES.get(column, column) == match["name"]), None)
    if not isinstance(cell, str):
        return error
    what, hint = _EXPECTED[match["type"]]
    return DecodeError(f"{match['name']}: {cell[:100]!r} {what}", hint)


def _field(name: str, cell: Any) -> Any:  # Any: a cell and what it holds
    if isinstance(cell, str) and name in _NUMBERS and cell.strip().lower().lstrip("+-") in _NOT_FINITE:
        raise DecodeError(f"{name}: the number is not finite", "leave unknown cells empty")
    if isinstance(cell, str) and cell[:1] in "[{" and name not in _TEXT_FIELDS:
        try:
            return msgspec.json.decode(cell)
        except msgspec.DecodeError as error:
            raise DecodeError(f"{name}: the cell is not JSON", "write lists and objects as JSON") from error
    return _cell(cell)


def _own(cell: Any) -> Any:  # Any: a typed cell, and its JSON value
    """The value of a typed cell; bytes have no type of their own, and times become the text that JSON has for them."""
    if isinstance(cell, bytes):
        try:
            return custom_value(cell.decode())
        except UnicodeDecodeError as error:
            raise DecodeError(
                "a binary column contains invalid UTF-8", "write text, numbers or JSON in custom fields"
            ) from error
    return msgspec.to_builtins(_cell(cell))


def _cell(cell: Any) -> Any:  # Any: nested values as a Parquet reader gives them
    """The value without the nulls that a column format writes for absent fields; numbers must be finite."""
    if isinstance(cell, float) and not math.isfinite(cell):
        raise DecodeError("a number is not finite", "leave unknown cells empty")
    if isinstance(cell, dict):
        return {key: _cell(value) for key, value in cell.items() if value is not None}
    if isinstance(cell, list):
        return [_cell(value) for value in cell]
    if isinstance(cell, datetime) and str(cell.tzinfo) == "UTC":
        return cell.replace(tzinfo=UTC)  # one zone under one name, so that a column of moments stays one when written
    return cell


_NOT_THE_TYPE = re.compile(r"(?P<name>[\w.]+): expected (?P<type>bool|int|float)\b.*, got str$")
_EXPECTED = {
    "bool": ("is not a boolean", "write true or false (or 1 and 0), or leave the cell empty"),
    "int": ("is not an integer", "write digits only, such as 1200, or leave the cell empty"),
    "float": ("is not a number", "write it with a decimal point, such as 0.5, or leave the cell empty"),
}
_NUMBERS = frozenset({"cost_usd", "impl_rate", "duration_seconds"})
_NOT_FINITE = frozenset({"inf", "infinity", "nan"})
_TEXT_FIELDS = frozenset({"id", "experiment", "task", "agent", "model", "tier", "tier_scheme"})
SCALARS = (
    _TEXT_FIELDS
    | _NUMBERS
    | {"attempt", "started_at", "ended_at", "passed", "outcome", "tool_calls", "iterations", "success"}
    | {"weak_check", "weak_timing"}
)
"""The fields that are one value; text in the column of any other is JSON."""


LOOKED_AT = 40
"""Elements of an array that are looked at: a broken one before a good one is rejected, not the whole file."""
MAX_HEADER_LENGTH = 60
"""What is longer is prose, not the name of a column."""
_DECODER = json.JSONDecoder()


def any_is_run(values: Iterable[dict[str, Any]]) -> bool:  # Any: JSON values
    """Whether one of them is a run record, or would be but for its values, which are then named one by one."""
    return any(is_cut_run(value) for value in values)


def run_refusal(head: Head) -> DecodeError | None:
    """Return why an unrecognized file that resembles run records contains none; None for other files."""
    if head.text[:1] not in (b"{", b"["):
        return _table_refusal(head)
    first = next(iter(head.records if head.text[:1] == b"{" else first_elements(head.text[1:].lstrip())), {})
    return _refusal(first) if "task" in first else None


def _table_refusal(head: Head) -> DecodeError | None:
    """What is wrong with the header of a table: two lines of as many cells."""
    lines = head.text.decode("utf-8", "replace").splitlines()[:2]
    if len(lines) < 2 or not lines[0].isprintable():
        return None
    for separator in SEPARATORS:
        names, cells = (
            next(csv.reader(lines[:1], delimiter=separator)),
            next(csv.reader(lines[1:], delimiter=separator)),
        )
        if len(names) == len(cells) > 1 and all(0 < len(name.strip()) <= MAX_HEADER_LENGTH for name in names):
            return unknown_columns([name.strip() for name in names])
    return None


def _refusal(value: dict[str, Any]) -> DecodeError | None:  # Any: as above
    try:
        convert_run(value)
    except DecodeError as error:
        return error
    return None


def is_cut_run(shape: dict[str, Any], *, within: str = "") -> bool:  # Any: JSON scalars
    """Whether what is there of a first record has a task and no key that a run record does not have."""
    keys = {key.removeprefix(within).partition(".")[0].removesuffix("[]") for key in shape}
    known = {*Run.__struct_encode_fields__, *own_fields(keys)}
    return isinstance(shape.get(within + "task"), str) and all(key in known or key.startswith("x_") for key in keys)


def named_columns(names: Sequence[str]) -> list[str]:
    """The names of columns, custom fields with their prefix."""
    own = own_fields([name for name in names if ALIASES.get(name, name) not in COLUMNS] + _known(names))
    return [own.get(name, name) for name in names]


def _known(names: Sequence[str]) -> list[str]:
    """The fields among the names, by the part that they belong to."""
    return [ALIASES.get(name, name).partition(".")[0] for name in names if ALIASES.get(name, name) in COLUMNS]


def first_elements(text: bytes) -> Iterator[dict[str, Any]]:  # Any: JSON values
    """The first objects of an array whose bracket is gone, as far as they are whole."""
    return islice(_elements(text.decode("utf-8", "replace")), LOOKED_AT)


def _elements(text: str) -> Iterator[dict[str, Any]]:  # Any: as above
    at = 0
    while text[at : at + 1] == "{":
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value
        while text[at : at + 1] and text[at] in ", \t\r\n":
            at += 1
