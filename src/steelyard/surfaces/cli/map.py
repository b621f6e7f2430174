from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.mappings import load_mapping, mapping_text, shipped_mappings
from steelyard.reports import add_row, plain_table
from steelyard.results import versioned
from steelyard.surfaces.cli._options import Json, Paths
from steelyard.surfaces.cli._print import print_json, print_text, show_results
from steelyard.workflow.map import map as propose_mapping


def map(  # noqa: A001 # the user's word for it
    files: Annotated[
        Paths | None, Parameter(help="Tables (CSV), JSON documents or JSON lines of one kind; - is stdin.")
    ] = None,
    /,
    *,
    list_: Annotated[
        bool, Parameter(name="--list", help="List the mappings that come with Steelyard.", negative="")
    ] = False,
    show: Annotated[str | None, Parameter(help="Print one of them, to be copied and changed.")] = None,
    json: Json = False,
) -> int:
    """Propose a mapping for files of no known format: check it, correct it, then read the files with --map.

    A mapping says from which column or path each field of a run comes. This command only prints one.

    Example: steelyard map results.csv > mapping.toml
    Example: steelyard map --show evalplus > mine.toml
    """
    if (files is not None) + list_ + (show is not None) != 1:
        raise UsageError("name files to propose a mapping for, or say --list or --show NAME", hint="steelyard map FILE")
    if list_:
        _list(json=json)
        return 0
    if show is not None:
        text = mapping_text(show)
        if json:
            print_json(versioned({"name": show, "mapping": text}))
        else:
            print_text(text)
        return 0
    proposal = propose_mapping(files or [])
    if json:
        aside = [rejected.to_dict() for rejected in proposal.set_aside]
        print_json(versioned({"mapping": proposal.text, "runs": proposal.runs, "rejected": aside}))
    else:
        print_text(proposal.text)
    return 0


def _list(*, json: bool) -> None:
    loaded = [load_mapping(name) for name in shipped_mappings()]
    if json:
        print_json(versioned({"mappings": [{"name": mapping.name, "title": mapping.title} for mapping in loaded]}))
        return
    table = plain_table()
    table.add_column("mapping")
    table.add_column("title")
    for mapping in loaded:
        add_row(table, mapping.name, mapping.title or "")
    show_results([f"{counted(len(loaded), 'mapping')}; steelyard map --show NAME prints one.", table])
