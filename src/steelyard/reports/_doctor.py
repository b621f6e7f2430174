"""Terminal output of doctor."""

from __future__ import annotations

from steelyard.formatting import counted
from steelyard.pages import Painted, Style, TextTable, add_row, plain_table
from steelyard.results import DoctorReport

_STYLES: dict[str, Style] = {"ok": "green", "broken": "red", "absent": "yellow"}


def doctor_sentence(report: DoctorReport) -> str:
    """Return the number of failed checks."""
    broken = sum(check.status == "broken" for check in report.checks)
    if broken:
        return f"{broken} of {counted(len(report.checks), 'check')} failed."
    return f"No problems found ({len(report.checks)} checks)."


def doctor_table(report: DoctorReport) -> TextTable:
    """Return the table with one row per check."""
    table = plain_table()
    for heading in ("status", "check", "detail"):
        table.add_column(heading)
    for check in report.checks:
        style = _STYLES.get(check.status)
        add_row(table, Painted(check.status, style) if style else check.status, check.what, check.detail)
    return table
