"""What is done to whole columns: converting each distinct text once, several values to one, and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from steelyard.errors import UnreadableFileError
from steelyard.mappings._batches import Batch
from steelyard.mappings._conversions import Convert, Problem, shown
from steelyard.mappings._mapping import Field, Take
from steelyard.mappings._paths import Several
from steelyard.records import exact_mean

Column = list[Any]
"""A value for each row: None where there is none, a `Problem` where it cannot be used."""
Operation = Callable[[Any, Any], Any]  # Any: numbers
Operand = Callable[[Batch], Column]


def raw_column(field: Field, batch: Batch) -> Column:
    """What the file holds for the field in each row."""
    if field.value is not None:
        return [field.value] * len(batch)
    if field.from_ is not None:
        return batch.values(field.from_)
    if field.all_of is not None:
        return [Several(values) for values in zip(*map(batch.values, field.all_of), strict=True)]
    column: Column = [None] * len(batch)
    absent: list[UnreadableFileError] = []
    for path in field.first_of or ():
        try:
            others = batch.values(path)
        except UnreadableFileError as error:
            absent.append(error)  # tables of several layouts are why there are several columns
            continue
        column = [other if value is None else value for value, other in zip(column, others, strict=True)]
    if absent and len(absent) == len(field.first_of or ()):
        raise absent[0]
    return column


def converted(column: Column, convert: Convert) -> Column:
    """Convert the column; a text that occurs in many rows is looked at once."""
    kinds = set(map(type, column))
    if not kinds <= _TEXT_OR_NOTHING:
        return [_converted(value, convert) for value in column]
    meanings = {text: None if text is None else convert(text) for text in set(column)}
    return [meanings[value] for value in column]


_TEXT_OR_NOTHING = frozenset({str, type(None)})


def _converted(value: Any, convert: Convert) -> Any:  # Any: cells or JSON
    if value is None:
        return None
    if isinstance(value, Several):
        return Several(_converted(inner, convert) for inner in value)
    return convert(value)


def taken(values: Sequence[Any], take: Take) -> Any:  # Any: converted values
    """One value of several: what is not known is left out, save that it leaves `any` and `all` open."""
    problem = next((value for value in values if isinstance(value, Problem)), None)
    known = [value for value in values if value is not None]
    if problem is not None:
        return problem
    if take == "count":
        return len(known)
    if not known:
        return None
    match take:
        case "first":
            return known[0]
        case "last":
            return known[-1]
        case "any" | "all":
            return _decided(values, by=take == "any")
        case "sum" | "mean" | "min" | "max":
            odd = next(
                (value for value in known if isinstance(value, bool) or not isinstance(value, (int, float))), None
            )
            if odd is not None and take in ("sum", "mean"):
                return Problem(f"{shown(odd)} is not a number; cannot compute {take}")
            return _REDUCED[take](known)
        case _:
            assert_never(take)


def _total(values: list[Any]) -> float:  # Any: numbers
    """The sum, rounded once whatever the order; of whole numbers a whole number."""
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)


_REDUCED: dict[str, Callable[[list[Any]], Any]] = {"sum": _total, "mean": exact_mean, "min": min, "max": max}


def _decided(values: Sequence[Any], *, by: bool) -> Any:  # Any: flags
    if any(not isinstance(value, bool) for value in values if value is not None):
        return Problem("any and all need booleans", "define the values: words = { pass = true, fail = false }")
    if by in values:
        return by
    return None if None in values else not by


def operated(operation: Operation, value: Any, operand: Any) -> Any:  # Any: numbers, None or a Problem
    """The result; what is not known stays unknown."""
    if value is None or isinstance(value, Problem):
        return value
    if isinstance(operand, Problem):
        return operand
    try:
        return operation(value, operand)
    except (TypeError, OverflowError):
        return Problem(f"{shown(value)} is not a number")


def times(value: Any, operand: Any) -> Any:  # Any: numbers or None
    """The product."""
    return None if operand is None else value * operand


def over(value: Any, operand: Any) -> Any:  # Any: numbers or None
    """The quotient; nothing is known of what is divided by 0."""
    return None if not operand else value / operand


def plus(value: Any, operand: Any) -> Any:  # Any: numbers or None
    """The sum; an absent operand adds nothing."""
    return value if operand is None else value + operand


def minus(value: Any, operand: Any) -> Any:  # Any: numbers or None
    """The difference; an absent operand subtracts nothing."""
    return value if operand is None else value - operand
