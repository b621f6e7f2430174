"""Figures and differences as people say them, the same in sentences and in tables."""

from __future__ import annotations

import math


def amount(value: float, unit: str, *, signed: bool = False, bare: bool = False) -> str:
    """A difference as people say it: shares as points, the rest in their unit; `bare` leaves the unit out.

    >>> amount(-0.0317, "share", signed=True), amount(12.5, "USD", signed=True), amount(0.0624, "USD", bare=True)
    ('-3.2 points', '+$12.50', '0.0624')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if math.isnan(value):  # infinity less infinity
        return "-"
    number, word = _number_and_word(value, unit)
    is_zero = not any(digit in number for digit in "123456789")
    sign = "" if is_zero else "-" if value < 0 else "+" if signed else ""
    if unit == "USD":
        return f"{sign}{'' if bare else '$'}{number}"
    return f"{sign}{number}" if bare or not word else f"{sign}{number} {word}"


def _number_and_word(value: float, unit: str) -> tuple[str, str]:
    """The number without its sign, and the word behind it."""
    size = abs(value)
    match unit:
        case "share":
            return f"{100 * size:.1f}", "points"
        case "USD":
            return f"{size:,.{2 if size >= 10 else 4}f}", ""
        case "tokens":
            return f"{size:,.0f}", unit
        case "s":
            return f"{size:,.1f}", unit
        case "tool calls" | "iterations" | "interactions" | "signatures" | "count":
            return f"{size:,.{0 if size.is_integer() else 1}f}", unit
        case _:
            number = f"{size:,.1f}" if size >= 1000 else f"{size:.3f}" if size >= 0.1 or not size else f"{size:.3g}"
            return number, unit if unit != "ratio" else ""


def level_of(value: float, unit: str, *, in_table: bool = False) -> str:
    """A figure, not a difference: shares in percent. In a table the heading says what is counted.

    >>> level_of(0.483, "share"), level_of(1234, "tokens"), level_of(1234, "tokens", in_table=True)
    ('48.3 %', '1,234 tokens', '1,234')
    """
    if unit == "share" and math.isfinite(value):
        return f"{amount(value, unit, bare=True)} %"
    return amount(value, unit, bare=in_table and unit not in UNITS_IN_CELLS)


UNITS_IN_CELLS = ("share", "ratio", "USD", "s")
"""Units that stand beside every number, so that no heading has to name them."""


def tasks_text(count: int, kind: str = "") -> str:
    """So many tasks, as people say it.

    >>> tasks_text(1, "common ")
    '1 common task'
    """
    return f"{count:,} {kind}task{'' if count == 1 else 's'}"
