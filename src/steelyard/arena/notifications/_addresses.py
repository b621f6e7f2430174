"""Which addresses messages may go to: decided on the address that is connected to, whatever name it has."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Literal

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
