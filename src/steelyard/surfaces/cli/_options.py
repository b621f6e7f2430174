"""Options that several commands share, declared once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from cyclopts import Parameter, Token

from steelyard.errors import UsageError
from steelyard.records import Chosen
from steelyard.settings import named_path
from steelyard.workflow import OWN_DEFAULT, ManyChosen, Moment, Names, ProfileName, Runs, Texts, field_sentences


def _path(_type: object, tokens: Sequence[Token]) -> Path:
    return named_path(tokens[0].value)


def _paths(_type: object, tokens: Sequence[Token]) -> list[Path]:
    return [named_path(token.value) for token in tokens]


def _names(_type: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(split_names(tokens[0].value))


def _texts(_type: object, tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.value for token in tokens)


def _whole(_type: object, tokens: Sequence[Token]) -> int:
    """The parser itself would round 1.5 to 2."""
    try:
        return int(tokens[0].value)
    except ValueError as error:
        raise UsageError(f"{tokens[0].keyword} {tokens[0].value!r} is not a whole number") from error


def _from_one(_type: object, value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError("It must be 1 or more")


def _from_zero(_type: object, value: int | None) -> None:
    if value is not None and value < 0:
        raise ValueError("It must be 0 or more")


def _above_zero(_type: object, value: float | None) -> None:
    if value is not None and not 0 < value <= LONGEST_WAIT_SECONDS:
        raise ValueError(f"It must be more than 0 seconds, and at most {LONGEST_WAIT_SECONDS:,} (a year)")


LONGEST_WAIT_SECONDS = 365 * 24 * 3600

OnePath = Annotated[Path, Parameter(converter=_path)]
Paths = Annotated[list[Path], Parameter(converter=_paths, negative="")]
Whole = Annotated[int, Parameter(converter=_whole)]
FromOne = Annotated[Whole, Parameter(validator=_from_one)]
FromZero = Annotated[Whole, Parameter(validator=_from_zero)]
Seconds = Annotated[float, Parameter(validator=_above_zero)]

Files = Annotated[
    Paths,
    Parameter(help="Run records (JSON lines or array, CSV, Parquet), or logs: files, folders, archives; - is stdin."),
]
ProfileOption = Annotated[str, Parameter(help="A shipped profile (steelyard profiles) or a TOML file.")]
PricesOption = Annotated[str, Parameter(help="The price book: maintained, seed, or a TOML file.")]
SkipBad = Annotated[bool, Parameter(help="Exit 0 although records were set aside.", negative="")]
Json = Annotated[bool, Parameter(name="--json", help="Print JSON.", negative="")]
Csv = Annotated[bool, Parameter(name="--csv", help="Print CSV.", negative="")]
Quiet = Annotated[bool, Parameter(help="No progress bar and no findings on stderr.", negative="")]

_Listed = Annotated[tuple[str, ...], Parameter(converter=_names, n_tokens=1, negative="")]
_Repeated = Annotated[tuple[str, ...], Parameter(converter=_texts, negative="")]
TYPED: dict[Any, Any] = {  # Any: types as they are written
    Names: _Listed,
    Texts: _Repeated,
    ManyChosen: _Repeated,
    Chosen: str,
    Moment: str | None,
    ProfileName: str,
    Runs: Paths,
    Path | None: OnePath | None,
    int | None: Whole | None,
}
"""What is typed for the types of a verb's options; other types are typed as they are."""

Options = TypeVar("Options")

if TYPE_CHECKING:
    Typed = Annotated[Options, "the options of a verb as options of the command line"]
else:

    class Typed:
        """`Typed[MeasureOptions]`: the options of a verb as options of the command line."""

        def __class_getitem__(cls, options):
            return Annotated[typed(options), Parameter(name="*")]


def _default(value: object) -> str:
    """A default as it would be typed."""
    return ",".join(value) if isinstance(value, tuple) else str(value)


@cache
def typed(options: type[Any]) -> type[Any]:  # Any: the options of any verb
    """The options class with the same fields, names and defaults, each with its help and how its text is read."""
    hints, sentences = get_type_hints(options, include_extras=True), field_sentences(options)
    body: dict[str, Any] = {"__doc__": options.__doc__, "__module__": options.__module__, "__annotations__": {}}
    for option in fields(options):
        own = not option.kw_only or OWN_DEFAULT in option.metadata  # the command itself takes it
        shown = False if option.default in (None, ()) else _default
        parameter = Parameter(parse=False) if own else Parameter(help=sentences[option.name], show_default=shown)
        body["__annotations__"][option.name] = Annotated[TYPED.get(hints[option.name], hints[option.name]), parameter]
        body[option.name] = field(default="" if own and option.kw_only is False else option.default)
    return dataclass(frozen=True, kw_only=True)(type(options.__name__, (options,), body))


def split_names(text: str) -> list[str]:
    """Names separated by commas.

    >>> split_names("tier, agent")
    ['tier', 'agent']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if text and not names:
        raise UsageError(f"{text!r} names nothing", hint="names separated by commas")
    return names
