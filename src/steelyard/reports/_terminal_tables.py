"""What all tables for a terminal share."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from steelyard.plain_text import clean


def add_row(table: Table, *cells: str) -> None:
    """One row of plain text: square brackets in names are no markup; only line ends are kept.

    A cell too narrow for its text goes on below: cut short, two models of one family would be one name.
    """
    table.add_row(*(Text("\n".join(clean(line) for line in cell.split("\n")), overflow="fold") for cell in cells))


def plain_table(title: str) -> Table:
    """An empty table in the house style."""
    width = min(len(title), 150)  # a narrow table would break its title
    return Table(
        title=Text(clean(title), style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        min_width=width,
    )
