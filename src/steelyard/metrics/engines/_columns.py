"""Facts and metrics as column expressions for every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw

from steelyard.metrics import Value, catalog, evaluate
from steelyard.profiles import Profile
from steelyard.records import RUN_FIELDS, Missing, is_custom_input


@dataclass(frozen=True)
class Formulas:
    """Column expressions over the columns that a table has, by the constants of a profile."""

    present: AbstractSet[str]
    profile: Profile
    _made: dict[str, Value] = field(default_factory=dict)

    def column(self, name: str) -> Value:
        """A fact or run metric as a column expression; Missing, with the reason, where no run can have it."""
        return evaluate(name, _ColumnFacts(self.present), self.profile, self._made)

    def facts_behind(self, name: str) -> list[str]:
        """The columns of the table that a fact or metric is made from, by name."""
        return sorted(_facts_behind(name) & self.present)

    def by_python(self, name: str, rows: Iterator[Mapping[str, Any]]) -> list[float | None]:  # Any: facts
        """The metric of rows of facts, row by row: what no engine may round in its own way."""
        made = [evaluate(name, row, self.profile, {}) for row in rows]
        return [None if isinstance(value, Missing) else value for value in made]

    def why_missing(self, name: str, row: Mapping[str, Any]) -> str:  # Any: facts
        """Why a run with these facts has no such metric."""
        value = evaluate(name, row, self.profile, {})
        return value.reason if isinstance(value, Missing) else "no run has a value"


def number_column(value: Value) -> nw.Expr:
    """The expression as numbers in which only null is missing, and 0 has one sign."""
    column = value if isinstance(value, nw.Expr) else nw.lit(value)
    return column.cast(nw.Float64) + 0.0


def _facts_behind(name: str) -> set[str]:
    declared = None if name in RUN_FIELDS or is_custom_input(name) else catalog()[name]
    if declared is None or (declared.is_of_rows and declared.level != "run" and declared.mean_of is None):
        return {name}
    if declared.mean_of is not None:
        return _facts_behind(declared.mean_of)
    return set().union(*(_facts_behind(spec.of or parameter) for parameter, spec in declared.inputs.items()))


class _ColumnFacts(Mapping[str, Any]):  # Any: column expressions
    """The facts of a table as column expressions, made when asked for."""

    def __init__(self, present: AbstractSet[str]) -> None:
        self._present = (present & {*RUN_FIELDS, *catalog()}) | {name for name in present if is_custom_input(name)}

    def __getitem__(self, name: str) -> Value:
        if name not in self._present:
            raise KeyError(name)
        return nw.col(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._present))

    def __len__(self) -> int:
        return len(self._present)
