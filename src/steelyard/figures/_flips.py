"""Two sides on the same tasks: solved by both, by one, by neither."""

from __future__ import annotations

from steelyard.figures._figure import Figure
from steelyard.figures._layout import EDGE, WIDTH, checked_width, heading
from steelyard.figures._markup import Mark, box, brief, words


def flips(
    *,
    a: str,
    b: str,
    both: int,
    only_a: int,
    only_b: int,
    neither: int,
    title: str,
    note: str = "",
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """Four counts in a square: rows are A, columns are B, each cell as dark as its share of the tasks."""
    width = min(checked_width(width), 480)
    head, top = heading(title, note, width)
    total = both + only_a + only_b + neither
    side = 86.0
    left = EDGE + 104.0
    wide = (width - EDGE - left) / 2
    cells = (
        (0, 0, both, "solved by both"),
        (0, 1, only_a, f"only by {brief(a)}"),
        (1, 0, only_b, f"only by {brief(b)}"),
        (1, 1, neither, "by neither"),
    )
    start = top + 40
    marks: list[Mark] = [
        words(left + wide, top + 14, b, room=2 * wide, look="strong", anchor="middle"),
        words(left + wide / 2, top + 32, "solved", room=wide, look="quiet", anchor="middle"),
        words(left + wide * 1.5, top + 32, "not solved", room=wide, look="quiet", anchor="middle"),
        words(EDGE, start + side - 8, a, room=96, look="strong"),
        words(EDGE, start + side / 2 + 4, "solved", room=96, look="quiet"),
        words(EDGE, start + side * 1.5 + 4, "not solved", room=96, look="quiet"),
    ]
    arrows = {(0, 1): "▼ lost", (1, 0): "▲ gained"}
    for row, column, count, said in cells:
        x, y = left + wide * column, start + side * row
        share = count / total if total else 0.0
        title_text = f"{said}: {count:,} of {total:,} tasks"
        marks.append(box(x, y, wide - 2, side - 2, look="cell", title=title_text, opacity=0.06 + 0.5 * share))
        middle = x + wide / 2 - 1
        marks.append(words(middle, y + side / 2 + 4, f"{count:,}", room=wide - 6, look="big", anchor="middle"))
        below = arrows.get((row, column), "both" if count is both and not row and not column else "neither")
        marks.append(words(middle, y + side / 2 + 22, below, room=wide - 6, look="tick", anchor="middle"))
    said = "; ".join(f"{said}: {count:,}" for _, _, count, said in cells)
    return Figure(
        name="flips",
        title=title,
        description=description or f"{total:,} tasks, {said}.",
        width=width,
        height=int(start + 2 * side + 10),
        marks=(*head, *marks),
    )
