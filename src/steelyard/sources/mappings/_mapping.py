"""What a mapping is: which rows of a file are runs, and which column or path each field of a run comes from.

Format history (the number under `mapping`):
    1  2026-11  first version
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping as AbstractMapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_origin

import msgspec

from steelyard.errors import MappingError, UnknownNameError, UnreadableFileError
from steelyard.files import errors_as, parse_toml, read_text
from steelyard.records import Count, Record, Run, field_meanings, json_schema, problem_text, unknown_field
from steelyard.settings import TEXT_BYTES

VERSION = 1
_SHIPPED = Path(__file__).parent
Scalar: TypeAlias = str | int | float | bool
Many: TypeAlias = str | tuple[str, ...]
"""One text, or several: a single one may replace a list of one."""
Conditions: TypeAlias = dict[str, Scalar | tuple[Scalar, ...]]
"""Accepted values by path; `"*"` for any value."""
Unit = Literal["percent", "cents", "us", "ms", "s", "min", "h", "thousand", "million"]
Take = Literal["sum", "mean", "min", "max", "count", "first", "last", "any", "all"]
Kind = Literal["str", "float", "int", "bool", "time", "duration", "json"]
_ROOT_NAME = re.compile(r"[a-z][a-z0-9_]*")
ROOTS = frozenset({"key", "outer", "index", "file", "stem", "folder", "doc", "row", "column", "cell"})
"""What a path may begin with besides a name from `[extra_files]`."""


class Field(Record, frozen=True, kw_only=True):
    """Source and conversion of a field. Keys are applied in this order."""

    from_: str | None = msgspec.field(name="from", default=None)
    """Column (CSV) or path (JSON)."""
    first_of: tuple[str, ...] | None = None
    """Several columns or paths; the first with a value is used."""
    all_of: tuple[str, ...] | None = None
    """Several columns or paths, combined by `take`."""
    value: Scalar | None = None
    """Constant value."""
    when: Conditions = msgspec.field(default_factory=dict)
    """The field is absent unless these columns or paths have these values."""
    pattern: Many | None = None
    """Regular expression whose first group is the value; of several, the first that matches."""
    else_: Literal["absent"] | None = msgspec.field(name="else", default=None)
    """`absent`: if no pattern matches, the field is absent; otherwise the row is rejected."""
    words: dict[str, Scalar] = msgspec.field(default_factory=dict)
    """Values of words, case-insensitive; `"*"` is the default. Rows with other words are rejected."""
    unit: Unit | None = None
    """Unit of the number; a unit in the cell takes precedence."""
    clock: Literal["m:ss", "h:mm"] | None = None
    """Meaning of a duration such as 1:30."""
    format: str | None = None
    """Time format, as in Python's strptime: `%d.%m.%Y %H:%M`."""
    zone: str | None = None
    """Time zone of times without one, such as Europe/Berlin (default: UTC)."""
    zero: Literal["unknown"] | None = None
    """`unknown`: treat 0 as unknown."""
    take: Take | None = None
    """How to combine several values: of a path with `[*]`, of `all_of`, or of the lines of a group."""
    times: float | str | None = None
    """Multiply by a number, or by another column or path."""
    over: float | str | None = None
    """Divide by a number, or by another column or path."""
    plus: Many | None = None
    """Add other columns or paths; absent ones are ignored."""
    minus: Many | None = None
    """Subtract other columns or paths; absent ones are ignored."""
    round: bool = False
    """Round to the nearest integer, such as a count computed from a rate."""
    at_least: float | None = None
    """True if the value is at least this number."""
    default: Scalar | None = None
    """Value of an empty cell."""
    as_: Kind | None = msgspec.field(name="as", default=None)
    """Type of a custom field; other fields have the type of the run record."""

    def __post_init__(self) -> None:
        sources = [name for name in ("from", "first_of", "all_of", "value") if self._given(name)]
        if len(sources) != 1:
            named = " and ".join(sources) or "none"
            raise ValueError(f"a field needs exactly one of from, first_of, all_of and value (got {named})")
        if self.all_of is not None and self.take is None:
            raise ValueError("all_of needs take")
        if self.else_ is not None and self.pattern is None:
            raise ValueError("else needs a pattern")

    def _given(self, name: str) -> bool:
        return getattr(self, "from_" if name == "from" else name) is not None

    @property
    def paths(self) -> tuple[str, ...]:
        """The columns or paths that its value comes from."""
        return (self.from_,) if self.from_ is not None else self.first_of or self.all_of or ()


class Rows(Record, frozen=True, kw_only=True):
    """Rows of a file, and which to include."""

    format: Literal["csv", "json", "jsonl"]
    """CSV table, JSON document, or one JSON object per line."""
    files: Many | None = None
    """File name patterns for directories and archives, such as `*_eval_all.json` (default: the usual suffixes)."""
    skip: Count = 0
    """Number of lines above the header."""
    delimiter: Annotated[str, msgspec.Meta(min_length=1, max_length=1)] = ","
    """Column separator."""
    encoding: Literal["utf-8", "utf-16", "latin-1", "cp1252"] = "utf-8"
    """Text encoding."""
    at: str | None = None
    """Path of the rows in a JSON value: `results[*]`, `eval[*][*]`; empty for the value itself. Default: each
    item or entry of a document, and each line of JSON Lines."""
    where: Conditions = msgspec.field(default_factory=dict)
    """Only rows in which these columns or paths have these values; `"*"` for any value."""
    unless: Conditions = msgspec.field(default_factory=dict)
    """Without rows in which one of these columns or paths has this value, such as the total."""
    columns: tuple[str, ...] = ()
    """Columns that each contain a run, such as one per model: `$column` is the name and `$cell` the value. With
    several columns per model, the common part of their names: `"$column cost"` is the column `gpt-5 cost`."""

    @property
    def rows_at(self) -> str:
        """Where the rows of a JSON value are."""
        return self.at if self.at is not None else "[*]" if self.format == "json" else ""


class Numbers(Record, frozen=True, kw_only=True):
    """Number format and missing-value markers."""

    decimal: Literal[".", ","] = "."
    """Decimal separator."""
    thousands: Literal[",", ".", " ", "'", ""] = ","
    """Thousands separator; optional in numbers."""
    missing: Many = (
        "n/a", "na", "nan", "none", "null", "-", "–", "—", "?", "k.a.", "k. a.", "n/d", "n.d.", "#n/a", "#na", "#nv",  # noqa: RUF001 # dashes as sheets have them
        "#n/d", "#null!", "#div/0!", "#value!", "#wert!",
    )  # fmt: skip
    """Missing-value markers, case-insensitive; in JSON only null and the empty string are missing."""

    def __post_init__(self) -> None:
        if self.decimal == self.thousands:
            raise ValueError(f"decimal and thousands must differ (both are {self.decimal!r})")


class Group(Record, frozen=True, kw_only=True):
    """Several lines combined into one run."""

    by: Many
    """Lines with equal values in these columns or paths are one run."""


FieldSpec: TypeAlias = str | Field


_MADE_FROM: dict[str, type[Record]] = {}
"""The record that each record of fields was made from."""


def _mapped(record: type[Record], name: str, *, is_item: bool = False) -> type[Record]:
    """A record with the same fields, each a column, a path or a `Field`; parts and lists are taken apart likewise."""
    _MADE_FROM[name] = record
    fields: list[tuple[str, Any, Any]] = []  # Any: a type and a default
    if is_item:
        fields += [("each", str | None, None), ("when", Conditions, {})]
    for field in msgspec.structs.fields(record):
        if field.encode_name in ("x_", "source", "provenance"):
            continue
        inner, several = _record_in(field.type)
        part = name + field.name.title().replace("_", "")
        if inner is None:
            fields.append((field.name, FieldSpec | None, None))
        elif several:
            fields.append((field.name, tuple[_mapped(inner, part, is_item=True), ...] | None, None))  # type: ignore[misc] # made here
        else:
            fields.append((field.name, _mapped(inner, part) | None, None))
    if record is Run:
        fields.append(("x_", dict[str, FieldSpec], {}))
    made: Any = msgspec.defstruct(name, fields, bases=(Record,), frozen=True, kw_only=True, module=__name__)
    return cast("type[Record]", made)


def _record_in(hint: Any) -> tuple[type[Record] | None, bool]:  # Any: a type annotation
    """Return the record in the type, and whether the type is a list of it."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return (hint, False) if issubclass(hint, Record) else (None, False)
    for inner in get_args(hint):
        record, several = _record_in(inner)
        if record is not None:
            return record, several or get_origin(hint) is tuple
    return None, False


RunFields: Any = _mapped(Run, "RunFields")
"""Where each field of a run comes from; made from the run record, so that it has every field that a run has."""


class Mapping(Record, frozen=True, kw_only=True):
    """Mapping from columns or paths to run records."""

    mapping: Literal[1]
    """Version of the mapping language."""
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[\w.-]+$")]
    """Name of the mapping; its runs have `source.format = "map:NAME"`."""
    title: str = ""
    """Short description of the files."""
    rows: Rows
    """Rows of the file."""
    numbers: Numbers = Numbers()
    """Number format."""
    extra_files: dict[str, str] = msgspec.field(default_factory=dict)
    """Additional JSON files by name: `meta = "../metadata.json"` defines `$meta.model`."""
    group: Group | None = None
    """Several lines combined into one run."""
    run: RunFields
    """Source of each field of a run. Custom fields start with `x_`."""

    def __post_init__(self) -> None:
        for name in self.extra_files:
            if not _ROOT_NAME.fullmatch(name) or name in ROOTS:
                raise ValueError(f"extra_files: {name!r} is not a valid name; use lowercase letters")

    @property
    def format_name(self) -> str:
        """How its runs name their origin."""
        return f"map:{self.name}"

    @property
    def reads_its_place(self) -> bool:
        """Whether the same bytes elsewhere are other runs, since a field comes from the file's name or folder."""
        texts = _texts_in(msgspec.to_builtins(self.run))
        return bool(self.extra_files) or any(text.startswith(("$file", "$stem", "$folder")) for text in texts)


def mapping_schema() -> dict[str, Any]:  # Any: a JSON Schema
    """The JSON Schema of a mapping, with the sentence under each field as its description."""
    schema = json_schema(Mapping)
    definitions: dict[str, Any] = schema["$defs"]
    for name, record in _MADE_FROM.items():
        meanings = field_meanings(record)
        for field, properties in definitions[name]["properties"].items():
            if field in meanings:
                properties["description"] = meanings[field]
    for name, sentence in field_meanings(Field).items():
        definitions["Field"]["properties"][name.removesuffix("_")]["description"] = sentence
    return {**schema, "title": f"Steelyard mapping, version {VERSION}"}


def _texts_in(value: Any) -> Iterator[str]:  # Any: TOML values
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(inner)


@cache
def shipped_mappings() -> tuple[str, ...]:
    """Names of the mappings that come with the package."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def mapping_text(name: str) -> str:
    """A shipped mapping's file, to be copied and changed."""
    if name not in shipped_mappings():
        raise UnknownNameError("mapping", name, shipped_mappings())
    return read_text(_SHIPPED / f"{name}.toml")


def load_mapping(name_or_path: str | Path) -> Mapping:
    """The shipped mapping of that name, or the one in that TOML file."""
    path = Path(name_or_path)
    if str(name_or_path) in shipped_mappings():
        return parse_mapping(mapping_text(str(name_or_path)), str(name_or_path))
    if path.suffix != ".toml":
        raise UnknownNameError("mapping", str(name_or_path), shipped_mappings())
    with errors_as(MappingError):
        text = read_text(path, limit=TEXT_BYTES)
    return parse_mapping(text, str(path))


def parse_mapping(text: str, where: str) -> Mapping:
    """The mapping in a TOML text."""
    try:
        values = parse_toml(text, Path(where))
    except UnreadableFileError as error:
        raise MappingError(error.message, where=where, hint=error.hint) from error
    return mapping_of(values, where)


def mapping_of(values: AbstractMapping[str, Any], where: str = "mapping") -> Mapping:  # Any: TOML values
    """The mapping in plain values."""
    run = values.get("run")
    if isinstance(run, dict):
        own = {key: value for key, value in run.items() if key.startswith("x_")}
        rest = {key: value for key, value in run.items() if key not in own}
        values = {**values, "run": {**rest, "x_": own}}
    try:
        return msgspec.convert(values, Mapping)
    except msgspec.ValidationError as error:
        unknown = unknown_field(error, Mapping)
        message, hint = unknown or (problem_text(error), "see: steelyard schema mapping")
        raise MappingError(message, where=where, hint=hint) from error


def listed(given: Many | None) -> tuple[str, ...]:
    """Return the texts, where a single one replaces a list of one."""
    return () if given is None else (given,) if isinstance(given, str) else given
