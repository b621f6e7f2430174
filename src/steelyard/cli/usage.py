from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.cli._options import Paths
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_findings, reading_progress
from steelyard.cli._typed import Typed, typed
from steelyard.errors import UnreadableFileError
from steelyard.formatting import exact_dollars
from steelyard.pages import clean
from steelyard.questions.usage import UsageOptions, usage as add_up
from steelyard.results import UsageSummary

if TYPE_CHECKING:
    from steelyard.results import Budget, LogLocation

DEFAULTS = typed(UsageOptions)()
PERIODS = {"daily": "day", "weekly": "week", "monthly": "month", "session": "session", "blocks": "session"}
"""Keys to group by for the subcommands of ccusage."""
STATUS = {"pass": 0, "fail": 3, "inconclusive": 4}


def usage(
    paths: Annotated[
        Paths | None, Parameter(help="Logs or run records: files, directories, archives; - for stdin.")
    ] = None,
    /,
    *,
    options: Typed[UsageOptions] = DEFAULTS,
    output: DrawnOutput = DRAWN_OUTPUT,
) -> int:
    """Summarize tokens and cost by day, model or agent.

    Without a path, reads the logs of the agents installed on this machine. Days are in your time zone.

    Example: steelyard usage --since 30d
    Example: steelyard usage logs/ --by month,model --tz Europe/Berlin --budget 50
    """
    output.check_drawn(UsageSummary)
    for path in paths or []:
        if (period := PERIODS.get(path.name)) and not path.exists():
            raise UnreadableFileError(str(path), "no such file or directory", hint=f"steelyard usage --by {period}")
    with reading_progress(shown=not output.quiet) as progress:
        result = add_up(paths or None, options=options, progress=progress)
    if not output.quiet:
        for line in _places(result.searched_paths):
            sys.stderr.write(clean(line) + "\n")
    output.give(result, lambda: _show(result), sentences=lambda: _sentences(result))
    if not output.quiet:
        print_findings(result.findings)
    status = 0 if result.budget is None else STATUS[result.budget.status]
    return status or output.status(result.rejected_count)


def _places(searched_paths: Sequence[LogLocation]) -> Iterator[str]:
    """Each place with logs, and how many agents have none."""
    yield from (f"searched {place.tool}: {place.path}" for place in searched_paths if place.exists)
    without = {place.tool for place in searched_paths} - {place.tool for place in searched_paths if place.exists}
    if without:
        agents = "1 other agent" if len(without) == 1 else f"{len(without)} other agents"
        yield f"no logs found for {agents}; --json lists all searched paths"


def _show(result: UsageSummary) -> None:
    from steelyard.reports import usage_table

    terminal = console()
    for line in _sentences(result):
        terminal.print(line)
    if result.groups:
        terminal.print()
        terminal.print(usage_table(result))


def _sentences(result: UsageSummary) -> list[str]:
    return [result.sentence, *([] if result.budget is None else [_budget_line(result.budget)])]


def _budget_line(budget: Budget) -> str:
    verdicts = {
        "pass": "within budget",
        "fail": "over budget",
        "inconclusive": "inconclusive; the known cost is within budget, but part of the cost is unknown",
    }
    return f"Budget {exact_dollars(budget.usd)}: {verdicts[budget.status]}."
