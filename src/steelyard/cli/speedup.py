from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.cli._options import Paths
from steelyard.cli._output import DRAWN_OUTPUT, DrawnOutput
from steelyard.cli._print import console, print_findings
from steelyard.cli._typed import Typed, typed
from steelyard.errors import UsageError
from steelyard.questions import SpeedupOptions
from steelyard.questions.speedup import speedup as measure_speedup
from steelyard.reports import speedup_sentence
from steelyard.results import SpeedupResult

DEFAULTS = typed(SpeedupOptions)()


def speedup(
    inputs: Annotated[
        Paths | None, Parameter(help="Directory of tasks, or an FC-Eval results.json or log; - for stdin.")
    ] = None,
    /,
    *,
    options: Typed[SpeedupOptions] = DEFAULTS,
    per_benchmark: Annotated[bool, Parameter(help="With --csv, print one row per benchmark.", negative="")] = False,
    output: DrawnOutput = DRAWN_OUTPUT,
) -> int:
    """Measure performance changes from benchmark timings.

    Example: steelyard speedup --baseline main.json --candidate branch.json
    """
    output.check_drawn(SpeedupResult)
    if per_benchmark and not output.csv:
        raise UsageError("--per-benchmark requires --csv", hint="use --json, which lists all benchmarks")
    result = measure_speedup(inputs or None, options=options)
    output.give(
        result,
        lambda: _show(result),
        sentences=lambda: [speedup_sentence(result)],
        rows=lambda: result.to_dicts(per_benchmark=per_benchmark),
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
    if result.many or len(result.attempts) > len(
        result.summaries
    ):  # with one attempt each, it would repeat the first table
        terminal.print(speedup_summary_table(result))
    for tree in benchmark_trees(result):
        terminal.print(tree)
