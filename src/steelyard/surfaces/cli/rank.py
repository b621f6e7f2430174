from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from steelyard.surfaces.cli._options import SHOWING, By, Files, Showing, split_names
from steelyard.surfaces.cli._print import console, print_findings, print_json, reading_progress
from steelyard.surfaces.cli._standing import STANDING, Standing
from steelyard.workflow import rank as place

if TYPE_CHECKING:
    from steelyard.standings import Ranking


def rank(
    files: Files,
    /,
    *,
    by: By = "agent,model",
    on: Annotated[str, Parameter(help="The metric to rank on.")] = "composite_score",
    order: Annotated[
        Literal["mean", "bradley-terry", "ranked-pairs"],
        Parameter(help="By mean over tasks, or by who beats whom task by task."),
    ] = "mean",
    min_coverage: Annotated[float, Parameter(help="Leave out who tried a smaller share of the tasks.")] = 0.5,
    options: Standing = STANDING,
    showing: Showing = SHOWING,
) -> int:
    """Rank agents on a metric: places as bands where they cannot be told apart, cost beside it.

    Example: steelyard rank runs.jsonl --by tier --on composite_score
    """
    with reading_progress(shown=not showing.quiet) as progress:
        result = place(
            list(files),
            by=split_names(by),
            on=on,
            order=order,
            min_coverage=min_coverage,
            options=options,
            progress=progress,
        )
    if showing.json:
        print_json(result.to_dict())
    else:
        _show(result)
    if not showing.quiet:
        print_findings(result.findings)
    return showing.status(result.rejected_count)


def _show(result: Ranking) -> None:
    from steelyard.reports import ranking_lines, ranking_tables  # brings rich

    terminal = console()
    for table in ranking_tables(result):
        terminal.print(table)
    for line in ranking_lines(result):
        terminal.print(line, soft_wrap=True)
