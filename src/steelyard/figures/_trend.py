"""Scores over time: who took the lead when, and when the rules changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from steelyard.figures._axes import (
    WIDTH,
    Axis,
    Plot,
    checked_width,
    heading,
    is_drawn,
    joined,
    nothing,
    plot_frame,
    plot_of,
    value_text,
)
from steelyard.figures._figure import Figure, Mark, brief, dot, line, path, px, text_width, words
from steelyard.formatting import counted

MAX_DOTS = 2000
MAX_LINES = 10
"""Changes that are drawn through the plot; more are marked above it."""


MAX_TOOLTIPS = 150
"""Dots that have a tooltip each; of more only those that were the best."""


class TrendPoint(NamedTuple):
    """A score and its moment."""

    at: datetime
    score: float | None
    label: str
    best: float | None = None
    """The best score up to then."""


class TrendMark(NamedTuple):
    """A moment at which something changed: the baseline, the profile."""

    at: datetime
    text: str


def trend(
    points: Sequence[TrendPoint],
    *,
    title: str,
    axis: Axis,
    marks: Sequence[TrendMark] = (),
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A dot for each score, the best so far as steps, an upright line wherever baseline or profile changed."""
    width = checked_width(width)
    ordered = sorted(points, key=lambda each: each.at)
    known = [each for each in ordered if is_drawn(each.score)]
    shown = known[-MAX_DOTS:]
    unseen = len(known) - len(shown)
    subtitle = joined(note, f"{unseen:,} earlier ones omitted" if unseen else "")
    head, top = heading(title, subtitle, width)
    body: list[Mark] = [nothing(top, width, "No data: no scores.")]
    bottom = top + 42
    if shown:
        first, last = _day(shown[0].at), _day(shown[-1].at)
        when = Axis(title="Time (UTC)", unit="day")
        ends: list[float | None] = [first, last] if last > first else [first - 0.5, first + 0.5]
        scores = [score for each in shown for score in (each.score, each.best)]
        plot = plot_of((when, ends), (axis, scores), top=top + 14, width=width, share=0.42)
        inside = [mark for mark in marks if plot.across.holds(_day(mark.at))]
        body = [plot_frame(plot, width, gap=28), *_changes(plot, inside), *_best(plot, shown)]
        titled = shown if len(shown) <= MAX_TOOLTIPS else [each for each in shown if _is_best(each)]
        body += [_untitled(plot, shown, axis)] if len(titled) < len(shown) else []
        body += [_dot(plot, each) for each in titled]
        bottom = plot.bottom
    best = max((each.score for each in known if each.score is not None), default=None)
    changed = f"; {counted(len(marks), 'change')} of baseline or profile" if marks else ""
    return Figure(
        name="trend",
        title=title,
        description=description
        or f"{axis.title}: {counted(len(known), 'score')}, best {value_text(best, axis.unit)}{changed}.",
        width=width,
        height=int(bottom),
        marks=(*head, *body),
    )


def _day(moment: datetime) -> float:
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return moment.toordinal() + seconds / 86_400


def _is_best(each: TrendPoint) -> bool:
    return each.best is not None and each.score == each.best


def _untitled(plot: Plot, shown: Sequence[TrendPoint], axis: Axis) -> Mark:
    """The dots of very many scores as one mark: a tooltip for each would weigh more than the page."""
    others = [each for each in shown if not _is_best(each)]
    corners = {
        (round(plot.across.at(_day(each.at))) - 2, round(plot.up.at(each.score or 0.0)) - 2): None for each in others
    }
    places = "".join(f"M{x} {y}h4v4h-4z" for x, y in corners)
    known = [each.score for each in others if each.score is not None]
    ends = f"{value_text(min(known), axis.unit)} to {value_text(max(known), axis.unit)}"
    return path(places, look="soft", title=f"{len(others):,} more: {ends}")


def _dot(plot: Plot, each: TrendPoint) -> Mark:
    when = each.at.isoformat(sep=" ", timespec="minutes")
    title = f"{brief(each.label)}: {value_text(each.score, plot.up.axis.unit)}, {when}"
    is_best = _is_best(each)
    return dot(
        plot.across.at(_day(each.at)),
        plot.up.at(each.score or 0.0),
        4 if is_best else 3,
        look="mark" if is_best else "soft",
        title=title,
    )


def _best(plot: Plot, shown: Sequence[TrendPoint]) -> tuple[Mark, ...]:
    known = [(plot.across.at(_day(each.at)), each.best) for each in shown if is_drawn(each.best)]
    if not known:
        return ()
    steps, height = f"M{px(known[0][0])} {px(plot.up.at(known[0][1]))}", known[0][1]
    for x, best in known[1:]:
        if best != height:
            steps, height = f"{steps}H{px(x)}V{px(plot.up.at(best))}", best
    steps += f"H{px(known[-1][0])}"
    return (path(steps, look="line", title=f"best so far: {value_text(known[-1][1], plot.up.axis.unit)}"),)


def _changes(plot: Plot, marks: Sequence[TrendMark]) -> list[Mark]:
    """Return vertical dashed lines, with labels above the plot unless they would overlap."""
    shown: list[Mark] = []
    taken = 0.0
    foot = plot.up.start if len(marks) <= MAX_LINES else plot.up.end + 6
    if len(marks) > MAX_TOOLTIPS:
        places = "".join(f"M{px(plot.across.at(_day(mark.at)))} {px(plot.up.end - 6)}V{px(foot)}" for mark in marks)
        return [path(places, look="dashed", title=f"{len(marks):,} changes of baseline or profile")]
    for mark in sorted(marks, key=lambda each: each.at):
        x = plot.across.at(_day(mark.at))
        when = mark.at.isoformat(sep=" ", timespec="minutes")
        shown.append(line(x, plot.up.end - 6, x, foot, look="dashed", title=f"{mark.text}, {when}"))
        room = min(text_width(mark.text, size=11), 160.0)
        left = min(x, plot.right - room)
        if left > taken:
            shown.append(words(left, plot.up.end - 9, mark.text, room=room + 1, look="tick"))
            taken = left + room + 10
    return shown
