"""Answers: structs whose fields are the JSON, from which rows, data frames, schemas, files and pages are derived."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace as replace_fields

from steelyard import figures, pages, records  # their names are imported on first use
from steelyard.records import Finding

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from steelyard.figures import Figure
    from steelyard.pages import Page, Row

OF_ITSELF = ("estimate", "value")
"""Fields that stand for their struct in a row: `score.estimate` is the column `score`."""

Drawing: TypeAlias = "Callable[[Any, int], Figure]"  # Any: each draws its own kind of answer


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the structs that answers consist of."""


@dataclass(frozen=True)
class Rows:
    """Declares the flat rows of an answer: the paths of the lists or mappings whose entries are rows.

    Without a path, the answer is one row with the fields that `keep` names.

    `Rows("pairs.metrics")` has one row per entry of `metrics` of each entry of `pairs`. A row has the scalar fields
    of the entry and of the entries that contain it. A struct in an entry gives columns with its name as a prefix,
    also for the keys of its mappings of scalars; a mapping of scalars in an entry gives one column per key. The key
    of an entry of a mapping is in a column of the mapping's name in the singular, or as `keys` says. Fields of the
    answer itself are in every row only if `keep` names them, with the prefix `answer` if an entry has the same
    column. Fields named in `without` are in none. `parallel` names a list of the answer in the order of the
    innermost one: each row has the fields of the entry at the same position too, also where the innermost entry is
    None. `below` names, for a path without dots, the field of an entry that contains further entries of the same
    kind: each entry of the tree is a row with its `depth`. `ids` limits what an entry adds to the rows inside it: a
    benchmark needs the names of its attempt, not all its figures. `joined` names fields of entries whose texts, or
    tags of structs, are one column, separated by semicolons; other lists have no column.
    """

    paths: tuple[str, ...]
    keep: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    parallel: str = ""
    below: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    joined: tuple[str, ...] = ()

    def __init__(
        self,
        *paths: str,
        keep: tuple[str, ...] = (),
        without: tuple[str, ...] = (),
        keys: Mapping[str, str] | None = None,
        parallel: str = "",
        below: Mapping[str, str] | None = None,
        ids: Mapping[str, tuple[str, ...]] | None = None,
        joined: tuple[str, ...] = (),
    ) -> None:
        object.__setattr__(self, "paths", paths)
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "without", without)
        object.__setattr__(self, "keys", keys or {})
        object.__setattr__(self, "parallel", parallel)
        object.__setattr__(self, "below", below or {})
        object.__setattr__(self, "ids", ids or {})
        object.__setattr__(self, "joined", joined)

    def of(self, answer: msgspec.Struct) -> list[Row]:
        """Return the rows, all with the same columns."""
        kept = {column: value for name in self.keep for column, value in _cells(name, getattr(answer, name))}
        if not self.paths:
            return [kept]
        paths = [path.split(".") for path in self.paths]
        parallel = [(singular(self.parallel), self._entry_cells(each)) for each in getattr(answer, self.parallel, ())]
        rows = [
            _joined(levels) for path in paths for levels in self._levels(answer, path, [("answer", kept)], parallel)
        ]
        names = list(dict.fromkeys(name for row in rows for name in row))
        for place, row in enumerate(rows):
            if list(row) != names:
                rows[place] = {name: row.get(name) for name in names}
        return rows

    def _levels(
        self, entry: Any, path: Sequence[str], outer: list[tuple[str, Row]], parallel: Sequence[tuple[str, Row]]
    ) -> Iterator[list[tuple[str, Row]]]:
        """Yield the columns of each row by level, the outermost first (Any: a struct)."""
        place, *below = path
        entries = getattr(entry, place)
        if place in self.below:
            roots = [entries] if isinstance(entries, msgspec.Struct) else entries or ()
            for depth, each in (found for root in roots for found in walk_tree(root, self.below[place])):
                yield [*outer, (singular(place), {"depth": depth, **self._entry_cells(each)})]
            return
        if isinstance(entries, msgspec.Struct):  # a part of the answer: it gives no columns
            yield from self._levels(entries, below, outer, parallel)
            return
        keyed = entries.items() if isinstance(entries, Mapping) else enumerate(entries)
        for key, each in keyed:
            cells: Row = {self.keys.get(place, singular(place)): key} if isinstance(entries, Mapping) else {}
            cells |= {name: cell for name, cell in self._entry_cells(each).items() if name not in cells}
            if below and place in self.ids:
                cells = {name: cell for name, cell in cells.items() if name in self.ids[place]}
            levels = [*outer, *([parallel[key]] if parallel and not below else []), (singular(place), cells)]
            yield from self._levels(each, below, levels, parallel) if below else [levels]

    def _entry_cells(self, entry: Any) -> Row:  # Any: a struct, or None
        """Return the columns of an entry."""
        if entry is None:
            return {}
        left_out = {*self.without, *(name for each in self.paths for name in each.split("."))}
        kind: Any = type(entry)  # Any: a hashable type
        absent = _optional_structs(kind)
        cells: Row = {}
        for name in entry.__struct_fields__:
            value = getattr(entry, name)
            if name in left_out or (value is None and name in absent):
                continue
            if name in self.joined:
                cells[name] = None if value is None else ";".join(map(_word, value))
            for column, cell in _cells(name, value):
                cells.setdefault(column, cell)
        return cells


def _word(value: str | msgspec.Struct) -> str:
    """Return a text, or the tag of a struct."""
    return value if isinstance(value, str) else str(value.__struct_config__.tag)


def walk_tree(entry: Any, below: str, depth: int = 0) -> Iterator[tuple[int, Any]]:  # Any: a struct
    """Yield an entry and those below it, each with its depth."""
    yield depth, entry
    for each in getattr(entry, below):
        yield from walk_tree(each, below, depth + 1)


@cache
def _optional_structs(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the fields that are a struct or a named tuple, or None: None has no columns."""
    hints = get_type_hints(kind)
    optional = {name: get_args(hints[name]) for name in kind.__struct_fields__ if NoneType in get_args(hints[name])}
    return frozenset(
        name for name, parts in optional.items() if any(_is_struct(part) or hasattr(part, "_fields") for part in parts)
    )


def _joined(levels: Sequence[tuple[str, Row]]) -> Row:
    """Return one row; of two columns with one name, the outer one has the name of its level as a prefix."""
    row: Row = {}
    for place, (level, cells) in enumerate(levels):
        inner = {name for _, further in levels[place + 1 :] for name in further}
        row |= {f"{level}_{name}" if level and name in inner else name: value for name, value in cells.items()}
    return row


def singular(name: str) -> str:
    """Return the singular of a field's name.

    >>> singular("metrics"), singular("uplift")
    ('metric', 'uplift')
    """
    return name.removesuffix("s")


def _cells(name: str, value: Any) -> Iterator[tuple[str, Any]]:  # Any: a value of a field
    """Yield the columns of a field: none for lists, one for a scalar, several for structs and mappings."""
    if value is UNSET:
        return
    if isinstance(value, msgspec.Struct):
        kind: Any = type(value)  # Any: a hashable type
        absent = _optional_structs(kind)
        for place in value.__struct_fields__:
            inner = getattr(value, place)
            if isinstance(inner, Mapping) and not any(isinstance(each, msgspec.Struct) for each in inner.values()):
                yield from ((f"{name}_{key}", each) for key, each in inner.items())
            elif inner is not None or place not in absent:
                yield from _cells(name if place in OF_ITSELF else f"{name}_{place}", inner)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):  # a named tuple is a list in JSON
        yield from ((f"{name}_{field}", each) for field, each in zip(value._fields, value, strict=True))
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, msgspec.Struct):
                yield from _cells(str(key) if str(key).isidentifier() else f"{name}_{key}", each)
            else:
                yield str(key), each
    elif isinstance(value, str) or not isinstance(value, Sequence):
        yield name, value


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema_version", tag=pages.SCHEMA_VERSION):
    """Base of answers. The fields of a subclass are its JSON, its JSON Schema and its entry in the OpenAPI document."""

    rows: ClassVar[Rows]
    is_shared: ClassVar[bool] = False
    """Whether it contains input from several people; if so, keys and tokens are redacted in all its files."""

    @property
    def about(self) -> str:
        """Short summary, for `repr`."""
        return ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about the input; a question without an input has none."""
        return ()

    @property
    def rejected_count(self) -> int:
        """Number of rejected records of the input."""
        return 0

    @property
    def is_empty(self) -> bool:
        """Whether the input was valid but gives no result."""
        return False

    @property
    def exit_status(self) -> int:
        """Exit status of the command, apart from rejected records."""
        return 0

    @property
    def is_idle(self) -> bool:
        """Whether an answer of a stream reports nothing new, so that its page is not printed again."""
        return False

    def ended(self, status: int) -> Self:  # noqa: ARG002 # for answers that contain it
        """Return the answer of a command that exits with this status."""
        return self

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """Return the JSON; infinity is the string "Infinity"."""
        made: dict[str, Any] = pages.json_values(msgspec.to_builtins(self, enc_hook=_builtin))
        return made

    def json_pieces(self) -> Iterator[str]:
        """Yield the text of the JSON; each entry of a list is made when the one before it is written."""
        lists = {name: value for name in self.__struct_fields__ if type(value := getattr(self, name)) is tuple}
        shape = replace_fields(self, **dict.fromkeys(lists, ())).to_dict()
        before = "{"
        for name, value in shape.items():
            yield f"{before}\n  {pages.json_text(name)}: "
            before = ","
            if lists.get(name):
                yield from _list_pieces(lists[name])
            else:
                yield _indented(value, "  ")
        yield "\n}"

    def to_dicts(self) -> list[Row]:
        """Return the flat rows, all with the same keys."""
        return self.rows.of(self)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a Polars frame."""
        import polars as pl  # heavy: not every caller wants a frame

        rows = self.to_dicts()
        known = {name: dtype for name, dtype in _dtypes(type(self), pl).items() if rows and name in rows[0]}
        return pages.polars_frame(rows, **known)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas frame."""
        return pages.pandas_frame(self.to_dicts())

    def page(self) -> Page:
        """Return its presentation."""
        made: Page = _home(type(self)).page(self)
        return made

    def text(self, width: int | None = None, *, everything: bool = False) -> str:
        """Return its page as text of at most that width; with `everything`, folded tables too."""
        return pages.page_text(self.page(), width, everything=everything)

    def document(self) -> str:
        """Return its page as one HTML file, without keys and tokens."""
        return pages.document(self._redacted_page())

    def markdown(self) -> str:
        """Return its page as Markdown, without keys and tokens."""
        return "\n".join(pages.page_markdown(self._redacted_page()))

    @property
    def is_redacted(self) -> bool:
        """Whether keys and tokens are redacted in HTML and Markdown."""
        return True

    def _redacted_page(self) -> Page:
        if not self.is_redacted:
            return self.page()
        redaction = records.Redaction()
        page = redaction.tree(self).page()
        return replace(page, facts=(*page.facts, ("redacted", redaction.summary))) if redaction.count else page

    @classmethod
    def figure_names(cls) -> tuple[str, ...]:
        """Return the names of its figures, the default first."""
        return tuple(_drawings(cls))

    def figure(self, name: str | None = None, *, width: int | None = None, **unknown: Any) -> Figure:
        """Return the figure of that name, or the default one. Notebooks display it; `save("x.svg")` writes it."""
        drawings = _drawings(type(self))
        figures.check_figure_options(unknown, tuple(drawings))
        draw = drawings[figures.figure_named(name, tuple(drawings), result=type(self).__name__)]
        return draw(self, figures.WIDTH if width is None else width)

    def save(self, path: Path | str, *, no_csv_escape: bool = False) -> None:
        """Write the answer to a file in the format of its extension: .json, .csv, .parquet, .html, .md, .svg or .png.

        In CSV, a string that looks like a spreadsheet formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage
        return) is prefixed with a quote, unless `no_csv_escape` is set.
        """
        pages.write_result(self, Path(path), no_csv_escape=no_csv_escape)

    def _repr_html_(self) -> str:
        return pages.notebook_html(self.page())

    def __str__(self) -> str:
        return self.text(pages.text_width())

    def __repr__(self) -> str:
        return pages.short_repr(type(self), self.about)


def _home(kind: type[Answer]) -> Any:  # Any: a module
    """Return the module or package of the question: it has the function `page`."""
    return importlib.import_module(home_name(kind.__module__))


def home_name(module: str) -> str:
    """Return the module or package of the question that a module belongs to.

    >>> home_name("steelyard.questions.rank._answer"), home_name("steelyard.questions.arena.history")
    ('steelyard.questions.rank', 'steelyard.questions.arena.history')
    """
    parts = module.split(".")
    return ".".join(parts[: 4 if parts[2] == "arena" else 3])


def drawing_module(home: str) -> str | None:
    """Return the module of a question that contains `DRAWINGS`: its own, or `_figures.py` of its package."""
    module = importlib.import_module(home)
    if hasattr(module, "DRAWINGS"):
        return home
    is_package = hasattr(module, "__path__")
    return f"{home}._figures" if is_package and importlib.util.find_spec(f"{home}._figures") else None


def _drawings(kind: type[Answer]) -> Mapping[str, Drawing]:
    name = drawing_module(home_name(kind.__module__))
    drawings: Mapping[str, Drawing] = importlib.import_module(name).DRAWINGS if name else {}
    return drawings


def _list_pieces(entries: Iterable[Any]) -> Iterator[str]:  # Any: structs and JSON values
    before = "["
    for entry in entries:
        yield f"{before}\n    {_indented(pages.json_values(msgspec.to_builtins(entry, enc_hook=_builtin)), '    ')}"
        before = ","
    yield "\n  ]"


def _indented(value: Any, indent: str) -> str:  # Any: a JSON value
    return pages.json_text(value).replace("\n", f"\n{indent}")


def _builtin(value: Any) -> Any:  # Any: what msgspec does not know
    if isinstance(value, Sequence):  # computed when it is read
        return list(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON")


def read_answer(kind: type[Answer], shape: Any) -> Answer:  # Any: JSON values
    """Return the answer of a JSON value."""
    return msgspec.convert(shape, kind, strict=False)


def answer_schemas(kind: Any, *, ref_template: str = "#/$defs/{name}") -> dict[str, Any]:  # Any: types, JSON values
    """Return the JSON Schemas of an answer and of its parts.

    They are exact: every field that is always present is required, other fields are rejected, numbers may be infinite.
    """
    _, schemas = msgspec.json.schema_components([kind], ref_template=ref_template)
    required = {struct.__name__: _always_present(struct) for struct in _structs(kind, set())}
    return {
        name: _exact(schema) | {"required": required[name]} if name in required else _exact(schema)
        for name, schema in schemas.items()
    }


def _always_present(kind: type[msgspec.Struct]) -> list[str]:
    """Return the fields that the JSON of a struct always has, its tag included."""
    hints, fields, config = get_type_hints(kind), msgspec.structs.fields(kind), kind.__struct_config__
    omitted = {each.name for each in fields if config.omit_defaults and not each.required}
    omitted |= {name for name, hint in hints.items() if UnsetType in get_args(hint)}
    tag = [config.tag_field] if config.tag_field else []
    return [*tag, *(each.encode_name for each in fields if each.name not in omitted)]


def _structs(kind: Any, found: set[type[msgspec.Struct]]) -> set[type[msgspec.Struct]]:  # Any: a type
    """Return the structs that a type consists of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind not in found:
            found.add(kind)
            hints = get_type_hints(kind)
            for name in kind.__struct_fields__:
                _structs(hints[name], found)
    else:
        for part in get_args(kind):
            _structs(part, found)
    return found


def _exact(schema: Any) -> Any:  # Any: JSON values
    if isinstance(schema, list):
        return [_exact(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "number":
        rest = {key: value for key, value in schema.items() if key != "type"}
        return {"anyOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity"]}], **rest}
    made = {key: _exact(value) if key not in ("enum", "const", "default") else value for key, value in schema.items()}
    return made | {"additionalProperties": False} if "properties" in made else made


def _dtypes(kind: Any, pl: Any, column: str = "", *, within: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Return the Polars types of scalar fields at any depth, by column; columns of mappings are inferred.

    `within`: the structs that contain it; one that contains itself ends there (Any: types, Polars and its types).
    """
    scalars = {float: pl.Float64, int: pl.Int64, str: pl.String, bool: pl.Boolean}
    if kind in within:
        return {}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        within = (*within, kind)
        found: dict[str, Any] = {}
        hints = get_type_hints(kind)
        for name in kind.__struct_fields__:
            inner = column if column and name in OF_ITSELF else f"{column}_{name}" if column else name
            found = _dtypes(hints[name], pl, inner, within=within) | found
        return found
    if get_origin(kind) in (UnionType, Union):
        parts = [part for part in get_args(kind) if part is not int or float not in get_args(kind)]
        return {name: dtype for part in parts for name, dtype in _dtypes(part, pl, column, within=within).items()}
    if get_origin(kind) in (tuple, dict):
        parts = [part for part in get_args(kind) if _is_struct(part)]
        return {name: dtype for part in parts for name, dtype in _dtypes(part, pl, within=within).items()}
    return {column: scalars[kind]} if kind in scalars else {}


def _is_struct(kind: Any) -> bool:  # Any: a type
    parts = get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)
    return all(isinstance(part, type) and issubclass(part, msgspec.Struct) for part in parts)
