"""A compiled mapping: each field is a function from a batch of rows to a column of values.

A text that occurs in many rows is converted once. Several values become one, and columns are combined by arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import msgspec

from steelyard.errors import MappingError, UnreadableFileError
from steelyard.records import Run, custom_value, exact_mean
from steelyard.sources.mappings._batches import Batch, Scope, check_path
from steelyard.sources.mappings._conversions import (
    Convert,
    Problem,
    by_patterns,
    by_words,
    shown,
    to_duration,
    to_flag,
    to_json,
    to_number,
    to_outcome,
    to_text,
    to_time,
    to_whole,
)
from steelyard.sources.mappings._mapping import Conditions, Field, FieldSpec, Mapping, Take, listed
from steelyard.sources.mappings._paths import STAR, Several, parse_path, root_of

INSIDE_EACH = 2
"""Within `each`, a value has an index, and the row that it is in."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One field of the record and how its column comes."""

    place: tuple[str, ...]
    label: str
    """What messages name: the column or path."""
    column: Callable[[Batch], Column]
    is_constant: bool
    take: Take | None
    is_counted: bool
    """Whether its value is added up or counted from several."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A list of parts, each made by one of the templates."""

    place: tuple[str, ...]
    templates: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """How a record or a part comes: of the row itself, or of each value that a path leads to."""

    each: str | None
    when: Conditions
    """Only parts in which these columns or paths hold these values."""
    leaves: tuple[Leaf, ...]
    branches: tuple[Branch, ...]


def compiled(mapping: Mapping) -> Template:
    """The template of the mapping's runs."""
    spec = mapping.rows
    levels = parse_path(spec.rows_at).steps.count(STAR)
    scope = Scope(is_json=spec.format != "csv", levels=levels)
    for path in (*spec.where, *spec.unless, *listed(mapping.group.by if mapping.group else None)):
        check_path(path, mapping, scope)
    if mapping.run.task is None:
        raise MappingError("run.task is missing", where=mapping.name, hint="every run needs a task")
    return _Compiler(mapping).template(mapping.run, Run, scope)


@dataclass(frozen=True, slots=True)
class _Compiler:
    mapping: Mapping

    def template(self, specified: Any, record: type[Any], scope: Scope) -> Template:  # Any: made from the record
        """The template of one record, or of one kind of part in a list."""
        leaves: list[Leaf] = []
        branches: list[Branch] = []
        each = getattr(specified, "each", None)
        if each is not None:
            if not scope.is_json:
                raise MappingError(
                    f"each = {each!r} is only for JSON: a CSV cell has one value", where=self.mapping.name
                )
            check_path(each, self.mapping, scope)
            scope = Scope(is_json=True, levels=INSIDE_EACH)
        when: Conditions = getattr(specified, "when", {})
        for path in when:
            check_path(path, self.mapping, scope)
        for place, spec, type_ in _given_fields(specified, record, ()):
            if isinstance(spec, tuple):
                inner = type_.item_type.cls
                templates = tuple(self.template(part, inner, scope) for part in spec)
                branches.append(Branch(place, templates))
            else:
                leaves.append(self._leaf(place, spec, type_, scope))
        return Template(each, when, tuple(leaves), tuple(branches))

    def _leaf(self, place: tuple[str, ...], spec: FieldSpec, type_: Any, scope: Scope) -> Leaf:  # Any: msgspec's
        field = Field(from_=spec) if isinstance(spec, str) else spec
        name = ".".join(place)
        try:
            for path in _paths_of(field):
                check_path(path, self.mapping, scope)
            kind, is_list = self._kind(name, field, type_)
            is_several = field.all_of is not None or any(
                (scope.is_json or root_of(path)) and parse_path(path).is_several for path in field.paths
            )
            if is_several and field.take is None and not is_list:
                raise MappingError("[*] selects several values", hint='combine them: take = "sum"')
            convert = self._conversion(field, kind, name)
            if field.take is not None and not is_several and self.mapping.group is None:
                raise MappingError("take needs several values (got one)", hint="use a path with [*], all_of or [group]")
            if is_list:
                convert = _listing(
                    convert, single=to_whole(self.mapping.numbers, field) if place[0] == "tests" else None
                )
            column = self._column(field, convert, kind, is_several=is_several)
        except MappingError as error:
            raise MappingError(f"run.{name}: {error.message}", where=self.mapping.name, hint=error.hint) from error
        return Leaf(
            place=place,
            label=" + ".join(field.paths) or name,
            column=column,
            is_constant=field.value is not None and not field.when,
            take=_over_lines(field.take) if is_several else field.take,
            is_counted=field.take in ("sum", "count"),
        )

    def _kind(self, name: str, field: Field, type_: Any) -> tuple[str, bool]:  # Any: as above
        """What kind of value the field holds, and whether it holds a list of them."""
        if name.startswith("x_"):
            return field.as_ or ("str" if self.mapping.rows.format == "csv" else "json"), False
        if field.as_ is not None:
            raise MappingError(
                "`as` is only for custom fields (x_...)", hint="remove it: the run record defines the type"
            )
        return _kind_of(name, type_)

    def _conversion(self, field: Field, kind: str, name: str) -> Convert:
        """The function from a value in the file to the field's, without what needs other fields."""
        if field.value is not None:
            return to_json
        steps: list[Convert] = []
        if field.pattern is not None:
            steps.append(by_patterns(listed(field.pattern), else_absent=field.else_ is not None))
        steps.append(by_words(field.words) if field.words else self._by_kind(kind, name, field))
        if field.zero is not None:
            steps.append(lambda value: None if value == 0 and not isinstance(value, bool) else value)
        return steps[0] if len(steps) == 1 else _chained(tuple(steps))

    def _by_kind(self, kind: str, name: str, field: Field) -> Convert:
        numbers = self.mapping.numbers
        if field.take == "count":
            return to_json
        if field.at_least is not None or kind == "float":
            return to_number(numbers, field, money=name.endswith("_usd"))
        match kind:
            case "int":
                # What is not whole yet may be so after it was multiplied or divided.
                return to_number(numbers, field) if field.round or _operands(field) else to_whole(numbers, field)
            case "duration":
                return to_duration(numbers, field)
            case "time":
                return to_time(field)
            case "json":
                return to_json if self.mapping.rows.format != "csv" else custom_value
        return {"bool": to_flag, "outcome": to_outcome}.get(kind, to_text)

    def _column(self, field: Field, convert: Convert, kind: str, *, is_several: bool) -> Callable[[Batch], Column]:
        operands = [(operation, self._operand(given)) for operation, given in _operands(field)]
        finish = _finisher(field, kind)
        take = field.take if is_several else None

        def column(batch: Batch) -> Column:
            raw = raw_column(field, batch)
            if is_several and take is None:  # without a way to make one of them they are a list
                raw = [list(value) if isinstance(value, Several) else value for value in raw]
            values = converted(raw, convert)
            if take is not None:
                values = [taken(value, take) if isinstance(value, Several) else value for value in values]
            for operation, operand in operands:
                values = [operated(operation, a, b) for a, b in zip(values, operand(batch), strict=True)]
            if finish is not None:
                values = [finish(value) for value in values]
            if field.when:
                met = batch.meets(field.when)
                values = [value if is_met else None for value, is_met in zip(values, met, strict=True)]
            if field.default is not None:
                values = [field.default if value is None else value for value in values]
            return values

        return column

    def _operand(self, given: float | str) -> Operand:
        if not isinstance(given, str):
            return lambda batch: [given] * len(batch)
        number = to_number(self.mapping.numbers, Field(value=0))
        return lambda batch: converted(batch.values(given), number)


def _over_lines(take: Take | None) -> Take | None:
    """How the lines of a group are joined where each line has several values already; None where they must agree."""
    return "sum" if take == "count" else None if take == "mean" else take


def _operands(field: Field) -> list[tuple[Operation, float | str]]:
    """What is done with other columns, in order."""
    single = [(times, field.times), (over, field.over)]
    many = [(plus, path) for path in listed(field.plus)] + [(minus, path) for path in listed(field.minus)]
    return [(operation, given) for operation, given in single if given is not None] + list(many)


def _paths_of(field: Field) -> Iterator[str]:
    yield from (*field.paths, *field.when)
    yield from (given for _, given in _operands(field) if isinstance(given, str))


def _given_fields(
    specified: Any, record: type[Any], place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:  # Any: made from the record; msgspec's types
    """Each field that the mapping gives, with its place in the record and the type that it has there."""
    info: Any = msgspec.inspect.type_info(record)  # Any: a struct's
    types = {field.name: _without_none(field.type) for field in info.fields}
    for name in specified.__struct_fields__:
        spec = getattr(specified, name)
        if name in ("each", "when") or spec is None:
            continue
        if name == "x_":
            for key, own in spec.items():
                yield (key,), own, None
        elif isinstance(types[name], msgspec.inspect.StructType):
            yield from _given_fields(spec, types[name].cls, (*place, name))
        else:
            yield (*place, name), spec, types[name]


def _without_none(type_: Any) -> Any:  # Any: msgspec's types
    if not isinstance(type_, msgspec.inspect.UnionType):
        return type_
    return next(inner for inner in type_.types if not isinstance(inner, msgspec.inspect.NoneType))


def _kind_of(name: str, type_: Any) -> tuple[str, bool]:  # Any: msgspec's types
    match type_:
        case msgspec.inspect.VarTupleType():  # names of tests may also be given as their number
            return _kind_of(name, type_.item_type)[0], True
        case msgspec.inspect.BoolType():
            return "bool", False
        case msgspec.inspect.IntType():
            return "int", False
        case msgspec.inspect.FloatType():
            return "duration" if name.endswith("seconds") else "float", False
        case msgspec.inspect.DateTimeType():
            return "time", False
        case msgspec.inspect.LiteralType() if name == "outcome":
            return "outcome", False
    return "str", False


def _listing(convert: Convert, *, single: Convert | None) -> Convert:
    """The conversion of a field that holds a list; another value is a list of one, or what `single` makes of it."""

    def convert_list(value: Any) -> Any:  # Any: JSON
        if not isinstance(value, list) and single is not None:
            return single(value)
        items = [convert(item) for item in (value if isinstance(value, list) else [value]) if item is not None]
        return next((item for item in items if isinstance(item, Problem)), items)

    return convert_list


def _finisher(field: Field, kind: str) -> Convert | None:
    """What is done to the value at the end; None where nothing is."""
    least = field.at_least
    if least is not None:
        return lambda value: value if value is None or isinstance(value, Problem) else value >= least
    if field.round:
        return _rounded
    if kind == "int" and _operands(field):
        return _whole
    return None


def _rounded(value: Any) -> Any:  # Any: a number, None or a Problem
    return round(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _whole(value: Any) -> Any:  # Any: a number, None or a Problem
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else Problem(f"{shown(value)} is not an integer")


def _chained(steps: tuple[Convert, ...]) -> Convert:
    def convert(value: Any) -> Any:  # Any: cells or JSON
        for step in steps:
            value = step(value)
            if value is None or isinstance(value, Problem):
                return value
        return value

    return convert


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
