from __future__ import annotations

from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json
from steelyard.workflow.doctor import examine


def doctor(*, json: Json = False) -> int:
    """Tell what this installation has and what it lacks.

    Example: steelyard doctor
    """
    report = examine()
    if json:
        print_json(report.to_dict())
    else:
        for check in report.checks:
            console().print(f"{check.status:<7} {check.what:<26} {check.detail}")
    return 1 if report.broken else 0
