"""Options classes as options of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from cyclopts import Parameter, Token

from steelyard.cli._options import OnePath, PathsOrStores, Whole
from steelyard.questions import (
    EngineName,
    ManyChosen,
    MapName,
    Moment,
    Names,
    ProfileName,
    Runs,
    Texts,
    field_sentences,
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
    Chosen: str,
    Chosen | None: str | None,
    Moment: str | None,
    MapName: str | None,
    ProfileName: str,
    EngineName: str,
    Runs | None: PathsOrStores | None,
    Path | None: OnePath | None,
    int | None: Whole | None,
}
"""Types on the command line for the types of options; others stay as they are."""

SHORT = {"baseline": "-a", "candidate": "-b", "out": "-o"}
"""Short flags of the options of these names."""

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


@cache
def typed(options: type[Any]) -> type[Any]:  # Any: any options class
    """Return the options class with the help and the converter of each field."""
    hints, sentences = get_type_hints(options, include_extras=True), field_sentences(options)
    body: dict[str, Any] = {"__doc__": options.__doc__, "__module__": options.__module__, "__annotations__": {}}
    for option in fields(options):
        own = not option.kw_only  # the command itself takes it
        shown = False if option.default in (None, ()) else _default
        parameter = Parameter(parse=False)
        if not own:
            alias = SHORT.get(option.name, ())
            negative = f"--no-{option.name.replace('_', '-')}" if option.default is True else ""  # no --no-dry-run
            parameter = Parameter(help=sentences[option.name], show_default=shown, alias=alias, negative=negative)
        body["__annotations__"][option.name] = Annotated[TYPED.get(hints[option.name], hints[option.name]), parameter]
        body[option.name] = field(default="" if own else option.default)
    return dataclass(frozen=True, kw_only=True, eq=False, repr=False)(type(options.__name__, (options,), body))
