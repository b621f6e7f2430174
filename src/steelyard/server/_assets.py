"""Styles and scripts of pages, served from memory under names that include a content hash."""

from __future__ import annotations

import hashlib
from functools import cache

from starlette.responses import Response

from steelyard.errors import RequestError
from steelyard.pages import page_asset, page_style

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
