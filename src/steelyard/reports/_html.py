"""Results as HTML tables, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from steelyard.reports._measurement_tables import DASH, heading, number_text, overview_of
from steelyard.results import Measurement, Result

ROWS_SHOWN = 100


def result_html(result: Result) -> str:
    """The result as a table: a measurement's overview, else its rows. Every text is escaped: names come from logs."""
    return _overview(result) if isinstance(result, Measurement) else _rows(result)


def _rows(result: Result) -> str:
    rows = result.to_dicts()
    cells = [[_cell(value) for value in row.values()] for row in rows[:ROWS_SHOWN]]
    more = len(rows) - len(cells)
    caption = repr(result) + (f"; {more:,} more rows" if more else "")
    return _table(caption, list(rows[0]) if rows else [], cells)


def _cell(value: object) -> str:
    return DASH if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _overview(result: Measurement) -> str:
    shown = overview_of(result)
    titles = [*result.by, "runs", *(heading(declared.name, declared.figure) for declared in shown), "grade"]
    rows = []
    for group in result.groups:
        cells = [DASH if value is None else str(value) for value in group.key.values()]
        cells.append(f"{group.n:,}")
        figures = [(getattr(group.metrics[declared.name], declared.figure), declared.unit) for declared in shown]
        cells += [number_text(figure, unit) for figure, unit in figures]
        cells.append(group.grade or DASH)
        rows.append(cells)
    return _table(f"{result.n:,} runs, profile {result.profile}, prices {result.prices}", titles, rows)
