from __future__ import annotations

from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json
from steelyard.workflow import as_dicts, examine


def doctor(*, json: Json = False) -> int:
    """Tell what this installation has and what it lacks.

    Example: steelyard doctor
    """
    checks = examine()
    if json:
        print_json(as_dicts(checks))
    else:
        for check in checks:
            console().print(f"{check.status:<7} {check.what:<26} {check.detail}")
    return 1 if any(check.status == "broken" for check in checks) else 0
