from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.results import list_metrics, metric_dict
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json


def metrics(
    name: Annotated[str | None, Parameter(help="Only this metric, in full.")] = None,
    /,
    *,
    spec: Annotated[str | None, Parameter(help="Only metrics of this specification: outcome, arena, ...")] = None,
    json: Json = False,
) -> int:
    """List every metric: what it means, its unit, range and formula.

    Example: steelyard metrics cost_of_pass
    """
    listed = list_metrics(name, spec=spec)
    chosen = listed.metrics
    if json:
        print_json(listed.to_dict())
        return 0
    terminal = console()
    if name:
        for key, value in metric_dict(chosen[0]).items():
            terminal.print(f"{key:>12}  {value}")
        return 0
    from rich.table import Table  # only a terminal needs it

    table = Table(box=None, pad_edge=False)
    for title in ("metric", "level", "unit", "better", "range", "formula"):
        table.add_column(title, overflow="fold")
    for metric in sorted(chosen, key=lambda metric: (metric.spec, metric.level, metric.name)):
        low, high = metric.bounds
        span = f"{low} or {high}" if metric.binary else f"{low} to {high}"
        table.add_row(metric.name, metric.level, metric.unit, metric.better, span, metric.formula)
    terminal.print(table)
    return 0
