"""Replace an execution's token by the endpoint's key in requests, and mask the key in responses."""

from __future__ import annotations

from hmac import compare_digest
from urllib.parse import parse_qsl, urlencode

from steelyard.runner._http import BETWEEN_TWO, Head

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
"""A shorter key (`EMPTY`, `none`) protects nothing, and its letters may occur in any response."""


def swapped(head: Head, query: str, *, token: str, key: str | None) -> tuple[list[tuple[str, str]], str] | None:
    """Headers and query to ask the endpoint with; None where the request does not hold the token, or holds another."""
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
    """Covers the key wherever an answer holds it, byte for byte, so that lengths stay as they are.

    >>> mask = KeyMask("sk-0123456789abcdef")
    >>> mask.feed(b"your key sk-01234"), mask.feed(b"56789abcdef is wrong"), mask.end()
    (b'your key ', b'******************* is wrong', b'')
    """

    def __init__(self, key: str | None) -> None:
        self._key = key.encode() if key is not None and len(key) >= MIN_SECRET_LENGTH else b""
        self._tail = b""

    def feed(self, piece: bytes) -> bytes:
        """The piece without the key; what may be the beginning of the key waits for the next one."""
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
        """What waited in vain."""
        rest, self._tail = self._tail, b""
        return rest

    def text(self, value: str) -> str:
        """A header without the key."""
        return value.replace(self._key.decode(), "*" * len(self._key)) if self._key else value
