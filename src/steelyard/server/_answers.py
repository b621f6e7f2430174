"""Responses from views: JSON as with `--json`, CSV or HTML, whole or paginated, with an ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, urlencode

import anyio.to_thread
import msgspec
from starlette.responses import Response

from steelyard.errors import UnknownNameError
from steelyard.pages import csv_text, json_bytes
from steelyard.questions import Answer
from steelyard.server._pages import MAX_ROWS, PageRows, page
from steelyard.server._route import MAX_PAGE, PageQuery, Query, address
from steelyard.server._site import Cursor, check_list, list_digest

if TYPE_CHECKING:
    from steelyard.server._site import Call, Site
    from steelyard.server._views import View

Form = Literal["json", "csv", "html"]
MEDIA: dict[Form, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
}


@dataclass(frozen=True)
class Body:
    """A complete response."""

    content: bytes
    headers: dict[str, str]


async def answer(call: Call, form: Form) -> Response:
    """Return the response to a request, cached in its view."""
    view = await _view(call)
    wanted = (form, msgspec.structs.astuple(call.query))
    body: Body | None = view.ready(wanted)
    if body is None:
        body = await anyio.to_thread.run_sync(_made, call, view, form)
        view.keep(wanted, body, len(body.content))
    if _is_known(call.request.headers.get("if-none-match"), body.headers["ETag"]):
        return Response(status_code=304, headers=body.headers)
    return Response(body.content, status_code=call.route.status, headers={**body.headers, "Content-Type": MEDIA[form]})


async def _view(call: Call) -> View:
    """Return the view for a request; a cursor uses the view of its version."""
    key, views = call.route.key(call.values, call.query), call.site.views
    builder = call.route.builder(call.site.source.kind)
    assert builder is not None, "the router rejects routes that the source does not support"
    build = partial(builder, call.site.source, call.values, call.query)
    if isinstance(call.query, PageQuery) and call.query.after is not None:
        cursor = call.site.cursors.read(call.query.after)
        check_list(cursor, _digest(call))
        return await views.at(key, cursor.version, build)
    return await views.get(key, build)


def _is_known(asked: str | None, etag: str) -> bool:
    """Return whether the client has this response. Proxies that compress responses mark the tag as weak."""
    return asked is not None and any(tag.strip().removeprefix("W/") in (etag, "*") for tag in asked[:8_192].split(","))


def _made(call: Call, view: View, form: Form) -> Body:
    shown = shown_of(call, view, most=MAX_ROWS if form == "html" else MAX_PAGE)
    if form == "json":
        content = json_bytes(_json(call, shown))
    elif form == "csv":
        content = _csv(call, view).encode("utf-8", "replace")
    else:
        content = page(call, shown, view).encode("utf-8", "replace")
    content = _without_paths(call.site, content, form)
    headers = {
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        "Cache-Control": "no-cache",
        "Vary": "Accept, Authorization",
        "Steelyard-Version": view.version,
        "Steelyard-As-Of": view.as_of,
    }
    if view.redacted:
        headers["Steelyard-Redacted"] = view.redacted
    if shown.next is not None:
        pairs = [(name, value) for name, value in _pairs(call) if name != "after"] + [("after", shown.next)]
        path = call.site.root_path + address(call.route, call.values, api=form != "html")
        headers["Link"] = f'<{path}?{urlencode(pairs)}>; rel="next"'
    return Body(content, headers)


def shown_of(call: Call, view: View, *, most: int) -> PageRows:
    """Return the requested part of the view."""
    result, query = view.result, call.query
    if call.route.rows is None or not isinstance(query, PageQuery):
        return PageRows(result=result, part=result, total=None, next=None, version=view.version, as_of=view.as_of)
    rows = chosen_rows(view, call.route.rows, query)
    start = 0 if query.after is None else call.site.cursors.read(query.after).offset
    end = start + min(query.limit, most)
    cursor = Cursor(view.version, _digest(call), end)
    return PageRows(
        result=result,
        part=_with_rows(result, call.route.rows, rows[start:end]),
        total=len(rows),
        next=call.site.cursors.write(cursor) if end < len(rows) else None,
        version=view.version,
        as_of=view.as_of,
    )


def _with_rows(result: Any, field: str, rows: Sequence[Any]) -> Any:  # Any: a result or an answer, and its rows
    """Return the result with other rows."""
    change = msgspec.structs.replace if isinstance(result, Answer) else replace
    return change(result, **{field: tuple(rows)})


def _digest(call: Call) -> str:
    """Return the identity of the requested list: its view, filters and order."""
    return list_digest((call.route.key(call.values, call.query), _selection(call.query)))


def chosen_rows(view: View, field: str, query: PageQuery) -> Sequence[Any]:  # Any: rows of any route
    """Return the filtered rows in the requested order. Missing values are last in both directions."""
    asked = (field, *_selection(query))
    ready: Sequence[Any] | None = view.ready(asked)
    if ready is not None:
        return ready
    rows: Sequence[Any] = getattr(view.result, field)
    if query.find is not None:
        wanted_words = query.find.lower().split()
        rows = [
            row
            for row, text in zip(rows, _texts(view, field), strict=True)
            if all(word in text for word in wanted_words)
        ]
    for name in type(query).filters:
        wanted = frozenset(getattr(query, name))
        if wanted:
            rows = [row for row in rows if value_of(row, name) in wanted]
    if query.sort is not None and rows:
        rows = _ordered(rows, query.sort)
    rows = rows[: getattr(query, "top", None)]
    view.keep(asked, rows, 0)
    return rows


def _selection(query: Query) -> tuple[object, ...]:
    """Return the query parameters that select rows."""
    return tuple(getattr(query, name, None) for name in (*type(query).filters, "top", "sort", "find"))


def _texts(view: View, field: str) -> Sequence[str]:
    """Return the words of each row, in lower case."""
    texts: list[str] | None = view.ready(("texts", field))
    if texts is None:
        texts = [_words(row) for row in getattr(view.result, field)]
        view.keep(("texts", field), texts, 0)
    return texts


def _words(row: Any) -> str:  # Any: as above
    values = row.values() if isinstance(row, dict) else msgspec.structs.astuple(row)
    parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    return "\n".join(part for part in parts if isinstance(part, str)).lower()


def _ordered(rows: Sequence[Any], sort: str) -> list[Any]:  # Any: as above
    name, is_descending = sort.removeprefix("-"), sort.startswith("-")
    known = list(rows[0]) if isinstance(rows[0], dict) else rows[0].__struct_fields__
    if name not in known or isinstance(value_of(rows[0], name), dict):
        error = UnknownNameError("field to order by", name[:200], known)
        error.http_status = 400
        raise error
    there = [row for row in rows if value_of(row, name) is not None]
    missing = [row for row in rows if value_of(row, name) is None]
    return sorted(there, key=lambda row: value_of(row, name), reverse=is_descending) + missing


def value_of(row: Any, name: str) -> Any:  # Any: rows and values of any route
    """Return a field of a row."""
    return row.get(name) if isinstance(row, dict) else getattr(row, name)


def _json(call: Call, shown: PageRows) -> Any:  # Any: a JSON value
    """Return the same JSON as `--json`; for a list, one page as `items`."""
    fields = shown.part.to_dict() if isinstance(shown.part, Answer) else msgspec.to_builtins(shown.part)
    if shown.total is None or call.route.rows is None:
        return fields
    items = fields.pop(call.route.rows)
    paging = {"total": shown.total, "next": shown.next, "version": shown.version, "as_of": shown.as_of}
    return {**fields, "items": items, **paging}


def _csv(call: Call, view: View) -> str:
    """Return the whole table, filtered and sorted, with formulas escaped."""
    result = view.result
    if call.route.rows is not None and isinstance(call.query, PageQuery):
        rows = chosen_rows(view, call.route.rows, call.query)
        result = _with_rows(result, call.route.rows, rows)
    return csv_text(result.to_dicts())


def _without_paths(site: Site, content: bytes, form: Form) -> bytes:
    """Return the response with full paths of the source replaced by file names."""
    for path, name in site.source.hidden.items():
        written = {"json": json_bytes(path)[1:-1], "csv": path.encode("utf-8", "replace")}
        sought = written.get(form) or escape(path).encode("utf-8", "replace")
        content = content.replace(sought, name.encode("utf-8", "replace"))
    return content


def _pairs(call: Call) -> list[tuple[str, str]]:
    return parse_qsl(call.request.scope["query_string"].decode("ascii", "replace"), keep_blank_values=True)


def asked_form(accept: str, *, api: bool, csv: bool) -> Form:
    """Return the requested response format."""
    if csv or accept.split(";", maxsplit=1)[0].strip().lower() == "text/csv":
        return "csv"
    return "json" if api else "html"
