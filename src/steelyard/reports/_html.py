"""Measurements as an HTML table, for notebooks."""

from __future__ import annotations

from html import escape

from steelyard.metrics import catalog
from steelyard.reports._measurement_tables import DASH, OVERVIEW, heading, number_text
from steelyard.results import GroupValue, Measurement


def measurement_html(result: Measurement) -> str:
    """The overview table; every text is escaped, since names come from logs."""
    shown = [(name, statistic) for name, statistic in OVERVIEW if all(name in group.metrics for group in result.groups)]
    titles = [*result.by, "runs", *(heading(name, statistic) for name, statistic in shown), "grade"]
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    rows = []
    for group in result.groups:
        cells = [DASH if value is None else str(value) for value in group.key.values()]
        cells.append(f"{group.n:,}")
        for name, statistic in shown:
            value = group.metrics[name]
            figure = value.value if isinstance(value, GroupValue) else getattr(value, statistic)
            cells.append(number_text(figure, catalog()[name].unit))
        cells.append(group.grade or DASH)
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    caption = escape(f"{result.n:,} runs, profile {result.profile}, prices {result.prices}")
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
