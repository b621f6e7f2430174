"""Results for people: as text, as one HTML document, or as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from steelyard.formatting import counted
from steelyard.pages import (
    Page,
    PageTable,
    TextTable,
    add_row,
    document,
    notebook_html,
    page_markdown,
    plain_table as text_table,
    wrapped,
)
from steelyard.plain_text import clean
from steelyard.records import Redaction
from steelyard.reports.pages import page_of
from steelyard.results import Result

TEXT_ROWS = 50
"""Rows of a table in a text, which may be printed by the way."""


def result_html(result: Result) -> str:
    """Return the page of the result for notebooks."""
    return notebook_html(page_of(result))


def result_text(result: Result, *, width: int) -> str:
    """The result in lines of at most that width: what it answers, and the first rows of its table."""
    lines: list[str] = []
    after_text = False
    for part in _parts(result):
        is_text = isinstance(part, str)
        lines += [""] if after_text and not is_text else []
        lines += wrapped(clean(part), width) if isinstance(part, str) else part.lines(width)
        after_text = is_text
    return "\n".join(lines).rstrip("\n")


def _parts(result: Result) -> Iterator[str | TextTable]:
    """The sentences and the table of its page."""
    page = page_of(result)
    yield from (line for line in (page.answer, *page.notes) if line)
    if page.table is not None and page.table.rows:
        yield _text_table(page.table.in_words)
        if more := page.table.left_out + max(page.table.rows - TEXT_ROWS, 0):
            yield f"... {counted(more, 'more row')}"
        yield from page.legend


def _text_table(table: PageTable) -> TextTable:
    """The first rows for a terminal; where it is narrow, the last columns leave first."""
    shown = text_table(table.caption)
    for number, column in enumerate(table.columns):
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        shown.add_column(column.title, justify=justify, spare=max(number - 1, 0))
    for row in range(min(table.rows, TEXT_ROWS)):
        add_row(shown, *(column.shown(row) for column in table.columns))
    return shown


def result_document(result: Result) -> str:
    """The result as one HTML file, without keys and tokens."""
    return document(_page(result))


def result_markdown(result: Result) -> str:
    """The result for a pull request: answers and the first rows of tables; every foreign text is escaped."""
    return "\n".join(page_markdown(_page(result)))


def _page(result: Result) -> Page:
    """The page of a result without keys and tokens; what was taken out is counted."""
    redaction = Redaction()
    page = page_of(redaction.tree(result))
    return replace(page, facts=(*page.facts, ("redacted", redaction.summary))) if redaction.count else page
