from __future__ import annotations

from steelyard.cli._options import Files
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_lines, reading_progress
from steelyard.cli._typed import Typed
from steelyard.questions.show import ShowOptions, show as show_run
from steelyard.results import RunDetail


def show(files: Files, /, *, options: Typed[ShowOptions], output: DrawnOutput = DRAWN_OUTPUT) -> int:
    """Show one run, or diff the outputs of two.

    Example: steelyard show runs.jsonl --run demo-T3-fix-race-01
    Example: steelyard show runs.jsonl --run demo-T3-fix-race-01 --diff demo-T0-fix-race-01
    Example: steelyard show runs.jsonl --run demo-T3-fix-race-01 --out calls.svg --figure calls
    """
    output.check_drawn(RunDetail)
    with reading_progress(shown=not output.quiet) as progress:
        detail = show_run(files, options=options, progress=progress)
    output.give(detail, lambda: _print(detail), sentences=lambda: _sentences(detail)[:1])
    return 0


def _sentences(detail: RunDetail) -> list[str]:
    from steelyard.reports import detail_lines  # imports the pages

    return list(detail_lines(detail))


def _print(detail: RunDetail) -> None:
    from steelyard.reports import detail_tables, detail_texts  # as above

    print_lines(_sentences(detail))
    terminal = console()
    for table in detail_tables(detail):
        terminal.print()
        terminal.print(table)
    print_lines(detail_texts(detail))
