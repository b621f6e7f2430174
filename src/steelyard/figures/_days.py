"""Amounts over days: what was spent when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from steelyard.figures._figure import Figure
from steelyard.figures._layout import WIDTH, checked_width, heading, nothing
from steelyard.figures._markup import HATCHED, Mark, box, px
from steelyard.figures._plots import Plot, plot_frame, plot_of
from steelyard.figures._scales import Axis, is_drawn, value_text


class DayAmount(NamedTuple):
    """What a day adds."""

    day: date
    amount: float | None
    """None where it is unknown."""
    note: str = ""


class _Span(NamedTuple):
    first: int
    amount: float
    unknown: int
    note: str


def days(
    amounts: Sequence[DayAmount],
    *,
    title: str,
    axis: Axis,
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A bar for each day, or for so many days as have room; a day of unknown amount is hatched below the axis."""
    width = checked_width(width)
    ordered = sorted(amounts)
    step = 1
    if ordered:
        length = ordered[-1].day.toordinal() - ordered[0].day.toordinal() + 1
        step = next((many for many in (1, 7, 28, 91, 364) if length / many <= width / 8), 3640)
    said = "; ".join(part for part in (note, f"{step} days a bar" if step > 1 else "") if part)
    head, top = heading(title, said, width)
    body: tuple[Mark, ...] = (nothing(top, width, "Nothing to show: no run has a day."),)
    bottom = top + 42
    spans = _spans(ordered, step)
    if spans:
        across = Axis(title="Day (UTC)", unit="day")
        ends: list[float | None] = [float(spans[0].first), float(spans[-1].first + step)]
        up = Axis(title=axis.title, unit=axis.unit, low=0)
        plot = plot_of((across, ends), (up, [span.amount for span in spans]), top=top, width=width, share=0.36)
        body = (plot_frame(plot, width), *(mark for span in spans for mark in _bar(plot, span, step)))
        bottom = plot.bottom
    total = math.fsum(_known(each.amount) for each in ordered)
    unknown = sum(not is_drawn(each.amount) for each in ordered)
    return Figure(
        name="days",
        title=title,
        description=description
        or f"{axis.title} over {len(ordered):,} days: {value_text(total, axis.unit)} in all, {unknown:,} days unknown.",
        width=width,
        height=int(bottom),
        marks=(*head, *body),
    )


def _known(amount: float | None) -> float:
    return min(max(amount, 0.0), 1e290) if is_drawn(amount) else 0.0


def _spans(ordered: Sequence[DayAmount], step: int) -> list[_Span]:
    spans: dict[int, list[DayAmount]] = {}
    for each in ordered:
        offset = each.day.toordinal() - ordered[0].day.toordinal()
        spans.setdefault(ordered[0].day.toordinal() + offset // step * step, []).append(each)
    return [
        _Span(
            first,
            math.fsum(_known(each.amount) for each in members),
            sum(not is_drawn(each.amount) for each in members),
            members[0].note if len(members) == 1 else "",
        )
        for first, members in spans.items()
    ]


def _bar(plot: Plot, span: _Span, step: int) -> list[Mark]:
    x, end = plot.across.at(span.first), plot.across.at(span.first + step)
    wide = max(end - x - (1 if end - x > 3 else 0), 0.8)
    unit, y = plot.up.axis.unit, plot.up.at(span.amount)
    period = value_text(span.first, "day") + (f" and the {step - 1} days after" if step > 1 else "")
    unknown = f"{span.unknown} unknown" if span.unknown else ""
    title = "; ".join(part for part in (f"{period}: {value_text(span.amount, unit)}", unknown, span.note) if part)
    marks = [box(x, y, wide, plot.up.start - y, look="mark", title=title)] if span.amount else []
    if span.unknown:
        place = f'{HATCHED} x="{px(x)}" y="{px(plot.up.start - 10)}" width="{px(wide)}" height="10"'
        marks.append(Mark("rect", "", place, title))
    return marks
