"""Distributions of one number: a histogram, and a strip plot with a dot per value."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from steelyard.figures._axes import (
    EDGE,
    HUGE,
    WIDTH,
    Axis,
    Plot,
    Scale,
    axis_title,
    checked_width,
    heading,
    is_drawn,
    joined,
    nothing,
    plot_frame,
    plot_of,
    scale_of,
    tick_labels,
    value_text,
)
from steelyard.figures._figure import Figure, Mark, box, brief, dot, group, line, text_width, words

MAX_BINS = 30


def histogram(
    values: Sequence[float | None],
    *,
    title: str,
    axis: Axis,
    counted: str = "runs",
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """Bars over equal steps of the axis, the median marked; unknown and infinite values are counted in words."""
    width = checked_width(width)
    known = [min(max(value, -HUGE), HUGE) for value in values if is_drawn(value)]
    missing = sum(value is None or math.isnan(value) for value in values)
    infinite = len(values) - len(known) - missing
    apart = [f"{count:,} {word}" for count, word in ((missing, "unknown"), (infinite, "infinite")) if count]
    subtitle = joined(note, f"{len(values):,} {counted}", *apart)
    head, top = heading(title, subtitle, width)
    middle = median(known) if known else None
    body: tuple[Mark, ...] = (nothing(top, width, "No data: no values."),)
    bottom = top + 42
    if known:
        counts, edges = _counts(known, axis, width)
        up = Axis(title=counted.capitalize(), unit="count", low=0)
        plot = plot_of((axis, list(known)), (up, [float(count) for count in counts]), top=top, width=width, share=0.36)
        body = (plot_frame(plot, width), *_bars(plot, counts, edges, counted), *_middle(plot, middle, width))
        bottom = plot.bottom
    return Figure(
        name="histogram",
        title=title,
        description=description or f"{axis.title}: {subtitle}; median {value_text(middle, axis.unit)}.",
        width=width,
        height=int(bottom),
        marks=(*head, *body),
    )


def _counts(known: Sequence[float], axis: Axis, width: int) -> tuple[list[int], list[float]]:
    """Return the number of values per bin and the edges of the equal-width bins."""
    bins = max(min(MAX_BINS, math.ceil(math.sqrt(len(known))) + 4, width // 16), 1)
    scale = scale_of(axis, known, 0.0, float(bins))
    counts = [0] * bins
    for value in known:
        counts[min(int(scale.at(value)), bins - 1)] += 1
    low, high = (math.log10(scale.low), math.log10(scale.high)) if scale.log else (scale.low, scale.high)
    ends = [low + (high - low) * step / bins for step in range(bins + 1)]
    return counts, [10**end if scale.log else end for end in ends]


def _bars(plot: Plot, counts: Sequence[int], edges: Sequence[float], counted: str) -> list[Mark]:
    unit = plot.across.axis.unit
    marks = []
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        if count:
            x, y = plot.across.at(low), plot.up.at(count)
            title = f"{value_text(low, unit)} to {value_text(high, unit)}: {count:,} {counted}"
            wide = max(plot.across.at(high) - x - 1, 1)
            marks.append(box(x, y, wide, plot.up.start - y, look="soft", title=title))
    return marks


def _middle(plot: Plot, middle: float | None, width: int) -> tuple[Mark, ...]:
    if middle is None:
        return ()
    x, text = plot.across.at(middle), f"median {value_text(middle, plot.across.axis.unit)}"
    room = text_width(text, size=11)
    is_left = x + 6 + room > width - 8
    label_x = max(x - 6 - room, 8) if is_left else x + 6
    label = words(label_x, plot.up.end - 12, text, room=room + 1, look="tick")
    return (line(x, plot.up.end - 18, x, plot.up.start, look="line", title=text), label)


STEP = 8.0
"""How wide a bin is: as a dot with its gap."""
MAX_STACKED_DOTS = 7
"""Maximum height of a stack of dots; more values at one place are drawn as bars."""
TALL = MAX_STACKED_DOTS * STEP
NAMED = 3
"""Maximum number of labels in the tooltip of a bin."""


class StripValue(NamedTuple):
    """One value and whose it is."""

    label: str
    value: float | None


def strip(
    values: Sequence[StripValue],
    *,
    title: str,
    axis: Axis,
    low: float | None = None,
    high: float | None = None,
    counted: str = "submissions",
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """All values, with minimum, median and maximum; `low` and `high` are the confidence interval for the mean."""
    width = checked_width(width)
    known = [each for each in values if is_drawn(each.value)]
    unknown = len(values) - len(known)
    subtitle = joined(note, f"{unknown:,} unknown" if unknown else "")
    head, top = heading(title, subtitle, width)
    numbers = [min(max(each.value, -HUGE), HUGE) for each in known if each.value is not None]
    body: tuple[Mark, ...] = (nothing(top, width, "No data: no values."),)
    bottom = top + 42
    summary = "no values"
    if numbers:
        scale = scale_of(axis, numbers, EDGE + 6.0, width - EDGE - 6.0)
        marked = [("min", min(numbers)), ("median", median(numbers)), ("max", max(numbers))]
        summary = ", ".join(f"{name} {value_text(value, axis.unit)}" for name, value in marked)
        base = top + 30 + TALL
        body = (
            *_interval(scale, low, high, top + 14),
            *_stacks(scale, known, base, counted),
            _frame(scale, base, width),
        )
        body += _marked(scale, marked, base, top + 22, width)
        bottom = base + 66
    return Figure(
        name="strip",
        title=title,
        description=description or f"{axis.title}: {len(values):,} {counted}, {summary}.",
        width=width,
        height=int(bottom),
        marks=(*head, *body),
    )


def _frame(scale: Scale, base: float, width: int) -> Mark:
    marks: list[Mark] = [line(scale.start, base, scale.end, base, look="axis")]
    marks += [line(scale.at(tick), base, scale.at(tick), base + 4, look="axis") for tick in scale.ticks]
    marks += [*tick_labels(scale, base + 33, width), axis_title(scale, scale.start, base + 51, width - 2 * EDGE)]
    return group(tuple(marks), place=' class="sy-frame"')


def _interval(scale: Scale, low: float | None, high: float | None, y: float) -> tuple[Mark, ...]:
    if not is_drawn(low) or not is_drawn(high):
        return ()
    ends = f"{value_text(low, scale.axis.unit)} to {value_text(high, scale.axis.unit)}"
    title = f"confidence interval for the mean: {ends}"
    return (line(scale.at(low), y, scale.at(high), y, look="whisker", title=title),)


def _stacks(scale: Scale, known: Sequence[StripValue], base: float, counted: str) -> list[Mark]:
    """The values in bins as wide as a dot, each bin with the names of its first ones."""
    bins: dict[int, list[StripValue]] = defaultdict(list)
    last = max(math.ceil((scale.end - scale.start) / STEP) - 1, 0)
    for each in known:
        bins[min(int((scale.at(each.value or 0.0) - scale.start) / STEP), last)].append(each)
    most = max(map(len, bins.values()))
    marks: list[Mark] = []
    for place, inside in sorted(bins.items()):
        x, title = scale.start + STEP * (place + 0.5), _title(scale, inside, counted)
        if most > MAX_STACKED_DOTS:
            tall = max(TALL * len(inside) / most, 1.0)
            marks.append(box(x - STEP / 2 + 0.5, base - tall, STEP - 1, tall, look="soft", title=title))
        elif len(inside) == 1:
            marks.append(dot(scale.at(inside[0].value or 0.0), base - STEP / 2, 3.5, look="mark", title=title))
        else:
            dots = tuple(dot(x, base - STEP * (height + 0.5), 3.5) for height in range(len(inside)))
            marks.append(group(dots, title=title))
    return marks


def _title(scale: Scale, inside: Sequence[StripValue], counted: str) -> str:
    named = ", ".join(f"{brief(each.label)} {value_text(each.value, scale.axis.unit)}" for each in inside[:NAMED])
    more = len(inside) - NAMED
    return named + (f" and {more:,} more {counted}" if more > 0 else "")


def _marked(scale: Scale, marked: Sequence[tuple[str, float]], base: float, top: float, width: int) -> tuple[Mark, ...]:
    """Return vertical lines at outliers, with their names below the axis unless they would overlap."""
    marks: list[Mark] = []
    taken: list[tuple[float, float]] = []
    for name, value in (marked[1], marked[2], marked[0]):  # where there is no room, the median stays
        x, text = scale.at(value), f"{name} {value_text(value, scale.axis.unit)}"
        is_median = name == "median"
        marks.append(
            line(x, top if is_median else base - 10, x, base + 6, look="line" if is_median else "axis", title=text)
        )
        half = text_width(text, size=11) / 2
        middle = min(max(x, half + 2), width - half - 2)
        if all(middle + half < left or middle - half > right for left, right in taken):
            taken.append((middle - half - 6, middle + half + 6))
            marks.append(words(middle, base + 17, text, room=2 * half + 1, look="tick", anchor="middle"))
    return tuple(marks)
