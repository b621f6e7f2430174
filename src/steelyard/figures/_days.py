"""Amounts over days: what was spent when, and on what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from steelyard.figures._figure import Figure
from steelyard.figures._layout import WIDTH, checked_width, heading, nothing
from steelyard.figures._markup import HATCHED, Mark, box, brief, px
from steelyard.figures._plots import Plot, plot_frame, plot_of
from steelyard.figures._scales import Axis, amount_drawn, is_drawn, value_text
from steelyard.figures._stacked import key_of_kinds, piece

MAX_PIECES = 70
"""Pieces of all bars together: a month of two models by the day, more of them by the week."""
PERIODS = {1: "day", 7: "week", 28: "four weeks", 91: "quarter", 364: "year", 3640: "ten years"}
"""Name of a bar by its number of days."""


class DayAmount(NamedTuple):
    """What a day adds, or one kind of it."""

    day: date
    amount: float | None
    """None where it is unknown."""
    note: str = ""
    kind: str = ""
    """What it was spent on, where bars are stacked."""


class _Span(NamedTuple):
    first: int
    amounts: Mapping[str, float]
    """By kind."""
    unknown: int
    note: str

    @property
    def total(self) -> float:
        return math.fsum(self.amounts.values())


def days(
    amounts: Sequence[DayAmount],
    *,
    title: str,
    axis: Axis,
    by: str = "",
    kinds: Sequence[str] = (),
    by_day_up_to: int = 0,
    zone: str = "UTC",
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """Draw a bar per day, or per several days if space is short; unknown amounts are hatched below the axis.

    With `kinds` a bar is stacked of them, in their order, each paler than the last; however many they are, up to
    `by_day_up_to` days have a bar each. The title ends with the days per bar and the key of the kinds, `by`.
    """
    width = checked_width(width)
    ordered = sorted(amounts, key=lambda each: each.day)
    step = 1
    if ordered:
        length = ordered[-1].day.toordinal() - ordered[0].day.toordinal() + 1
        most = min(width / 8, max(MAX_PIECES / max(len(kinds), 1), by_day_up_to if length <= by_day_up_to else 0))
        step = next((many for many in PERIODS if length / many <= most), max(PERIODS))
    title = f"{title} by {PERIODS[step]}{f' and {by}' if by else ''}"
    subtitle = "; ".join(part for part in (note, f"{step} days per bar" if step > 1 else "") if part)
    head, top = heading(title, subtitle, width)
    body: tuple[Mark, ...] = (nothing(top, width, "No data: no run has a date."),)
    bottom = top + 42
    spans = _spans(ordered, step)
    if spans:
        key, top = key_of_kinds(kinds, "", top, width)
        across = Axis(title=f"Day ({zone})", unit="day")
        ends: list[float | None] = [float(spans[0].first), float(spans[-1].first + step)]
        up = Axis(title=axis.title, unit=axis.unit, low=0)
        plot = plot_of((across, ends), (up, [span.total for span in spans]), top=top, width=width, share=0.36)
        bars = (mark for span in spans for mark in _bar(plot, span, step, kinds))
        body = (*key, plot_frame(plot, width), *bars)
        bottom = plot.bottom
    total = math.fsum(amount_drawn(each.amount) for each in ordered)
    unknown = len({each.day for each in ordered if not is_drawn(each.amount)})
    count = len({each.day for each in ordered})
    return Figure(
        name="days",
        title=title,
        description=description
        or f"{axis.title} over {count:,} days, total {value_text(total, axis.unit)}; {unknown:,} days unknown.",
        width=width,
        height=int(bottom),
        marks=(*head, *body),
    )


def _spans(ordered: Sequence[DayAmount], step: int) -> list[_Span]:
    spans: dict[int, list[DayAmount]] = {}
    for each in ordered:
        offset = each.day.toordinal() - ordered[0].day.toordinal()
        spans.setdefault(ordered[0].day.toordinal() + offset // step * step, []).append(each)
    made = []
    for first, members in spans.items():
        by_kind: dict[str, list[float]] = {}
        for each in members:
            by_kind.setdefault(each.kind, []).append(amount_drawn(each.amount))
        sums = {kind: math.fsum(parts) for kind, parts in by_kind.items()}
        unknown = sum(not is_drawn(each.amount) for each in members)
        made.append(_Span(first, sums, unknown, members[0].note if len(members) == 1 else ""))
    return made


def _bar(plot: Plot, span: _Span, step: int, kinds: Sequence[str]) -> list[Mark]:
    x, end = plot.across.at(span.first), plot.across.at(span.first + step)
    wide = max(end - x - (1 if end - x > 3 else 0), 0.8)
    unit = plot.up.axis.unit
    period = value_text(span.first, "day") + (f" and the {step - 1} days after" if step > 1 else "")
    unknown = f"{span.unknown} unknown" if span.unknown else ""
    title = "; ".join(part for part in (f"{period}: {value_text(span.total, unit)}", unknown, span.note) if part)
    marks: list[Mark] = []
    if not kinds and span.total:
        y = plot.up.at(span.total)
        marks.append(box(x, y, wide, plot.up.start - y, look="mark", title=title))
    below = 0.0
    for number, kind in enumerate(kinds):
        if size := span.amounts.get(kind, 0.0):
            y, base = plot.up.at(below + size), plot.up.at(below)
            tooltip = f"{period}: {brief(kind)} {value_text(size, unit)} of {value_text(span.total, unit)}"
            marks.append(piece(x, y, wide, max(base - y, 0.5), number, kinds, "", tooltip))
            below += size
    if span.unknown:
        place = f'{HATCHED} x="{px(x)}" y="{px(plot.up.start - 10)}" width="{px(wide)}" height="10"'
        marks.append(Mark("rect", "", place, title))
    return marks
