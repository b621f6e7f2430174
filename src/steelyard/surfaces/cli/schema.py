from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.errors import UnknownName
from steelyard.records import RECORDS, json_schema
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import print_json


def schema(
    record: Annotated[str, Parameter(help="The record: run, task or submission.")] = "run",
    /,
    *,
    json: Json = False,  # noqa: ARG001 # a schema is JSON already, and scripts ask for JSON everywhere
) -> int:
    """Print the JSON Schema of a record.

    Example: steelyard schema run
    """
    if record not in RECORDS:
        raise UnknownName("record", record, RECORDS)
    print_json(json_schema(RECORDS[record]))
    return 0
