"""Checks of every request: host, origin, size and duration.

A browser on this machine reaches a server on loopback for every page that it shows, so that a loopback server is
guarded as one on the network is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.errors import RequestError
from steelyard.server._problems import problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

JSON, NDJSON = "application/json", "application/x-ndjson"
BODY_BYTES = {JSON: 8 << 20, NDJSON: 64 << 20}
"""Maximum body size by content type."""
PATIENCE_SECONDS = 30.0
"""Time limit for a body; with NDJSON, for each piece of it."""
DISCARDED_BYTES, DISCARDING_SECONDS = 64 << 20, 5.0
"""Size and time limit for draining the body of a rejected request."""
MAX_PATH_LENGTH = 8_192
READING = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True)
class Guard:
    """Middleware that rejects disallowed requests and adds security headers to every response."""

    app: ASGIApp
    hosts: frozenset[str]
    """Allowed host names, without ports."""
    patience: float = PATIENCE_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        body = _Body(receive)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
                # A client waiting for 100 Continue has sent no body, and a timed-out one would be slow again.
                if message["status"] >= 400 and message["status"] != 408 and not _waits(scope):
                    await body.discard()
            await send(message)

        try:
            limit = self._check(scope)
        except RequestError as error:
            response = problem_response(error, _shown_path(scope))
            await response(scope, body.receive, send_guarded)
            return
        await self.app(scope, self._bounded(body, limit[0], is_streamed=limit[1]), send_guarded)

    def _check(self, scope: Scope) -> tuple[int, bool]:
        """Return the body limit and whether the body is streamed; reject disallowed requests."""
        headers = _single(scope)
        if "transfer-encoding" in headers and "content-length" in headers:
            hint, close = "send one of them", {"Connection": "close"}  # what follows may be another's request
            message = "both Content-Length and Transfer-Encoding given"
            raise RequestError(400, "two_lengths", message, hint=hint, headers=close)
        self._check_host(headers)
        if len(scope.get("raw_path") or b"") > MAX_PATH_LENGTH or len(scope["query_string"]) > MAX_PATH_LENGTH * 8:
            raise RequestError(414, "long_address", "URL is too long")
        site, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
        if scope["method"] in READING:
            if site == "cross-site" and mode != "navigate":
                raise RequestError(403, "cross_site", "cross-site reads are not allowed")
            return 0, False
        self._check_origin(headers, site)
        if scope["method"] != "POST":  # the application rejects other methods
            return 0, False
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in BODY_BYTES:
            hint = f"send Content-Type: {JSON}, or {NDJSON} for several records"
            raise RequestError(415, "content_type", f"unsupported Content-Type: {kind[:100] or 'none'}", hint=hint)
        compressed = headers.get("content-encoding", "identity")
        if compressed.lower() != "identity":
            hint = "send the body uncompressed, in several requests if it is large"
            raise RequestError(415, "content_encoding", f"unsupported Content-Encoding: {compressed[:100]}", hint=hint)
        limit, length = BODY_BYTES[kind], headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limit:
            raise too_large(limit)
        return limit, kind == NDJSON

    def _check_host(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        name = host_name(host)
        if name not in self.hosts:
            shown = (host or "no host")[:200]
            hint = f"to allow this host, start the server with --allow-host {name[:100] or 'NAME'}"
            raise RequestError(421, "unknown_host", f"host not allowed: {shown!r}", hint=hint)

    @staticmethod
    def _check_origin(headers: Mapping[str, str], site: str | None) -> None:
        """Reject cross-site writes; another port of this machine is another site too."""
        origin, host = headers.get("origin"), headers.get("host")
        if site not in (None, "same-origin", "none") or origin not in (None, f"http://{host}", f"https://{host}"):
            raise RequestError(403, "cross_site", "cross-site writes are not allowed")

    def _bounded(self, body: _Body, limit: int, *, is_streamed: bool) -> Receive:
        """Receive the body in pieces, within its size and time limits."""
        taken = 0
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience

        async def receive_bounded() -> Message:
            nonlocal taken
            if body.is_complete:  # what comes now is that the client has gone
                return await body.receive()
            until = loop.time() + self.patience if is_streamed else deadline
            try:
                async with asyncio.timeout_at(until):
                    message = await body.receive()
            except TimeoutError:
                raise RequestError(408, "slow_request", "request timed out") from None
            taken += len(message.get("body", b""))
            if taken > limit:
                raise too_large(limit)
            return message

        return receive_bounded


class _Body:
    """Request body."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.is_complete = False

    async def receive(self) -> Message:
        """Return the next piece, or the disconnect message."""
        message = await self._receive()
        self.is_complete = not message.get("more_body", False)
        return message

    async def discard(self) -> None:
        """Receive the rest of the body, within limits: most clients read the response after sending everything.

        A connection that is closed before takes the answer with it.
        """
        left = DISCARDED_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DISCARDING_SECONDS):
                while not self.is_complete and left > 0:
                    left -= len((await self.receive()).get("body", b""))


def too_large(limit: int) -> RequestError:
    """Return the error for a body that is too large."""
    message = f"request body exceeds {limit:,} bytes" if limit else "request body not allowed"
    return RequestError(413, "too_large", message, hint="split the request", headers={"Connection": "close"})


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port.

    >>> [host_name(host) for host in ("localhost:8600", "[::1]:8600", "LOCALHOST", "a:b", "a@b:1")]
    ['localhost', '[::1]', 'localhost', '', 'a@b']
    """
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if not colon:
        name = host
    elif not (port.isascii() and port.isdecimal()):
        return ""
    return name.lower()


def _waits(scope: Scope) -> bool:
    return any(name.lower() == b"expect" for name, _ in scope["headers"])


def _single(scope: Scope) -> dict[str, str]:
    """Return the headers by name; reject duplicates of security-relevant headers."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name in headers and name in _ONCE:
            status = 421 if name == "host" else 400
            raise RequestError(status, "repeated_header", f"duplicate header: {name}")
        headers[name] = value
    return headers


_ONCE = frozenset({"host", "origin", "content-type", "content-length", "sec-fetch-site", "authorization"})


def _shown_path(scope: Mapping[str, Any]) -> str:  # Any: as ASGI has it
    raw: bytes = scope.get("raw_path") or b""
    return raw.decode("ascii", "replace")
