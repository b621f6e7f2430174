"""Before and after: how far repair brings outputs to the canon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.figures._figure import Figure
from steelyard.figures._layout import EDGE, WIDTH, checked_width, heading, left_out, nothing
from steelyard.figures._markup import Mark, brief, dot, group, line, text_width, words
from steelyard.figures._scales import Axis, Scale, is_drawn, scale_of, value_text

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
    subtitle = "; ".join(part for part in (note, f"{unknown:,} unknown" if unknown else "") if part)
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
