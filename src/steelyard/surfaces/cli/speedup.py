from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.reports import speedup_sentence
from steelyard.results import SpeedupResult
from steelyard.surfaces.cli._options import Paths
from steelyard.surfaces.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.surfaces.cli._print import console, print_findings
from steelyard.surfaces.cli._typed import Typed, typed
from steelyard.workflow import SpeedupOptions
from steelyard.workflow.speedup import speedup as weigh

DEFAULTS = typed(SpeedupOptions)()


def speedup(
    inputs: Annotated[
        Paths | None, Parameter(help="A folder of tasks, or FC-Eval's results.json or log; - is stdin.")
    ] = None,
    /,
    *,
    options: Typed[SpeedupOptions] = DEFAULTS,
    benchmarks: Annotated[bool, Parameter(help="With --csv, one line a benchmark.", negative="")] = False,
    output: DrawnOutput = DRAWN_OUTPUT,
) -> int:
    """Measure how much faster code became: after a change, or by agents compared with an expert.

    Example: steelyard speedup --before main.json --after branch.json
    """
    output.check_drawn(SpeedupResult)
    if benchmarks and not output.csv:
        raise UsageError("--benchmarks is for --csv: one line a benchmark", hint="--json always lists them")
    result = weigh(inputs or None, options=options)
    output.give(
        result,
        lambda: _show(result),
        sentences=lambda: [speedup_sentence(result)],
        rows=lambda: result.to_dicts(benchmarks=benchmarks),
        json_text=result.to_json,
    )
    if not output.quiet:
        print_findings(result.findings)
    return output.status(result.rejected_count, useless=not result.usable)


def _show(result: SpeedupResult) -> None:
    from steelyard.reports import benchmark_trees, speedup_summary_table, speedup_table

    terminal = console()
    terminal.print(speedup_sentence(result))
    terminal.print()
    terminal.print(speedup_table(result))
    if result.many or len(result.attempts) > len(result.summaries):  # of one attempt each it is the first again
        terminal.print(speedup_summary_table(result))
    for tree in benchmark_trees(result):
        terminal.print(tree)
