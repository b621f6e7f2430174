from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.errors import UnknownNameError
from steelyard.records import RECORDS, json_schema
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import print_json

MAPPING, PLAN = "mapping", "plan"


def schema(
    record: Annotated[str, Parameter(help="The record: run, task, submission, mapping or plan.")] = "run",
    /,
    *,
    json: Json = False,  # noqa: ARG001 # a schema is JSON already, and scripts ask for JSON everywhere
) -> int:
    """Print the JSON Schema of a record.

    Example: steelyard schema run
    """
    if record == MAPPING:
        from steelyard.mappings import mapping_schema  # makes some twenty classes that other schemas do not need

        print_json(mapping_schema())
        return 0
    if record == PLAN:
        from steelyard.workflow import plan_schema  # only whoever runs plans needs them

        print_json(plan_schema())
        return 0
    if record not in RECORDS:
        raise UnknownNameError("record", record, [*RECORDS, MAPPING, PLAN])
    print_json(json_schema(RECORDS[record]))
    return 0
