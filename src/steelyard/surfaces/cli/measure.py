from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.surfaces.cli._options import Files
from steelyard.surfaces.cli._output import OUTPUT, Output
from steelyard.surfaces.cli._print import console, print_findings, reading_progress
from steelyard.surfaces.cli._typed import Typed, typed
from steelyard.workflow import MeasureOptions
from steelyard.workflow.measure import measure as weigh

if TYPE_CHECKING:
    from steelyard.results import Measurement

DEFAULTS = typed(MeasureOptions)()


def measure(
    files: Files,
    /,
    *,
    options: Typed[MeasureOptions] = DEFAULTS,
    all_metrics: Annotated[
        bool, Parameter(name="--all", help="Show every statistic of every metric.", negative="")
    ] = False,
    output: Output = OUTPUT,
) -> int:
    """Weigh runs: statistics, grades, cost of pass, tiers, token components.

    Example: steelyard measure runs.jsonl --by tier
    """
    output.check()
    with reading_progress(shown=not output.quiet) as progress:
        result = weigh(files, options=options, progress=progress)
    output.give(result, lambda: _show(result, every=all_metrics), always_show=all_metrics)
    if not output.quiet:
        print_findings(result.all_findings)
    return output.status(result.rejected_count)


def _show(result: Measurement, *, every: bool) -> None:
    from steelyard.reports import measurement_tables  # brings rich

    terminal = console()
    for table in measurement_tables(result, every=every):
        terminal.print(table)
