from __future__ import annotations

from steelyard.cli._options import Files
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import print_findings, reading_progress, show_results
from steelyard.cli._typed import Typed, typed
from steelyard.questions import RankOptions
from steelyard.questions.rank import rank as place
from steelyard.reports import ranking_sentence
from steelyard.results import Ranking

DEFAULTS = typed(RankOptions)()


def rank(files: Files, /, *, options: Typed[RankOptions] = DEFAULTS, output: DrawnOutput = DRAWN_OUTPUT) -> int:
    """Rank agents, with confidence intervals for the ranks.

    Example: steelyard rank runs.jsonl --by tier --metrics composite_score
    """
    output.check_drawn(Ranking)
    with reading_progress(shown=not output.quiet) as progress:
        result = place(files, options=options, progress=progress)
    output.give(result, lambda: _show(result), sentences=lambda: [ranking_sentence(result)])
    if not output.quiet:
        print_findings(result.findings)
    return output.status(result.rejected_count)


def _show(result: Ranking) -> None:
    from steelyard.reports import ranking_tables

    show_results([ranking_sentence(result), *ranking_tables(result)])
