from __future__ import annotations

from steelyard.cli._options import Files
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_findings, reading_progress
from steelyard.cli._typed import Typed, typed
from steelyard.questions.completeness import CompletenessOptions, completeness as count_fields
from steelyard.results import CompletenessSummary

DEFAULTS = typed(CompletenessOptions)()


def completeness(
    files: Files,
    /,
    *,
    options: Typed[CompletenessOptions] = DEFAULTS,
    output: DrawnOutput = DRAWN_OUTPUT,
) -> int:
    """Show which fields are reported, derived or missing.

    Example: steelyard completeness logs/ --by agent
    """
    output.check_drawn(CompletenessSummary)
    with reading_progress(shown=not output.quiet) as progress:
        result = count_fields(files, options=options, progress=progress)
    output.give(result, lambda: _show(result), sentences=lambda: [result.sentence])
    if not output.quiet:
        print_findings(result.findings)
    return output.status(result.rejected_count)


def _show(result: CompletenessSummary) -> None:
    from steelyard.reports import completeness_tables

    terminal = console()
    terminal.print(result.sentence)
    for table in completeness_tables(result):
        terminal.print(table)
    if result.absent:
        terminal.print(f"Never reported: {', '.join(result.absent)}.")
