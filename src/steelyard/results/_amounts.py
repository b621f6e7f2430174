"""Figures and differences as people say them, the same in sentences and in tables."""

from __future__ import annotations

import math


def amount(value: float, unit: str, *, signed: bool = False, bare: bool = False) -> str:
    """A difference as people say it: shares as points, the rest in their unit; `bare` leaves the unit out."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if math.isnan(value):  # infinity less infinity
        return "-"
    sign = "+" if signed else ""
    match unit:
        case "share":
            number, word = f"{100 * value:{sign}.1f}", "points"
        case "USD":
            number, word = f"{value:{sign},.{_places(value)}f}", "USD"
        case "tokens":
            number, word = f"{value:{sign},.0f}", "tokens"
        case "s":
            number, word = f"{value:{sign},.1f}", "s"
        case _:
            number, word = f"{value:{sign}.3g}", unit if unit != "ratio" else ""
    number = number.replace("-0.0", "0.0") if float(number.replace(",", "")) == 0 else number
    return number if bare or not word else f"{number} {word}"


def _places(value: float) -> int:
    return 2 if abs(value) >= 10 else 4


def level_of(value: float, unit: str) -> str:
    """A figure, not a difference: shares in percent."""
    return f"{100 * value:.1f} %" if unit == "share" else amount(value, unit)


def tasks_text(count: int, kind: str = "") -> str:
    """So many tasks, as people say it.

    >>> tasks_text(1, "common ")
    '1 common task'
    """
    return f"{count:,} {kind}task{'' if count == 1 else 's'}"
