from __future__ import annotations

from typing import Any

from steelyard.formats import Format, all_formats
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json


def formats(*, json: Json = False) -> int:
    """List the formats that can be read, what each tells of and what it yields.

    Example: steelyard formats
    """
    known = sorted(all_formats().values(), key=lambda declared: declared.name)
    if json:
        print_json({"schema_version": 1, "formats": [format_dict(declared) for declared in known]})
        return 0
    from rich.table import Table  # 60 ms that --json does not pay

    table = Table(box=None, pad_edge=False)
    for heading in ("format", "tells of", "family", "what it is", "what a run gets from it"):
        table.add_column(heading, overflow="fold")
    for declared in known:
        yields = ", ".join(declared.yields)
        table.add_row(declared.name, declared.tells, declared.family, declared.title, yields)
    console().print(table)
    return 0


def format_dict(declared: Format) -> dict[str, Any]:  # Any: JSON values
    """A format's declaration as JSON."""
    return {
        "name": declared.name,
        "title": declared.title,
        "tells": declared.tells,
        "family": declared.family,
        "yields": list(declared.yields),
    }
