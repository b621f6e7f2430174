"""Reliability diagram: fraction passed by score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.figures._axes import (
    WIDTH,
    Axis,
    Plot,
    checked_width,
    heading,
    is_drawn,
    nothing,
    plot_frame,
    plot_of,
    value_text,
)
from steelyard.figures._figure import Figure, Mark, box, dot, group, line
from steelyard.formatting import counted


class ScoreBin(NamedTuple):
    """Runs with a score between two limits."""

    low: float
    high: float
    score: float | None
    """Their mean score; None if there are no runs."""
    rate: float | None
    """The fraction of them that passed."""
    rate_low: float | None
    rate_high: float | None
    n: int


def reliability(
    bins: Sequence[ScoreBin],
    *,
    title: str,
    score: Axis,
    rate: Axis,
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """The share that passed against the score, with intervals; the diagonal is a perfect score, bars count the runs."""
    width = min(checked_width(width), 560)
    head, top = heading(title, note, width)
    shown = [each for each in bins if each.n and is_drawn(each.score) and is_drawn(each.rate)]
    body: tuple[Mark, ...] = (nothing(top, width, "No data: no scored run has a verdict."),)
    bottom = top + 42
    if shown:
        scores: list[float | None] = [end for each in shown for end in (each.low, each.high, each.score)]
        rates = [end for each in shown for end in (each.rate, each.rate_low, each.rate_high)]
        plot = plot_of((score, scores), (rate, rates), top=top, width=width, share=0.62)
        most = max(each.n for each in shown)
        body = (plot_frame(plot, width), *(_count(each, plot, most) for each in shown), _diagonal(plot))
        body += tuple(_point(each, plot) for each in shown)
        bottom = plot.bottom
    summary = "; ".join(_title(each, score, rate) for each in shown) or "no values"
    return Figure(
        name="reliability",
        title=title,
        description=description or f"{rate.title} by {score.title.lower()}: {summary}.",
        width=width,
        height=int(bottom),
        marks=(*head, *body),
    )


def _diagonal(plot: Plot) -> Mark:
    low, high = max(plot.across.low, plot.up.low), min(plot.across.high, plot.up.high)
    start, end = (plot.across.at(low), plot.up.at(low)), (plot.across.at(high), plot.up.at(high))
    return line(*start, *end, look="dashed", title="score equals pass rate")


def _count(each: ScoreBin, plot: Plot, most: int) -> Mark:
    """How many runs, as a bar that rises to a quarter of the plot."""
    x, end = plot.across.at(each.low), plot.across.at(each.high)
    high = (plot.up.start - plot.up.end) * 0.25 * each.n / most
    title = f"{value_text(each.low, plot.across.axis.unit)} to {value_text(each.high, plot.across.axis.unit)}: "
    return box(
        x, plot.up.start - high, max(end - x - 1, 1), high, look="faint", title=f"{title}{counted(each.n, 'run')}"
    )


def _point(each: ScoreBin, plot: Plot) -> Mark:
    x, y = plot.across.at(each.score or 0.0), plot.up.at(each.rate or 0.0)
    parts: list[Mark] = []
    if each.rate_low is not None and each.rate_high is not None:
        parts.append(line(x, plot.up.at(each.rate_low), x, plot.up.at(each.rate_high), look="whisker"))
    parts.append(dot(x, y, 5))
    return group(tuple(parts), title=_title(each, plot.across.axis, plot.up.axis))


def _title(each: ScoreBin, score: Axis, rate: Axis) -> str:
    text = f"score {value_text(each.score, score.unit)}: {value_text(each.rate, rate.unit)} passed"
    if each.rate_low is not None and each.rate_high is not None:
        text += f" ({value_text(each.rate_low, rate.unit)} to {value_text(each.rate_high, rate.unit)})"
    return f"{text}, {counted(each.n, 'run')}"
