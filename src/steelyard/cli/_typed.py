"""Options classes as options of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter, Token

from steelyard.cli._options import FromOne, OnePath, Paths, PathsOrStores, Whole
from steelyard.questions import (
    Count,
    EngineName,
    FilePaths,
    ManyChosen,
    MapName,
    Moment,
    Names,
    Option,
    Options as DeclaredOptions,
    ProfileName,
    Runs,
    Texts,
    split_names,
)
from steelyard.records import Chosen


def _names(_type: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(split_names(tokens[0].value))


def _texts(_type: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.value for token in tokens)


_Listed = Annotated[tuple[str, ...], Parameter(converter=_names, n_tokens=1, negative="")]
_Repeated = Annotated[tuple[str, ...], Parameter(converter=_texts, negative="")]
TYPED: dict[Any, Any] = {  # Any: types as they are written
    Names: _Listed,
    Texts: _Repeated,
    ManyChosen: _Repeated,
    FilePaths: Paths,
    Chosen: str,
    Chosen | None: str | None,
    Moment: str | None,
    MapName: str | None,
    ProfileName: str,
    ProfileName | None: str | None,
    EngineName: str,
    Runs | None: PathsOrStores | None,
    Path | None: OnePath | None,
    Count | None: FromOne | None,
    int: Whole,
    int | None: Whole | None,
}
"""Types on the command line for the types of options; others stay as they are."""


Options = TypeVar("Options")

if TYPE_CHECKING:
    Typed = Annotated[Options, "options as options of the command line"]
else:

    class Typed:
        """`Typed[MeasureOptions]`: the class as options of the command line."""

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
