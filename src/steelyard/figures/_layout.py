"""What figures share: a heading, an axis above rows or below a plot, rows with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.figures._markup import Mark, group, line, path, px, text_width, words
from steelyard.figures._scales import Scale
from steelyard.plain_text import clean

WIDTH = 720
NARROWEST = 240
"""A figure is never drawn narrower than this."""
NARROW = 520
"""Below this width, labels are above their marks instead of left of them."""
EDGE = 12
"""What stays free around a figure."""
MAX_NOTE_LENGTH = 400
"""Characters of a note that are shown at most."""
MAX_ROWS = 60
"""Maximum rows of a figure; it reports how many it omits."""


def checked_width(width: int) -> int:
    """The width that is drawn."""
    return max(int(width), NARROWEST)


def heading(title: str, note: str, width: int) -> tuple[tuple[Mark, ...], float]:
    """The title, a quiet line or two below it, and where the rest of the figure begins."""
    room = width - 2 * EDGE
    marks = [words(EDGE, 22, title, room=room, look="title")]
    lines = _two_lines(note, room) if note else ()
    marks += [words(EDGE, 40 + 16 * row, text, room=room, look="quiet") for row, text in enumerate(lines)]
    return tuple(marks), 34.0 + (2 if lines else 0) + 16 * len(lines)


def _two_lines(note: str, room: float) -> tuple[str, ...]:
    """The note as it is where it fits, else broken at its last blank that lets the first line fit."""
    shown = clean(note[:MAX_NOTE_LENGTH])
    if text_width(shown) <= room:
        return (note,)
    breaks = [place for place, char in enumerate(shown) if char == " " and text_width(shown[:place]) <= room]
    return (shown[: breaks[-1]], shown[breaks[-1] + 1 :]) if breaks else (note,)


def nothing(y: float, width: int, reason: str) -> Mark:
    """Return the text of a figure without data."""
    return words(EDGE, y + 24, reason, room=width - 2 * EDGE, look="quiet")


@dataclass(frozen=True, slots=True)
class Rows:
    """Positions of the rows of a figure: labels, the plot, and the values at its right."""

    left: float
    """Where the plot begins."""
    right: float
    """Where the plot ends."""
    top: float
    """The upper end of the first row."""
    step: float
    """From one row to the next."""
    label_room: float
    value_x: float
    """Where values end."""
    value_room: float
    above: bool
    """Whether labels are above their marks."""

    def middle(self, index: int) -> float:
        """Return the y coordinate of a row's marks."""
        return self.top + self.step * index + (self.step - 9 if self.above else self.step / 2)

    def label_y(self, index: int) -> float:
        """The baseline of a row's label."""
        return self.middle(index) - 14 if self.above else self.middle(index) + 4

    def bottom(self, count: int) -> float:
        """Where the rows end."""
        return self.top + self.step * count


def rows_of(labels: Sequence[str], values: Sequence[str], *, top: float, width: int, step: float = 24) -> Rows:
    """Room for labels at the left and values at the right, each as wide as it must be and no wider than it may."""
    value_room = max((text_width(value) for value in values), default=0.0)
    above = width < NARROW
    value_room = min(value_room, width * (0.7 if above else 0.38))
    longest = max((text_width(label) for label in labels), default=0.0)
    label_room = width - 2 * EDGE - value_room - 8 if above else min(longest, width * 0.34)
    left = EDGE + 6 if above else EDGE + label_room + 14
    right = width - EDGE - 6 - (0 if above or not value_room else value_room + 14)
    height = step + 14 if above else step
    return Rows(left, right, top, height, max(label_room, 40), width - EDGE, value_room, above)


def axis_above(scale: Scale, *, y: float, bottom: float, width: int, title: bool = True) -> tuple[Mark, ...]:
    """The title of the axis, its ticks below it, and quiet lines through the rows."""
    marks: list[Mark] = []
    if title:
        marks.append(axis_title(scale, scale.start, y + 10, width - scale.start - EDGE))
        y += 18
    marks += tick_labels(scale, y + 10, width)
    marks += [line(scale.at(tick), y + 16, scale.at(tick), bottom, look="grid") for tick in scale.ticks]
    return (group(tuple(marks), place=' class="sy-frame"'),)


def upright(x: float, rows: Rows, count: int, *, top: float, title: str = "") -> tuple[Mark, ...]:
    """Return a line through the rows, interrupted at labels above the marks."""
    if not rows.above:
        return (line(x, top, x, rows.bottom(count), look="axis", title=title),)
    middles = [rows.middle(index) for index in range(count)]
    return tuple(line(x, middle - 9, x, middle + 9, look="axis", title=title) for middle in middles)


def axis_title(scale: Scale, x: float, y: float, room: float) -> Mark:
    """What the axis shows, and that it is logarithmic where it is."""
    text = f"{scale.axis.title}, log scale" if scale.log else scale.axis.title
    return words(x, y, text, room=room, look="tick")


def tick_labels(scale: Scale, y: float, width: int) -> list[Mark]:
    """The numbers along a horizontal axis, moved inward at the edges, left out where they would touch."""
    marks: list[Mark] = []
    taken = -1.0
    for tick in scale.ticks:
        text = scale.tick_text(tick)
        half = text_width(text, size=11) / 2
        x = min(max(scale.at(tick), half + 2), width - half - 2)
        if x - half <= taken:
            continue
        taken = x + half + 6
        marks.append(words(x, y, text, room=2 * half + 1, look="tick", anchor="middle"))
    return marks


def row_label(rows: Rows, index: int, text: str, *, value: str | None = None, is_flush: bool = False) -> Mark:
    """Return a row's name, above its marks or to their left; flush with the left edge if there are ranks.

    Above its marks a name has the room that `value`, the row's own, leaves; by default, what the widest value leaves.
    """
    y, room = rows.label_y(index), rows.label_room
    if rows.above and value is not None:
        room = max(room, rows.value_x - EDGE - text_width(value) - 8)
    if rows.above or is_flush:
        return words(EDGE, y, text, room=room)
    return words(rows.left - 14, y, text, room=room, anchor="end")


def row_value(rows: Rows, index: int, text: str) -> Mark:
    """A row's value at the right."""
    return words(rows.value_x, rows.label_y(index), text, room=rows.value_room + 1, look="label", anchor="end")


def left_out(count: int, y: float, width: int, what: str = "more") -> tuple[Mark, ...]:
    """Return a note with the number of omitted rows."""
    return (words(EDGE, y + 14, f"{count:,} {what} omitted", room=width - 2 * EDGE, look="quiet"),) if count else ()


def arrow(x: float, y: float, *, right: bool, title: str) -> Mark:
    """Return an arrow for a mark that continues beyond the axis."""
    way = 6 if right else -6
    return path(f"M{px(x)} {px(y)}l{-way} -4v8z", look="mark", title=title)
