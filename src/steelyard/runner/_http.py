"""The part of HTTP/1.1 that the metering proxy speaks: bounded heads, bodies by length, in chunks, or up to the end.

Both sides may be hostile, and no head is passed on as it came: it is parsed and written again, so that one
side cannot make the other see another message than the metering proxy does.
"""

from __future__ import annotations

import re
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

HEAD_BYTES: Final = 1 << 16
"""Maximum size of headers and of a header line; also the buffer size of a stream."""
MAX_HEADERS = 200
PIECE_BYTES = 1 << 16
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_REQUEST = re.compile(r"([A-Z]{1,20}) ([!-~]+) HTTP/1\.([01])")
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;[^\r\n]*)?")
_CHUNK_SIZE, _CHUNK_END, _TRAILERS = range(3)
_LENGTH = re.compile(r"[0-9]{1,15}")
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
"""Headers that speak of one connection, not of the message."""


class HttpMessageError(Exception):
    """Invalid or too large HTTP message, with the status for its sender."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


class TruncatedMessageError(Exception):
    """The other side ended in the middle of a message."""


@dataclass(frozen=True)
class Head:
    """Headers of a message."""

    method: str
    target: str
    status: int
    is_newer: bool
    """HTTP/1.1, where a connection stays open by default."""
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""

    def get(self, name: str) -> str | None:
        """The value of a header; of several, all of them."""
        values = [value for header, value in self.headers if header == name]
        return ", ".join(values) if values else None

    @property
    def stays_open(self) -> bool:
        """Whether the connection may be used again."""
        words = [word.strip().lower() for word in (self.get("connection") or "").split(",")]
        return self.is_newer and "close" not in words

    @property
    def length(self) -> int | None:
        """The body's length as stated; None where it comes in chunks or states none."""
        coding, stated = self.get("transfer-encoding"), self.get("content-length")
        if coding is not None:
            if coding.lower() != "chunked" or stated is not None:
                raise HttpMessageError("invalid transfer-encoding: expected chunked, without content-length")
            return None
        if stated is None:
            return None
        if _LENGTH.fullmatch(stated) is None:
            raise HttpMessageError("invalid content-length")
        return int(stated)

    @property
    def is_chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return self.get("transfer-encoding") is not None


async def read_request(reader: StreamReader) -> Head | None:
    """The next request; None when there is none any more."""
    raw = await _raw_head(reader)
    if raw is None:
        return None
    line, headers = _parts(raw)
    match = _REQUEST.fullmatch(line)
    if match is None:
        raise HttpMessageError("invalid HTTP/1.1 request")
    return Head(match[1], match[2], 0, match[3] == "1", headers)


async def read_answer(reader: StreamReader) -> Head:
    """The answer to a request; those that only announce one are passed over."""
    for _ in range(10):
        raw = await _raw_head(reader)
        if raw is None:
            raise TruncatedMessageError
        line, headers = _parts(raw)
        match = _STATUS.fullmatch(line)
        if match is None:
            raise HttpMessageError("the endpoint does not speak HTTP/1.1")
        status = int(match[2])
        if status >= 200:
            return Head("", "", status, match[1] == "1", headers)
    raise HttpMessageError("the endpoint sent an interim response but no final response")


async def _raw_head(reader: StreamReader) -> bytes | None:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except LimitOverrunError:
        raise HttpMessageError(f"headers larger than {HEAD_BYTES:,} bytes", 431) from None
    except IncompleteReadError as error:
        if error.partial:
            raise TruncatedMessageError from None
        return None


def _parts(raw: bytes) -> tuple[str, tuple[tuple[str, str], ...]]:
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    if len(lines) > MAX_HEADERS:
        raise HttpMessageError(f"more than {MAX_HEADERS} headers", 431)
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        value = value.strip(" \t")
        if not colon or _NAME.fullmatch(name) is None or _VALUE.fullmatch(value) is None:
            raise HttpMessageError("invalid header")
        headers.append((name.lower(), value))
    return first, tuple(headers)


class Body:
    """A body, taken out of its framing as its bytes come."""

    def __init__(self, head: Head, *, until_end: bool) -> None:
        """A body that states no length goes up to the end of the connection, or there is none."""
        self._is_chunked = head.is_chunked
        self._until_end = until_end and head.length is None and not head.is_chunked
        self._left = head.length or 0
        self._lines = _CHUNK_SIZE
        self._kept = bytearray()
        self._trailers = 0
        self.is_done = not (self._is_chunked or self._until_end or self._left)

    async def read(self, reader: StreamReader) -> bytes:
        """Bytes of the body; nothing when it has ended."""
        while not self.is_done:
            most = PIECE_BYTES if self._is_chunked or self._until_end else min(self._left, PIECE_BYTES)
            data = await reader.read(most)
            if not data and not self._until_end:
                raise TruncatedMessageError
            if piece := self._unframed(data):
                return piece
        return b""

    @property
    def is_exact(self) -> bool:
        """Whether it ended as framed, with nothing behind it, so that another message may follow."""
        return self.is_done and not self._until_end and not self._kept

    def _unframed(self, data: bytes) -> bytes:
        if self._is_chunked:
            return self._from_chunks(data)
        self._left -= len(data)
        self.is_done = not data if self._until_end else not self._left
        return data

    def _from_chunks(self, data: bytes) -> bytes:
        kept, at, pieces = self._kept, 0, []
        kept += data
        while not self.is_done:
            if self._left:
                piece = kept[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
            end = kept.find(b"\r\n", at)
            if end < 0:
                if len(kept) - at > HEAD_BYTES:
                    raise HttpMessageError("a line of a chunked body is too long", 431)
                break
            self._take_line(bytes(kept[at:end]))
            at = end + 2
        del kept[:at]
        return b"".join(pieces)

    def _take_line(self, line: bytes) -> None:
        """The line before a chunk, the empty one behind it, or one behind the last."""
        if self._lines == _CHUNK_SIZE:
            match = _CHUNK.fullmatch(line)
            if match is None:
                raise HttpMessageError("a chunk has no length")
            self._left = int(match[1], 16)
            self._lines = _CHUNK_END if self._left else _TRAILERS
        elif self._lines == _CHUNK_END:
            if line:
                raise HttpMessageError("the length of a chunk does not match its header")
            self._lines = _CHUNK_SIZE
        elif line:
            self._trailers += 1
            if self._trailers > MAX_HEADERS:
                raise HttpMessageError("too much data after the last chunk", 431)
        else:
            self.is_done = True


def head_bytes(line: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """A head as it is sent."""
    lines = (line, *(f"{name}: {value}" for name, value in headers))
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def answer_line(status: int) -> str:
    """The first line of an answer."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    return f"HTTP/1.1 {status} {phrase}"


def as_chunk(piece: bytes) -> bytes:
    """A piece of a body in chunks."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


LAST_CHUNK = b"0\r\n\r\n"
