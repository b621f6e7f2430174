"""Which columns count the tasks that each row summarizes, as a leaderboard's do.

A rate is multiplied by the number of tasks. It is only surely the rate of these tasks if that gives an integer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.sources.mappings._conversions import Problem, plain_text, to_number
from steelyard.sources.mappings._field_matches import header_words
from steelyard.sources.mappings._layouts import Column
from steelyard.sources.mappings._mapping import Field, Numbers

TASK_NOUNS = frozenset({
    "test", "tests", "case", "cases", "task", "tasks", "instance", "instances", "problem", "problems", "question",
    "questions", "sample", "samples", "example", "examples", "exercise", "exercises", "aufgaben", "taches", "tareas",
})  # fmt: skip
"""What the rows of a leaderboard were measured on."""
COUNT_WORDS = frozenset({"n", "num", "number", "total", "count", "of", "anzahl", "nombre", "numero"})
"""Words of counts, and of totals."""
PASSES = frozenset({"pass", "passed", "passes", "resolved", "solved", "correct", "success", "successes"})
"""Words of tasks that passed."""
RATES = frozenset({"rate", "percent", "percentage", "pct", "%", "share", "fraction"})
"""Words of fractions."""
MIN_TASKS = 2
_EXACT = 1e-6
"""A rate that is not rounded is off by less, relative to the count."""


@dataclass(frozen=True, slots=True)
class PassColumn:
    """A column from which the number of tasks passed may follow."""

    column: Column
    spec: Field
    counts: tuple[int | None, ...]
    """The number in each row."""
    misfits: int
    """Rows in which a rate gives no integer."""


@dataclass(frozen=True, slots=True)
class SummaryColumns:
    """The number of tasks that each row summarizes, and the columns that may count those that passed."""

    total: Column
    passed: tuple[PassColumn, ...]

    @property
    def is_sure(self) -> bool:
        """Whether there is one column, which fits in every row."""
        return len(self.passed) == 1 and not self.passed[0].misfits


def summary_columns(columns: Sequence[Column], numbers: Numbers) -> SummaryColumns | None:
    """Return the counts of summaries; None without a number of tasks or a column of passes.

    Of several numbers of tasks, the one that the passes fit best is returned.
    """
    found: list[tuple[int, int, int, SummaryColumns]] = []
    for place, total in enumerate(columns):
        totals = _totals(total, numbers)
        if totals is None:
            continue
        others = [_passes(column, total, totals, numbers) for column in columns if column is not total]
        passes = [each for each in others if each is not None]
        distinct = _distinct(passes)
        misfits = sum(each.misfits for each in passes)
        found.append((-len(passes), misfits + len(distinct), place, SummaryColumns(total, distinct)))
    best = min(found, default=None)
    return best[-1] if best is not None and best[-1].passed else None


def _totals(column: Column, numbers: Numbers) -> list[int | None] | None:
    """Return the column's numbers of tasks; None if it is no such column."""
    words = set(header_words(column.name))
    if not words or not words <= TASK_NOUNS | COUNT_WORDS or not column.present:
        return None
    counts = _counts(column, numbers)
    return counts if counts is not None and min(filter(None, counts), default=0) >= MIN_TASKS else None


def _counts(column: Column, numbers: Numbers) -> list[int | None] | None:
    """Return the column's integers; None if it has other values."""
    values = _numbers(column, numbers)
    if values is None or any(value is not None and (value < 0 or value != int(value)) for value in values):
        return None
    return [None if value is None else int(value) for value in values]


def _numbers(column: Column, numbers: Numbers) -> list[float | None] | None:
    number = to_number(numbers, Field(value=0))
    values = [None if cell is None else number(cell) for cell in column.cells]
    return None if any(isinstance(value, Problem) for value in values) else values


def _passes(column: Column, total: Column, totals: Sequence[int | None], numbers: Numbers) -> PassColumn | None:
    """Return the column as one of passes, if it is called so and no row has more passes than tasks."""
    words = set(header_words(column.name))
    values = _numbers(column, numbers) if words & PASSES or "accuracy" in words else None
    if values is None or not column.present:
        return None
    if words & RATES or "accuracy" in words:
        return _rates(column, values, total, totals, numbers)
    counts = _counts(column, numbers)
    if counts is None or max(filter(None, counts), default=0) < MIN_TASKS:
        return None
    spec = Field(from_=column.name)
    pairs = zip(counts, totals, strict=True)
    is_within = all(count is None or (of is not None and count <= of) for count, of in pairs)
    return PassColumn(column, spec, tuple(counts), 0) if is_within else None


def _rates(
    column: Column, rates: Sequence[float | None], total: Column, totals: Sequence[int | None], numbers: Numbers
) -> PassColumn | None:
    has_signs = any("%" in (plain_text(cell) or "") for cell in column.present)
    most = max(filter(None, rates), default=0)
    is_percent = not has_signs and most > 1
    if most > (100 if is_percent else 1):
        return None
    digits = max(_decimals(cell, numbers) for cell in column.present) + (2 if is_percent or has_signs else 0)
    counts: list[int | None] = []
    misfits = 0
    for rate, of in zip(rates, totals, strict=True):
        if rate is None or of is None:
            counts.append(None)
            continue
        passed = of * rate / (100 if is_percent else 1)
        room = of * (0.5 * 10.0**-digits + _EXACT)
        misfits += abs(passed - round(passed)) > room or room >= 0.5  # half a task
        counts.append(round(passed))
    spec = Field(from_=column.name, unit="percent" if is_percent else None, times=total.name, round=True)
    return PassColumn(column, spec, tuple(counts), misfits)


def _decimals(cell: object, numbers: Numbers) -> int:
    """Return the number of digits after the decimal sign."""
    match = re.search(rf"{re.escape(numbers.decimal)}(\d+)", plain_text(cell) or "")
    return len(match[1]) if match else 0


def _distinct(found: Sequence[PassColumn]) -> tuple[PassColumn, ...]:
    """Return the columns without those that repeat another one's counts: counts before rates, fuller columns first."""
    ordered = sorted(found, key=lambda each: (-len(each.column.present), each.spec.round))
    kept: list[PassColumn] = []
    for each in ordered:
        if not any(_agree(each, other) for other in kept):
            kept.append(each)
    return tuple(each for each in found if each in kept)


def _agree(one: PassColumn, other: PassColumn) -> bool:
    pairs = zip(one.counts, other.counts, strict=True)
    return all(a == b for a, b in pairs if a is not None and b is not None)
