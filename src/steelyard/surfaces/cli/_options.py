"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

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
Seed = Annotated[int | None, Parameter(help="Seed of the random draws; the same seed gives the same bytes.")]
Resamples = Annotated[int | None, Parameter(help="How many random draws; 10,000 by default.")]


def split_names(text: str) -> list[str]:
    """Names separated by commas.

    >>> split_names("tier, agent")
    ['tier', 'agent']
    """
    return [name.strip() for name in text.split(",") if name.strip()]
