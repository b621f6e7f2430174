from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.prices import DEFAULT_BOOK
from steelyard.surfaces.cli._options import (
    By,
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
from steelyard.workflow.rank import rank as place


def rank(
    files: Files,
    /,
    *,
    by: By = "agent,model",
    on: Annotated[str, Parameter(help="The metric to rank on.")] = "composite_score",
    order: Annotated[
        Literal["mean", "bradley-terry", "ranked-pairs"],
        Parameter(help="By mean over tasks, or by who beats whom task by task."),
    ] = "mean",
    min_coverage: Annotated[float, Parameter(help="Leave out who tried a smaller share of the tasks.")] = 0.5,
    level: Level = 0.95,
    seed: Seed = None,
    resamples: Resamples = None,
    profile: ProfileOption = "outcome-1",
    prices: PricesOption = DEFAULT_BOOK,
    json: Json = False,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> int:
    """Rank agents on a metric: places as bands where they cannot be told apart, cost beside it.

    Example: steelyard rank runs.jsonl --by tier --on composite_score
    """
    with reading_progress(shown=not quiet) as progress:
        result = place(
            list(files),
            by=split_names(by),
            on=on,
            order=order,
            min_coverage=min_coverage,
            profile=profile,
            level=level,
            seed=seed,
            resamples=resamples,
            prices=prices,
            progress=progress,
        )
    if json:
        print_json(result.to_dict())
    else:
        from steelyard.reports.comparisons import ranking_lines, ranking_tables  # brings rich

        terminal = console()
        for table in ranking_tables(result):
            terminal.print(table)
        for line in ranking_lines(result):
            terminal.print(line, markup=False, soft_wrap=True)
    if not quiet:
        print_findings(result.findings)
    return 1 if result.rejected_count and not skip_bad else 0
