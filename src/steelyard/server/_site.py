"""The served source with its access rules, cursors and subscribers, and requests to it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import ceil
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import msgspec
from starlette.responses import Response, StreamingResponse

from steelyard.errors import AuthenticationError, RequestError, SteelyardError
from steelyard.pages import json_bytes
from steelyard.questions.token import check_token
from steelyard.records import Scope, Token
from steelyard.server._problems import LOG
from steelyard.server._route import Query, Route
from steelyard.server._views import Views

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope as ASGIScope, Send

    from steelyard.questions import ArenaSource, RunsSource


MAX_FAILURES = 30
FAILURE_SECONDS = 60.0
"""Interval in which `MAX_FAILURES` tokens of one address may be rejected."""
MAX_KNOWN = 10_000
"""Addresses with failures, and valid tokens, that are remembered."""


class FailedTokens:
    """Rejected tokens by address. One that guesses is answered without asking the store, for at most a minute.

    A token that was valid before is still checked: other clients may share the address of a proxy.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._valid: OrderedDict[bytes, None] = OrderedDict()
        self.in_turn = asyncio.Lock()

    def knows(self, token: str) -> bool:
        """Return whether the token was valid before."""
        return _token_digest(token) in self._valid

    def check(self, client: str) -> None:
        """Reject the request of an address with too many failures."""
        until, count = self._failures.get(client, (0.0, 0))
        left = until - self._clock()
        if left <= 0:
            self._failures.pop(client, None)
        elif count >= MAX_FAILURES:
            message = "too many invalid tokens from this address"
            headers = {"Retry-After": str(ceil(left))}
            raise RequestError(429, "too_many_failures", message, hint=f"wait {ceil(left)} s", headers=headers)

    def add(self, client: str) -> None:
        """Count a rejected token."""
        until, count = self._failures.get(client, (self._clock() + FAILURE_SECONDS, 0))
        _keep(self._failures, client, (until, count + 1))

    def accept(self, token: str) -> None:
        """Remember a valid token, by its digest."""
        _keep(self._valid, _token_digest(token), None)


def _token_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _keep(known: OrderedDict[Any, Any], key: Any, value: Any) -> None:  # Any: keys and values of either
    known[key] = value
    known.move_to_end(key)
    while len(known) > MAX_KNOWN:
        known.popitem(last=False)


def client_of(request: Request) -> str:
    """Return the address of the client, or of the proxy in front of it."""
    return request.client.host if request.client else ""


@dataclass(frozen=True)
class Access:
    """Access rules of the server."""

    public_read: bool = True
    """Whether reads require no token."""
    write: bool = False
    """Whether writes are allowed."""
    tokens_of: ArenaSource | None = None
    """Arena with the tokens; None if no tokens are required."""
    failures: FailedTokens = field(default_factory=FailedTokens, compare=False)

    async def require_token(self, request: Request, scope: Scope | None, *, always: bool = False) -> Token | None:
        """Return the token of the request; None if none is required, unless `always` is set.

        Without one the request is rejected.
        The store is asked every time, so that a revocation holds at the next request, in every process.
        """
        if scope is None and self.public_read and not always:
            return None
        if self.tokens_of is None or (scope is not None and not self.write):
            hint = "start the server with --write and --store URL"
            raise RequestError(403, "read_only", "this server is read-only", hint=hint)
        kind, _, whole = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not whole.strip():
            raise AuthenticationError("token required", hint="send Authorization: Bearer TOKEN")
        arena, token, client = self.tokens_of.arena, whole.strip(), client_of(request)
        if self.failures.knows(token):
            return await anyio.to_thread.run_sync(check_token, arena, token, scope or "read")
        async with self.failures.in_turn:  # many at once must not pass before the first is counted
            self.failures.check(client)
            try:
                found = await anyio.to_thread.run_sync(check_token, arena, token, scope or "read")
            except AuthenticationError:
                self.failures.add(client)
                raise
        self.failures.accept(token)
        return found


SIGNATURE_BYTES = 12


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """A position in a list."""

    version: str
    """Version of the source of the list."""
    list_digest: str
    """Identity of the list: route, path parameters, query, order and filters."""
    offset: int
    """Number of rows before the position."""


@dataclass(frozen=True)
class Cursors:
    """Encoder and decoder of cursors; all processes that serve the same source have the same key."""

    key: bytes

    def write(self, cursor: Cursor) -> str:
        """Encode a cursor."""
        encoded = msgspec.msgpack.encode(cursor)
        return urlsafe_b64encode(self._signature(encoded) + encoded).decode().rstrip("=")

    def read(self, text: str) -> Cursor:
        """Decode a cursor; reject a forged one."""
        try:
            signed = urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
            signature, encoded = signed[:SIGNATURE_BYTES], signed[SIGNATURE_BYTES:]
            if hmac.compare_digest(signature, self._signature(encoded)):
                return msgspec.msgpack.decode(encoded, type=Cursor)
        except (NotBase64, ValueError, msgspec.MsgspecError):
            pass
        raise _not_ours()

    def _signature(self, encoded: bytes) -> bytes:
        return hmac.digest(self.key, encoded, "sha256")[:SIGNATURE_BYTES]


def list_digest(parts: object) -> str:
    """Return a digest of the identity of a list."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _not_ours() -> RequestError:
    hint = "use `next` of the previous page unchanged, with the same query"
    return RequestError(400, "bad_cursor", "invalid cursor in `after`", hint=hint)


def check_list(cursor: Cursor, digest: str) -> None:
    """Reject a cursor of another list."""
    if cursor.list_digest != digest or cursor.offset < 0:
        raise _not_ours()


MAX_STREAMS = 200
MAX_CLIENT_STREAMS = 100
"""Of one address, so that no single client can take all."""
LOOK_SECONDS = 0.5
COMMENT_SECONDS = 15.0
"""Interval of comments; proxies close streams that are silent for longer."""


class _Stream(StreamingResponse):
    """Stream that gives up its place when it ends, also if it never began."""

    def __init__(self, content: AsyncIterator[bytes], release: Callable[[], None]) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(content, media_type="text/event-stream", headers=headers)
        self._release = release

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._release()


class Live:
    """Open streams of a process, with one watcher."""

    def __init__(self, version: Callable[[], Awaitable[str]]) -> None:
        self._version = version
        self._current: str | None = None
        self._changed = asyncio.Condition()
        self._watcher: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._of_client: Counter[str] = Counter()

    @property
    def streams(self) -> int:
        """Return the number of open streams."""
        return self._of_client.total()

    async def start(self) -> None:
        """Start watching."""
        self._watcher = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Close all streams."""
        self._is_stopping = True
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher
        async with self._changed:
            self._changed.notify_all()

    async def _watch(self) -> None:
        while True:
            try:
                version: str | None = await self._version()
            except SteelyardError as error:  # a store that does not answer may do so again
                LOG.warning("cannot watch the source: %s", error)
                version = self._current
            if version != self._current:
                self._current = version
                async with self._changed:
                    self._changed.notify_all()
            await asyncio.sleep(LOOK_SECONDS)

    def response(self, seen: str | None, client: str) -> Response:
        """Return a stream that starts with the current version, unless the client has it. Its place is taken here."""
        if self.streams >= MAX_STREAMS:
            raise RequestError(503, "too_many_streams", f"too many open event streams (limit: {MAX_STREAMS})")
        if self._of_client[client] >= MAX_CLIENT_STREAMS:
            message = f"too many open event streams from this address (limit: {MAX_CLIENT_STREAMS})"
            raise RequestError(429, "too_many_streams", message, hint="close some")
        self._of_client[client] += 1
        return _Stream(self._stream(seen), partial(self._release, client))

    def _release(self, client: str) -> None:
        self._of_client[client] -= 1
        if not self._of_client[client]:
            del self._of_client[client]

    async def _stream(self, seen: str | None) -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n"
        while not self._is_stopping:
            if self._current is not None and self._current != seen:
                seen = self._current
                yield _event(seen)
            try:
                async with asyncio.timeout(COMMENT_SECONDS), self._changed:
                    await self._changed.wait()
            except TimeoutError:
                yield b": still here\n\n"


def _event(version: str) -> bytes:
    return b"id: %b\nevent: changed\ndata: %b\n\n" % (version.encode(), json_bytes({"version": version}))


@dataclass(frozen=True)
class Site:
    """A source with its access rules and the caches of this process."""

    source: ArenaSource | RunsSource
    access: Access = field(default_factory=Access)
    root_path: str = ""
    """Path prefix added by a proxy."""

    @cached_property
    def views(self) -> Views:
        """Views by version."""
        return Views(self.source)

    @cached_property
    def cursors(self) -> Cursors:
        """Cursors of lists."""
        return Cursors(self.source.secret())

    @cached_property
    def live(self) -> Live:
        """Subscribers to changes."""
        return Live(self.views.version)


@dataclass(frozen=True)
class Call:
    """A request to a route, with parsed path parameters and query."""

    site: Site
    route: Route
    request: Request
    values: Mapping[str, str]
    """Path parameters."""
    query: Query
    token: Token | None = None
    """Token of the request; None if none is required."""

    @property
    def holder(self) -> str | None:
        """Return the owner of the token, or its name."""
        return None if self.token is None else self.token.holder
