"""Where notifications go. Targets come from a file that its owner names; nothing is sent anywhere else.

[[targets]]
name = "ci"
url = "https://ci.example.org/hooks/arena"
secret_env = "ARENA_WEBHOOK_SECRET"

[[targets]]
name = "chat"
url = "http://chat.internal:8065/hooks/arena"
network = "private"

[[targets]]
name = "ada"
apprise_env = "ARENA_APPRISE_URL"
kinds = ["submission.rank_lost", "submission.lead_lost"]
submitters = ["ada"]
"""

from __future__ import annotations

import importlib.util
import os
import re
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec
from sqlalchemy import and_, select, true
from sqlalchemy.sql import ColumnElement

from steelyard.arena.notifications._events import KINDS
from steelyard.errors import MissingExtraError, UnknownNameError, UsageError
from steelyard.files import errors_as, parse_toml, read_text
from steelyard.records import is_storable, problem_text
from steelyard.settings import TEXT_BYTES
from steelyard.store.schema import outbox, parties, submissions

Network = Literal["public", "private", "loopback"]
"""Where a target may be."""
Resolver = Callable[..., list[Any]]
"""`socket.getaddrinfo` or a replacement. Any: the tuples that it returns."""

_ALLOWED: dict[Network, frozenset[str]] = {
    "public": frozenset({"public"}),
    "private": frozenset({"public", "private"}),
    "loopback": frozenset({"loopback"}),
}
_NAT64 = IPv6Network("64:ff9b::/96")


class ForbiddenAddressError(OSError):
    """The target leads to an address that nothing may be sent to."""


def is_address(host: str) -> bool:
    """Whether the host of a url is an address and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def refusal(address: str, *, network: Network, is_secure: bool) -> str | None:
    """Why nothing is sent to the address; None when it may be.

    >>> refusal("10.0.0.7", network="public", is_secure=True)
    '10.0.0.7 is a private address; set network = "private" for this target to send there'
    """
    kind = _kind(ip_address(address))
    if kind == "public" and kind in _ALLOWED[network] and not is_secure:
        return f"{address} is a public address; use https"
    if kind in _ALLOWED[network]:
        return None
    if kind in _ALLOWED:
        return f'{address} is a {kind} address; set network = "{kind}" for this target to send there'
    return f"{address} is {kind}, which is not allowed"


def _kind(address: IPv4Address | IPv6Address) -> str:
    """Return the network of an address; for an IPv4-mapped one, that of the IPv4 address."""
    inner = _inner(address) if isinstance(address, IPv6Address) else None
    if inner is not None:
        return _kind(inner)
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "a link-local address"
    if address.is_unspecified or address.is_multicast or address.is_reserved:
        return "not a unicast address"
    is_public = address.is_global and not (isinstance(address, IPv6Address) and address.is_site_local)
    return "public" if is_public else "private"


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def connected(
    host: str, port: int, *, network: Network, is_secure: bool, seconds: float, resolve: Resolver
) -> socket.socket:
    """A connection to the host, looked up once: what is checked is what is connected to."""
    problem: OSError | None = None
    for family, kind, protocol, _, place in resolve(host, port, type=socket.SOCK_STREAM):
        reason = refusal(place[0], network=network, is_secure=is_secure)
        if reason is not None:
            problem = problem or ForbiddenAddressError(reason if reason.startswith(host) else f"{host}: {reason}")
            continue
        opened = socket.socket(family, kind, protocol)
        try:
            opened.settimeout(seconds)
            opened.connect(place)
        except OSError as error:
            opened.close()
            problem = error
        else:
            return opened
    raise problem or OSError(f"cannot resolve {host}")


LEFT_AS_IT_IS = "%/:?@!$&'()*+,;=[]~"
"""What in a path or a query is not percent-encoded: an address that is encoded already stays the same."""


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One receiver of notifications."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    """Under which deliveries are remembered; keep it when the address changes."""
    url: str | None = None
    """Webhook URL, http or https. `address` encodes non-ASCII characters."""
    network: Network = "public"
    """Where the webhook may be: at a public address (https only), at a private one too, or on this machine."""
    secret_env: str | None = None
    """The environment variable that holds the secret that messages are signed with; None sends them unsigned."""
    apprise_env: str | None = None
    """The environment variable that holds an Apprise address (it may contain a password), instead of a webhook."""
    kinds: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    """Kinds of events it wants, of those that there are; None wants all."""
    submitters: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    """Submitters whose events it receives; None for all, including submissions without a submitter."""
    teams: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    """Teams whose people's submissions it wants to hear of, as they are registered when it is sent; None wants all."""
    seconds: Annotated[float, msgspec.Meta(gt=0, le=300)] = 10.0
    """How long to wait for its answer."""

    def __post_init__(self) -> None:
        if (self.url is None) == (self.apprise_env is None):
            raise ValueError(f"target {self.name!r} needs either url or apprise_env")
        if self.url is not None:
            self._check_network()
        elif self.network != "public":
            raise ValueError(f"target {self.name!r} has network but no url")
        if not all(map(is_storable, (*(self.submitters or ()), *(self.teams or ())))):
            raise ValueError(f"a submitter or team of target {self.name!r} contains a NUL byte or a lone surrogate")

    def _check_network(self) -> None:
        """Raise an error if the URL itself is not allowed."""
        parts = urlsplit(self.address)
        assert parts.hostname is not None  # `sendable` asks for one
        is_secure = parts.scheme == "https"
        if self.network == "public" and not is_secure:
            raise ValueError(
                f"the url of target {self.name!r} must use https; "
                'for a private host, set network = "private" or "loopback"'
            )
        if is_address(parts.hostname):  # that of a name is known when it is connected to
            reason = refusal(parts.hostname, network=self.network, is_secure=is_secure)
            if reason is not None:
                raise ValueError(f"target {self.name!r}: {reason}")

    def wants(self) -> ColumnElement[bool]:
        """Whether an event of the outbox is for it."""
        wanted: list[ColumnElement[bool]] = [true()]
        if self.kinds is not None:
            wanted.append(outbox.c.kind.in_(self.kinds))
        if self.submitters is not None:
            same = (submissions.c.task_key == outbox.c.task_key) & (submissions.c.ordinal == outbox.c.ordinal)
            wanted.append(select(1).where(same, submissions.c.submitter.in_(self.submitters)).exists())
        if self.teams is not None:
            same = (submissions.c.task_key == outbox.c.task_key) & (submissions.c.ordinal == outbox.c.ordinal)
            member = (parties.c.kind == "person") & (parties.c.id == submissions.c.submitter)
            wanted.append(select(1).where(same, member, parties.c.team.in_(self.teams)).exists())
        return and_(*wanted)

    @property
    def address(self) -> str:
        """The url as it is sent to; an error when nothing can be."""
        assert self.url is not None  # asked of webhooks
        try:
            return sendable(self.url)
        except ValueError as error:
            raise ValueError(f"invalid url of target {self.name!r}: {error}") from error

    def check_environment(self) -> None:
        """An error when something that sending needs is not there: asked before any event is taken."""
        for variable in (self.secret_env, self.apprise_env):
            if variable is not None:
                environment(variable, self.name)
        if self.apprise_env is not None and importlib.util.find_spec("apprise") is None:
            raise MissingExtraError("apprise", extra="notify", purpose="a target with apprise_env")

    @property
    def secret(self) -> bytes | None:
        """The secret, read when it is needed; an error when it is named and not there."""
        if self.secret_env is None:
            return None
        return os.fsencode(environment(self.secret_env, self.name))


class TargetFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All targets of an arena."""

    targets: tuple[Target, ...]


def sendable(url: str) -> str:
    """An http or https address in the letters that may be sent: its host by IDNA, the rest percent-encoded.

    >>> sendable("https://bücher.example/höok?a=b%20c")
    'https://xn--bcher-kva.example/h%C3%B6ok?a=b%20c'
    """
    if not url.isprintable():
        raise ValueError("non-printable character")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an http or https URL")
    if parts.username is not None or parts.password is not None:
        raise ValueError("URLs with credentials are not supported; sign messages with secret_env")
    if parts.port == 0:
        raise ValueError("port 0 is invalid")
    place = _host(parts.hostname) + (f":{parts.port}" if parts.port is not None else "")
    path, query = (quote(part, safe=LEFT_AS_IT_IS) for part in (parts.path, parts.query))
    return urlunsplit((parts.scheme, place, path, query, ""))


def _host(name: str) -> str:
    if ":" in name:
        return f"[{IPv6Address(name)}]"
    try:
        host = name.encode("idna").decode()
    except UnicodeError as error:  # its text speaks of codecs
        raise ValueError(f"invalid host name {name!r}") from error
    if not re.fullmatch(r"[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*\.?", host):
        raise ValueError(f"invalid host name {name!r}")
    return host


def environment(variable: str, target: str) -> str:
    """The value of an environment variable that a target names."""
    value = os.environ.get(variable)
    if not value:
        raise UsageError(f"target {target!r} needs the environment variable {variable}", hint=f"export {variable}=...")
    return value


def read_targets(path: Path) -> tuple[Target, ...]:
    """The targets in a TOML file."""
    with errors_as(UsageError):
        values = parse_toml(read_text(path, limit=TEXT_BYTES), path)
    try:
        targets = msgspec.convert(values, TargetFile).targets
    except msgspec.ValidationError as error:
        raise UsageError(problem_text(error), where=str(path)) from error
    names = [target.name for target in targets]
    if not names or len(set(names)) != len(names):
        raise UsageError("target names must be unique", where=str(path))
    for kind in (kind for target in targets for kind in target.kinds or ()):
        if kind not in KINDS:
            raise UnknownNameError("event kind", kind, KINDS, where=str(path))
    return targets
