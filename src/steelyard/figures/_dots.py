"""Estimates with their intervals, one a row: who leads and how surely, or what differs from a reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.figures._axes import (
    EDGE,
    MAX_ROWS,
    WIDTH,
    Axis,
    Rows,
    Scale,
    arrow,
    axis_above,
    checked_width,
    heading,
    is_drawn,
    left_out,
    nothing,
    row_label,
    row_value,
    rows_of,
    scale_of,
    upright,
    value_text,
)
from steelyard.figures._figure import Figure, Mark, box, brief, dot, group, line, text_width, words


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One number with its interval."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    rank: str = ""
    """The places that the data leave open: `1-3`."""
    note: str = ""
    """Further text of its tooltip: how many tasks, why it is unknown."""
    faint: bool = False
    """Whether it proves nothing: its interval holds the reference, or too few values made it."""
    limit: float | None = None
    """What it is held against: the limit of a rule."""
    text: str = ""
    """The value as it is written at the right; its number by default."""
    tooltip: str = ""
    """The whole tooltip; made from the numbers by default."""


def dots(
    estimates: Sequence[Estimate],
    *,
    title: str,
    axis: Axis,
    note: str = "",
    reference: float | None = None,
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A dot for each estimate on a common axis, its interval as a line, a reference (as of no difference) upright."""
    width = checked_width(width)
    shown = estimates[:MAX_ROWS]
    head, top = heading(title, note, width)
    texts = [each.text or value_text(each.value, axis.unit) for each in shown]
    rank_room = max((text_width(each.rank, bold=True) for each in shown), default=0.0)
    indent = rank_room + 12 if rank_room else 0.0
    begin = top + (24 if axis.bare else 42)
    rows = rows_of([each.label for each in shown], texts, top=begin, width=width - int(indent))
    ends = [number for each in shown for number in (each.value, each.low, each.high, each.limit)]
    scale = scale_of(axis, [*ends, reference], rows.left, rows.right)
    bottom = rows.bottom(len(shown)) if shown else top + 30
    plot: tuple[Mark, ...] = (nothing(top, width, "No data: no values."),)
    if shown:
        plot = axis_above(scale, y=top, bottom=bottom, width=width - int(indent))
        plot += (_guides(rows, shown), *_reference(reference, scale, rows, len(shown)))
        for index, each in enumerate(shown):
            plot += (
                _row(each, rows, index, scale),
                row_label(rows, index, each.label, value=texts[index], is_flush=indent > 0),
            )
            plot += (row_value(rows, index, texts[index]),)
    if indent:
        plot = (group(plot, place=f' transform="translate({indent:.0f} 0)"'), *_bands(shown, rows, top, rank_room))
    rest = left_out(len(estimates) - len(shown), bottom, width)
    return Figure(
        name="dots",
        title=title,
        description=description or _description(estimates, axis, note),
        width=width,
        height=int(bottom + (30 if rest else 12)),
        marks=(*head, *plot, *rest),
    )


def _guides(rows: Rows, shown: Sequence[Estimate]) -> Mark:
    """Quiet lines that lead from a label to its value."""
    heights = [rows.middle(row) for row, each in enumerate(shown) if is_drawn(each.value)]
    lines = tuple(line(rows.left, y, rows.right, y, look="grid") for y in heights)
    return group(lines, place=' class="sy-frame"')


def _reference(reference: float | None, scale: Scale, rows: Rows, count: int) -> tuple[Mark, ...]:
    if reference is None:
        return ()
    title = f"reference: {value_text(reference, scale.axis.unit)}"
    return upright(scale.at(reference), rows, count, top=rows.top - 4, title=title)


def _bands(shown: Sequence[Estimate], rows: Rows, top: float, room: float) -> list[Mark]:
    """Return the ranks at the very left, with a heading if there is room."""
    marks = [
        words(EDGE, rows.label_y(index), each.rank, room=room + 1, look="strong")
        for index, each in enumerate(shown)
        if each.rank
    ]
    return [*marks, words(EDGE, top + 28, "rank", room=60, look="tick")] if room > 28 else marks


def _row(each: Estimate, rows: Rows, index: int, scale: Scale) -> Mark:
    y, title = rows.middle(index), _title(each, scale.axis)
    if each.value is None or math.isnan(each.value):
        reason = f"unknown: {each.note}" if each.note else "unknown"
        return words(rows.left, y + 4, reason, room=rows.right - rows.left, look="quiet")
    parts: list[Mark] = []
    if is_drawn(each.low) or is_drawn(each.high):
        low, high = (scale.low if each.low is None else each.low), (scale.high if each.high is None else each.high)
        parts.append(line(scale.at(low), y, scale.at(high), y, look="whisker"))
        parts += [arrow(scale.at(low), y, right=False, title=title)] if not scale.holds(low) else []
        parts += [arrow(scale.at(high), y, right=True, title=title)] if not scale.holds(high) else []
    if each.limit is not None and is_drawn(each.limit):
        parts.append(box(scale.at(each.limit) - 1, y - 8, 2, 16, look="grey"))
    if scale.holds(each.value):
        parts.append(dot(scale.at(each.value), y, 4.5 if each.faint else 5, look="hollow" if each.faint else "mark"))
    else:
        parts.append(arrow(scale.at(each.value), y, right=each.value > 0, title=title))
    return group(tuple(parts), title=title)


def _title(each: Estimate, axis: Axis) -> str:
    if each.tooltip:
        return each.tooltip
    parts = [f"{brief(each.label)}: {each.text or value_text(each.value, axis.unit)}"]
    if each.low is not None and each.high is not None:
        parts.append(f"{value_text(each.low, axis.unit)} to {value_text(each.high, axis.unit)}")
    parts += [f"limit {value_text(each.limit, axis.unit)}"] if each.limit is not None else []
    parts += [f"rank {each.rank}"] if each.rank else []
    return "; ".join(parts + ([each.note] if each.note else []))


def _description(estimates: Sequence[Estimate], axis: Axis, note: str) -> str:
    titles = [_title(each, axis) for each in estimates[:5]]
    more = f" and {len(estimates) - 5:,} more" if len(estimates) > 5 else ""
    return f"{axis.title}, {note or 'one dot per row'}. " + ("; ".join(titles) + more if titles else "No values") + "."
