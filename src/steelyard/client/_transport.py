"""HTTP requests to a server. Responses are JSON values, or the errors that the same local call would raise.

All requests are idempotent: reads change nothing, and writes are identified by ids. Requests are therefore retried a
few times if the connection is lost or the server restarts.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from steelyard import errors
from steelyard.errors import RequestError, SteelyardError, StoreUnavailableError, UsageError, error_message
from steelyard.option_names import Surface, option, spell
from steelyard.version import __version__

API = "/api/v1"
JSON, NDJSON = "application/json", "application/x-ndjson"
WAITS_SECONDS = (0.2, 1.0, 3.0)
"""Delays before the second, third and fourth attempt."""
LATER = frozenset({429, 502, 503, 504})
"""Statuses of a server or proxy that may be temporary."""
MAX_ANSWER_LENGTH = 1 << 30
MAX_ERROR_CHARS = 500
REMOTE: tuple[Surface, ...] = ("http", "json")
"""How a server spells options."""
MAX_OPTIONS = 20
"""Options of a problem that are spelled as in Python."""


class Answer(NamedTuple):
    """HTTP response."""

    status: int
    body: bytes

    def json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the body as a JSON object."""
        value = msgspec.json.decode(self.body)
        if not isinstance(value, dict):
            raise msgspec.DecodeError("the response is not a JSON object")
        return value


class Transport:
    """Connection settings of one server."""

    def __init__(self, url: str, token: str | None, *, timeout: float) -> None:
        parts = urlsplit(url)
        is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
        if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain or not url.isprintable():
            raise UsageError(f"invalid server URL {url!r}", hint="use a URL such as http://127.0.0.1:8600")
        if token is not None and not (token.isascii() and token.isprintable() and token):
            raise UsageError("invalid token", hint="copy the token again")
        self.url = url.rstrip("/")
        self._host, self._root = parts.netloc, quote(parts.path.rstrip("/"), safe="/%")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._timeout = timeout
        self._headers = {"Accept": f"{JSON}, {NDJSON}", "User-Agent": f"steelyard/{__version__}"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def get(
        self, path: str, query: Mapping[str, object] | Sequence[tuple[str, object]] = ()
    ) -> dict[str, Any]:  # Any: JSON values
        """Return the JSON object at a path. Query values that are None are omitted; lists are comma-separated."""
        given = query.items() if isinstance(query, Mapping) else query
        pairs = [(name, _written(value)) for name, value in given if value is not None]
        answer = self._send("GET", f"{path}?{urlencode(pairs)}" if pairs else path)
        return self._object(answer)

    def post(self, path: str, value: object) -> dict[str, Any]:  # Any: JSON values
        """Post a JSON value and return the response."""
        return self._object(self._send("POST", path, msgspec.json.encode(value), JSON))

    def post_lines(self, path: str, lines: Sequence[bytes]) -> list[dict[str, Any]]:  # Any: JSON values
        """Post lines and return the result of each line, followed by the totals."""
        answer = self._send("POST", path, b"\n".join(lines) + b"\n", NDJSON)
        try:
            rows: list[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode_lines(answer.body)  # Any: as above
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._not_ours(answer) from error
        if len(rows) != len(lines) + 1:
            raise StoreUnavailableError(self.url, f"sent {len(lines)} lines but received {len(rows) - 1} results")
        return rows

    def _object(self, answer: Answer) -> dict[str, Any]:  # Any: JSON values
        try:
            return answer.json()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._not_ours(answer) from error

    def _send(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> Answer:
        headers = {**self._headers, "Content-Type": kind} if body is not None else self._headers
        for wait in (*WAITS_SECONDS, None):
            try:
                answer = self._once(method, f"{self._root}{API}{path}", body, headers)
            except (OSError, http.client.HTTPException) as error:
                failure: SteelyardError = StoreUnavailableError(
                    self.url, f"the server does not respond: {error_message(error)}"
                )
            else:
                if answer.status < 300:
                    return answer
                failure = self._problem(answer)
                if answer.status not in LATER:
                    raise failure
            if wait is None:
                raise failure
            time.sleep(wait)
        raise AssertionError("the last attempt raises")

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = self._kind(self._host, timeout=self._timeout)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            content = response.read(MAX_ANSWER_LENGTH + 1)
        finally:
            connection.close()
        if len(content) > MAX_ANSWER_LENGTH:
            raise http.client.HTTPException(f"the response exceeds {MAX_ANSWER_LENGTH:,} bytes")
        return Answer(response.status, content)

    def _problem(self, answer: Answer) -> SteelyardError:
        """Return the error described by a problem object."""
        try:
            problem = answer.json()
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._not_ours(answer)
        kind = _text(problem.get("kind"))
        options = _options(problem.get("options"))
        detail, hint, where = (_mentioned(problem.get(name), options) for name in ("detail", "hint", "where"))
        if kind is None or detail is None:
            return self._not_ours(answer)
        known = _KINDS.get(kind)
        if known is None:
            return RequestError(answer.status, kind, detail, hint=hint)
        error = known.__new__(known)  # their constructors take facts and write the sentence that is here already
        SteelyardError.__init__(error, detail, where=where, hint=hint)
        return error

    def _not_ours(self, answer: Answer) -> SteelyardError:
        message = f"not a Steelyard server (status {answer.status})"
        hint = "use the URL that steelyard serve prints, including the path prefix of a proxy"
        return RequestError(answer.status, "not_steelyard", f"{self.url}: {message}", hint=hint)


def _written(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return ",".join(map(str, value))
    return str(value)


def _options(value: object) -> list[str]:
    """Return the options that a problem names, as mentions, the longest first."""
    named = value[:MAX_OPTIONS] if isinstance(value, list) else []
    mentions = [
        option(name, text)
        for each in named
        if isinstance(each, dict) and (name := _text(each.get("name"))) and (text := _text(each.get("value")))
    ]
    return sorted(mentions, key=len, reverse=True)


def _mentioned(value: object, options: Sequence[str]) -> str | None:
    """Return a text in which these options of a query or a body are mentions, so that they are spelled as in Python."""
    text = _text(value)
    for mention in options if text else ():
        for surface in REMOTE:
            text = text.replace(spell(mention, surface), mention) if text else text
    return text


def _text(value: object) -> str | None:
    return value[:10_000] if isinstance(value, str) else None


_KINDS: dict[str, type[SteelyardError]] = {
    kind.kind: kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, SteelyardError)
    and "kind" in vars(kind)
    and kind is not SteelyardError
}
