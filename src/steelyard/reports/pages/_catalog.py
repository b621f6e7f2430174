"""Page of the routes of a server."""

from __future__ import annotations

from steelyard.pages import Page, PageTable, text_column
from steelyard.results import ApiRoutes


def api_page(result: ApiRoutes) -> Page:
    """One row an address, with what may be asked of it."""
    routes = result.routes
    writing = sum(route.scope is not None for route in routes)
    columns = (
        text_column("method", "method", [route.method for route in routes]),
        text_column("path", "path", [route.path for route in routes]),
        text_column("sentence", "answers", [route.sentence for route in routes]),
        text_column("query", "query", [", ".join(route.query) or None for route in routes]),
        text_column(
            "page",
            "page",
            [route.page for route in routes],
            links=[route.page if route.page is not None and "{" not in route.page else None for route in routes],
        ),
        text_column("command", "command", [route.command for route in routes]),
        text_column("scope", "token", [route.scope for route in routes]),
    )
    return Page(
        name="api",
        title="How do I script this?",
        answer=f"{len(routes):,} endpoints; {writing:,} of them need a token.",
        notes=(
            "Every response equals the JSON output of the command; append `.csv` to a path for its table.",
            "Lists are paginated: pass the `next` value of a response as the `after` parameter of the next request.",
            "Errors are application/problem+json (RFC 9457).",
        ),
        table=PageTable(caption="Addresses", columns=columns),
    )
