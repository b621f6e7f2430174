"""Histograms: cost per run, time per run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from steelyard.figures._figure import Figure
from steelyard.figures._layout import WIDTH, checked_width, heading, nothing
from steelyard.figures._markup import Mark, box, line, text_width, words
from steelyard.figures._plots import Plot, plot_frame, plot_of
from steelyard.figures._scales import HUGE, Axis, is_drawn, scale_of, value_text

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
    subtitle = "; ".join([*([note] if note else []), f"{len(values):,} {counted}", *apart])
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
