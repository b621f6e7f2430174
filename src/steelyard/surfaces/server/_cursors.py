"""Cursors: where a list goes on, of which version. Opaque to clients, and signed so that none is made up."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass

import msgspec

from steelyard.errors import RequestError

SIGNATURE_BYTES = 12


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """A place in a list."""

    version: str
    """The version of the source that the list was built from."""
    list_digest: str
    """Which list: route, names, query, order and filters."""
    offset: int
    """How many rows stand before it."""


@dataclass(frozen=True)
class Cursors:
    """Writes and reads cursors; every process that serves the same source has the same key."""

    key: bytes

    def write(self, cursor: Cursor) -> str:
        """The cursor as a client sends it back."""
        told = msgspec.msgpack.encode(cursor)
        return urlsafe_b64encode(self._signature(told) + told).decode().rstrip("=")

    def read(self, text: str) -> Cursor:
        """The cursor that a client sends; one that we did not write is refused."""
        try:
            signed = urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
            signature, told = signed[:SIGNATURE_BYTES], signed[SIGNATURE_BYTES:]
            if hmac.compare_digest(signature, self._signature(told)):
                return msgspec.msgpack.decode(told, type=Cursor)
        except (NotBase64, ValueError, msgspec.MsgspecError):
            pass
        raise _not_ours()

    def _signature(self, told: bytes) -> bytes:
        return hmac.digest(self.key, told, "sha256")[:SIGNATURE_BYTES]


def list_digest(parts: object) -> str:
    """A short name for one list."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _not_ours() -> RequestError:
    hint = "use `next` of the previous page unchanged, with the same query"
    return RequestError(400, "bad_cursor", "invalid cursor in `after`", hint=hint)


def check_list(cursor: Cursor, digest: str) -> None:
    """Refuse a cursor of another list."""
    if cursor.list_digest != digest or cursor.offset < 0:
        raise _not_ours()
