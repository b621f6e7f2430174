from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.surfaces.cli._options import (
    By,
    Csv,
    Files,
    Json,
    Level,
    Out,
    PricesOption,
    ProfileOption,
    Quiet,
    SkipBad,
    split_names,
)
from steelyard.surfaces.cli._print import console, print_findings, print_json, reading_progress
from steelyard.workflow.measure import measure as weigh


def measure(
    files: Files,
    /,
    *,
    by: By = "",
    profile: ProfileOption = "outcome-1",
    metrics: Annotated[str, Parameter(help="Only these metrics, separated by commas.")] = "",
    interval: Annotated[
        str, Parameter(help="Give each figure its range: auto, none, or a method (wilson, clustered, bca, ...).")
    ] = "none",
    level: Level = 0.95,
    base_tier: Annotated[str | None, Parameter(help="The tier that uplift is measured against; T0 by default.")] = None,
    prices: PricesOption = DEFAULT_BOOK,
    all_metrics: Annotated[
        bool, Parameter(name="--all", help="Show every statistic of every metric.", negative="")
    ] = False,
    json: Json = False,
    csv: Csv = False,
    out: Out = None,
    skip_bad: SkipBad = False,
    quiet: Quiet = False,
) -> int:
    """Weigh runs: statistics, grades, cost of pass, tiers, token components.

    Example: steelyard measure runs.jsonl --by tier
    """
    if json and csv:
        raise UsageError("--json and --csv exclude each other")
    with reading_progress(shown=not quiet) as progress:
        result = weigh(
            list(files),
            by=split_names(by),
            profile=profile,
            metrics=split_names(metrics),
            base_tier=base_tier,
            interval=interval,
            level=level,
            prices=prices,
            progress=progress,
        )
    if out is not None:
        from steelyard.reports.files import write_measurement  # brings Polars for Parquet

        write_measurement(result, out)
    if json:
        print_json(result.to_dict())
    elif csv:
        from steelyard.reports.files import csv_text  # only CSV needs it

        print(csv_text(result), end="")
    elif out is None or all_metrics:
        from steelyard.reports.terminal import measurement_tables  # brings rich

        terminal = console()
        for table in measurement_tables(result, every=all_metrics):
            terminal.print(table)
    if not quiet:
        print_findings(result.all_findings)
    return 1 if result.rejected_count and not skip_bad else 0
