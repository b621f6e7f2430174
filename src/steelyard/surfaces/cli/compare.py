from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.prices import DEFAULT_BOOK
from steelyard.surfaces.cli._options import (
    Files,
    Json,
    Level,
    PricesOption,
    ProfileOption,
    Quiet,
    Resamples,
    Seed,
    SkipBad,
    split_names,
)
from steelyard.surfaces.cli._print import console, print_findings, print_json, reading_progress
from steelyard.workflow.compare import compare as contrast


def compare(
    files: Files,
    /,
    *,
    a: Annotated[str, Parameter(help="The runs to compare with: agent=NAME,model=NAME,tier=T0, ...")],
    b: Annotated[list[str], Parameter(help="The runs compared with them; may be given several times.", negative="")],
    metrics: Annotated[str, Parameter(help="Only these metrics, separated by commas.")] = "",
    interval: Annotated[
        str, Parameter(help="How the range of a difference is made: auto, paired-t, percentile or bca.")
    ] = "auto",
    correction: Annotated[
        Literal["holm", "bh", "none"], Parameter(help="How p-values account for the number of comparisons.")
    ] = "holm",
    level: Level = 0.95,
    seed: Seed = None,
    resamples: Resamples = None,
    profile: ProfileOption = "outcome-1",
    prices: PricesOption = DEFAULT_BOOK,
    json: Json = False,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> int:
    """Tell whether B is better than A on the tasks both tried, and how surely.

    Example: steelyard compare runs.jsonl --a tier=T0 --b tier=T2
    """
    with reading_progress(shown=not quiet) as progress:
        result = contrast(
            list(files),
            a=a,
            b=b,
            metrics=split_names(metrics),
            profile=profile,
            interval=interval,
            correction=correction,
            level=level,
            seed=seed,
            resamples=resamples,
            prices=prices,
            progress=progress,
        )
    if json:
        print_json(result.to_dict())
    else:
        from steelyard.reports.comparisons import comparison_lines, comparison_tables  # brings rich

        terminal = console()
        for line in comparison_lines(result):
            terminal.print(line, markup=False, soft_wrap=True)
        terminal.print()
        for table in comparison_tables(result):
            terminal.print(table)
    if not quiet:
        print_findings(result.findings)
    return 1 if result.empty or (result.rejected_count and not skip_bad) else 0
