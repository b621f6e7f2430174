from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from steelyard.errors import UnknownName
from steelyard.metrics import Metric, catalog
from steelyard.results import json_number, versioned
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
    known = catalog()
    specs = {metric.spec for metric in known.values()}
    if spec is not None and spec not in specs:
        raise UnknownName("specification", spec, specs)
    chosen = [known[name]] if name else [metric for metric in known.values() if spec in (None, metric.spec)]
    if json:
        print_json(versioned({"metrics": [metric_dict(metric) for metric in chosen]}))
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


def metric_dict(metric: Metric) -> dict[str, Any]:  # Any: JSON values
    """A metric's declaration as JSON."""
    return {
        "name": metric.name,
        "title": metric.title,
        "meaning": metric.doc,
        "specification": metric.spec,
        "level": metric.level,
        "unit": metric.unit,
        "better": metric.better,
        "bounds": [json_number(bound) for bound in metric.bounds],
        "binary": metric.binary,
        "formula": metric.formula,
        "inputs": list(metric.inputs),
        "constants": dict(metric.constants),
        "example": {"inputs": dict(metric.example.inputs), "result": metric.example.result},
    }
