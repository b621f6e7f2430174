"""A plot with an axis below and one at its left."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.figures._layout import EDGE, axis_title, tick_labels
from steelyard.figures._markup import Mark, group, line, text_width, words
from steelyard.figures._scales import Axis, Scale, scale_of

INSET = 8
"""From the frame of a plot to the ends of its horizontal axis, so that marks at the ends do not touch it."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Both scales of a plot."""

    across: Scale
    up: Scale

    @property
    def left(self) -> float:
        """Where the frame begins."""
        return self.across.start - INSET

    @property
    def right(self) -> float:
        """Where the frame ends."""
        return self.across.end + INSET

    @property
    def bottom(self) -> float:
        """Where the figure may end: below the title of the horizontal axis."""
        return self.up.start + 44


def plot_of(
    across: tuple[Axis, list[float | None]],
    up: tuple[Axis, list[float | None]],
    *,
    top: float,
    width: int,
    margin: float = 0.0,
    share: float = 0.5,
) -> Plot:
    """A plot from `top` on, its height a fraction of its width; `margin` stays free at the right."""
    height = min(max(width * share, 200.0), 360.0)
    upward = scale_of(up[0], up[1], top + 24 + height, top + 24)
    left = EDGE + max(text_width(upward.tick_text(tick), size=11) for tick in upward.ticks) + 10
    right = width - EDGE - 4 - margin
    return Plot(scale_of(across[0], across[1], left + INSET, right - INSET), upward)


def plot_frame(plot: Plot, width: int, *, gap: float = 12) -> Mark:
    """Quiet lines at the numbers of the upright axis, both axes with their titles; `gap` stays free below the upper."""
    across, up = plot.across, plot.up
    left, right, base = plot.left, plot.right, up.start
    marks: list[Mark] = [axis_title(up, EDGE, up.end - gap, width - 2 * EDGE)]
    for tick in up.ticks:
        y, room = up.at(tick), left - EDGE
        marks.append(line(left, y, right, y, look="grid"))
        marks.append(words(left - 7, y + 4, up.tick_text(tick), room=room, look="tick", anchor="end"))
    marks += [line(across.at(tick), base, across.at(tick), base + 4, look="axis") for tick in across.ticks]
    marks += [line(left, base, right, base, look="axis"), *tick_labels(across, base + 17, width)]
    marks.append(axis_title(across, left, base + 34, width - left - EDGE))
    return group(tuple(marks), place=' class="sy-frame"')
