from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.cli._options import Json
from steelyard.cli._print import console, print_json, show_results
from steelyard.formatting import counted
from steelyard.pages import add_row, plain_table
from steelyard.results import list_metrics, metric_dict


def metrics(
    name: Annotated[str | None, Parameter(help="Metric to describe in full.")] = None,
    /,
    *,
    spec: Annotated[
        str | None, Parameter(help="Only metrics of this specification: outcome, repeatability, speedup or arena.")
    ] = None,
    json: Json = False,
) -> int:
    """List metrics and their formulas.

    Example: steelyard metrics cost_of_pass
    """
    listed = list_metrics(name, spec=spec)
    chosen = listed.metrics
    if json:
        print_json(listed.to_dict())
        return 0
    if name:
        terminal = console()
        for key, value in metric_dict(chosen[0]).items():
            terminal.print(f"{key:>13}  {value}", indent=" " * 15)
        return 0
    table = plain_table()
    for title, spare in (("metric", 0), ("level", 1), ("unit", 2), ("better", 3), ("range", 4), ("formula", 0)):
        table.add_column(title, spare=spare)
    for metric in sorted(chosen, key=lambda metric: (metric.spec, metric.level, metric.name)):
        low, high = metric.bounds
        span = f"{low} or {high}" if metric.binary else f"{low} to {high}"
        add_row(table, metric.name, metric.level, metric.unit, metric.better, span, metric.formula)
    show_results([f"{counted(len(chosen), 'metric')}. To describe one: steelyard metrics NAME", table])
    return 0
