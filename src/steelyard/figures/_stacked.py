"""Amounts and what they are made of: token kinds, or where numbers come from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steelyard.figures._figure import Figure
from steelyard.figures._layout import (
    EDGE,
    MAX_ROWS,
    WIDTH,
    Rows,
    axis_above,
    checked_width,
    heading,
    left_out,
    nothing,
    row_label,
    row_value,
    rows_of,
)
from steelyard.figures._markup import HATCHED, Mark, box, brief, px, text_width, words
from steelyard.figures._scales import HUGE, Axis, Scale, is_drawn, scale_of, value_text

LARGEST = HUGE / 1000
"""Larger parts are drawn as this, so that a sum of them stays finite."""


class StackedRow(NamedTuple):
    """A bar: its parts by name, None where one is unknown."""

    label: str
    parts: Mapping[str, float | None]
    note: str = ""
    text: str = ""
    """Text at the right of the bar; its sum by default."""


def stacked(
    rows: Sequence[StackedRow],
    *,
    kinds: Sequence[str],
    title: str,
    axis: Axis,
    hatched: str = "",
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A bar for each row, its parts in the order of `kinds`, each paler than the last; `hatched` names one."""
    width = checked_width(width)
    shown = rows[:MAX_ROWS]
    head, top = heading(title, note, width)
    key, top = key_of_kinds(kinds, hatched, top, width)
    totals = [math.fsum(_size(row.parts.get(kind)) for kind in kinds) for row in shown]
    texts = [_total_text(row, kinds, total, axis) for row, total in zip(shown, totals, strict=True)]
    places = rows_of([row.label for row in shown], texts, top=top + 42, width=width, step=26)
    scale = scale_of(Axis(title=axis.title, unit=axis.unit, low=0, high=axis.high), totals, places.left, places.right)
    bottom = places.bottom(len(shown))
    marks: list[Mark] = []
    for index, row in enumerate(shown):
        marks += [row_label(places, index, row.label), row_value(places, index, texts[index])]
        marks += _bar(row, kinds, hatched, places, index, scale)
    frame = axis_above(scale, y=top, bottom=bottom, width=width)
    if not shown:
        frame, key, bottom = (nothing(top, width, "No data: no values."),), (), top + 30
    rest = left_out(len(rows) - len(shown), bottom, width)
    summary = (
        "; ".join(f"{brief(row.label)} {text}" for row, text in zip(shown[:5], texts, strict=False)) or "no values"
    )
    return Figure(
        name="stacked",
        title=title,
        description=description or f"{axis.title} by {', '.join(kinds)}: {summary}.",
        width=width,
        height=int(bottom + (30 if rest else 12)),
        marks=(*head, *key, *frame, *marks, *rest),
    )


def _size(value: float | None) -> float:
    return min(max(value, 0.0), LARGEST) if is_drawn(value) else 0.0


def _total_text(row: StackedRow, kinds: Sequence[str], total: float, axis: Axis) -> str:
    """The sum, "at least" where a part is unknown."""
    if row.text:
        return row.text
    parts = [row.parts.get(kind) for kind in kinds]
    if any(part is not None and math.isinf(part) for part in parts):
        return "∞"
    if all(part is None for part in parts):
        return "unknown"
    return f"{'≥ ' if any(part is None for part in parts) else ''}{value_text(total, axis.unit)}"


def _shade(index: int, count: int) -> float:
    return 1.0 - 0.82 * index / max(count - 1, 1)


def key_of_kinds(kinds: Sequence[str], hatched: str, top: float, width: int) -> tuple[tuple[Mark, ...], float]:
    """The kinds with their shades, on as many lines as they need."""
    marks: list[Mark] = []
    x, y = float(EDGE), top
    for index, kind in enumerate(kinds):
        room = min(text_width(kind, size=11), width - 2 * EDGE - 18)
        if x + 16 + room > width - EDGE:
            x, y = float(EDGE), y + 18
        marks.append(piece(x, y + 2, 11, 11, index, kinds, hatched, kind or "unnamed"))
        marks.append(words(x + 16, y + 11, kind, room=room + 1, look="tick"))
        x += room + 32
    return tuple(marks), y + (24 if kinds else 0)


def piece(
    x: float, y: float, wide: float, high: float, index: int, kinds: Sequence[str], hatched: str, title: str
) -> Mark:
    """A part of a bar, in the shade of its kind."""
    if kinds[index] == hatched:
        place = f'{HATCHED} x="{px(x)}" y="{px(y)}" width="{px(wide)}" height="{px(high)}"'
        return Mark("rect", "", place, title)
    return box(x, y, wide, high, look="cell", title=title, opacity=_shade(index, len(kinds)))


def _bar(row: StackedRow, kinds: Sequence[str], hatched: str, places: Rows, index: int, scale: Scale) -> list[Mark]:
    marks: list[Mark] = []
    begin, y = 0.0, places.middle(index) - 7
    for which, kind in enumerate(kinds):
        size = _size(row.parts.get(kind))
        if not size:
            continue
        start, end = scale.at(begin), scale.at(begin + size)
        title = f"{brief(row.label)}: {kind} {value_text(row.parts[kind], scale.axis.unit)}"
        title += f"; {row.note}" if row.note else ""
        gap = 1.0 if end - start > 2 else 0.0
        marks.append(piece(start, y, max(end - start - gap, 0.5), 14, which, kinds, hatched, title))
        begin += size
    return marks
