from __future__ import annotations

from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json
from steelyard.workflow.doctor import as_dicts, examine


def doctor(*, json: Json = False) -> int:
    """Tell what this installation has and what it lacks.

    Example: steelyard doctor
    """
    found = examine()
    if json:
        print_json(as_dicts(found))
    else:
        for one in found:
            console().print(f"{one.status:<7} {one.what:<26} {one.detail}")
    return 1 if any(one.status == "broken" for one in found) else 0
