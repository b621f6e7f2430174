"""Quality against cost: who gives most for the money, and who cannot be told because its cost is unknown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from steelyard.figures._figure import Figure
from steelyard.figures._layout import (
    EDGE,
    WIDTH,
    arrow,
    axis_title,
    checked_width,
    heading,
    nothing,
    tick_labels,
)
from steelyard.figures._markup import HATCHED, Mark, brief, dot, group, line, path, px, text_width, words
from steelyard.figures._scales import Axis, Scale, is_drawn, scale_of, value_text

STRIP = 118.0
"""How wide the strip for unknown costs is."""
Area: TypeAlias = tuple[float, float, float, float]
"""Left, upper, right and lower end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedEstimate:
    """One competitor's quality and cost, with their intervals where they are known."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    cost: float | None
    cost_low: float | None = None
    cost_high: float | None = None
    on_front: bool | None = None
    """Whether nobody is at least as good for no more money."""
    note: str = ""
    """What else its tooltip says."""


@dataclass(frozen=True, slots=True)
class _Plot:
    across: Scale
    up: Scale
    strip: float | None
    """The middle of the strip for unknown costs; None where every cost is known."""
    right: float
    """How far labels may go."""

    def place(self, each: PricedEstimate) -> tuple[float, float]:
        x = self.strip if self.strip is not None and not _is_priced(each) else self.across.at(each.cost or 0.0)
        return x, self.up.at(each.value or 0.0)


def pareto(
    points: Sequence[PricedEstimate],
    *,
    title: str,
    quality: Axis,
    cost: Axis,
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A point for each competitor with whiskers, the frontier as steps, unknown costs in a strip of their own."""
    width = checked_width(width)
    head, top = heading(title, note, width)
    shown = [each for each in points if is_drawn(each.value)]
    unpriced = [each for each in shown if not _is_priced(each)]
    body: tuple[Mark, ...]
    if not shown:
        body, height = (nothing(top, width, "Nothing to show: there are no values."),), int(top + 42)
    else:
        plot_height = min(max(width * 0.5, 220), 380)
        plot = _plot(
            shown, quality, cost, top=top + 24, bottom=top + 24 + plot_height, width=width, strip=bool(unpriced)
        )
        height = int(top + 24 + plot_height + 42)
        front = [each for each in shown if each.on_front and _is_priced(each)]
        body = (*_frame(plot, width), *_strip(plot, len(unpriced)), *_frontier(front, plot))
        body += (*(_point(each, plot) for each in shown), *_labels(shown, plot))
    return Figure(
        name="pareto",
        title=title,
        description=description or _description(shown, quality, cost),
        width=width,
        height=height,
        marks=(*head, *body),
    )


def _is_priced(each: PricedEstimate) -> bool:
    return is_drawn(each.cost)


def _plot(
    shown: Sequence[PricedEstimate], quality: Axis, cost: Axis, *, top: float, bottom: float, width: int, strip: bool
) -> _Plot:
    up = scale_of(quality, [end for each in shown for end in (each.value, each.low, each.high)], bottom, top)
    left = EDGE + max(text_width(up.tick_text(tick), size=11) for tick in up.ticks) + 12
    strip_room = STRIP if strip else 0.0
    right = width - EDGE - 10 - (strip_room + 10 if strip else 0)
    costs = [end for each in shown if _is_priced(each) for end in (each.cost, each.cost_low, each.cost_high)]
    across = scale_of(cost, costs, left + 8, right - 8)
    return _Plot(across, up, width - EDGE - strip_room + 14 if strip else None, right + 8 if not strip else right)


def _frame(plot: _Plot, width: int) -> tuple[Mark, ...]:
    across, up = plot.across, plot.up
    left, right = across.start - 8, across.end + 8
    marks: list[Mark] = [axis_title(up, EDGE, up.end - 12, width - 2 * EDGE)]
    for tick in up.ticks:
        marks.append(line(left, up.at(tick), right, up.at(tick), look="grid"))
        marks.append(words(left - 8, up.at(tick) + 4, up.tick_text(tick), room=left - EDGE, look="tick", anchor="end"))
    marks += [line(across.at(tick), up.start, across.at(tick), up.start + 4, look="axis") for tick in across.ticks]
    marks += [line(left, up.start, right, up.start, look="axis"), *tick_labels(across, up.start + 17, width)]
    marks.append(axis_title(across, left, up.start + 34, width - left - EDGE))
    return (group(tuple(marks), place=' class="sy-frame"'),)


def _strip(plot: _Plot, count: int) -> tuple[Mark, ...]:
    if plot.strip is None:
        return ()
    x, top, bottom = plot.strip - 14, plot.up.end, plot.up.start
    text = f"cost unknown: {count:,}"
    return (
        Mark("rect", "", f'{HATCHED} x="{px(x)}" y="{px(top)}" width="10" height="{px(bottom - top)}"', text),
        words(x, bottom + 17, text, room=STRIP, look="tick"),
    )


def _frontier(front: Sequence[PricedEstimate], plot: _Plot) -> tuple[Mark, ...]:
    places = sorted(plot.place(each) for each in front)
    if not places:
        return ()
    steps = f"M{px(places[0][0])} {px(places[0][1])}"
    steps += "".join(f"H{px(x)}V{px(y)}" for x, y in places[1:]) + f"H{px(plot.across.end + 8)}"
    names = ", ".join(brief(each.label) for each in front[:8])
    return (path(steps, look="thin", title=f"frontier: nobody is better for less. {names}"),)


def _point(each: PricedEstimate, plot: _Plot) -> Mark:
    x, y = plot.place(each)
    title = _title(each, plot)
    parts: list[Mark] = []
    if each.low is not None and each.high is not None:
        parts.append(line(x, plot.up.at(each.low), x, plot.up.at(each.high), look="whisker"))
    if each.cost_low is not None and each.cost_high is not None and _is_priced(each):
        low, high = plot.across.at(each.cost_low), plot.across.at(each.cost_high)
        parts.append(line(low, y, high, y, look="whisker"))
        if not plot.across.holds(each.cost_high):
            parts.append(arrow(high, y, right=True, title=title))
    parts.append(dot(x, y, 5, look="mark" if each.on_front else "hollow"))
    return group(tuple(parts), title=title)


def _labels(shown: Sequence[PricedEstimate], plot: _Plot) -> list[Mark]:
    """A name beside each point, wherever it touches nothing, cut if need be; else in the tooltip only."""
    taken = [area for each in shown for area in _areas(each, plot)]
    marks: list[Mark] = []
    for each in sorted(shown, key=lambda each: not each.on_front):
        look = "label" if each.on_front else "quiet"
        for left, base, width in _spots(each, plot):
            area = (left, base - 10, left + width, base + 3)
            if _is_inside(area, each, plot) and not any(_touch(area, other) for other in taken):
                taken.append(area)
                marks.append(words(left, base, each.label, room=width + 0.5, look=look))
                break
    return marks


def _spots(each: PricedEstimate, plot: _Plot) -> Iterator[tuple[float, float, float]]:
    """Where a name could stand, the best first: its left end, its baseline, its width."""
    x, y = plot.place(each)
    whole = text_width(each.label)
    if plot.strip is not None and not _is_priced(each):
        yield x + 10, y + 4, min(whole, STRIP - 36)
        return
    for most in (150.0, 70.0):
        width = min(whole, most)
        for base in (y - 4, y + 14, y - 16, y + 26):
            yield x + 10, base, width
            yield x - 10 - width, base, width


def _is_inside(area: Area, each: PricedEstimate, plot: _Plot) -> bool:
    right = plot.right if plot.strip is None or _is_priced(each) else math.inf
    return (
        plot.across.start - 6 <= area[0]
        and area[2] <= right
        and plot.up.end - 10 <= area[1]
        and area[3] <= plot.up.start
    )


def _areas(each: PricedEstimate, plot: _Plot) -> list[Area]:
    """What a point and its whiskers cover."""
    x, y = plot.place(each)
    areas = [(x - 7, y - 7, x + 7, y + 7)]
    if each.low is not None and each.high is not None:
        areas.append((x - 2, plot.up.at(each.high), x + 2, plot.up.at(each.low)))
    if each.cost_low is not None and each.cost_high is not None and _is_priced(each):
        areas.append((plot.across.at(each.cost_low), y - 2, plot.across.at(each.cost_high), y + 2))
    return areas


def _touch(a: Area, b: Area) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _title(each: PricedEstimate, plot: _Plot) -> str:
    unit, money = plot.up.axis.unit, plot.across.axis.unit
    text = f"{brief(each.label)}: {value_text(each.value, unit)}"
    if each.low is not None and each.high is not None:
        text += f" ({value_text(each.low, unit)} to {value_text(each.high, unit)})"
    text += f" at {value_text(each.cost, money)}" if _is_priced(each) else ", cost unknown"
    if each.cost_low is not None and each.cost_high is not None:
        text += f" ({value_text(each.cost_low, money)} to {value_text(each.cost_high, money)})"
    text += "; on the frontier" if each.on_front else ""
    return f"{text}; {each.note}" if each.note else text


def _description(shown: Sequence[PricedEstimate], quality: Axis, cost: Axis) -> str:
    front = [brief(each.label) for each in shown if each.on_front]
    unknown = sum(not _is_priced(each) for each in shown)
    return (
        f"{quality.title} against {cost.title.lower()} of {len(shown):,}. "
        f"On the frontier: {', '.join(front[:8]) or 'none'}. Cost unknown: {unknown:,}."
    )
