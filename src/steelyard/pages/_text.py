"""A page as text, for a terminal, a pipe and `print`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shutil import get_terminal_size

from steelyard.formatting import counted
from steelyard.pages._page import Column, Page, PageTable, Style
from steelyard.pages._terminal_tables import Cell, Painted, TextTable, add_row, paint, plain_table, wrapped
from steelyard.plain_text import clean

INDENT = "  "
USUAL_WIDTH, MIN_WIDTH = 80, 40
"""Columns of a text without COLUMNS or a terminal, and the minimum."""


def text_width() -> int:
    """Return the columns of a text that is printed in Python."""
    return max(get_terminal_size((USUAL_WIDTH, 24)).columns, MIN_WIDTH)


def page_text(page: Page, width: int | None, *, everything: bool = False) -> str:
    """Return the page in lines of at most that width, without colors."""
    return "\n".join(page_lines(page, width, everything=everything)).rstrip("\n")


def page_lines(page: Page, width: int | None, *, color: bool = False, everything: bool = False) -> Iterator[str]:
    """Yield the lines of the page: its answer, its tables, further sentences, texts, its parts.

    Without a width, each sentence is one line. With `everything`, whatever is folded and all rows are included.
    """
    yield from sentence_lines([page.answer], width, style=page.style, color=color)
    yield from sentence_lines(page.notes, width, color=color)
    tables = [table for table in page.tables if (everything or not table.is_folded) and table.rows]
    for number, table in enumerate(tables):
        yield from [""] if number == 0 else []
        yield from text_table(table, everything=everything).lines(width, color=color)
    below = [*page.legend, *page.details]
    yield from [""] if below and not tables else []
    yield from sentence_lines(below, width, color=color, indent=INDENT)
    has_gap = not page.answer or (bool(tables) and not below)  # a table ends with an empty line
    for each in (each for each in page.texts if everything or each.is_open):
        yield from [] if has_gap else [""]
        for line in map(clean, [each.heading, *each.text.rstrip().expandtabs(4).split("\n")]):
            yield from wrapped(line, width, indent=INDENT) if width else [line]
        has_gap = False
    for part in page.parts:
        if part.is_data and not everything:
            continue
        yield from ("", *sentence_lines([part.title], width, style="bold", color=color))
        yield from page_lines(part, width, color=color, everything=everything)


def sentence_lines(
    sentences: Iterable[str], width: int | None, *, style: Style | None = None, color: bool = False, indent: str = ""
) -> Iterator[str]:
    """Yield the sentences in lines of at most that width; `indent` is before continuation lines."""
    for sentence in filter(None, sentences):
        line = clean(sentence)  # names in it come from data: they must not begin a line
        for part in wrapped(line, width, indent=indent) if width else [line]:
            yield paint(part, style, color=color)


def text_table(table: PageTable, *, everything: bool = False) -> TextTable:
    """Return the table for a terminal, with the rows that it shows."""
    shown = plain_table(table.caption)
    columns = table.in_words.columns
    for column in columns:
        shown.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            spare=column.spare,
            legend=column.legend,
            instead=column.instead() if column.instead else "",
        )
    rows = table.rows if everything or table.terminal_rows is None else min(table.rows, table.terminal_rows)
    for row in range(rows):
        add_row(shown, *(_cell(column, row) for column in columns))
    more = table.rows - rows + table.left_out
    if more:
        add_row(shown, f"... {counted(more, 'more row')}")
    if table.has_foot:
        add_row(shown, *(column.foot for column in columns))
    return shown


def _cell(column: Column, row: int) -> Cell:
    shown = column.shown(row)
    text = shown if column.texts is not None else clean(shown)  # a value from data has no lines of its own
    style = column.styles[row] if column.styles else None
    return Painted(text, style) if style else text
