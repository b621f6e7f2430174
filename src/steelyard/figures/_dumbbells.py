"""Two values of each task, joined: where a change comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.figures._figure import Figure
from steelyard.figures._layout import (
    MAX_ROWS,
    WIDTH,
    axis_above,
    checked_width,
    heading,
    left_out,
    nothing,
    row_label,
    row_value,
    rows_of,
)
from steelyard.figures._markup import Mark, brief, dot, group, line, path, px
from steelyard.figures._scales import Axis, is_drawn, scale_of, value_text


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
    summary = f"{len(pairs):,} tasks: {brief(b)} is higher on {gained:,}, lower on {lost:,}."
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
