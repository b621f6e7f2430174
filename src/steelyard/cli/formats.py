from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from steelyard.cli._options import Json
from steelyard.cli._print import console, print_json, show_results
from steelyard.errors import UnknownNameError
from steelyard.formats import Format, all_formats
from steelyard.pages import add_row, plain_table


def formats(
    name: Annotated[str | None, Parameter(help="Show only this format.")] = None,
    /,
    *,
    json: Json = False,
) -> int:
    """List supported input formats, or show one.

    Example: steelyard formats
    Example: steelyard formats claude-code
    """
    known = sorted(all_formats().values(), key=lambda declared: declared.name)
    if name is not None:
        if name not in all_formats():
            raise UnknownNameError("format", name, [declared.name for declared in known])
        known = [all_formats()[name]]
    if json:
        print_json({"schema_version": 1, "formats": [format_dict(declared) for declared in known]})
        return 0
    if name is not None:
        terminal = console()
        for key, value in format_dict(known[0]).items():
            terminal.print(f"{key:>8}  {', '.join(value) if isinstance(value, list) else value}", indent=" " * 10)
        return 0
    table = plain_table()
    for heading, spare in (
        ("format", 0),
        ("kind", 1),
        ("family", 2),
        ("title", 0),
        ("fields", 3),
    ):
        table.add_column(heading, spare=spare)
    for declared in known:
        yields = ", ".join(declared.yields)
        add_row(table, declared.name, declared.kind, declared.family, declared.title, yields)
    show_results([f"{len(known)} formats; steelyard formats NAME shows one.", table])
    return 0


def format_dict(declared: Format) -> dict[str, Any]:  # Any: JSON values
    """A format's declaration as JSON."""
    return {
        "name": declared.name,
        "title": declared.title,
        "kind": declared.kind,
        "family": declared.family,
        "yields": list(declared.yields),
    }
