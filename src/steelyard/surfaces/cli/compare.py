from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from steelyard.surfaces.cli._options import SHOWING, Files, Showing, split_names
from steelyard.surfaces.cli._print import console, print_findings, print_json, reading_progress
from steelyard.surfaces.cli._standing import DIFFERING, Differing
from steelyard.workflow import compare as contrast

if TYPE_CHECKING:
    from steelyard.standings import Comparison


def compare(
    files: Files,
    /,
    *,
    a: Annotated[str, Parameter(help="The runs to compare with: agent=NAME,model=NAME,tier=T0, ...")],
    b: Annotated[list[str], Parameter(help="The runs compared with them; may be given several times.", negative="")],
    metrics: Annotated[str, Parameter(help="Only these metrics, separated by commas.")] = "",
    correction: Annotated[
        Literal["holm", "bh", "none"], Parameter(help="How p-values account for the number of comparisons.")
    ] = "holm",
    options: Differing = DIFFERING,
    showing: Showing = SHOWING,
) -> int:
    """Tell whether B is better than A on the tasks both tried, and how surely.

    Example: steelyard compare runs.jsonl --a tier=T0 --b tier=T2
    """
    with reading_progress(shown=not showing.quiet) as progress:
        result = contrast(
            list(files),
            a=a,
            b=b,
            metrics=split_names(metrics),
            correction=correction,
            options=options,
            progress=progress,
        )
    if showing.json:
        print_json(result.to_dict())
    else:
        _show(result)
    if not showing.quiet:
        print_findings(result.findings)
    return showing.status(result.rejected_count, useless=result.empty)


def _show(result: Comparison) -> None:
    from steelyard.reports import comparison_lines, comparison_tables  # brings rich

    terminal = console()
    for line in comparison_lines(result):
        terminal.print(line, soft_wrap=True)
    terminal.print()
    for table in comparison_tables(result):
        terminal.print(table)
