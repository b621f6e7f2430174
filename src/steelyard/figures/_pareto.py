"""Quality against cost: the Pareto frontier, and groups of unknown cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from steelyard.figures._axes import (
    EDGE,
    WIDTH,
    Axis,
    Plot,
    arrow,
    checked_width,
    heading,
    is_drawn,
    nothing,
    plot_frame,
    plot_of,
    value_text,
)
from steelyard.figures._figure import HATCHED, Figure, Mark, brief, dot, group, line, path, px, text_width, words

STRIP = 118.0
"""How wide the strip for unknown costs is."""
MAX_LABELS = 60
"""Points whose names are placed, those on the frontier first."""
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
    pareto_optimal: bool | None = None
    """Whether no other group is at least as good for no more money."""
    note: str = ""
    """Further text of its tooltip."""


@dataclass(frozen=True, slots=True)
class _Board:
    """The plot and, right of it, the strip for unknown costs."""

    plot: Plot
    strip: float | None
    """The middle of the strip; None where every cost is known."""
    width: int

    def place(self, each: PricedEstimate) -> tuple[float, float]:
        x = self.plot.across.at(each.cost) if is_drawn(each.cost) else self.strip
        assert x is not None, "strip: unknown cost"
        return x, self.plot.up.at(each.value or 0.0)


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
    if not shown:
        body: tuple[Mark, ...] = (nothing(top, width, "No data: no values."),)
        height = top + 42
    else:
        values = [end for each in shown for end in (each.value, each.low, each.high)]
        costs = [end for each in shown if _is_priced(each) for end in (each.cost, each.cost_low, each.cost_high)]
        room = min(STRIP, width * 0.26) if unpriced else 0.0
        plot = plot_of((cost, costs), (quality, values), top=top, width=width, margin=room + 8 if room else 0.0)
        board = _Board(plot, width - EDGE - room + 14 if room else None, width)
        height = plot.bottom
        front = [each for each in shown if each.pareto_optimal and _is_priced(each)]
        body = (plot_frame(plot, width), *_strip(board, len(unpriced)), *_frontier(front, board))
        body += (*(_point(each, board) for each in shown), *_labels(shown, board))
    return Figure(
        name="pareto",
        title=title,
        description=description or _description(shown, quality, cost),
        width=width,
        height=int(height),
        marks=(*head, *body),
    )


def _is_priced(each: PricedEstimate) -> bool:
    return is_drawn(each.cost)


def _strip(board: _Board, count: int) -> tuple[Mark, ...]:
    if board.strip is None:
        return ()
    x, up = board.strip - 14, board.plot.up
    texts = (f"cost unknown: {count:,}", f"unknown: {count:,}", f"? {count:,}")
    room = board.width - EDGE - x
    text = next((text for text in texts if text_width(text, size=11) <= room), texts[-1])
    place = f'{HATCHED} x="{px(x)}" y="{px(up.end)}"'
    return (
        Mark("rect", "", f'{place} width="10" height="{px(up.start - up.end)}"', text),
        words(x, up.start + 17, text, room=room, look="tick"),
    )


def _frontier(front: Sequence[PricedEstimate], board: _Board) -> tuple[Mark, ...]:
    places = sorted(board.place(each) for each in front)
    if not places:
        return ()
    steps = f"M{px(places[0][0])} {px(places[0][1])}"
    steps += "".join(f"H{px(x)}V{px(y)}" for x, y in places[1:]) + f"H{px(board.plot.right)}"
    names = ", ".join(brief(each.label) for each in front[:8])
    return (path(steps, look="thin", title=f"Pareto frontier: {names}"),)


def _point(each: PricedEstimate, board: _Board) -> Mark:
    x, y = board.place(each)
    title = _title(each, board)
    parts: list[Mark] = []
    if each.low is not None and each.high is not None:
        parts.append(line(x, board.plot.up.at(each.low), x, board.plot.up.at(each.high), look="whisker"))
    if each.cost_low is not None and each.cost_high is not None and _is_priced(each):
        low, high = board.plot.across.at(each.cost_low), board.plot.across.at(each.cost_high)
        parts.append(line(low, y, high, y, look="whisker"))
        if not board.plot.across.holds(each.cost_high):
            parts.append(arrow(high, y, right=True, title=title))
    parts.append(dot(x, y, 5, look="mark" if each.pareto_optimal else "hollow"))
    return group(tuple(parts), title=title)


def _labels(shown: Sequence[PricedEstimate], board: _Board) -> list[Mark]:
    """Label each point where the name overlaps nothing, shortened if needed; else in the tooltip only."""
    taken = [area for each in shown for area in _areas(each, board)]
    marks: list[Mark] = []
    for each in sorted(shown, key=lambda each: not each.pareto_optimal)[:MAX_LABELS]:
        look = "label" if each.pareto_optimal else "quiet"
        for left, base, width in _spots(each, board):
            area = (left, base - 10, left + width, base + 3)
            if _is_inside(area, each, board) and not any(_touch(area, other) for other in taken):
                taken.append(area)
                marks.append(words(left, base, each.label, room=width + 0.5, look=look))
                break
    return marks


def _spots(each: PricedEstimate, board: _Board) -> Iterator[tuple[float, float, float]]:
    """Yield candidate positions of a name, best first: left end, baseline, width."""
    x, y = board.place(each)
    whole = text_width(each.label)
    if board.strip is not None and not _is_priced(each):
        yield x + 10, y + 4, min(whole, board.width - EDGE - x - 10)
        return
    ends = [end for end in (each.low, each.high) if end is not None] or [each.value or 0.0]
    above, below = (board.plot.up.at(end) for end in (max(ends), min(ends)))
    for most in (150.0, 70.0):
        width = min(whole, most)
        for base in (y - 4, y + 14, y - 16, y + 26):
            yield x + 10, base, width
            yield x - 10 - width, base, width
        for left in (x - width / 2, x - width + 8, x - 8):
            inside = min(max(left, board.plot.left + 2), board.plot.right - width)
            yield from ((inside, above - 6, width), (inside, below + 14, width))


def _is_inside(area: Area, each: PricedEstimate, board: _Board) -> bool:
    right = board.plot.right if board.strip is None or _is_priced(each) else math.inf
    return (
        board.plot.across.start - 6 <= area[0]
        and area[2] <= right
        and board.plot.up.end - 10 <= area[1]
        and area[3] <= board.plot.up.start
    )


def _areas(each: PricedEstimate, board: _Board) -> list[Area]:
    """What a point and its whiskers cover."""
    x, y = board.place(each)
    areas = [(x - 7, y - 7, x + 7, y + 7)]
    if each.low is not None and each.high is not None:
        areas.append((x - 2, board.plot.up.at(each.high), x + 2, board.plot.up.at(each.low)))
    if each.cost_low is not None and each.cost_high is not None and _is_priced(each):
        areas.append((board.plot.across.at(each.cost_low), y - 2, board.plot.across.at(each.cost_high), y + 2))
    return areas


def _touch(a: Area, b: Area) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _title(each: PricedEstimate, board: _Board) -> str:
    unit, money = board.plot.up.axis.unit, board.plot.across.axis.unit
    text = f"{brief(each.label)}: {value_text(each.value, unit)}"
    if each.low is not None and each.high is not None:
        text += f" ({value_text(each.low, unit)} to {value_text(each.high, unit)})"
    text += ", cost unknown" if each.cost is None else f" at {value_text(each.cost, money)}"
    if each.cost_low is not None and each.cost_high is not None:
        text += f" ({value_text(each.cost_low, money)} to {value_text(each.cost_high, money)})"
    text += "; on the frontier" if each.pareto_optimal else ""
    return f"{text}; {each.note}" if each.note else text


def _description(shown: Sequence[PricedEstimate], quality: Axis, cost: Axis) -> str:
    front = [brief(each.label) for each in shown if each.pareto_optimal]
    unknown = sum(not _is_priced(each) for each in shown)
    return (
        f"{quality.title} vs. {cost.title.lower()} of {len(shown):,}. "
        f"On the frontier: {', '.join(front[:8]) or 'none'}. Cost unknown: {unknown:,}."
    )
