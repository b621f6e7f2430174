from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.reports import MEASUREMENT_ENDINGS, check_file, csv_text, write_measurement
from steelyard.surfaces.cli._options import (
    SHOWING,
    By,
    Csv,
    Files,
    Out,
    PricesOption,
    ProfileOption,
    Showing,
    split_names,
)
from steelyard.surfaces.cli._print import console, print_findings, print_json, reading_progress
from steelyard.workflow import measure as weigh

if TYPE_CHECKING:
    from steelyard.results import Measurement


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
    level: Annotated[
        float | None, Parameter(help="How often an interval is to hold the true value, as a share; 0.95 by default.")
    ] = None,
    base_tier: Annotated[str | None, Parameter(help="The tier that uplift is measured against; T0 by default.")] = None,
    prices: PricesOption = DEFAULT_BOOK,
    all_metrics: Annotated[
        bool, Parameter(name="--all", help="Show every statistic of every metric.", negative="")
    ] = False,
    csv: Csv = False,
    out: Out = None,
    showing: Showing = SHOWING,
) -> int:
    """Weigh runs: statistics, grades, cost of pass, tiers, token components.

    Example: steelyard measure runs.jsonl --by tier
    """
    if showing.json and csv:
        raise UsageError("--json and --csv exclude each other")
    if out is not None:
        check_file(out, endings=MEASUREMENT_ENDINGS)
    with reading_progress(shown=not showing.quiet) as progress:
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
    _show(result, json=showing.json, csv=csv, out=out, every=all_metrics)
    if not showing.quiet:
        print_findings(result.all_findings)
    return showing.status(result.rejected_count)


def _show(result: Measurement, *, json: bool, csv: bool, out: Path | None, every: bool) -> None:
    if out is not None:
        write_measurement(result, out)
    if json:
        print_json(result.to_dict())
    elif csv:
        print(csv_text(result), end="")
    elif out is None or every:
        from steelyard.reports import measurement_tables  # brings rich

        terminal = console()
        for table in measurement_tables(result, every=every):
            terminal.print(table)
