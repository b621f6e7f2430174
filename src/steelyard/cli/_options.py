"""Options shared by several commands, and options classes of questions as options of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter, Token

from steelyard.errors import UsageError
from steelyard.pages import RESULT_ENDINGS
from steelyard.questions import (
    Count,
    EngineName,
    FilePaths,
    MapName,
    Moment,
    Names,
    Option,
    Options as DeclaredOptions,
    ProfileName,
    Runs,
    Selections,
    Texts,
    split_names,
)
from steelyard.records import Selection
from steelyard.settings import FIGURE_ENDINGS, is_store, named_path

RESULT_FORMATS = f"the extension selects the format: {', '.join(RESULT_ENDINGS)}."
DRAWN_FORMATS = f"the extension selects the format: {', '.join((*RESULT_ENDINGS, *FIGURE_ENDINGS))}."


def _path(_type: object, tokens: Sequence[Token]) -> Path:
    return named_path(tokens[0].value)


def _paths(_type: object, tokens: Sequence[Token]) -> list[Path]:
    return [named_path(token.value) for token in tokens]


def _paths_or_stores(_type: object, tokens: Sequence[Token]) -> list[Path | str]:
    """Keep the URL of a store as it is: a path would lose one of its two slashes."""
    return [token.value if is_store(token.value) else named_path(token.value) for token in tokens]


def _path_or_store(_type: object, tokens: Sequence[Token]) -> Path | str:
    return _paths_or_stores(_type, tokens)[0]


def _whole(_type: object, tokens: Sequence[Token]) -> int:
    """Parse an integer; the parser itself would round 1.5 to 2."""
    try:
        return int(tokens[0].value)
    except ValueError as error:
        raise UsageError(f"{tokens[0].keyword} must be an integer (got {tokens[0].value!r})") from error


def _from_one(_type: object, value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError("must be 1 or more")


def _from_zero(_type: object, value: int | None) -> None:
    if value is not None and value < 0:
        raise ValueError("must be 0 or more")


OnePath = Annotated[Path, Parameter(converter=_path)]
Paths = Annotated[list[Path], Parameter(converter=_paths, negative="")]
PathsOrStores = Annotated[list[Path | str], Parameter(converter=_paths_or_stores, negative="")]
PathOrStore = Annotated[Path | str, Parameter(converter=_path_or_store)]
Whole = Annotated[int, Parameter(converter=_whole)]
FromOne = Annotated[Whole, Parameter(validator=_from_one)]
FromZero = Annotated[Whole, Parameter(validator=_from_zero)]

StoreOption = Annotated[str, Parameter(help="Store URL: sqlite:///FILE, postgresql://USER@HOST/NAME.")]
AllowRejected = Annotated[bool, Parameter(help="Exit 0 even if some records were rejected.", negative="")]
Json = Annotated[bool, Parameter(name="--json", help="Print JSON.", negative="")]
Csv = Annotated[bool, Parameter(name="--csv", help="Print CSV.", negative="")]
NoCsvEscape = Annotated[
    bool,
    Parameter(
        name="--no-csv-escape",
        help="Do not escape cells that look like spreadsheet formulas.",
        negative="",
    ),
]
FigureName = Annotated[str | None, Parameter(help="Figure to write to .svg or .png.")]
Quiet = Annotated[bool, Parameter(name="--quiet", alias="-q", help="Suppress progress and warnings.", negative="")]


def _names(_type: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(split_names(tokens[0].value))


def _texts(_type: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.value for token in tokens)


_Listed = Annotated[tuple[str, ...], Parameter(converter=_names, n_tokens=1, negative="")]
_Repeated = Annotated[tuple[str, ...], Parameter(converter=_texts, negative="")]
TYPED: dict[Any, Any] = {  # Any: types as they are written
    Names: _Listed,
    Texts: _Repeated,
    Selections: _Repeated,
    FilePaths: Paths,
    Selection: str,
    Selection | None: str | None,
    Moment: str | None,
    MapName: str | None,
    ProfileName: str,
    ProfileName | None: str | None,
    EngineName: str,
    Runs | None: PathsOrStores | None,
    Path: OnePath,
    Path | None: OnePath | None,
    Count | None: FromOne | None,
    int: Whole,
    int | None: Whole | None,
}
"""Types on the command line for the types of options; others stay as they are."""


Options = TypeVar("Options")

if TYPE_CHECKING:
    CommandOptions = Annotated[Options, "options as options of the command line"]
else:

    class CommandOptions:
        """`CommandOptions[MeasureOptions]`: the class as options of the command line."""

        def __class_getitem__(cls, options):
            return Annotated[typed(options), Parameter(name="*")]


def _default(value: object) -> str:
    """Return a default as it is typed."""
    return ",".join(value) if isinstance(value, tuple) else str(value)


def typed_options(options: type[DeclaredOptions]) -> list[tuple[Option, Any]]:  # Any: types
    """Return the declared options, each with its type on the command line."""
    types = options.types()
    return [(option, TYPED.get(types[name], types[name])) for name, option in options.declared.items()]


def option_parameter(option: Option, kind: Any) -> Any:  # Any: types
    """Return the type of an option on the command line with its help."""
    parameter = Parameter(help=option.text)
    if not option.positional:
        shown = False if option.default in (None, ()) else _default
        negative = f"--no-{option.name.replace('_', '-')}" if option.default is True else ""  # no --no-dry-run
        name = f"--{option.flag}" if option.flag else None
        alias = option.short or ()
        parameter = Parameter(name=name, help=option.text, show_default=shown, alias=alias, negative=negative)
    return Annotated[kind, parameter]


@cache
def typed(options: type[Any]) -> type[Any]:  # Any: a class of options, a dataclass with them
    """Return the options class as a dataclass with the help and the converter of each field."""
    body: dict[str, Any] = {"__doc__": options.__doc__, "__module__": options.__module__, "__annotations__": {}}
    for option, kind in typed_options(options):
        name = option.name
        body["__annotations__"][name] = option_parameter(option, kind)
        if option.positional:  # the command itself takes it
            body["__annotations__"][name] = Annotated[options.types()[name], Parameter(parse=False)]
            body[name] = field(default="")
        elif not option.is_required:
            body[name] = field(default=option.default)
    return dataclass(frozen=True, kw_only=True, eq=False, repr=False)(type(options.__name__, (options,), body))
