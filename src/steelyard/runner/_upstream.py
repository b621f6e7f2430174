"""Endpoints of the metering proxy: address, connections, rate limits, and the key.

The execution's token is replaced by the endpoint's key in requests, and the key is masked in responses.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hmac import compare_digest
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from steelyard.errors import UsageError
from steelyard.runner._http import (
    BETWEEN_TWO,
    HEAD_BYTES,
    Head,
    HttpMessageError,
    endpoint_state,
    read_answer,
    request_bytes,
)
from steelyard.runner._metering_records import ResolvedEndpoint

CARRIERS = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key"})
"""Headers that hold a key."""
NOT_PASSED_ON = (
    BETWEEN_TWO
    | CARRIERS
    | frozenset({"host", "accept-encoding", "expect", "cookie", "forwarded", "x-forwarded-for", "x-forwarded-host"})
    | frozenset({"openai-organization", "openai-project", "x-goog-user-project"})  # whom to bill is the key's matter
)
NOT_PASSED_BACK = BETWEEN_TWO | frozenset({"set-cookie", "location", "alt-svc"})
MIN_SECRET_LENGTH = 16
"""A shorter key (`EMPTY`, `none`) is not secret, and its characters may occur in any response."""


def swapped(head: Head, query: str, *, token: str, key: str | None) -> tuple[list[tuple[str, str]], str] | None:
    """Return headers and query of the request to the endpoint; None if the token is absent or wrong."""
    headers = [(name, value) for name, value in head.headers if name not in NOT_PASSED_ON]
    has_token = False
    for name, value in head.headers:
        if name in CARRIERS:
            scheme, _, shown = value.rpartition(" ")
            if not _same(shown, token):
                return None
            has_token = True
            if key is not None:
                headers.append((name, f"{scheme} {key}".lstrip()))
    pairs = parse_qsl(query, keep_blank_values=True)
    if any(name == "key" for name, _ in pairs):  # Gemini takes its key in the query too
        if not all(_same(value, token) for name, value in pairs if name == "key"):
            return None
        query = urlencode([(name, value) for name, value in pairs if name != "key"])
        if key is not None and not has_token:
            headers.append(("x-goog-api-key", key))
        has_token = True
    return (headers, query) if has_token else None


def _same(shown: str, token: str) -> bool:
    return compare_digest(shown.encode("latin-1", "replace"), token.encode())


class KeyMask:
    """Mask the key in a response byte by byte, so that lengths do not change.

    >>> mask = KeyMask("sk-0123456789abcdef")
    >>> mask.feed(b"your key sk-01234"), mask.feed(b"56789abcdef is wrong"), mask.end()
    (b'your key ', b'******************* is wrong', b'')
    """

    def __init__(self, key: str | None) -> None:
        self._key = key.encode() if key is not None and len(key) >= MIN_SECRET_LENGTH else b""
        self._tail = b""

    def feed(self, piece: bytes) -> bytes:
        """Return the piece without the key; a possible beginning of the key waits for the next piece."""
        if not self._key:
            return piece
        text = (self._tail + piece).replace(self._key, b"*" * len(self._key))
        at = text.find(self._key[:1], max(0, len(text) - len(self._key) + 1))
        while at >= 0 and not self._key.startswith(text[at:]):
            at = text.find(self._key[:1], at + 1)
        if at < 0:
            self._tail = b""
            return text
        self._tail = text[at:]
        return text[:at]

    def end(self) -> bytes:
        """Return what is still waiting."""
        rest, self._tail = self._tail, b""
        return rest

    def text(self, value: str) -> str:
        """Return a header without the key."""
        return value.replace(self._key.decode(), "*" * len(self._key)) if self._key else value


CONNECT_SECONDS = 30.0
IDLE_SECONDS = 3.0
"""Time that a connection is kept for the next call; servers close theirs after five seconds or more."""
MAX_PAUSE_SECONDS = 60.0
"""Maximum pause that an endpoint can request (Retry-After)."""


@dataclass(frozen=True)
class Address:
    """Address of an endpoint."""

    host: str
    port: int
    is_secure: bool
    base: str = ""
    """The path before that of the API, without a slash at its end."""
    authorization: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The header that a proxy asks for."""

    @property
    def bracketed(self) -> str:
        """Host in URL notation."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def authority(self) -> str:
        """Host and port as the header names them."""
        return self.bracketed if self.port == (443 if self.is_secure else 80) else f"{self.bracketed}:{self.port}"


def address_of(endpoint: ResolvedEndpoint) -> Address:
    """The parts of an endpoint's URL; UsageError where it cannot be asked."""
    try:
        parts = urlsplit(endpoint.url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or parts.username is not None:
        raise UsageError(
            "invalid endpoint URL",
            where=f"endpoint {endpoint.name}",
            hint="write https://HOST or http://HOST:PORT, with the path prefix of the API and without key or query",
        )
    if re.fullmatch(r"[\w./~%-]*", parts.path, re.ASCII) is None or ".." in parts.path:
        raise UsageError("the URL has an invalid path", where=f"endpoint {endpoint.name}")
    is_secure = parts.scheme == "https"
    return Address(host, port or (443 if is_secure else 80), is_secure, parts.path.rstrip("/"))


def proxy_of(address: Address) -> Address | None:
    """The proxy that HTTPS_PROXY names for an endpoint with https; None where there is none, or NO_PROXY names it."""
    named = getproxies().get("https") if address.is_secure and not proxy_bypass(address.host) else None
    if not named:
        return None
    try:
        parts = urlsplit(named if "//" in named else f"//{named}")
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("", "http") or not host:
        raise UsageError("HTTPS_PROXY is not a valid proxy URL", hint="write http://HOST:PORT")
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
    given = () if user is None else (("proxy-authorization", f"Basic {b64encode(user.encode()).decode()}"),)
    return Address(host, port or 80, is_secure=False, authorization=given)


@dataclass
class Connection:
    """An open connection to an endpoint."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    idle_since: float = field(default=0.0)

    def close(self) -> None:
        """Close at once; unread data is discarded."""
        self.writer.transport.abort()


class Upstream:
    """One endpoint for all executions: they share its limits and its open connections."""

    def __init__(self, endpoint: ResolvedEndpoint) -> None:
        self.endpoint = endpoint
        self.address = address_of(endpoint)
        self._context = ssl.create_default_context() if self.address.is_secure else None
        self._proxy = proxy_of(self.address)
        self._places = asyncio.Semaphore(endpoint.parallel)
        self._next_start = 0.0
        self._idle: list[Connection] = []

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """A place among the open calls, in the order in which they came; gives the seconds that it took."""
        began = time.monotonic()
        async with self._places:
            while (pause := self._next_start - time.monotonic()) > 0:
                await asyncio.sleep(pause)
            if self.endpoint.requests_per_minute:
                self._next_start = time.monotonic() + 60 / self.endpoint.requests_per_minute
            yield time.monotonic() - began

    def pause(self, retry_after: str | None) -> None:
        """Delay all calls to the endpoint by the requested time."""
        if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
            seconds = min(float(retry_after), MAX_PAUSE_SECONDS)
            self._next_start = max(self._next_start, time.monotonic() + seconds)

    async def connect(self) -> Connection:
        """A connection that is still open, else a new one. Trusts the system's certificate store."""
        while self._idle:
            kept = self._idle.pop()
            if time.monotonic() - kept.idle_since < IDLE_SECONDS and not kept.reader.at_eof():
                return kept
            kept.close()
        async with asyncio.timeout(CONNECT_SECONDS):
            if self._proxy is not None:
                return await self._connect_through(self._proxy)
            reader, writer = await asyncio.open_connection(
                self.address.host, self.address.port, ssl=self._context, limit=HEAD_BYTES
            )
        return Connection(reader, writer)

    async def _connect_through(self, proxy: Address) -> Connection:
        """A connection through the proxy that the environment names. The endpoint is still the one that is trusted."""
        assert self._context is not None  # only endpoints with https have one
        reader, writer = await asyncio.open_connection(proxy.host, proxy.port, limit=HEAD_BYTES)
        connection = Connection(reader, writer)
        try:
            target = f"{self.address.bracketed}:{self.address.port}"
            state = endpoint_state()
            writer.write(request_bytes(state, "CONNECT", target, [("host", target), *proxy.authorization]))
            answer = await read_answer(state, reader)
            if answer.status != 200:
                raise HttpMessageError(f"the proxy in HTTPS_PROXY rejected the connection with status {answer.status}")
            await writer.start_tls(self._context, server_hostname=self.address.host)
        except BaseException:
            connection.close()
            raise
        return connection

    def keep(self, connection: Connection) -> None:
        """Keep the connection for the next call."""
        connection.idle_since = time.monotonic()
        self._idle.append(connection)

    def close(self) -> None:
        """Close the connections that are kept."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
