"""A route's web page: the same result as its JSON, at the same path without `/api/v1`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.reports import page_html, page_of, text
from steelyard.surfaces.server._assets import asset_path

if TYPE_CHECKING:
    from steelyard.surfaces.server._site import Call


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What of a view is told, and as of when."""

    result: Any
    """The whole result; each route has its own."""
    part: Any
    """The same with the rows of this page alone."""
    total: int | None
    """How many rows there are with these filters; None where the answer is no list."""
    next: str | None
    """The cursor of the next page; None on the last one."""
    version: str
    as_of: str


def page(call: Call, shown: Shown) -> str:
    """The page of a route: what it shows comes from the result, where it leads from the route and its query."""
    made = page_of(shown.part)
    root = call.site.root_path
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{text(made.title)}</title>\n<link rel="icon" href="data:,">\n'
        f'<link rel="stylesheet" href="{root}{asset_path("steel.css")}">\n'
        f'<script type="module" src="{root}{asset_path("steel-table.js")}"></script>\n</head>\n<body>\n'
        f"<main>\n<h1>{text(made.title)}</h1>\n{page_html(made)}</main>\n"
        f"<footer><p>As of {text(shown.as_of)}.</p></footer>\n</body>\n</html>\n"
    )
