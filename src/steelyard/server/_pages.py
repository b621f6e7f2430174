"""A route's web page: the same result as its JSON, at the same path without `/api/v1`; and its styles and scripts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl

from msgspec import NODEFAULT
from msgspec.inspect import Field as QueryField, LiteralType, Metadata, StructType, UnionType, type_info
from starlette.responses import Response

from steelyard.errors import RequestError
from steelyard.pages import Page, page_asset, page_style
from steelyard.questions import ArenaSource, command_text
from steelyard.records import Redaction
from steelyard.server._dashboard import Field, Frame, RowsShown, dashboard_document, rate_form, review_form, submit_form
from steelyard.server._route import PageQuery, Query, Route, address, query_fields
from steelyard.server._routes import ROUTES

if TYPE_CHECKING:
    from steelyard.server._problems import Problem
    from steelyard.server._site import Call, Site
    from steelyard.server._views import View

MEDIA = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
PLAIN = ("dashboard.css", "steel-table.js", "dashboard.js", "write.js")
FOREVER = "public, max-age=31536000, immutable"


@cache
def _assets() -> dict[str, bytes]:
    """Return the contents by name."""
    return {"steel.css": page_style().encode(), **{name: page_asset(name).encode() for name in PLAIN}}


@cache
def asset_path(name: str) -> str:
    """Return the path of an asset."""
    stem, dot, ending = name.rpartition(".")
    return f"/assets/{stem}.{hashlib.sha256(_assets()[name]).hexdigest()[:16]}{dot}{ending}"


@cache
def _by_path() -> dict[str, str]:
    return {asset_path(name): name for name in _assets()}


def asset_response(path: str) -> Response:
    """Return the asset at the path; 404 for another version of its content."""
    name = _by_path().get(path)
    if name is None:
        raise RequestError(404, "unknown_asset", "no such file", hint="reload the page")
    headers = {"Content-Type": MEDIA[name[name.rindex(".") :]], "Cache-Control": FOREVER}
    return Response(_assets()[name], headers=headers)


MAX_ROWS = 100
"""Number of rows per page."""
IN_SIGHT = (
    "baseline",
    "candidate",
    "diff",
    "by",
    "metrics",
    "where",
    "confidence",
    "policy",
    "task",
    "agent",
    "model",
    "category",
    "outcome",
)
"""Form fields that are not collapsed."""
FIRST = ("/", "/tasks", "/measure", "/matrix", "/compare", "/runs", "/usage", "/completeness")
"""First pages of the navigation; the others follow in the order of their routes."""
LABELS = {"/": "Ranking", "/api": "API"}
REFERENCE = ("/formats", "/prices", "/profiles")
"""Pages that the page of metrics links to; the navigation omits them."""


@dataclass(frozen=True, kw_only=True)
class PageRows:
    """Rows of a view on one page, with the time of the result."""

    result: Any
    """The whole result (each route has its own class)."""
    part: Any
    """The result with only the rows of this page."""
    total: int | None
    """Number of rows with these filters; None if the result is not a list."""
    next: str | None
    """Cursor of the next page; None on the last page."""
    version: str
    as_of: str


def page(call: Call, shown: PageRows, view: View) -> str:
    """Return the page of a route: content from the result, links from the route and its query."""
    made: Page = _page_of(view)
    pairs = tuple(parse_qsl(call.request.scope["query_string"].decode("ascii", "replace"), errors="replace"))
    rows, form = None, _form(call)
    if shown.total is not None and call.route.rows is not None and made.table is not None:
        made = replace(made, table=made.table.part(_places(view, call.route.rows, shown)))
        rows = _rows_shown(call.query, shown, getattr(view.result, call.route.rows))
    frame = _frame(
        call.site,
        ("write.js",) if form else (),
        path=address(call.route, call.values, api=False),
        query=pairs,
        as_of=shown.as_of,
        version=shown.version,
        fields=tuple(field for field in fields_of(call.route.query, pairs) if _counts(call, field.name)),
        rows=rows,
        compare=_kept_by_compare(call.site.source.kind, pairs),
        data=address(call.route, call.values),
        form=form,
    )
    taken_out = (("redacted", view.redacted),) if view.redacted else ()
    return dashboard_document(replace(made, facts=(*made.facts, *taken_out, *_command(call))), frame)


def _form(call: Call) -> str:
    """Return the forms of a writable arena: to submit on task pages, to review and rate on submission pages."""
    if not call.site.access.write or not isinstance(call.site.source, ArenaSource):
        return ""
    if call.route.page_path in ("/tasks", "/tasks/{task}"):
        return submit_form(call.site.root_path)
    if call.route.page_path == "/submissions/{submission}":
        forms = review_form(call.site.root_path, call.values["submission"])
        if call.site.source.arena.rules.peer_review is not None:
            forms += rate_form(call.site.root_path, call.values["submission"])
        return forms
    return ""


def problem_page(site: Site, problem: Problem) -> str:
    """Return the error page, with the navigation."""
    title, notes = f"{problem.status} {problem.title}", (problem.hint,) if problem.hint else ()
    title = "Nothing to show" if problem.status == HTTPStatus.OK else title
    made = Page(name="problem", title=title, answer=problem.detail, notes=notes)
    return dashboard_document(made, _frame(site, path=""))


def _frame(site: Site, scripts: tuple[str, ...] = (), *, path: str, **also: Any) -> Frame:  # Any: parts of a frame
    root = site.root_path
    return Frame(
        base=root,
        path=path,
        navigation=navigation(site.source.kind),
        styles=tuple(root + asset_path(name) for name in ("steel.css", "dashboard.css")),
        scripts=tuple(root + asset_path(name) for name in ("steel-table.js", "dashboard.js", *scripts)),
        **also,
    )


def _page_of(view: View) -> Page:
    """Return the page of the whole result with its figures, computed once per view."""
    made: Page | None = view.ready("page")
    if made is None:
        made = view.result.page()
        view.keep("page", made, 0)
    return made


def _places(view: View, field: str, shown: PageRows) -> list[int]:
    """Return the indexes of the shown rows; the table of the page has the same rows in the same order."""
    places: dict[int, int] | None = view.ready(("places", field))
    if places is None:
        places = {id(row): place for place, row in enumerate(getattr(view.result, field))}
        view.keep(("places", field), places, 0)
    return [places[id(row)] for row in getattr(shown.part, field)]


def _rows_shown(query: Any, shown: PageRows, rows: Any) -> RowsShown:  # Any: a paged query, rows of any route
    first = rows[0] if rows else {}
    names = first if isinstance(first, dict) else {name: getattr(first, name) for name in first.__struct_fields__}
    return RowsShown(
        total=shown.total or 0,
        next=shown.next,
        is_first=query.after is None,
        sort=query.sort or "",
        find=query.find or "",
        sortable=frozenset(name for name, value in names.items() if not isinstance(value, (dict, list, tuple))),
    )


@cache
def navigation(kind: str) -> tuple[tuple[str, str], ...]:
    """Return the pages without path parameters or required query parameters."""
    paths = [
        route.page_path
        for route in ROUTES
        if route.page_path not in (None, *REFERENCE) and route.builder(kind) is not None and not route.parameters
        if not any(field.required for field in _declared(route.query))
    ]
    ordered = [*(path for path in FIRST if path in paths), *(path for path in paths if path not in FIRST)]
    return tuple((LABELS.get(path, path.strip("/").capitalize()), path) for path in ordered)


@cache
def _declared(query: type[Query]) -> tuple[QueryField, ...]:
    return cast("StructType", type_info(query)).fields


def _counts(call: Call, name: str) -> bool:
    heeded = call.route.arena_query if call.site.source.kind == "arena" else None
    return heeded is None or name in heeded


def _of_rows(query: type[Query]) -> tuple[str, ...]:
    """Return the fields that select rows; they have a separate place on the page and no command option."""
    return PageQuery.__struct_fields__ if issubclass(query, PageQuery) else ()


def fields_of(query: type[Query], pairs: tuple[tuple[str, str], ...]) -> Iterator[Field]:
    """Return the form of a view with the current values; repeatable parameters have an empty field."""
    counts = query_fields(query)
    for declared in _declared(query):
        name = declared.name
        if name in _of_rows(query):
            continue
        values = [value for asked, value in pairs if asked == name and value]
        if counts[name] != "many":
            values = [",".join(values)]
        kind: Any = declared.type  # Any: msgspec has no common class of types with a note
        note = (kind.extra_json_schema or {}).get("description", "") if isinstance(kind, Metadata) else ""
        for value in values or [""]:
            yield Field(
                name=name,
                value=value,
                default=_default(declared),
                help=note,
                choices=_choices(kind.type if isinstance(kind, Metadata) else kind),
                is_first=name in IN_SIGHT,
            )


def _default(declared: QueryField) -> str:
    value = declared.default
    if value is NODEFAULT or value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choices(kind: Any) -> tuple[str, ...]:  # Any: a type as msgspec describes it
    if isinstance(kind, LiteralType):
        return tuple(map(str, kind.values))
    if isinstance(kind, UnionType):
        return tuple(choice for each in kind.types for choice in _choices(each))
    return ()


@cache
def _compared() -> Route | None:
    return next((route for route in ROUTES if route.path == "/compare" and route.method == "GET"), None)


def _kept_by_compare(kind: str, pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...] | None:
    """Return the query parameters that a comparison of two rows keeps; None if the source has no comparison."""
    route = _compared()
    if route is None or route.builder(kind) is None:
        return None
    known = {*query_fields(route.query)} - {"baseline", "candidate", "metrics"}
    return tuple((name, value) for name, value in pairs if name in known and value)


def _command(call: Call) -> tuple[tuple[str, str], ...]:
    """Return the equivalent command."""
    route, source = call.route, call.site.source
    command = (source.kind == "arena" and route.arena_command) or route.command
    if not command:
        return ()
    chosen = {*_of_rows(route.query), *type(call.query).filters}
    asked = {
        field.name: value
        for field in _declared(route.query)
        if field.name not in chosen and _counts(call, field.name)
        if (value := getattr(call.query, field.name)) != field.default
    }
    words = [part.format_map(call.values) for part in command.split()]
    question = route.question
    if question is not None:
        in_path = {name: value for name, value in call.values.items() if f"{{{name}}}" not in command}
        asked |= {name: value for name, value in in_path.items() if name in question.options.declared}
    inputs = [] if question is not None and question.takes == "nothing" else source.named_inputs(command)
    if question is not None:
        places = [name for name, option in question.options.declared.items() if option.positional and name in asked]
        others = [str(asked.pop(name)) for name in places]
        inputs = [*others, *inputs] if question.input_last else [*inputs, *others]
    command = f"{command_text(words, inputs, asked | dict(route.fixed))} --json"
    return (("command", Redaction().text(command)),)
