from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard import runner, sources
from steelyard.cli._options import Json
from steelyard.cli._print import print_json
from steelyard.errors import UnknownNameError
from steelyard.records import RECORDS, json_schema

MAPPING, PLAN = "mapping", "plan"


def schema(
    record: Annotated[str, Parameter(help="Record type: run, task, submission, mapping or plan.")] = "run",
    /,
    *,
    json: Json = False,  # noqa: ARG001 # a schema is always JSON; scripts may pass --json to every command
) -> int:
    """Print a JSON Schema.

    Example: steelyard schema run
    """
    if record == MAPPING:
        print_json(sources.mapping_schema())
        return 0
    if record == PLAN:
        print_json(runner.plan_schema())
        return 0
    if record not in RECORDS:
        raise UnknownNameError("record type", record, [*RECORDS, MAPPING, PLAN])
    print_json(json_schema(RECORDS[record]))
    return 0
