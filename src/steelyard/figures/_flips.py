"""Two sides on the same tasks: solved by both, by one, by neither."""

from __future__ import annotations

from typing import NamedTuple

from steelyard.figures._figure import Figure
from steelyard.figures._layout import EDGE, WIDTH, checked_width, heading
from steelyard.figures._markup import Mark, box, brief, words

SIDE = 86.0
"""The height of a cell."""


class _Cell(NamedTuple):
    x: float
    y: float
    tasks: int
    below: str
    meaning: str


def flips(
    *,
    a: str,
    b: str,
    both: int,
    only_a: int,
    only_b: int,
    neither: int,
    title: str,
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """Four counts in a square: rows are A, columns are B, colored by its fraction of the tasks."""
    width = min(checked_width(width), 480)
    head, top = heading(title, note, width)
    total = both + only_a + only_b + neither
    left = EDGE + 104.0
    wide = (width - EDGE - left) / 2
    start = top + 40
    cells = (
        _Cell(left, start, both, "both", "solved by both"),
        _Cell(left + wide, start, only_a, "▼ lost", f"only by {brief(a)}"),
        _Cell(left, start + SIDE, only_b, "▲ gained", f"only by {brief(b)}"),
        _Cell(left + wide, start + SIDE, neither, "neither", "by neither"),
    )
    marks = [
        words(left + wide, top + 14, b, room=2 * wide, look="strong", anchor="middle"),
        words(left + wide / 2, top + 32, "solved", room=wide, look="quiet", anchor="middle"),
        words(left + wide * 1.5, top + 32, "not solved", room=wide, look="quiet", anchor="middle"),
        words(EDGE, start + SIDE - 8, a, room=96, look="strong"),
        words(EDGE, start + SIDE / 2 + 4, "solved", room=96, look="quiet"),
        words(EDGE, start + SIDE * 1.5 + 4, "not solved", room=96, look="quiet"),
    ]
    summary = "; ".join(f"{cell.meaning}: {cell.tasks:,}" for cell in cells)
    return Figure(
        name="flips",
        title=title,
        description=description or f"{total:,} tasks, {summary}.",
        width=width,
        height=int(start + 2 * SIDE + 10),
        marks=(*head, *marks, *(mark for cell in cells for mark in _marks(cell, total, wide))),
    )


def _marks(cell: _Cell, total: int, wide: float) -> list[Mark]:
    middle, room, base = cell.x + wide / 2 - 1, wide - 6, cell.y + SIDE / 2
    shade = 0.06 + 0.5 * (cell.tasks / total if total else 0.0)
    title = f"{cell.meaning}: {cell.tasks:,} of {total:,} tasks"
    return [
        box(cell.x, cell.y, wide - 2, SIDE - 2, look="cell", title=title, opacity=shade),
        words(middle, base + 4, f"{cell.tasks:,}", room=room, look="big", anchor="middle"),
        words(middle, base + 22, cell.below, room=room, look="tick", anchor="middle"),
    ]
