"""A page as Markdown, for pull requests and job summaries; every text from data is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import counted
from steelyard.pages._page import Facts, Page, PageTable
from steelyard.pages._result_text import markdown_text

MARKDOWN_ROWS, FOLDED_ROWS = 20, 50
"""Rows of a table in Markdown, and of a folded one: a pull request is read, not searched."""
MAX_MARKDOWN_CELL_LENGTH = 120
MARKS = {"green": "✅ ", "red": "❌ ", "yellow": "❔ "}
"""Marks for the colors that a terminal has."""


def page_markdown(page: Page) -> Iterator[str]:
    """Yield the lines of the page, then those of its parts."""
    mark = MARKS.get(page.style or "", "")
    if page.parts:
        yield from (f"# {markdown_text(page.title)}", "", f"**{markdown_text(page.answer)}**", "")
        yield from (line for note in page.notes for line in (markdown_text(note), ""))
        yield from (line for part in page.parts if not part.is_data for line in page_markdown(part))
        yield from folded_facts("Inputs and methods", page.facts)
        return
    yield from (f"## {mark}{markdown_text(page.title)}", "", markdown_text(page.answer), "")
    for table in page.tables:
        if not table.is_folded:
            yield from [] if table is page.table else [f"**{markdown_text(table.caption)}**", ""]
            yield from table_markdown(table)
    notes = [f"- {markdown_text(note)}" for note in (*page.notes, *page.details, *page.legend)]
    yield from [*notes, ""] if notes and any(table.is_folded for table in page.tables) else notes
    for table in page.tables:
        if table.is_folded:
            yield from _folded_table(table)
    yield from folded_facts("Inputs and methods", page.facts)


def table_markdown(table: PageTable) -> Iterator[str]:
    """Yield the first rows of a table; the long texts of a folded table are whole."""
    longest, limit = (None, FOLDED_ROWS) if table.is_folded else (MAX_MARKDOWN_CELL_LENGTH, MARKDOWN_ROWS)
    columns = table.in_words.columns
    yield "| " + " | ".join(markdown_text(column.title.replace("\n", " ")) for column in columns) + " |"
    yield "|" + "".join("--:|" if column.is_number else "---|" for column in columns)
    for row in range(min(table.rows, limit)):
        marks = (MARKS.get((column.styles[row] if column.styles else None) or "", "") for column in columns)
        cells = (mark + _cell(column.shown(row), longest) for mark, column in zip(marks, columns, strict=True))
        yield "| " + " | ".join(cells) + " |"
    if table.has_foot:
        yield "| " + " | ".join(_cell(column.foot, longest) for column in columns) + " |"
    more = table.rows - limit
    yield from ("", f"... {counted(more, 'more row')}") if more > 0 else ()
    yield ""
    yield from (f"{markdown_text(legend)}\n" for legend in table.legends)


def folded_facts(heading: str, facts: Facts) -> Iterator[str]:
    """Yield labeled facts that readers unfold."""
    if facts:
        yield from ("", f"<details><summary>{heading}</summary>", "")
        yield from (f"- {markdown_text(label)}: {markdown_text(fact)}" for label, fact in facts)
        yield from ("", "</details>", "")


def _folded_table(table: PageTable) -> Iterator[str]:
    yield from (f"<details><summary>{markdown_text(table.caption)}</summary>", "")
    yield from table_markdown(table)
    yield from ("</details>", "")


def _cell(text: str, longest: int | None) -> str:
    line = text.replace("\n", ", ")
    is_long = longest is not None and len(line) > longest
    return markdown_text(f"{line[: (longest or 0) * 2 // 3]} … {line[-30:]}" if is_long else line)
