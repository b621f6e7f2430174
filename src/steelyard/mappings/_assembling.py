"""From columns of values to the nested values of records: parts, lists of parts, and lines that are one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from steelyard.mappings._batches import Batch
from steelyard.mappings._columns import Column, taken
from steelyard.mappings._compiling import Branch, Leaf, Template
from steelyard.mappings._conversions import Problem, shown
from steelyard.mappings._mapping import listed
from steelyard.mappings._paths import Several

Values = dict[str, Any]  # Any: values of a record's fields


class Evaluated(NamedTuple):
    """The columns of some rows: one for each leaf, and for each branch the parts of each row."""

    template: Template
    lines: Sequence[int]
    columns: list[Column]
    parts: list[Column]

    def problems(self) -> dict[int, tuple[str, Problem]]:
        """The first problem of each row that has one, with the column that it is in."""
        wrong: dict[int, tuple[str, Problem]] = {}
        labels = [leaf.label for leaf in self.template.leaves]
        labels += [".".join(branch.place) for branch in self.template.branches]
        for label, column in zip(labels, (*self.columns, *self.parts), strict=True):
            if Problem in set(map(type, column)):
                for row, value in enumerate(column):
                    if isinstance(value, Problem):
                        wrong.setdefault(row, (label, value))
        return wrong

    def assembled(self) -> list[Values]:
        """Each row's values as a record has them; a part of constants alone is left out."""
        by_part: dict[tuple[str, ...], list[tuple[Leaf, Column]]] = {(): []}
        for leaf, column in zip(self.template.leaves, self.columns, strict=True):
            by_part.setdefault(leaf.place[:-1], []).append((leaf, column))
        made: list[Values] = _rows_of(by_part.pop(()), len(self.lines))
        for part, fields in by_part.items():
            varying = [leaf.place[-1] for leaf, _ in fields if not leaf.is_constant]
            for whole, inner in zip(made, _rows_of(fields, len(self.lines)), strict=True):
                if inner and (not varying or any(name in inner for name in varying)):
                    _put(whole, part, inner)
        for branch, column in zip(self.template.branches, self.parts, strict=True):
            for whole, parts in zip(made, column, strict=True):
                if parts and not isinstance(parts, Problem):
                    _put(whole, branch.place, parts)
        return made


def _rows_of(fields: list[tuple[Leaf, Column]], count: int) -> list[Values]:
    if not fields:
        return [{} for _ in range(count)]
    names = [leaf.place[-1] for leaf, _ in fields]
    rows = zip(*(column for _, column in fields), strict=True)
    return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows]


def _put(whole: Values, place: tuple[str, ...], value: Any) -> None:  # Any: a part, or a list of parts
    for name in place[:-1]:
        whole = whole.setdefault(name, {})
    whole[place[-1]] = value


def evaluated(template: Template, batch: Batch) -> Evaluated:
    """The columns of a batch."""
    columns = [leaf.column(batch) for leaf in template.leaves]
    return Evaluated(template, batch.lines, columns, [_parts(branch, batch) for branch in template.branches])


def _parts(branch: Branch, batch: Batch) -> Column:
    """The parts of each row, by all templates in turn."""
    parts: Column = [[] for _ in range(len(batch))]
    for template in branch.templates:
        inner, owners = _inner(template, batch)
        if template.when:
            met = inner.meets(template.when)
            inner, owners = inner.only(met), [owner for owner, is_met in zip(owners, met, strict=True) if is_met]
        made = evaluated(template, inner)
        wrong = made.problems()
        is_there = _is_there(made)
        for row, part in enumerate(made.assembled()):
            owner = owners[row]
            if row in wrong:
                parts[owner] = Problem(f"{wrong[row][0]}: {wrong[row][1].reason}", wrong[row][1].hint)
            elif is_there[row] and not isinstance(parts[owner], Problem):
                parts[owner].append(part)
    return parts


def _is_there(made: Evaluated) -> list[bool]:
    """Return which rows have more than constants, where the template has more than constants."""
    leaves = zip(made.template.leaves, made.columns, strict=True)
    varying = [column for leaf, column in leaves if not leaf.is_constant] + made.parts
    if not varying:
        return [True] * len(made.lines)
    return [any(value is not None and value != [] for value in row) for row in zip(*varying, strict=True)]


def _inner(template: Template, batch: Batch) -> tuple[Batch, Sequence[int]]:
    """The rows that parts are made of, each with the row that it belongs to."""
    if template.each is None:
        return batch, range(len(batch))
    values: list[Any] = []  # Any: JSON
    owners: list[int] = []
    for owner, reached in enumerate(batch.values(template.each)):
        several = reached if isinstance(reached, (Several, list)) else [] if reached is None else [reached]
        values += several
        owners += [owner] * len(several)
    inner = Batch(
        replace(batch.facts, header=None),  # parts of rows are no tables
        values,
        [batch.lines[owner] for owner in owners],
        [(at,) for at in range(len(values))],
        [batch.rows[owner] for owner in owners],
    )
    return inner, owners


@dataclass(slots=True)
class Groups:
    """Lines that are one run, kept until all are there."""

    template: Template
    by: Sequence[str]
    _rows: dict[tuple[str, ...], list[tuple[int, list[Any]]]] = field(default_factory=dict)  # Any: values of a row
    nameless: list[int] = field(default_factory=list)
    """Lines without the key of their run."""

    def add(self, batch: Batch) -> None:
        """Keep the values of these lines."""
        made = evaluated(self.template, batch)
        rows = list(zip(*made.columns, *made.parts, strict=True))
        for at, key in enumerate(zip(*map(batch.values, listed(tuple(self.by))), strict=True)):
            if any(value is None for value in key):
                self.nameless.append(batch.lines[at])
            else:
                self._rows.setdefault(tuple(map(repr, key)), []).append((batch.lines[at], list(rows[at])))

    def finish(self) -> Evaluated:
        """One row for each run."""
        groups = list(self._rows.values())
        leaves = self.template.leaves
        columns = [[_agreed(leaf, [row[at] for _, row in rows]) for rows in groups] for at, leaf in enumerate(leaves)]
        places = range(len(leaves), len(leaves) + len(self.template.branches))
        parts = [[_joined([row[at] for _, row in rows]) for rows in groups] for at in places]
        return Evaluated(self.template, [rows[0][0] for rows in groups], columns, parts)


def _agreed(leaf: Leaf, values: list[Any]) -> Any:  # Any: values of a field
    """Return the value of a run with several lines: by `take`, else the one that all of them give."""
    if leaf.take is not None:
        return taken(values, leaf.take)
    known = [value for value in values if value is not None]
    other = next((value for value in known if value != known[0] or isinstance(value, Problem)), None)
    if other is None or isinstance(other, Problem):
        return other if other is not None else known[0] if known else None
    hint = 'set take to "first", "last", "sum", "max", ...'
    return Problem(f"the lines of the run have different values: {shown(known[0])}, {shown(other)}", hint)


def _joined(values: list[Any]) -> Any:  # Any: lists of parts, or a Problem
    problem = next((value for value in values if isinstance(value, Problem)), None)
    return problem if problem is not None else [part for parts in values for part in parts]
