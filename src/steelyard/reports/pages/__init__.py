"""Pages: one function for each result, struct in, `Page` out. Reports, pull requests and servers show the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.reports.pages._any_result import (
        PAGES as PAGES,
        page_of as page_of,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
