from __future__ import annotations

from steelyard.cli._options import Json
from steelyard.cli._print import print_json, show_results
from steelyard.questions.doctor import examine
from steelyard.reports import doctor_sentence, doctor_table


def doctor(*, json: Json = False) -> int:
    """Check the installation and optional dependencies.

    Example: steelyard doctor
    """
    report = examine()
    if json:
        print_json(report.to_dict())
    else:
        show_results([doctor_sentence(report), doctor_table(report)])
    return 1 if report.broken else 0
