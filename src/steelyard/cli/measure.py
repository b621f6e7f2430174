from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.cli._options import Files
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_findings, reading_progress
from steelyard.cli._typed import Typed, typed
from steelyard.questions import MeasureOptions
from steelyard.questions.measure import measure as weigh
from steelyard.reports import measurement_sentence
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
    output: DrawnOutput = DRAWN_OUTPUT,
) -> int:
    """Compute metrics per group, with confidence intervals.

    Confidence intervals are computed only with --interval.

    Example: steelyard measure runs.jsonl --by tier
    Example: steelyard measure runs.jsonl --by tier --interval auto
    """
    output.check_drawn(Measurement)
    with reading_progress(shown=not output.quiet) as progress:
        result = weigh(files, options=options, progress=progress)
    output.give(
        result,
        lambda: _show(result, every=all_metrics),
        sentences=lambda: [measurement_sentence(result)],
        always_show=all_metrics,
    )
    if not output.quiet:
        print_findings(result.all_findings)
    return output.status(result.rejected_count)


def _show(result: Measurement, *, every: bool) -> None:
    from steelyard.reports import measurement_tables

    terminal = console()
    terminal.print(measurement_sentence(result))
    terminal.print()
    for table in measurement_tables(result, every=every):
        terminal.print(table)
