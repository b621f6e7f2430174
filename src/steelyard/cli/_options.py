"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token

from steelyard.errors import UsageError
from steelyard.pages import FIGURE_ENDINGS, RESULT_ENDINGS
from steelyard.settings import is_store, named_path

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


def _above_zero(_type: object, value: float | None) -> None:
    if value is not None and not 0 < value <= MAX_WAIT_SECONDS:
        raise ValueError(f"must be more than 0 and at most {MAX_WAIT_SECONDS:,} seconds (one year)")


MAX_WAIT_SECONDS = 365 * 24 * 3600

OnePath = Annotated[Path, Parameter(converter=_path)]
Paths = Annotated[list[Path], Parameter(converter=_paths, negative="")]
PathsOrStores = Annotated[list[Path | str], Parameter(converter=_paths_or_stores, negative="")]
PathOrStore = Annotated[Path | str, Parameter(converter=_path_or_store)]
Whole = Annotated[int, Parameter(converter=_whole)]
FromOne = Annotated[Whole, Parameter(validator=_from_one)]
FromZero = Annotated[Whole, Parameter(validator=_from_zero)]
Seconds = Annotated[float, Parameter(validator=_above_zero)]

Files = Annotated[
    PathsOrStores,
    Parameter(help="Run records or logs: files, directories, archives; - for stdin."),
]
ProfileOption = Annotated[
    str, Parameter(help="Scoring profile: a built-in name (see: steelyard profiles) or a TOML file.")
]
PricesOption = Annotated[str, Parameter(help="Price table: a built-in name (see: steelyard prices) or a TOML file.")]
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
