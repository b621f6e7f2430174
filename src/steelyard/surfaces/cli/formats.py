from __future__ import annotations

from typing import Any

from steelyard.formats import Format, all_formats
from steelyard.reports import add_row, plain_table
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import print_json, show_results


def formats(*, json: Json = False) -> int:
    """List the formats that can be read, and what each provides.

    Example: steelyard formats
    """
    known = sorted(all_formats().values(), key=lambda declared: declared.name)
    if json:
        print_json({"schema_version": 1, "formats": [format_dict(declared) for declared in known]})
        return 0
    table = plain_table()
    for heading, spare in (
        ("format", 0),
        ("provides", 1),
        ("family", 2),
        ("what it is", 0),
        ("what a run gets from it", 3),
    ):
        table.add_column(heading, spare=spare)
    for declared in known:
        yields = ", ".join(declared.yields)
        add_row(table, declared.name, declared.tells, declared.family, declared.title, yields)
    show_results([f"{len(known)} formats can be read.", table])
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
