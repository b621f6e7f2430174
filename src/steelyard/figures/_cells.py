"""Heatmaps: tasks by agents, and distances between outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from steelyard.figures._axes import (
    EDGE,
    WIDTH,
    Axis,
    Scale,
    checked_width,
    heading,
    is_drawn,
    joined,
    left_out,
    nothing,
    scale_of,
    short_text,
    value_text,
)
from steelyard.figures._figure import HATCHED, Figure, Mark, box, cut, dot, group, px, text_width, words
from steelyard.formatting import counted, percent

MAX_CELLS = 3000
"""Cells that are drawn one by one; more are grouped by category, or by how many runs solve a task."""
SLANTED = 74.0
"""The most room above the columns, and right of the last one, for names at 45 degrees."""
_RANGES = ((0.0, "no run"), (0.25, "up to 25%"), (0.5, "25 to 50%"), (0.75, "50 to 75%"), (0.999, "75 to 99%"))
_ALL = "every run"


class PassCell(NamedTuple):
    """The outcome of an agent's runs of a task."""

    passed: int
    runs: int
    """Runs with a verdict."""
    errored: int = 0
    """Runs that ended in an error."""


class ValueCell(NamedTuple):
    """A metric over an agent's runs of a task."""

    value: float | None
    """None where no run has it."""
    runs: int
    """Runs with a value."""
    errored: int = 0
    """Runs that ended in an error."""


Cell: TypeAlias = PassCell | ValueCell | None
Cells: TypeAlias = tuple[tuple[Cell, ...], ...]


class _Grid(NamedTuple):
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Cells
    left: float
    top: float
    cell: tuple[float, float]
    """Width and height of a cell, the gap to the next one included."""
    scale: Scale | None
    """From no shade to the full one, where cells have values."""


def heatmap(
    tasks: Sequence[str],
    agents: Sequence[str],
    cells: Sequence[Sequence[Cell]],
    *,
    title: str,
    note: str = "",
    axis: Axis | None = None,
    categories: Sequence[str] = (),
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """A cell for each task and agent, colored by the fraction of runs that passed; hatched: not run; ring: errored.

    With an axis, cells have values and are colored by their position on it. Above `MAX_CELLS`, tasks with verdicts are
    grouped by category or by pass rate; of tasks with values the first are drawn.
    """
    width = checked_width(width)
    rows, drawn = (tuple(tasks), tuple(tuple(row) for row in cells))
    if axis is None and len(tasks) * len(agents) > MAX_CELLS:
        rows, drawn = _grouped(tasks, drawn, categories)
        note = f"{note}; " if note else ""
        note += f"{counted(len(tasks), 'task')} by {'category' if categories else 'pass rate'}"
    head, top = heading(title, note, width)
    grid = _grid(rows, agents, drawn, top=top, width=width)._replace(scale=_scale(axis, drawn))
    if not grid.cells or not grid.columns:
        body: tuple[Mark, ...] = (nothing(top, width, "No data: no runs."),)
        bottom = top + 30
    else:
        body = (*_names(grid, top, width), *_cells(grid), *_key(grid, width))
        bottom = grid.top + grid.cell[1] * len(grid.rows) + 26
    unseen = (len(rows) - len(grid.rows), len(agents) - len(grid.columns))
    rest = left_out(unseen[1], bottom, width, "agents") or left_out(unseen[0], bottom, width, "tasks")
    return Figure(
        name="heatmap",
        title=title,
        description=description or _description(tasks, agents, cells),
        width=width,
        height=int(bottom + (30 if rest else 6)),
        marks=(*head, *body, *rest),
    )


def _scale(axis: Axis | None, cells: Cells) -> Scale | None:
    if axis is None:
        return None
    return scale_of(axis, (cell.value for row in cells for cell in row if isinstance(cell, ValueCell)), 0.0, 1.0)


def _grid(rows: tuple[str, ...], agents: Sequence[str], cells: Cells, *, top: float, width: int) -> _Grid:
    label = min(max((text_width(row) for row in rows[:200]), default=0.0), width * 0.32)
    left = float(int(EDGE + label + 10))
    slanted = min(max((text_width(name, size=11) for name in agents), default=0.0) * 0.72 + 10, SLANTED)
    room = width - EDGE - left - slanted * 0.75
    columns = tuple(agents[: max(int(room / 8), 1)])
    rows = rows[: MAX_CELLS // max(len(columns), 1)]
    wide = min(float(int(room / max(len(columns), 1))), 46.0)
    high = 22.0 if len(rows) <= 40 else 14.0 if len(rows) <= 120 else 6.0
    shown = tuple(row[: len(columns)] for row in cells[: len(rows)])
    return _Grid(rows, columns, shown, left, float(int(top + slanted + 6)), (wide, high), None)


def _grouped(tasks: Sequence[str], cells: Cells, categories: Sequence[str]) -> tuple[tuple[str, ...], Cells]:
    """The tasks of a category, or of one range of solved runs, added up, each row with how many tasks it holds."""
    kinds = list(categories) if len(categories) == len(tasks) else [_range(row) for row in cells]
    order = [name for _, name in _RANGES] + [_ALL] if kinds != list(categories) else []
    members: dict[str, list[tuple[Cell, ...]]] = {name: [] for name in order}
    for kind, row in zip(kinds, cells, strict=True):
        members.setdefault(kind, []).append(row)
    kept = {kind: group for kind, group in members.items() if group}
    names = tuple(f"{kind} ({len(group):,})" for kind, group in kept.items())
    return names, tuple(tuple(_added(column) for column in zip(*group, strict=True)) for group in kept.values())


def _range(row: Iterable[Cell]) -> str:
    runs = [cell for cell in row if isinstance(cell, PassCell)]
    total = sum(cell.runs for cell in runs)
    share = sum(cell.passed for cell in runs) / total if total else 0.0
    return next((name for end, name in _RANGES if share <= end), _ALL)


def _added(column: Iterable[Cell]) -> PassCell | None:
    known = [cell for cell in column if isinstance(cell, PassCell)]
    return PassCell(*(sum(cell[part] for cell in known) for part in range(3))) if known else None


def _names(grid: _Grid, top: float, width: int) -> list[Mark]:
    wide, high = grid.cell
    every = math.ceil(11 / high)
    label_x, label_room = grid.left - 8, grid.left - 8 - EDGE
    marks = [
        words(label_x, grid.top + high * (row + 0.5) + 4, name, room=label_room, look="tick", anchor="end")
        for row, name in enumerate(grid.rows)
        if row % every == 0
    ]
    skip = math.ceil(12 / wide)
    for column, name in enumerate(grid.columns):
        if column % skip:
            continue
        x, y = grid.left + wide * (column + 0.5), grid.top - 6
        room = min((y - top) * 1.3, (width - EDGE - x) * 1.3)
        label = words(x, y, name, room=room, look="tick")
        marks.append(label._replace(place=f'{label.place} transform="rotate(-45 {px(x)} {px(y)})"'))
    return marks


def _cells(grid: _Grid) -> list[Mark]:
    """Cells in groups of one shade, counts in groups of one look: 3,000 cells are to stay small."""
    wide, high = grid.cell
    box_wide, box_high = max(wide - 1, 1), max(high - 1, 1)
    square = f"h{px(box_wide)}v{px(box_high)}h-{px(box_wide)}z"
    shades: dict[str, list[Mark]] = {}
    rings: list[Mark] = []
    counts: dict[str, list[Mark]] = {"count": [], "count-over": []}
    columns = [cut(name, 100) for name in grid.columns]
    for row, (name, tried) in enumerate(zip(grid.rows, grid.cells, strict=True)):
        y, task = grid.top + high * row, cut(name, 120)
        for column, cell in enumerate(tried):
            x, title = grid.left + wide * column, f"{task}, {columns[column]}: {_tooltip(cell, grid.scale)}"
            mark = Mark("path", "", f' d="M{px(x)} {px(y)}{square}"', title)
            share = _share(cell, grid.scale)
            shades.setdefault(HATCHED if share is None else _shade(share), []).append(mark)
            if cell is not None and cell.errored:
                radius = max(min(box_wide, box_high) / 2 - 1, 1)
                rings.append(dot(x + box_wide / 2, y + box_high / 2, radius, look="ring", title=title))
            elif cell is not None and share is not None and cell.runs and high >= 14:
                look = "count-over" if share > 0.6 else "count"
                counts[look] += _count(cell, grid.scale, x + box_wide / 2, y + high / 2 + 3, box_wide)
    looks = {HATCHED: ""}
    groups = [group(tuple(cells), look=looks.get(shade, "cell"), place=shade) for shade, cells in shades.items()]
    over = [group(tuple(each), look=look, place=' text-anchor="middle"') for look, each in counts.items() if each]
    return [*groups, *over, *rings]


def _count(cell: PassCell | ValueCell, scale: Scale | None, x: float, y: float, room: float) -> list[Mark]:
    """How many of the runs passed, or which share of them, or the value, where there is room for it."""
    if isinstance(cell, PassCell):
        texts: tuple[str, ...] = (f"{cell.passed}/{cell.runs}", percent(cell.passed / cell.runs, decimals=0))
    else:
        texts = (short_text(cell.value, scale.axis.unit),) if is_drawn(cell.value) and scale is not None else ()
    fitting = (text for text in texts if text_width(text, size=10) <= room - 2)
    return [Mark("text", "", f' x="{px(x)}" y="{px(y)}"', "", text) for text in fitting][:1]


def _share(cell: Cell, scale: Scale | None) -> float | None:
    """How dark a cell is, from 0 to 1; None where there is nothing to show, which is hatched."""
    if isinstance(cell, PassCell):
        return cell.passed / cell.runs if cell.runs else 0.0
    if cell is None or cell.value is None or math.isnan(cell.value) or scale is None:
        return None
    return scale.at(cell.value)


def _shade(share: float) -> str:
    text = f"{0.08 + 0.92 * share:.2f}".removeprefix("0").rstrip("0").rstrip(".")
    return f' opacity="{text}"'


def _tooltip(cell: Cell, scale: Scale | None) -> str:
    if cell is None:
        return "not run"
    errored = f", {cell.errored} errored" if cell.errored else ""
    if isinstance(cell, ValueCell):
        text = "no value" if cell.value is None else value_text(cell.value, scale.axis.unit if scale else "")
        return f"{text} over {cell.runs} runs{errored}" if cell.runs > 1 else f"{text}{errored}"
    if not cell.runs:
        return f"no verdict{errored}"
    return f"{cell.passed}/{cell.runs}{errored}"


def _key(grid: _Grid, width: int) -> list[Mark]:
    """What shades, hatch and ring mean, below the cells."""
    y = grid.top + grid.cell[1] * len(grid.rows) + 10
    marks: list[Mark] = []
    x = float(EDGE)
    steps = ((f"M{px(x + 14 * step)} {px(y)}h14v10h-14z", _shade(step / 4)) for step in range(5))
    ramp = tuple(Mark("path", "", f' d="{square}"{shade}') for square, shade in steps)
    ends, meant = ("none to all passed", "fraction of runs that passed, from none to all")
    if grid.scale is not None:
        unit = grid.scale.axis.unit
        ends = meant = f"{short_text(grid.scale.low, unit)} to {short_text(grid.scale.high, unit)}"
    marks.append(group(ramp, look="cell", title=meant))
    x += 14 * 5 + 6
    for text, mark in (
        (ends, None),
        ("not run", Mark("path", "", f'{HATCHED} d="M{{x}} {px(y)}h14v10h-14z"', "hatched: not run")),
        ("errored", Mark("circle", "ring", f' cx="{{x}}" cy="{px(y + 5)}" r="4"', "ring: errored")),
    ):
        room = text_width(text, size=11)
        if x + room + 20 > width - EDGE:
            break
        if mark is not None:
            shift = 4 if mark.tag == "circle" else 0
            marks.append(mark._replace(place=mark.place.replace("{x}", px(x + shift))))
            x += 20 if mark.tag == "path" else 14
        marks.append(words(x, y + 9, text, room=room + 1, look="tick"))
        x += room + 16
    return marks


def _description(tasks: Sequence[str], agents: Sequence[str], cells: Sequence[Sequence[Cell]]) -> str:
    every = [cell for row in cells for cell in row]
    known = [cell for cell in every if cell is not None]
    verdicts = [cell for cell in known if isinstance(cell, PassCell)]
    passed = f"{sum(cell.passed for cell in verdicts):,} of {sum(cell.runs for cell in verdicts):,} runs passed"
    valued = f"{sum(cell.runs > 0 for cell in known):,} cells with a value"
    return (
        f"{counted(len(tasks), 'task')} by {counted(len(agents), 'agent')}: "
        f"{passed if verdicts or not known else valued}, "
        f"{len(every) - len(known):,} cells not run, {sum(cell.errored > 0 for cell in known):,} with errors."
    )


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
    subtitle = joined(note, f"{counted(unseen, 'output')} omitted" if unseen else "")
    head, top = heading(title, subtitle, width)
    if order:
        body, bottom = _distance_grid(
            [names[i] for i in order], matrix, order, [clusters[i] for i in order], top, width
        )
    else:
        body, bottom = [nothing(top, width, "No data: no outputs.")], top + 30
    sizes = sorted((list(clusters).count(name) for name in set(clusters)), reverse=True)
    return Figure(
        name="distances",
        title=title,
        description=description
        or f"{counted(len(names), 'output')} in {counted(len(sizes), 'cluster')}"
        f" of {', '.join(map(str, sizes[:8])) or 'none'}.",
        width=width,
        height=int(bottom + 10),
        marks=(*head, *body),
    )


def _by_cluster(clusters: Sequence[str]) -> list[int]:
    """The places of the outputs, those of the largest cluster first, else in the order given."""
    sizes = {name: list(clusters).count(name) for name in set(clusters)}
    first = {name: list(clusters).index(name) for name in sizes}
    return sorted(range(len(clusters)), key=lambda i: (-sizes[clusters[i]], first[clusters[i]], i))


def _distance_grid(
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
