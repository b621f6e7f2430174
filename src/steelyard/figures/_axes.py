"""What figures share: scales, headings, axes, rows with their labels, and plots with two axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeGuard

from steelyard import formatting
from steelyard.figures._figure import Mark, group, line, path, px, text_width, words
from steelyard.plain_text import clean

HUGE, TINY = 1e300, 1e-300
"""What is farther out or closer together is drawn at these ends; tooltips contain the number itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is drawn along an axis."""

    title: str
    unit: str = ""
    """`share` (printed as a percentage), `pp` (a difference of fractions, in percentage points), `USD`, `s`, `tokens`,
    `count`, `day` (counted from the first of year 1) or another."""
    low: float | None = None
    """The metric's lowest value, where it has one: the axis begins there."""
    high: float | None = None
    """The metric's highest value, where it has one: the axis ends there."""
    log: bool = False
    down: bool = False
    """Whether the lowest value is at the top: the first rank."""
    bare: bool = False
    """Whether it has no numbers, since each row has a scale of its own."""


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis with its ends on the paper."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float
    log: bool

    def at(self, value: float) -> float:
        """Return the position of the value, clipped to the axis."""
        low, high, inner = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, inner = math.log10(low), math.log10(high), math.log10(inner)
        return self.start + (self.end - self.start) * (inner - low) / (high - low)

    def holds(self, value: float) -> bool:
        """Whether the value is drawn where it is, not at an end of the axis."""
        return self.low <= value <= self.high

    @property
    def ticks(self) -> list[float]:
        """Round numbers along the axis, as many as have room for their text."""
        if self.axis.bare:
            return []
        room = abs(self.end - self.start)
        most = max(int(room / 54), 2)
        if self.axis.unit == "day":
            return _day_ticks(self.low, self.high, max(int(room / 90), 2))
        if self.axis.unit == "times":  # whole doublings: 0.7071 x is hard to read
            stride = max(math.ceil((self.high - self.low) / most), 1)
            return [
                float(tick) for tick in range(math.ceil(self.low / stride) * stride, math.floor(self.high) + 1, stride)
            ]
        return _log_ticks(self.low, self.high, most) if self.log else _linear_ticks(self.low, self.high, most)

    def tick_text(self, value: float) -> str:
        """A tick's number, short."""
        return short_text(value, self.axis.unit)


def scale_of(axis: Axis, values: Iterable[float | None], start: float, end: float) -> Scale:
    """The axis from the metric's ends, else from round numbers around the values.

    A logarithmic axis needs values above 0: otherwise the axis is linear, and its title shows it.
    """
    known = [min(max(value, -HUGE), HUGE) for value in values if is_drawn(value)]
    log = axis.log and bool(known) and min(known) > 0
    if log:
        low, high = _log_ends(max(min(known), TINY), max(known))
        return Scale(axis, low, high, start, end, log=True)
    low, high = _ends(axis, known)
    return Scale(axis, low, high, start, end, log=False)


def is_drawn(value: float | None) -> TypeGuard[float]:
    """Whether a value has a place: it is known and finite."""
    return value is not None and math.isfinite(value)


def amount_drawn(amount: float | None) -> float:
    """The height of what is known, so bounded that a sum of many stays a number; nothing for what is not known."""
    return min(max(amount, 0.0), HUGE / 1e6) if is_drawn(amount) else 0.0


def _ends(axis: Axis, known: list[float]) -> tuple[float, float]:
    bounded = [bound for bound in (axis.low, axis.high) if is_drawn(bound)]
    low, high = (min([*known, *bounded]), max([*known, *bounded])) if known or bounded else (0.0, 1.0)
    if high - low < max(TINY, 1e-12 * max(abs(low), abs(high))):
        margin = abs(low) / 2 or 1.0
        low, high = (low if low == axis.low else low - margin), (high if high == axis.high else high + margin)
    if low == axis.low and high == axis.high:
        return low, high
    if axis.unit == "day":
        return low, high
    step = _step(high - low, 5)
    lower = low if low == axis.low else max(math.floor(low / step) * step, -2 * HUGE)
    upper = high if high == axis.high else min(math.ceil(high / step) * step, 2 * HUGE)
    return lower, upper


def _step(span: float, most: int) -> float:
    rough = max(span / most, TINY)
    base = 10.0 ** math.floor(math.log10(rough))
    return next((factor * base for factor in (1, 2, 5) if factor * base >= rough * (1 - 1e-9)), 10 * base)


def _linear_ticks(low: float, high: float, most: int) -> list[float]:
    step = _step(high - low, most)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    if last - first > 50:  # ends so far from 0 that steps between them are lost in rounding
        return [low, high]
    return [count * step for count in range(first, last + 1)]


def _log_ends(low: float, high: float) -> tuple[float, float]:
    """The round numbers 1, 2, 5 around the values, never the same twice."""
    lower, upper = _rounded(low, up=False), _rounded(high, up=True)
    return (lower, upper) if upper > lower else (_rounded(low * 0.5, up=False), _rounded(high * 2, up=True))


def _rounded(value: float, *, up: bool) -> float:
    base = 10.0 ** math.floor(math.log10(value))
    factors = [factor * base for factor in (1.0, 2.0, 5.0, 10.0)]
    near = 1 + 1e-9
    if up:
        return next((factor for factor in factors if factor * near >= value), factors[-1])
    return next((factor for factor in reversed(factors) if factor <= value * near), factors[0])


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    decades = math.log10(high / low) if low > 0 and high / low < math.inf else 600.0
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1.0, 2.0, 5.0) if decades * 3 <= most else (1.0, 3.0) if decades * 2 <= most else (1.0,)
    stride = max(1, math.ceil(decades / most))
    ticks = [factor * 10.0**power for power in range(first, last + 1, stride) for factor in factors if power < 308]
    inside = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
    return inside if len(inside) > 2 else _linear_ticks(low, high, most)


def _day_ticks(low: float, high: float, most: int) -> list[float]:
    step = next(
        (days for days in (1, 2, 7, 14, 28, 91, 182, 365, 1826, 36_525) if (high - low) / days <= most), 365_250
    )
    return [float(day) for day in range(math.ceil(low), math.floor(high) + 1, step)] or [low]


def value_text(value: float | None, unit: str) -> str:
    """Return a number as a label shows it.

    >>> value_text(0.7121, "fraction"), value_text(0.61239, "USD"), value_text(12345.6, "tokens"), value_text(None, "s")
    ('71.2%', '$0.6124', '12,346', 'unknown')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if unit == "day" and math.isfinite(value):
        return _day_text(value)
    if unit == "pp":
        return formatting.difference_text(value, "fraction", signed=True)
    return formatting.quantity(value, unit, in_table=True)


def short_text(value: float, unit: str) -> str:
    """Return a number as an axis shows it: thousands as k, M and G."""
    return _day_text(value) if unit == "day" else formatting.tick(value, unit)


def _day_text(value: float) -> str:
    return date.fromordinal(min(max(int(value), 1), date.max.toordinal())).isoformat()


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


def joined(*parts: str) -> str:
    """Return the parts that are not empty, separated by semicolons."""
    return "; ".join(part for part in parts if part)


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


INSET = 8
"""From the frame of a plot to the ends of its horizontal axis, so that marks at the ends do not touch it."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Both scales of a plot."""

    across: Scale
    up: Scale

    @property
    def left(self) -> float:
        """Where the frame begins."""
        return self.across.start - INSET

    @property
    def right(self) -> float:
        """Where the frame ends."""
        return self.across.end + INSET

    @property
    def bottom(self) -> float:
        """Where the figure may end: below the title of the horizontal axis."""
        return self.up.start + 44


def plot_of(
    across: tuple[Axis, list[float | None]],
    up: tuple[Axis, list[float | None]],
    *,
    top: float,
    width: int,
    margin: float = 0.0,
    share: float = 0.5,
) -> Plot:
    """A plot from `top` on, its height a fraction of its width; `margin` stays free at the right."""
    height = min(max(width * share, 200.0), 360.0)
    upward = scale_of(up[0], up[1], top + 24 + height, top + 24)
    left = EDGE + max(text_width(upward.tick_text(tick), size=11) for tick in upward.ticks) + 10
    right = width - EDGE - 4 - margin
    return Plot(scale_of(across[0], across[1], left + INSET, right - INSET), upward)


def plot_frame(plot: Plot, width: int, *, gap: float = 12) -> Mark:
    """Quiet lines at the numbers of the upright axis, both axes with their titles; `gap` stays free below the upper."""
    across, up = plot.across, plot.up
    left, right, base = plot.left, plot.right, up.start
    marks: list[Mark] = [axis_title(up, EDGE, up.end - gap, width - 2 * EDGE)]
    for tick in up.ticks:
        y, room = up.at(tick), left - EDGE
        marks.append(line(left, y, right, y, look="grid"))
        marks.append(words(left - 7, y + 4, up.tick_text(tick), room=room, look="tick", anchor="end"))
    marks += [line(across.at(tick), base, across.at(tick), base + 4, look="axis") for tick in across.ticks]
    marks += [line(left, base, right, base, look="axis"), *tick_labels(across, base + 17, width)]
    marks.append(axis_title(across, left, base + 34, width - left - EDGE))
    return group(tuple(marks), place=' class="sy-frame"')
