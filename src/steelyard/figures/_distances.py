"""Outputs against outputs: which are alike, in clusters."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.figures._figure import Figure
from steelyard.figures._layout import EDGE, WIDTH, checked_width, heading, nothing
from steelyard.figures._markup import HATCHED, Mark, box, cut, group, px, text_width, words
from steelyard.figures._scales import is_drawn, value_text

MAX_OUTPUTS = 54
"""Outputs that are drawn: 54 x 54 cells are below the limit of a heatmap."""


def distances(
    names: Sequence[str],
    matrix: Sequence[Sequence[float | None]],
    *,
    clusters: Sequence[str],
    title: str,
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A cell for each pair, the stronger its color the closer; the largest cluster first, its outline drawn."""
    width = min(checked_width(width), 620)
    order = _by_cluster(clusters)[:MAX_OUTPUTS]
    unseen = len(names) - len(order)
    subtitle = "; ".join(part for part in (note, f"{unseen:,} outputs omitted" if unseen else "") if part)
    head, top = heading(title, subtitle, width)
    if order:
        body, bottom = _grid([names[i] for i in order], matrix, order, [clusters[i] for i in order], top, width)
    else:
        body, bottom = [nothing(top, width, "No data: no outputs.")], top + 30
    sizes = sorted((list(clusters).count(name) for name in set(clusters)), reverse=True)
    return Figure(
        name="distances",
        title=title,
        description=description
        or f"{len(names):,} outputs in {len(sizes):,} clusters of {', '.join(map(str, sizes[:8])) or 'none'}.",
        width=width,
        height=int(bottom + 10),
        marks=(*head, *body),
    )


def _by_cluster(clusters: Sequence[str]) -> list[int]:
    """The places of the outputs, those of the largest cluster first, else in the order given."""
    sizes = {name: list(clusters).count(name) for name in set(clusters)}
    first = {name: list(clusters).index(name) for name in sizes}
    return sorted(range(len(clusters)), key=lambda i: (-sizes[clusters[i]], first[clusters[i]], i))


def _grid(
    names: Sequence[str],
    matrix: Sequence[Sequence[float | None]],
    order: Sequence[int],
    clusters: Sequence[str],
    top: float,
    width: int,
) -> tuple[list[Mark], float]:
    label = min(max(text_width(name, size=11) for name in names), width * 0.3)
    left = EDGE + label + 8
    side = min((width - EDGE - left) / len(names), 26.0)
    inner = max(side - (1 if side >= 6 else 0), 1)
    cells: list[Mark] = []
    shown = [cut(name, 90, size=11) for name in names]
    for row, y_name in enumerate(shown):
        for column, x_name in enumerate(shown):
            place = f' d="M{px(left + side * column)} {px(top + side * row)}h{px(inner)}v{px(inner)}h-{px(inner)}z"'
            distance = matrix[order[row]][order[column]]
            shade = HATCHED
            if is_drawn(distance):
                shade = f' opacity="{0.06 + 0.94 * (1 - min(max(distance, 0.0), 1.0)):.2g}"'
            title = f"{y_name}, {x_name}: {value_text(distance, '')}"
            cells.append(Mark("path", "", place + shade, title))
    marks = [group(tuple(cells), look="cell")]
    every = max(1, round(12 / side))
    marks += [
        words(left - 6, top + side * (row + 0.5) + 4, name, room=label + 1, look="tick", anchor="end")
        for row, name in enumerate(names)
        if row % every == 0
    ]
    start = 0
    for row in range(1, len(clusters) + 1):
        if row == len(clusters) or clusters[row] != clusters[start]:
            span = side * (row - start)
            if row - start > 1:
                corner = (left + side * start, top + side * start)
                marks.append(box(*corner, span, span, look="ring", title=f"cluster of {row - start} outputs"))
            start = row
    return marks, top + side * len(names)
