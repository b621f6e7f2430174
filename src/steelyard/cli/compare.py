from __future__ import annotations

from steelyard.cli._options import Files
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_findings, reading_progress
from steelyard.cli._typed import Typed
from steelyard.questions import CompareOptions
from steelyard.questions.compare import compare as contrast
from steelyard.reports import comparison_answers
from steelyard.results import Comparison


def compare(files: Files, /, *, options: Typed[CompareOptions], output: DrawnOutput = DRAWN_OUTPUT) -> int:
    """Test whether a candidate is better than a baseline.

    Differences are paired by task, on the tasks both attempted; p-values are corrected for multiple comparisons.

    Example: steelyard compare runs.jsonl --baseline tier=T0 --candidate tier=T6
    Example: steelyard compare runs.jsonl -a tier=T0 -b tier=T6 --metrics pass_rate,cost_usd
    """
    output.check_drawn(Comparison)
    with reading_progress(shown=not output.quiet) as progress:
        result = contrast(files, options=options, progress=progress)
    output.give(result, lambda: _show(result), sentences=lambda: comparison_answers(result))
    if not output.quiet:
        print_findings(result.findings)
    return output.status(result.rejected_count, useless=result.empty)


def _show(result: Comparison) -> None:
    from steelyard.reports import comparison_lines, comparison_tables

    terminal = console()
    for line in comparison_answers(result):
        terminal.print(line)
    terminal.print()
    for table in comparison_tables(result):
        terminal.print(table)
    for line in comparison_lines(result):
        terminal.print(line, indent="  ")
