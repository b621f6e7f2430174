"""Rows of a file, some thousand at a time, and the columns that paths make of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping as AbstractMapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

from steelyard.errors import MappingError, UnreadableFileError
from steelyard.mappings._conversions import plain_text
from steelyard.mappings._mapping import ROOTS, Conditions, Mapping, Scalar
from steelyard.mappings._paths import Path, Several, getter, parse_path, root_of
from steelyard.suggestions import nearest

COLUMN = "$column"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the paths of one file can lead to besides its rows."""

    shown: str
    """How the user knows the file."""
    header: AbstractMapping[str, int] | None = None
    """A table's columns; None for JSON."""
    twice: frozenset[str] = frozenset()
    """Columns that occur twice in the header, and so are ambiguous."""
    document: Any = None  # Any: JSON
    extra_files: AbstractMapping[str, Any] = field(default_factory=dict)  # Any: JSON
    missing: frozenset[str] = frozenset({""})
    """Words, in lower case, that mean that a cell holds no value."""

    def root(self, name: str) -> Any:  # Any: a text, a list of texts, or JSON
        """What a root means that is the same for all rows."""
        path = PurePath(self.shown.replace("!/", "/"))
        match name:
            case "file":
                return path.name
            case "stem":
                return path.stem
            case "folder":
                return [folder.name for folder in path.parents if folder.name]
            case "doc":
                return self.document
        return self.extra_files[name]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows, each with its line and its place in the document."""

    facts: FileFacts
    rows: Sequence[Any]  # Any: lists of cells, or JSON
    lines: Sequence[int]
    keys: Sequence[tuple[Any, ...]] = ()
    """Keys and indices of the entries that were taken apart to come to each row, the outermost first."""
    outers: Sequence[Any] = ()
    """What was taken apart last but one."""
    columns: Sequence[str] = ()
    """The column that each row is the run of, where columns are runs."""
    _values: dict[str, list[Any]] = field(default_factory=dict)  # Any: cells or JSON

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, text: str) -> list[Any]:  # Any: cells or JSON
        """What the path leads to in each row; None where there is nothing."""
        if text not in self._values:
            self._values[text] = self._followed(text)
        return self._values[text]

    def _followed(self, text: str) -> list[Any]:  # Any: as above
        root = root_of(text)
        if root is None and self.facts.header is not None:
            return self._cells(text)
        path = parse_path(text)
        if root is None:
            follow = getter(path.steps)
            return [_there(follow(row)) for row in self.rows]
        return self._from_root(root, path)

    def _from_root(self, root: str, path: Path) -> list[Any]:  # Any: as above
        follow = getter(path.steps)
        match root:
            case "row":
                starts: Sequence[Any] = self.rows
            case "key":
                if not path.steps:
                    return [key[-1] if key else None for key in self.keys] or [None] * len(self)
                starts = [list(key) for key in self.keys] or [None] * len(self)
            case "index":
                starts = [key[-1] + 1 if key and isinstance(key[-1], int) else None for key in self.keys]
                starts = starts or [None] * len(self)
            case "outer":
                starts = self.outers or [None] * len(self)
            case "column":
                starts = self.columns
            case "cell":
                return self._cells_of_columns(COLUMN)
            case _:
                value = follow(self.facts.root(root))
                return [_there(value)] * len(self)
        return [_there(follow(start)) for start in starts]

    def _cells(self, name: str) -> list[Any]:  # Any: texts or None
        if COLUMN in name:
            return self._cells_of_columns(name)
        index, missing = self._index(name), self.facts.missing
        column = [row[index] for row in self.rows]
        if not set(map(type, column)) <= {str}:  # the cells of a data frame
            return [None if isinstance(cell, str) and cell.strip().casefold() in missing else cell for cell in column]
        longest = max(map(len, missing))
        short = [cell for cell in set(column) if len(cell) <= longest or cell[0] <= " " or cell[-1] <= " "]
        empty = {cell for cell in short if cell.strip().casefold() in missing}
        return [None if cell in empty else cell for cell in column] if empty else column

    def _cells_of_columns(self, template: str) -> list[Any]:  # Any: cells or JSON
        """Return the cell of each row's own column, which the template names."""
        values: list[Any] = [None] * len(self)  # Any: as above
        rows: dict[str, list[int]] = {}
        for row, column in enumerate(self.columns):
            rows.setdefault(column, []).append(row)
        for column, own in rows.items():
            cells = self._picked(own).values(template.replace(COLUMN, column))
            for row, cell in zip(own, cells, strict=True):
                values[row] = cell
        return values

    def _index(self, name: str) -> int:
        assert self.facts.header is not None
        name = name.strip()
        if name not in self.facts.header:
            name = name.removeprefix('"').removesuffix('"')
        if name in self.facts.twice:
            raise UnreadableFileError(self.facts.shown, f"duplicate column {name!r}", hint="use unique names")
        if name not in self.facts.header:
            raise missing_column(name, self.facts)
        return self.facts.header[name]

    def meets(self, conditions: Conditions) -> list[bool]:
        """Which rows hold one of the wanted values under each path."""
        met = [True] * len(self)
        for path, wanted in conditions.items():
            wants = _any_of(_wanted(wanted if isinstance(wanted, tuple) else (wanted,)))
            met = [before and wants(value) for before, value in zip(met, self.values(path), strict=True)]
        return met

    def only(self, chosen: Sequence[bool]) -> Batch:
        """The chosen rows alone."""
        return self if all(chosen) else self._picked([row for row, is_chosen in enumerate(chosen) if is_chosen])

    def _picked(self, rows: Sequence[int]) -> Batch:
        def picked(values: Sequence[Any]) -> list[Any]:  # Any: cells or JSON
            return [values[row] for row in rows] if values else []

        keys, outers, columns = picked(self.keys), picked(self.outers), picked(self.columns)
        return Batch(self.facts, picked(self.rows), picked(self.lines), keys, outers, columns)


def missing_column(name: str, facts: FileFacts) -> UnreadableFileError:
    """The error of a table that lacks a column of the mapping."""
    header = list(facts.header or ())
    close = nearest(name, header)
    known = ", ".join(header[:12]) + (", ..." if len(header) > 12 else "")
    return UnreadableFileError(
        facts.shown,
        f"unknown column {name!r}",
        hint=f"did you mean {close!r}?" if close else f"its columns: {known}",
    )


class Scope(NamedTuple):
    """What paths lead through."""

    is_json: bool
    """JSON values, or a table's cells."""
    levels: int
    """How many lists and objects were taken apart to come to a row."""


def check_path(text: str, mapping: Mapping, scope: Scope) -> None:
    """Reject what is no path, begins with an unknown root, or can lead to nothing."""
    root = root_of(text)
    if root is not None and root not in ROOTS and root not in mapping.extra_files:
        close = nearest(root, [*ROOTS, *mapping.extra_files])
        hint = f"did you mean ${close}?" if close else "name the file in [extra_files]"
        raise MappingError(f"the path {text!r} starts with the unknown variable ${root}", hint=hint)
    if root in ("column", "cell") and not mapping.rows.columns:
        raise MappingError(f"${root} needs rows.columns")
    if scope.levels < _LEVELS.get(root or "", 0):
        raise MappingError(f"${root} is not available here", hint='it needs a list of rows: rows.at = "results[*]"')
    if scope.is_json or root is not None:
        parse_path(text)


_LEVELS = {"key": 1, "index": 1, "outer": 2}
"""How many lists and objects must be taken apart for a root to mean something."""


def _there(value: Any) -> Any:  # Any: JSON
    return None if value == "" else value


Wants = Callable[[Any], bool]  # Any: cells or JSON


def _any_of(wants: Wants) -> Wants:
    """Of several values one is enough."""
    return lambda value: any(map(wants, value)) if isinstance(value, Several) else wants(value)


def _wanted(values: tuple[Scalar, ...]) -> Wants:
    if "*" in values:
        return lambda value: value is not None
    words = {plain_text(value) for value in values}
    figures = {float(value) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)}

    def wants(value: Any) -> bool:  # Any: cells or JSON
        return plain_text(value) in words or (bool(figures) and _figure(value) in figures)

    return wants


def _figure(value: Any) -> float | None:  # Any: as above
    try:
        return float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None
