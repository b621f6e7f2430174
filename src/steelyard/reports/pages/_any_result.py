"""The page of any result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steelyard.pages import Page, PageTable, row_columns
from steelyard.reports.pages._catalog import api_page
from steelyard.results import (
    ApiRoutes,
    Result,
)


def page_of(result: Any) -> Page:  # Any: a result, or an answer of a question
    """The result as a page; its rows where it has no page of its own."""
    if (declared := getattr(result, "page", None)) is not None:  # an answer of a question
        page: Page = declared()
        return page
    return PAGES.get(type(result), _rows_page)(result)


def _rows_page(result: Result) -> Page:
    rows = result.to_dicts()
    about = repr(result)
    return Page(
        name="result",
        title=type(result).__name__,
        answer=about,
        table=PageTable(caption=about, columns=tuple(row_columns(rows))) if rows else None,
    )


PAGES: Mapping[type[Result], Callable[[Any], Page]] = {  # Any: each result's own type
    ApiRoutes: api_page,
}
"""The results that have a page of their own."""
