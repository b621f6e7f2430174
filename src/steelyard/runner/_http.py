"""HTTP/1.1 messages of the metering proxy: h11 parses and writes them, and asyncio streams carry them, within limits.

Both sides may be hostile. No head is forwarded as received: it is parsed and written again, so that one side cannot
make the other see a different message than the proxy does.
"""

from __future__ import annotations

import re
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import h11

HEAD_BYTES: Final = 1 << 16
"""Maximum size of headers; also the buffer size of a stream."""
MAX_HEADERS = 200
MAX_LINE_BYTES = 1 << 12
"""Maximum size of the header of a chunk and of the trailers of a body."""
PIECE_BYTES = 1 << 16
MAX_INTERIM_RESPONSES = 10
_HEAD = re.compile(rb"(?:[\x21-\x7e\x80-\xff][\t\x20-\x7e\x80-\xff]*\r\n)+\r\n")
"""Lines without control characters, folding and bare line feeds, which h11 accepts."""
_METHOD = re.compile(rb"[A-Z]{1,20}")
BETWEEN_TWO: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
    }
)
"""Headers of a connection, which are not forwarded."""
Headers = Iterable[tuple[str, str]]


class HttpMessageError(Exception):
    """Invalid or too large HTTP message, with the status for its sender."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


class TruncatedMessageError(Exception):
    """The other side ended in the middle of a message."""


@dataclass(frozen=True)
class Head:
    """First line and headers of a message."""

    method: str
    target: str
    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""

    def get(self, name: str) -> str | None:
        """Return the values of a header, separated by commas; None if it is absent."""
        values = [value for header, value in self.headers if header == name]
        return ", ".join(values) if values else None

    @property
    def is_chunked(self) -> bool:
        """Whether the body is sent in chunks."""
        return self.get("transfer-encoding") is not None

    @property
    def length(self) -> int | None:
        """Length of the body as stated; None if it is sent in chunks or states none."""
        stated = self.get("content-length")
        return None if stated is None else int(stated)


def agent_state() -> h11.Connection:
    """Return the state of one request of an agent and its response."""
    return h11.Connection(h11.SERVER, MAX_LINE_BYTES)


def endpoint_state() -> h11.Connection:
    """Return the state of one request to an endpoint and its response."""
    return h11.Connection(h11.CLIENT, MAX_LINE_BYTES)


async def read_request(state: h11.Connection, reader: StreamReader) -> Head | None:
    """Return the next request; None if the connection has ended."""
    problem = "invalid HTTP/1.1 request"
    event = await _read_head(state, reader, problem)
    if event is None:
        return None
    if not isinstance(event, h11.Request) or _METHOD.fullmatch(event.method) is None:
        raise HttpMessageError(problem)
    return Head(event.method.decode(), event.target.decode(), 0, _headers(event))


async def read_answer(state: h11.Connection, reader: StreamReader) -> Head:
    """Return the final response to a request; interim responses are skipped."""
    for _ in range(MAX_INTERIM_RESPONSES):
        event = await _read_head(state, reader, "the endpoint does not speak HTTP/1.1")
        if event is None:
            raise TruncatedMessageError
        if isinstance(event, h11.Response):
            return Head("", "", event.status_code, _headers(event))
    raise HttpMessageError("the endpoint sent an interim response but no final response")


async def _read_head(
    state: h11.Connection, reader: StreamReader, problem: str
) -> h11.Request | h11.Response | h11.InformationalResponse | None:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except LimitOverrunError:
        raise HttpMessageError(f"headers larger than {HEAD_BYTES:,} bytes", 431) from None
    except IncompleteReadError as error:
        if error.partial:
            raise TruncatedMessageError from None
        return None
    if _HEAD.fullmatch(raw) is None:
        raise HttpMessageError(problem)
    state.receive_data(raw)
    event = _next_event(state, problem)
    if not isinstance(event, h11.Request | h11.Response | h11.InformationalResponse):
        raise HttpMessageError(problem)
    if event.http_version not in (b"1.0", b"1.1"):
        raise HttpMessageError(problem)
    if len(event.headers) > MAX_HEADERS:
        raise HttpMessageError(f"more than {MAX_HEADERS} headers", 431)
    names = {name for name, _ in event.headers}
    if {b"transfer-encoding", b"content-length"} <= names:
        raise HttpMessageError("invalid transfer-encoding: expected chunked, without content-length")
    return event


def _headers(event: h11.Request | h11.Response) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode(), value.decode("latin-1")) for name, value in event.headers)


def _next_event(state: h11.Connection, problem: str) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
    try:
        return state.next_event()
    except h11.RemoteProtocolError as error:
        raise HttpMessageError(problem, 431 if error.error_status_hint == 431 else 400) from None


class Body:
    """Body of a message, without its framing, piece by piece."""

    def __init__(self, state: h11.Connection, head: Head) -> None:
        self._state = state
        self._left = head.length
        """Bytes that are not read yet; None if the length is unknown."""
        is_response = state.our_role is h11.CLIENT
        self._is_until_end = is_response and head.status != 204 and head.length is None and not head.is_chunked
        self._is_done = False

    async def read(self, reader: StreamReader) -> bytes:
        """Return the next bytes of the body; none at its end."""
        while not self._is_done:
            event = _next_event(self._state, "invalid body")
            if isinstance(event, h11.Data):
                return bytes(event.data)
            if isinstance(event, h11.EndOfMessage):
                self._is_done = True
            else:
                await self._receive(reader)
        return b""

    async def _receive(self, reader: StreamReader) -> None:
        """Read no more than the body, so that a request that follows stays in the stream."""
        data = await reader.read(PIECE_BYTES if self._left is None else min(self._left, PIECE_BYTES))
        if not data and not self._is_until_end:
            raise TruncatedMessageError
        if self._left is not None:
            self._left -= len(data)
        self._state.receive_data(data)

    @property
    def allows_another(self) -> bool:
        """Whether another message may follow: the body is complete without extra data, and the connection is open."""
        is_open = self._state.their_state is h11.DONE and not self._is_until_end
        return self._is_done and is_open and not self._state.trailing_data[0]


def request_bytes(state: h11.Connection, method: str, target: str, headers: Headers, body: bytes = b"") -> bytes:
    """Return a request as it is sent."""
    try:
        head = state.send(h11.Request(method=method, target=target, headers=_encoded(headers)))
    except h11.LocalProtocolError as error:
        raise HttpMessageError(f"the request to the endpoint is invalid: {error}") from None
    return b"".join((head or b"", (state.send(h11.Data(data=body)) or b"") if body else b"", _end(state)))


def _end(state: h11.Connection) -> bytes:
    return state.send(h11.EndOfMessage()) or b""


def response_event(status: int, headers: Headers) -> h11.Response:
    """Return the head of a response. h11 adds the framing if the headers state no length."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    return h11.Response(status_code=status, headers=_encoded(headers), reason=phrase)


def _encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
