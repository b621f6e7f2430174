"""ASGI application: routing, access control and responses."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from steelyard.errors import NoValidInputError, RequestError, SteelyardError
from steelyard.option_names import Surface
from steelyard.server._answers import answer, asked_form
from steelyard.server._pages import asset_response, navigation, problem_page
from steelyard.server._problems import problem_response
from steelyard.server._route import API, Match, Route, read_query
from steelyard.server._routes import ROUTES
from steelyard.server._site import Call, Site
from steelyard.suggestions import nearest

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

ANSWER_SECONDS = 30.0
WARM_SECONDS = 3.0
"""Maximum delay of the first request while pages are prepared."""
CSV = ".csv"


class Application:
    """Application that serves one site, behind `Guard`."""

    def __init__(self, site: Site, routes: tuple[Route, ...] = ROUTES) -> None:
        self.site = site
        self.routes = routes
        self._match = Match(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or the lifespan of the process."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path = scope["raw_path"].decode("ascii", "replace").removeprefix(self.site.root_path) or "/"
        has_begun = False

        async def send_noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            response = await self._respond(Request(scope, receive), path)
            await response(scope, receive, send_noting)
        except Exception as error:  # whatever happens, the client gets a status and no trace
            if has_begun:
                raise
            page = None if _is_api(path) else partial(problem_page, self.site)
            surface: Surface = "json" if scope["method"] == "POST" else "http"
            failure = problem_response(error, path, page=page, surface=surface)
            await failure(scope, receive, send_noting)

    async def _respond(self, request: Request, path: str) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        if path.startswith("/assets/") and method == "GET":
            return asset_response(path)
        is_api, is_csv = _is_api(path), False
        address = path.removeprefix(API) if is_api else path
        matches = self._match.find(address, api=is_api)
        if not matches and address.endswith(CSV):
            matches = self._match.find(address.removesuffix(CSV), api=is_api)
            is_csv = True
        if not matches:
            raise _no_such(path, [route.path for route in self.routes])
        allowed = ", ".join(sorted({*matches, "OPTIONS", *(["HEAD"] if "GET" in matches else [])}))
        if method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": allowed})
        if method not in matches:
            message = f"method not allowed: {request.method[:20]}"
            raise RequestError(405, "method", message, hint=f"use {allowed}", headers={"Allow": allowed})
        route, values = matches[method]
        token = await self.site.access.require_token(request, route.scope)
        query = read_query(route.query, request.scope["query_string"].decode("ascii", "replace"))
        if query.is_mine:
            token = token or await self.site.access.require_token(request, None, always=True)
            query = query.of_holder(token)
        call = Call(self.site, route, request, values, query, token)
        if route.respond is not None:
            return await route.respond(call)
        if route.builder(self.site.source.kind) is None:
            raise _not_served(self.site.source.kind)
        form = asked_form(request.headers.get("accept", ""), api=is_api, csv=is_csv)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answer(call, form)
        except NoValidInputError as error:  # the request is valid, but the source has no such data
            error.http_status = 200 if form == "html" and not values else 404  # the navigation leads to such pages
            raise
        except TimeoutError:
            message = f"the response takes longer than {ANSWER_SECONDS:.0f} seconds to compute"
            raise RequestError(
                503, "not_ready", message, hint="try again: the response is still being computed"
            ) from None

    async def _live(self, receive: Receive, send: Send) -> None:
        """Watch the source during the lifespan of the process."""
        await receive()
        await self.site.live.start()
        warming = asyncio.create_task(self._warm())
        warming.add_done_callback(lambda task: task.cancelled() or task.exception())  # the first request reports it
        await asyncio.wait([warming], timeout=WARM_SECONDS)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.site.live.stop()
        self.site.source.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _warm(self) -> None:
        """Prepare the pages of the navigation in the available time, so that visitors need not wait."""
        until = time.monotonic() + WARM_SECONDS
        await anyio.to_thread.run_sync(self.site.source.warm)
        anonymous = Request({"type": "http", "method": "GET", "headers": [], "query_string": b""})
        for _, path in navigation(self.site.source.kind):
            if time.monotonic() >= until:
                return
            route, values = self._match.find(path, api=False)["GET"]
            with suppress(SteelyardError):  # such as no data yet: a request for the page reports it
                await answer(Call(self.site, route, anonymous, values, read_query(route.query, "")), "html")


def _is_api(path: str) -> bool:
    return path.startswith(f"{API}/")


def _no_such(path: str, known: list[str]) -> RequestError:
    close = nearest(path.removeprefix(API), known)
    hint = f"did you mean {API}{close}?" if close else f"see {API}/openapi.json for all routes"
    return RequestError(404, "no_such_address", "not found", hint=hint)


def _not_served(kind: str) -> RequestError:
    here, there = ("an arena", "run files") if kind == "arena" else ("run files", "an arena")
    command = "steelyard serve RUNS" if kind == "arena" else "steelyard serve --store URL"
    message = f"this server serves {here}; this route requires {there}"
    return RequestError(404, "not_in_source", message, hint=f"start one with: {command}")
