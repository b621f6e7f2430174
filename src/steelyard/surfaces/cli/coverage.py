from __future__ import annotations

from steelyard.results import CoverageSummary
from steelyard.surfaces.cli._options import Files
from steelyard.surfaces.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.surfaces.cli._print import console, print_findings, reading_progress
from steelyard.surfaces.cli._typed import Typed, typed
from steelyard.workflow.coverage import CoverageOptions, coverage as count_fields

DEFAULTS = typed(CoverageOptions)()


def coverage(
    files: Files,
    /,
    *,
    options: Typed[CoverageOptions] = DEFAULTS,
    output: DrawnOutput = DRAWN_OUTPUT,
) -> int:
    """Show what is known about runs, field by field: reported, counted, priced, a lower bound, or unknown.

    Example: steelyard coverage logs/ --by agent
    """
    output.check_drawn(CoverageSummary)
    with reading_progress(shown=not output.quiet) as progress:
        result = count_fields(files, options=options, progress=progress)
    output.give(result, lambda: _show(result), sentences=lambda: [result.sentence])
    if not output.quiet:
        print_findings(result.findings)
    return output.status(result.rejected_count)


def _show(result: CoverageSummary) -> None:
    from steelyard.reports import coverage_tables

    terminal = console()
    terminal.print(result.sentence)
    for table in coverage_tables(result):
        terminal.print(table)
    if result.absent:
        terminal.print(f"In no run: {', '.join(result.absent)}.")
