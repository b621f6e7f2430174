"""Delivery of one signed message to one target.

The signature is HMAC-SHA-256 with the shared secret over the time header, a full stop and the body. A receiver checks
it, rejects old times, and ignores an event id that it has seen: delivery is at least once.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib
import socket
import ssl
from contextlib import closing
from functools import cache
from http.client import HTTPConnection, HTTPException
from threading import Thread
from urllib.parse import urlsplit, urlunsplit

from steelyard.arena.notifications._addresses import ForbiddenAddressError, Resolver, connected
from steelyard.arena.notifications._targets import Target, environment
from steelyard.errors import MissingExtraError
from steelyard.version import __version__

ID_HEADER = "Steelyard-Event-Id"
KIND_HEADER = "Steelyard-Event-Kind"
TIME_HEADER = "Steelyard-Timestamp"
SIGNATURE_HEADER = "Steelyard-Signature"


MARGIN_SECONDS = 0.5
"""Extra time for the socket to report its own error."""


class NoAnswer(str):
    """Error of a target that does not respond; further messages are postponed."""

    __slots__ = ()


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """What the signature header holds.

    >>> signature(b"secret", 1, b"{}")[:14]
    'sha256=1122767'
    """
    return "sha256=" + hmac.new(secret, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def send(
    target: Target,
    *,
    event_id: str,
    kind: str,
    body: bytes,
    timestamp: int,
    resolve: Resolver = socket.getaddrinfo,
) -> str | None:
    """None when the target took the message, else what went wrong. It has `seconds` for all of it.

    A socket's timeout restarts with every byte and name resolution has none, so a separate thread enforces the limit.
    """
    answers: list[str | None] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            if target.url is None:
                answers.append(_send_by_apprise(target, kind, body))
            else:
                answers.append(_send(target, _headers(target, event_id, kind, body, timestamp), body, resolve))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            problems.append(error)

    waiting = Thread(target=work, daemon=True)  # daemon: an abandoned request must not delay the exit
    waiting.start()
    waiting.join(target.seconds + MARGIN_SECONDS)
    if problems:
        raise problems[0]
    return answers[0] if answers else NoAnswer(f"no response within {target.seconds:g} seconds")


def _headers(target: Target, event_id: str, kind: str, body: bytes, timestamp: int) -> dict[str, str]:
    headers = {
        "Host": urlsplit(target.address).netloc,
        "Content-Type": "application/json",
        "User-Agent": f"steelyard/{__version__}",
        ID_HEADER: event_id,
        KIND_HEADER: kind,
        TIME_HEADER: str(timestamp),
    }
    secret = target.secret
    if secret is not None:
        headers[SIGNATURE_HEADER] = signature(secret, timestamp, body)
    return headers


def _send(target: Target, headers: dict[str, str], body: bytes, resolve: Resolver) -> str | None:
    """The message straight to the address: no proxy of the environment, and no redirect, leads anywhere else."""
    parts = urlsplit(target.address)
    is_secure = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if is_secure else 80)
    try:
        with connected(
            host, port, network=target.network, is_secure=is_secure, seconds=target.seconds, resolve=resolve
        ) as plain:
            connection = HTTPConnection(host, port)
            connection.sock = _trusted().wrap_socket(plain, server_hostname=host) if is_secure else plain
            with closing(connection):
                connection.request("POST", urlunsplit(("", "", parts.path or "/", parts.query, "")), body, headers)
                status = connection.getresponse().status
    except ForbiddenAddressError as error:
        return NoAnswer(str(error))
    except (OSError, HTTPException) as error:
        return NoAnswer(f"{type(error).__name__}: {error}"[:500])
    return None if 200 <= status < 300 else f"HTTP status {status}"


@cache
def _trusted() -> ssl.SSLContext:
    """Return the default TLS context, cached because loading certificates is slow."""
    return ssl.create_default_context()


def _send_by_apprise(target: Target, kind: str, body: bytes) -> str | None:
    try:
        apprise = importlib.import_module("apprise")  # an extra: dozens of services without code of ours
    except ImportError as error:
        raise MissingExtraError("apprise", extra="notify", purpose="a target with apprise_env") from error
    assert target.apprise_env is not None  # a target has a url or this
    messenger = apprise.Apprise()
    if not messenger.add(environment(target.apprise_env, target.name)):
        return "Apprise does not support this URL"
    is_taken = messenger.notify(title=f"steelyard: {kind}", body=body.decode())
    return None if is_taken else NoAnswer("Apprise delivery failed")
