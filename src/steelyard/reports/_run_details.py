"""Terminal output of show."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.pages import PageTable, TextTable, add_row, plain_table
from steelyard.reports.pages import page_of
from steelyard.results import RunDetail

ROWS_SHOWN = 60


def detail_lines(detail: RunDetail) -> Iterator[str]:
    """Yield the summary of the run."""
    page = page_of(detail)
    yield page.answer
    yield from page.notes
    yield from (f"  {label}: {fact}" for label, fact in page.facts)


def detail_tables(detail: RunDetail) -> Iterator[TextTable]:
    """Return the table of metrics, then the parts of the run."""
    page = page_of(detail)
    for shown in (page.table, *page.also):
        if shown is not None:
            yield _table(shown)


def detail_texts(detail: RunDetail) -> Iterator[str]:
    """Yield the lines of output and diff under their headings."""
    for long_text in page_of(detail).texts:
        yield from ("", long_text.heading)
        yield from (line.expandtabs(4) for line in long_text.text.splitlines())


def _table(shown: PageTable) -> TextTable:
    more = shown.rows - ROWS_SHOWN
    table = plain_table(f"{shown.caption}{f'; first {ROWS_SHOWN}' if more > 0 else ''}")
    for column in shown.columns:
        table.add_column(column.title, justify="right" if column.is_number else "left")
    for row in range(min(shown.rows, ROWS_SHOWN)):
        add_row(table, *(column.shown(row) for column in shown.columns))
    return table
