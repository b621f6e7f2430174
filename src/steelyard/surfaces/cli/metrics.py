from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from steelyard.errors import UnknownName
from steelyard.metrics._catalog import catalog
from steelyard.metrics._declare import Metric
from steelyard.reports.measurement import json_number
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
    specs = {one.spec for one in known.values()}
    if spec is not None and spec not in specs:
        raise UnknownName("specification", spec, specs)
    chosen = [known[name]] if name else [one for one in known.values() if spec in (None, one.spec)]
    if json:
        print_json([metric_dict(one) for one in chosen])
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
    for one in sorted(chosen, key=lambda one: (one.spec, one.level, one.name)):
        low, high = one.bounds
        span = f"{low} or {high}" if one.binary else f"{low} to {high}"
        table.add_row(one.name, one.level, one.unit, one.better, span, one.formula)
    terminal.print(table)
    return 0


def metric_dict(one: Metric) -> dict[str, Any]:  # Any: JSON values
    """A metric's declaration as JSON."""
    return {
        "name": one.name,
        "title": one.title,
        "meaning": one.doc,
        "specification": one.spec,
        "level": one.level,
        "unit": one.unit,
        "better": one.better,
        "bounds": [json_number(bound) for bound in one.bounds],
        "binary": one.binary,
        "formula": one.formula,
        "inputs": list(one.inputs),
        "constants": dict(one.constants),
        "example": {"inputs": dict(one.example.inputs), "result": one.example.result},
    }
