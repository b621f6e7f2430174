"""Calls of a model on a time axis: when a run spent what."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.figures._figure import Figure
from steelyard.figures._layout import WIDTH, checked_width, heading, nothing
from steelyard.figures._markup import HATCHED, Mark, box, brief, px
from steelyard.figures._plots import Plot, plot_frame, plot_of
from steelyard.figures._scales import Axis, amount_drawn, is_drawn, value_text

NARROWEST = 3
"""Pixels of a bar: calls closer together are one bar."""


class CallAmount(NamedTuple):
    """A call, and what it cost or how many tokens it took."""

    seconds: float | None
    """Since the start; a call without a time is not drawn."""
    amount: float | None
    """None where it is unknown."""
    label: str = ""


def calls(
    amounts: Sequence[CallAmount],
    *,
    title: str,
    axis: Axis,
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A bar for each call, its amount as height; one of unknown amount is hatched at the foot."""
    width = checked_width(width)
    timed = [each for each in amounts if is_drawn(each.seconds)]
    untimed = len(amounts) - len(timed)
    subtitle = "; ".join(part for part in (note, f"{untimed:,} without a timestamp omitted" if untimed else "") if part)
    head, top = heading(title, subtitle, width)
    body: tuple[Mark, ...] = (nothing(top, width, "No data: no call has a timestamp."),)
    bottom = top + 42
    if timed:
        # all calls, so that neither axis changes where bars are put together
        moments: list[float | None] = [0.0, *(each.seconds for each in timed)]
        across = Axis(title="Time since the start", unit="s")
        up = Axis(title=axis.title, unit=axis.unit, low=0)
        heights: list[float | None] = [amount_drawn(each.amount) for each in timed]
        plot = plot_of((across, moments), (up, heights), top=top, width=width, share=0.24)
        bars = _together(plot, timed)
        plot = plot_of((across, moments), (up, [_sum(bar) for bar in bars]), top=top, width=width, share=0.24)
        body = (plot_frame(plot, width), *(mark for bar in bars for mark in _bar(plot, bar)))
        bottom = plot.bottom
    total = math.fsum(amount_drawn(each.amount) for each in amounts)
    return Figure(
        name="calls",
        title=title,
        description=description
        or f"{axis.title} of {len(amounts):,} calls over time, total {value_text(total, axis.unit)}.",
        width=width,
        height=int(bottom),
        marks=(*head, *body),
    )


def _sum(bar: Sequence[CallAmount]) -> float:
    return math.fsum(amount_drawn(each.amount) for each in bar)


def _together(plot: Plot, timed: Sequence[CallAmount]) -> list[list[CallAmount]]:
    """The calls in their order, those that fall into the same few pixels as one bar."""
    bars: dict[int, list[CallAmount]] = {}
    for each in sorted(timed, key=lambda call: call.seconds or 0.0):
        bars.setdefault(int(plot.across.at(each.seconds or 0.0) / NARROWEST), []).append(each)
    return list(bars.values())


def _bar(plot: Plot, bar: Sequence[CallAmount]) -> list[Mark]:
    first, unit, height = bar[0], plot.up.axis.unit, _sum(bar)
    x = min(plot.across.at(first.seconds or 0.0), plot.right - 2)
    unknown = sum(not is_drawn(each.amount) for each in bar)
    parts = [
        f"{len(bar):,} calls" if len(bar) > 1 else brief(first.label) or "a call",
        f"after {value_text(first.seconds, 's')}",
        value_text(height, unit) if unknown < len(bar) else "",
        f"{unknown:,} unknown" if unknown else "",
    ]
    title = ", ".join(part for part in parts if part)
    y = plot.up.at(height)
    marks = [box(x - 1, y, 2, plot.up.start - y, look="mark", title=title)] if height else []
    if unknown or not height:
        place = f'{HATCHED} x="{px(x - 1)}" y="{px(plot.up.start - 8)}" width="2" height="8"'
        marks.append(Mark("rect", "", place, title))
    return marks
