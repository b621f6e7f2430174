from __future__ import annotations

from steelyard.cli._options import Files
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_findings, reading_progress
from steelyard.cli._typed import Typed, typed
from steelyard.questions import JudgesOptions
from steelyard.questions.judges import judges as examine
from steelyard.reports import judge_lines
from steelyard.results import Judges

DEFAULTS = typed(JudgesOptions)()


def judges(files: Files, /, *, options: Typed[JudgesOptions] = DEFAULTS, output: DrawnOutput = DRAWN_OUTPUT) -> int:
    """Measure inter-rater agreement and judge severity.

    Also reports inconsistent scores and votes, and whether scores differ between groups (--by).

    Example: steelyard judges runs.jsonl --by tier
    """
    output.check_drawn(Judges)
    with reading_progress(shown=not output.quiet) as progress:
        result = examine(files, options=options, progress=progress)
    output.give(result, lambda: _show(result), sentences=lambda: judge_lines(result))
    if not output.quiet:
        print_findings([*result.contradictions, *result.findings])
    return output.status(result.rejected_count)


def _show(result: Judges) -> None:
    from steelyard.reports import judge_tables

    terminal = console()
    for line in judge_lines(result):
        terminal.print(line)
    terminal.print()
    for table in judge_tables(result):
        terminal.print(table)
