"""Options that several commands share, declared once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError

Files = Annotated[
    list[Path],
    Parameter(
        help="Run records (JSON lines or array, CSV, Parquet), or logs: files, folders, archives; - is stdin.",
        negative="",
    ),
]
By = Annotated[str, Parameter(help="What to group by, separated by commas: tier, agent, model, task, experiment, ...")]
ProfileOption = Annotated[str, Parameter(help="A shipped profile (steelyard profiles) or a TOML file.")]
PricesOption = Annotated[str, Parameter(help="The price book: maintained, seed, or a TOML file.")]
SkipBad = Annotated[bool, Parameter(help="Exit 0 although records were set aside.", negative="")]
Json = Annotated[bool, Parameter(name="--json", help="Print JSON.", negative="")]
Csv = Annotated[bool, Parameter(name="--csv", help="Print CSV.", negative="")]
Out = Annotated[Path | None, Parameter(help="Write to this file: .json, .csv or .parquet.")]
Quiet = Annotated[bool, Parameter(help="No progress bar and no findings on stderr.", negative="")]
Level = Annotated[float, Parameter(help="How often an interval is to hold the true value, as a share.")]

DEFAULT_STORE = "sqlite:///steelyard.db"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Showing:
    """How a command speaks and ends."""

    json: Json = False
    skip_bad: SkipBad = False
    quiet: Quiet = False

    def status(self, rejected: int, *, useless: bool = False) -> int:
        """The exit status: 1 when nothing came of it, or when records were set aside and that was not allowed."""
        return 1 if useless or (rejected and not self.skip_bad) else 0


SHOWING = Showing()


def split_names(text: str) -> list[str]:
    """Names separated by commas.

    >>> split_names("tier, agent")
    ['tier', 'agent']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if text and not names:
        raise UsageError(f"{text!r} names nothing", hint="names separated by commas")
    return names
