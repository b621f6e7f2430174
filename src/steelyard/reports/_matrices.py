"""Tasks by groups as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import NumberFormat, counted, difference_text, number_format
from steelyard.metrics import Metric, catalog
from steelyard.pages import DASH, TextTable, add_row, key_cell, plain_table, weighting
from steelyard.plain_text import clean
from steelyard.records import key_text
from steelyard.results import Matrix, MatrixCell, MatrixTask

TASKS_SHOWN = 40


def matrix_lines(result: Matrix) -> Iterator[str]:
    """Yield a summary sentence and the meaning of the sort order."""
    metric = catalog()[result.metric]
    whole = f"{counted(len(result.tasks), 'task')} by {counted(len(result.groups), 'group')} ({', '.join(result.by)})"
    valued = [row for row in result.tasks if row.mean is not None]
    if metric.binary:
        none = sum(row.mean == 0 for row in valued)
        every = sum(row.mean == 1 for row in valued)
        between = len(valued) - none - every
        yield f"{whole}: {none:,} unsolved, {every:,} solved in every run, {between:,} mixed."
    else:
        yield f"{whole}: {counted(len(valued), 'task')} with a {metric.title.lower()}."
    if result.sort == "discrimination":
        yield "Discrimination: mean of groups that are stronger on the other tasks minus mean of the weaker ones."
    if result.baseline is not None and result.candidate is not None:
        a, b = (
            clean(" ".join(map(key_text, result.groups[place].key.values())))
            for place in (result.baseline, result.candidate)
        )
        yield f"B - A: {b} minus {a}."


def matrix_table(result: Matrix) -> TextTable:
    """Return a table with one row per task and one column per group."""
    metric = catalog()[result.metric]
    title = f"{metric.title} {metric.arrow}".rstrip()
    table = plain_table(f"{title} by task, sorted by {result.sort}, {weighting(result)}")
    table.add_column("task")
    for group in result.groups:
        cells = [key_cell(group.key, name, result.tier_scheme) for name in result.by if name != "tier_scheme"]
        table.add_column("\n".join(cells), justify="right")
    table.add_column("mean of groups", justify="right", spare=1)
    table.add_column("discrimination", justify="right", spare=0 if result.sort == "discrimination" else 2)
    if result.baseline is not None:
        table.add_column("B - A", justify="right")
    shown = result.tasks[:TASKS_SHOWN]
    columns = [
        number_format(
            [*(cell.value for row in shown if (cell := row.cells[place]) is not None), group.value], metric.unit
        )
        for place, group in enumerate(result.groups)
    ]
    means = number_format((row.mean for row in shown), metric.unit)
    for row in shown:
        cells = [_cell(cell, column, metric) for cell, column in zip(row.cells, columns, strict=True)]
        add_row(table, row.task, *cells, means.text(row.mean), *_differences(row, result))
    rest = len(result.tasks) - TASKS_SHOWN
    if rest > 0:
        add_row(table, f"... {counted(rest, 'more task')}; the CSV output lists them")
    figures = [column.text(group.value) for group, column in zip(result.groups, columns, strict=True)]
    add_row(table, "all tasks", *figures)
    return table


def _cell(cell: MatrixCell | None, column: NumberFormat, metric: Metric) -> str:
    """Return passes and attempts, or the value; blank if the group did not attempt the task."""
    if cell is None:
        return ""
    errored = f" ({cell.errored} errored)" if cell.errored else ""
    if cell.value is None:
        return f"{DASH}{errored}"
    if metric.binary:
        return f"{round(cell.value * cell.runs):,}/{cell.runs:,}{errored}"
    return f"{column.text(cell.value)}{errored}"


def _differences(row: MatrixTask, result: Matrix) -> list[str]:
    unit = catalog()[result.metric].unit
    cells = [
        DASH if row.discrimination is None else difference_text(row.discrimination, unit, signed=True, bare=True),
    ]
    if result.baseline is not None:
        cells.append(DASH if row.difference is None else difference_text(row.difference, unit, signed=True, bare=True))
    return cells
