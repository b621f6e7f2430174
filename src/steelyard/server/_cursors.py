"""Cursors: position in a list at one version. They are opaque to clients, and signed to prevent forgery."""

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
