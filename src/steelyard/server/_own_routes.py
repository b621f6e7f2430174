"""Routes about the server and about what is built in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from steelyard.pages import json_bytes
from steelyard.results import ApiRoute, ApiRoutes, Health
from steelyard.server._question_routes import question_route
from steelyard.server._route import API, Route
from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.server._site import Call


async def _health(call: Call) -> Response:
    health = Health(status="ok", version=await call.site.views.version(), steelyard=__version__)
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    return Response(json_bytes(msgspec.to_builtins(health)), headers=headers)


async def _openapi(call: Call) -> Response:  # noqa: ARG001 # as every route answers
    from steelyard.server._openapi import openapi_document  # describes all routes, these among them

    headers = {"Content-Type": "application/json", "Cache-Control": "no-cache"}
    return Response(json_bytes(openapi_document()), headers=headers)


async def _events(call: Call) -> Response:
    return call.site.live.response(call.request.headers.get("last-event-id"))


def routes_listed(*_asked: object) -> ApiRoutes:
    """Return all routes, for any source."""
    from steelyard.server._routes import ROUTES  # lists all routes, this one among them

    return ApiRoutes(
        routes=tuple(
            ApiRoute(
                method=route.method,
                path=f"{API}{route.path}",
                sentence=route.sentence,
                query=route.query.__struct_fields__,
                page=route.page_path,
                command=f"steelyard {route.command}" if route.command else None,
                scope=route.scope,
            )
            for route in ROUTES
        )
    )


OWN_ROUTES = (
    question_route("formats"),
    question_route("metrics"),
    question_route("prices"),
    question_route("profiles"),
    Route(
        path="/routes",
        sentence="All routes of this API.",
        command="",
        result=ApiRoutes,
        page="/api",
        over_arena=routes_listed,
        over_runs=routes_listed,
    ),
    Route(
        path="/openapi.json",
        sentence="This API as an OpenAPI 3.1 document.",
        command="",
        result=dict[str, Any],  # Any: JSON values
        respond=_openapi,
    ),
    Route(
        path="/healthz",
        sentence="Health check.",
        command="",
        result=Health,
        page="/healthz",
        respond=_health,
    ),
    Route(
        path="/events",
        sentence="Server-sent events: a `changed` event with the new version within two seconds of a change.",
        command="arena watch",
        result=str,
        respond=_events,
    ),
)
