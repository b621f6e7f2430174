"""Amounts of tokens or money: bars stacked by kind, bars per day, bars per call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from steelyard.figures._axes import (
    EDGE,
    MAX_ROWS,
    WIDTH,
    Axis,
    Plot,
    Rows,
    Scale,
    amount_drawn,
    axis_above,
    checked_width,
    heading,
    is_drawn,
    joined,
    left_out,
    nothing,
    plot_frame,
    plot_of,
    row_label,
    row_value,
    rows_of,
    scale_of,
    value_text,
)
from steelyard.figures._figure import HATCHED, Figure, Mark, box, brief, px, text_width, words


class StackedRow(NamedTuple):
    """A bar: its parts by name, None where one is unknown."""

    label: str
    parts: Mapping[str, float | None]
    note: str = ""
    text: str = ""
    """Text at the right of the bar; its sum by default."""


def stacked(
    rows: Sequence[StackedRow],
    *,
    kinds: Sequence[str],
    title: str,
    axis: Axis,
    hatched: str = "",
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A bar for each row, its parts in the order of `kinds`, each paler than the last; `hatched` names one."""
    width = checked_width(width)
    shown = rows[:MAX_ROWS]
    head, top = heading(title, note, width)
    key, top = key_of_kinds(kinds, hatched, top, width)
    totals = [math.fsum(amount_drawn(row.parts.get(kind)) for kind in kinds) for row in shown]
    texts = [_total_text(row, kinds, total, axis) for row, total in zip(shown, totals, strict=True)]
    places = rows_of([row.label for row in shown], texts, top=top + 42, width=width, step=26)
    scale = scale_of(Axis(title=axis.title, unit=axis.unit, low=0, high=axis.high), totals, places.left, places.right)
    bottom = places.bottom(len(shown))
    marks: list[Mark] = []
    for index, row in enumerate(shown):
        marks += [row_label(places, index, row.label), row_value(places, index, texts[index])]
        marks += _row_bar(row, kinds, hatched, places, index, scale)
    frame = axis_above(scale, y=top, bottom=bottom, width=width)
    if not shown:
        frame, key, bottom = (nothing(top, width, "No data: no values."),), (), top + 30
    rest = left_out(len(rows) - len(shown), bottom, width)
    summary = (
        "; ".join(f"{brief(row.label)} {text}" for row, text in zip(shown[:5], texts, strict=False)) or "no values"
    )
    return Figure(
        name="stacked",
        title=title,
        description=description or f"{axis.title} by {', '.join(kinds)}: {summary}.",
        width=width,
        height=int(bottom + (30 if rest else 12)),
        marks=(*head, *key, *frame, *marks, *rest),
    )


def _total_text(row: StackedRow, kinds: Sequence[str], total: float, axis: Axis) -> str:
    """The sum, "at least" where a part is unknown."""
    if row.text:
        return row.text
    parts = [row.parts.get(kind) for kind in kinds]
    if any(part is not None and math.isinf(part) for part in parts):
        return "∞"
    if all(part is None for part in parts):
        return "unknown"
    return f"{'≥ ' if any(part is None for part in parts) else ''}{value_text(total, axis.unit)}"


def _shade(index: int, count: int) -> float:
    return 1.0 - 0.82 * index / max(count - 1, 1)


def key_of_kinds(kinds: Sequence[str], hatched: str, top: float, width: int) -> tuple[tuple[Mark, ...], float]:
    """The kinds with their shades, on as many lines as they need."""
    marks: list[Mark] = []
    x, y = float(EDGE), top
    for index, kind in enumerate(kinds):
        room = min(text_width(kind, size=11), width - 2 * EDGE - 18)
        if x + 16 + room > width - EDGE:
            x, y = float(EDGE), y + 18
        marks.append(piece(x, y + 2, 11, 11, index, kinds, hatched, kind or "unnamed"))
        marks.append(words(x + 16, y + 11, kind, room=room + 1, look="tick"))
        x += room + 32
    return tuple(marks), y + (24 if kinds else 0)


def piece(
    x: float, y: float, wide: float, high: float, index: int, kinds: Sequence[str], hatched: str, title: str
) -> Mark:
    """A part of a bar, in the shade of its kind."""
    if kinds[index] == hatched:
        place = f'{HATCHED} x="{px(x)}" y="{px(y)}" width="{px(wide)}" height="{px(high)}"'
        return Mark("rect", "", place, title)
    return box(x, y, wide, high, look="cell", title=title, opacity=_shade(index, len(kinds)))


def _row_bar(row: StackedRow, kinds: Sequence[str], hatched: str, places: Rows, index: int, scale: Scale) -> list[Mark]:
    marks: list[Mark] = []
    begin, y = 0.0, places.middle(index) - 7
    for which, kind in enumerate(kinds):
        size = amount_drawn(row.parts.get(kind))
        if not size:
            continue
        start, end = scale.at(begin), scale.at(begin + size)
        title = f"{brief(row.label)}: {kind} {value_text(row.parts[kind], scale.axis.unit)}"
        title += f"; {row.note}" if row.note else ""
        gap = 1.0 if end - start > 2 else 0.0
        marks.append(piece(start, y, max(end - start - gap, 0.5), 14, which, kinds, hatched, title))
        begin += size
    return marks


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
    subtitle = joined(note, f"{step} days per bar" if step > 1 else "")
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
        bars = (mark for span in spans for mark in _day_bar(plot, span, step, kinds))
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


def _day_bar(plot: Plot, span: _Span, step: int, kinds: Sequence[str]) -> list[Mark]:
    x, end = plot.across.at(span.first), plot.across.at(span.first + step)
    wide = max(end - x - (1 if end - x > 3 else 0), 0.8)
    unit = plot.up.axis.unit
    period = value_text(span.first, "day") + (f" and the {step - 1} days after" if step > 1 else "")
    unknown = f"{span.unknown} unknown" if span.unknown else ""
    title = joined(f"{period}: {value_text(span.total, unit)}", unknown, span.note)
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


_MIN_BAR_WIDTH = 3
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
    subtitle = joined(note, f"{untimed:,} without a timestamp omitted" if untimed else "")
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
        bars = _call_bars(plot, timed)
        plot = plot_of((across, moments), (up, [_sum(bar) for bar in bars]), top=top, width=width, share=0.24)
        body = (plot_frame(plot, width), *(mark for bar in bars for mark in _call_bar(plot, bar)))
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


def _call_bars(plot: Plot, timed: Sequence[CallAmount]) -> list[list[CallAmount]]:
    """The calls in their order, those that fall into the same few pixels as one bar."""
    bars: dict[int, list[CallAmount]] = {}
    for each in sorted(timed, key=lambda call: call.seconds or 0.0):
        bars.setdefault(int(plot.across.at(each.seconds or 0.0) / _MIN_BAR_WIDTH), []).append(each)
    return list(bars.values())


def _call_bar(plot: Plot, bar: Sequence[CallAmount]) -> list[Mark]:
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
