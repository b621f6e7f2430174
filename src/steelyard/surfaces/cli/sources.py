from __future__ import annotations

from steelyard.formats import log_formats as all_sources
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json


def sources(*, json: Json = False) -> int:
    """List the formats that can be read, and what each yields.

    Example: steelyard sources
    """
    known = sorted(all_sources().values(), key=lambda source: source.name)
    if json:
        print_json([{"name": source.name, "title": source.title, "yields": list(source.yields)} for source in known])
        return 0
    from rich.table import Table  # 60 ms that --json does not pay

    table = Table(box=None, pad_edge=False)
    for heading in ("format", "what it is", "what a run gets from it"):
        table.add_column(heading, overflow="fold")
    for source in known:
        table.add_row(source.name, source.title, ", ".join(source.yields))
    console().print(table)
    return 0
