from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.reports import check_file, clean, writing
from steelyard.surfaces.cli._options import SHOWING, Files, OnePath, Paths, Showing
from steelyard.surfaces.cli._print import console, print_findings, print_json, reading_progress
from steelyard.surfaces.cli._standing import DIFFERING, Differing
from steelyard.workflow import gate as hold

if TYPE_CHECKING:
    from steelyard.standings import Gate


def gate(
    files: Files,
    /,
    *,
    baseline: Annotated[Paths, Parameter(help="Run records to hold against; may be given several times.")],
    rule: Annotated[
        list[str],
        Parameter(
            help='A limit on candidate minus baseline: "pass_rate >= -0.02", "cost_usd <= +10%"; several times.',
            negative="",
        ),
    ],
    where: Annotated[str, Parameter(help="Only runs with these keys: agent=NAME,model=NAME.")] = "",
    summary: Annotated[OnePath | None, Parameter(help="Add a Markdown summary to the end of this file.")] = None,
    options: Differing = DIFFERING,
    showing: Showing = SHOWING,
) -> int:
    """Hold runs against a baseline: exit 0 when every rule holds, 3 when one fails, 4 when it cannot be told.

    Example: steelyard gate new.jsonl --baseline main.jsonl --rule "pass_rate >= -0.02"
    """
    if summary is not None:
        check_file(summary)
    with reading_progress(shown=not showing.quiet) as progress:
        result = hold(list(files), baseline=list(baseline), rules=rule, where=where, options=options, progress=progress)
    if summary is not None:
        _add_summary(result, summary)
    if showing.json:
        print_json(result.to_dict())
    else:
        _show(result)
    if not showing.quiet:
        print_findings(result.findings)
    return result.exit_code or showing.status(result.rejected_count)


def _show(result: Gate) -> None:
    from steelyard.reports import gate_table  # brings rich

    terminal = console()
    terminal.print(gate_table(result))
    for check in result.checks:
        terminal.print(clean(check.sentence), soft_wrap=True)


def _add_summary(result: Gate, path: Path) -> None:
    from steelyard.reports import gate_markdown  # brings rich

    with writing(path), path.open("a", encoding="utf-8") as file:
        file.write(gate_markdown(result))
