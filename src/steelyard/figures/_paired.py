"""Two sides on the same tasks: dumbbells per task, a square of flips, slopes from before to after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.figures._axes import (
    EDGE,
    MAX_ROWS,
    WIDTH,
    Axis,
    Scale,
    axis_above,
    checked_width,
    heading,
    is_drawn,
    joined,
    left_out,
    nothing,
    row_label,
    row_value,
    rows_of,
    scale_of,
    value_text,
)
from steelyard.figures._figure import Figure, Mark, box, brief, dot, group, line, path, px, text_width, words
from steelyard.formatting import counted

SIDE = 86.0
"""The height of a cell."""


class _FlipCell(NamedTuple):
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
        _FlipCell(left, start, both, "both", "solved by both"),
        _FlipCell(left + wide, start, only_a, "▼ lost", f"only by {brief(a)}"),
        _FlipCell(left, start + SIDE, only_b, "▲ gained", f"only by {brief(b)}"),
        _FlipCell(left + wide, start + SIDE, neither, "neither", "by neither"),
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
        description=description or f"{counted(total, 'task')}, {summary}.",
        width=width,
        height=int(start + 2 * SIDE + 10),
        marks=(*head, *marks, *(mark for cell in cells for mark in _flip_marks(cell, total, wide))),
    )


def _flip_marks(cell: _FlipCell, total: int, wide: float) -> list[Mark]:
    middle, room, base = cell.x + wide / 2 - 1, wide - 6, cell.y + SIDE / 2
    shade = 0.06 + 0.5 * (cell.tasks / total if total else 0.0)
    title = f"{cell.meaning}: {cell.tasks:,} of {total:,} tasks"
    return [
        box(cell.x, cell.y, wide - 2, SIDE - 2, look="cell", title=title, opacity=shade),
        words(middle, base + 4, f"{cell.tasks:,}", room=room, look="big", anchor="middle"),
        words(middle, base + 22, cell.below, room=room, look="tick", anchor="middle"),
    ]


MAX_LINES = 200


class Change(NamedTuple):
    """One value before and after."""

    label: str
    before: float | None
    after: float | None


def slopes(
    changes: Sequence[Change],
    *,
    title: str,
    axis: Axis,
    before: str = "before",
    after: str = "after",
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """Draw a line per value from before to after, with names at the right if there is room."""
    width = min(checked_width(width), 620)
    known = [each for each in changes if is_drawn(each.before) and is_drawn(each.after)]
    unknown = len(changes) - len(known)
    subtitle = joined(note, f"{unknown:,} unknown" if unknown else "")
    head, top = heading(title, subtitle, width)
    shown = known[:MAX_LINES]
    body: list[Mark] = [nothing(top, width, "No data: no values before and after.")]
    bottom = top + 36
    if shown:
        body, bottom = _lines(shown, axis, (before, after), top, width)
    rest = left_out(len(known) - len(shown), bottom, width)
    fell = sum(each.after < each.before for each in known if each.after is not None and each.before is not None)
    return Figure(
        name="slopes",
        title=title,
        description=description or f"{axis.title} of {len(known):,}: {fell:,} fall from {before} to {after}.",
        width=width,
        height=int(bottom + (28 if rest else 10)),
        marks=(*head, *body, *rest),
    )


def _lines(
    shown: Sequence[Change], axis: Axis, sides: tuple[str, str], top: float, width: int
) -> tuple[list[Mark], float]:
    ends = (top + 40, top + 270) if axis.down else (top + 270, top + 40)
    scale = scale_of(axis, [end for each in shown for end in (each.before, each.after)], *ends)
    tick_room = max(text_width(scale.tick_text(tick), size=11) for tick in scale.ticks)
    label_room = min(max(text_width(each.label) for each in shown), width * 0.36)
    left, right = EDGE + tick_room + 14, width - EDGE - label_room - 14
    frame: list[Mark] = [words(EDGE, top + 10, axis.title, room=width - 2 * EDGE, look="tick")]
    for tick in scale.ticks:
        y = scale.at(tick)
        frame.append(line(left, y, right, y, look="grid"))
        frame.append(words(left - 8, y + 4, scale.tick_text(tick), room=tick_room + 2, look="tick", anchor="end"))
    frame += [line(x, scale.end, x, scale.start, look="axis") for x in (left, right)]
    half = (right - left) / 2 - 4
    frame.append(words(left, top + 30, sides[0], room=half, look="quiet"))
    frame.append(words(right, top + 30, sides[1], room=half, look="quiet", anchor="end"))
    marks = [group(tuple(frame), place=' class="sy-frame"')]
    taken: list[float] = []
    for each in sorted(shown, key=lambda each: (each.after or 0.0, each.label)):
        marks += _slope(each, scale, left, right)
        y = scale.at(each.after or 0.0)
        if all(abs(y - other) >= 13 for other in taken):
            taken.append(y)
            marks.append(words(right + 10, y + 4, each.label, room=label_room + 1))
    return marks, top + 280


def _slope(each: Change, scale: Scale, left: float, right: float) -> list[Mark]:
    start, end, unit = scale.at(each.before or 0.0), scale.at(each.after or 0.0), scale.axis.unit
    title = f"{brief(each.label)}: {value_text(each.before, unit)} → {value_text(each.after, unit)}"
    parts = (line(left, start, right, end, look="thin"), dot(left, start, 4, look="hollow"), dot(right, end, 4))
    return [group(parts, title=title)]


class TaskPair(NamedTuple):
    """A task's value on both sides; None where a side has none."""

    task: str
    a: float | None
    b: float | None


def dumbbells(
    pairs: Sequence[TaskPair],
    *,
    a: str,
    b: str,
    title: str,
    axis: Axis,
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A hollow dot for A, a filled one for B and an arrow between them, one task a row, the largest gain of B first."""
    width = checked_width(width)
    ordered = sorted(pairs, key=_gain, reverse=True)
    shown = _ends_of(ordered)
    note = f"{note}; " if note else ""
    head, top = heading(title, f"{note}hollow: {brief(a)}, filled: {brief(b)}", width)
    texts = [f"{value_text(each.a, axis.unit)} → {value_text(each.b, axis.unit)}" for each in shown]
    rows = rows_of([each.task for each in shown], texts, top=top + 42, width=width, step=22)
    scale = scale_of(axis, [end for each in shown for end in (each.a, each.b)], rows.left, rows.right)
    bottom = rows.bottom(len(shown))
    marks: list[Mark] = []
    for index, each in enumerate(shown):
        y = rows.middle(index)
        marks += [row_label(rows, index, each.task), row_value(rows, index, texts[index])]
        parts: list[Mark] = []
        known = [(scale.at(end), look) for end, look in ((each.a, "hollow"), (each.b, "mark")) if is_drawn(end)]
        if len(known) == 2 and abs(known[0][0] - known[1][0]) > 1:
            parts += _arrow(known[0][0], known[1][0], y)
        parts += [dot(x, y, 4.5, look=look) for x, look in known]
        marks += [group(tuple(parts), title=_tooltip(each, a, b, axis))] if parts else []
    frame = axis_above(scale, y=top, bottom=bottom, width=width)
    if not shown:
        frame, bottom = (nothing(top, width, "No data: no common tasks."),), top + 30
    rest = left_out(len(pairs) - len(shown), bottom, width, "tasks in between")
    gained = sum(_gain(each) > 0 for each in pairs)
    lost = sum(_gain(each) < 0 for each in pairs)
    summary = f"{counted(len(pairs), 'task')}: {brief(b)} is higher on {gained:,}, lower on {lost:,}."
    return Figure(
        name="dumbbells",
        title=title,
        description=description or summary,
        width=width,
        height=int(bottom + (30 if rest else 12)),
        marks=(*head, *frame, *marks, *rest),
    )


def _gain(each: TaskPair) -> float:
    return each.b - each.a if is_drawn(each.a) and is_drawn(each.b) else 0.0


def _tooltip(each: TaskPair, a: str, b: str, axis: Axis) -> str:
    values = (f"{brief(side)} {value_text(value, axis.unit)}" for side, value in ((a, each.a), (b, each.b)))
    return f"{brief(each.task)}: {', '.join(values)}"


def _ends_of(ordered: list[TaskPair]) -> list[TaskPair]:
    """The largest gains and the largest losses: those between them changed least."""
    half = MAX_ROWS // 2
    return ordered if len(ordered) <= MAX_ROWS else ordered[:half] + ordered[-half:]


def _arrow(start: float, end: float, y: float) -> list[Mark]:
    way = 1 if end > start else -1
    tip = end - 6 * way
    return [line(start, y, end, y, look="whisker"), path(f"M{px(tip)} {px(y)}l{-6 * way} -4v8z", look="mark")]
