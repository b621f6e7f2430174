from __future__ import annotations

from steelyard.cli._options import Files
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_findings, reading_progress
from steelyard.cli._typed import Typed, typed
from steelyard.questions import MatrixOptions
from steelyard.questions.matrix import matrix as tabulate
from steelyard.reports import matrix_lines
from steelyard.results import Matrix

DEFAULTS = typed(MatrixOptions)()


def matrix(files: Files, /, *, options: Typed[MatrixOptions] = DEFAULTS, output: DrawnOutput = DRAWN_OUTPUT) -> int:
    """Show results per task and agent.

    Tasks are ordered by difficulty, or by how well they separate the agents (--sort discrimination).

    Example: steelyard matrix runs.jsonl --by agent --sort discrimination
    """
    output.check_drawn(Matrix)
    with reading_progress(shown=not output.quiet) as progress:
        result = tabulate(files, options=options, progress=progress)
    output.give(result, lambda: _show(result), sentences=lambda: matrix_lines(result))
    if not output.quiet:
        print_findings(result.findings)
    return output.status(result.rejected_count)


def _show(result: Matrix) -> None:
    from steelyard.reports import matrix_table

    terminal = console()
    for line in matrix_lines(result):
        terminal.print(line)
    terminal.print()
    terminal.print(matrix_table(result))
