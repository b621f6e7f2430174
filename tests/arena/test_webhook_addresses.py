"""Where a webhook may go is decided on the address that is connected to. Nothing here leaves the machine."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from steelyard.arena.notifications import _delivery
from steelyard.arena.notifications._delivery import NoAnswer, send
from steelyard.arena.notifications._targets import Network, Target, refusal

MESSAGE: dict[str, Any] = {"event_id": "e", "kind": "k", "body": b"{}", "timestamp": 1}

KINDS = {
    "public": ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
    "private": ["10.0.0.7", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "fec0::1", "::ffff:10.0.0.7"],
    "loopback": ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"],
    "never": [
        "169.254.169.254",
        "fe80::1",
        "fe80::1%1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "0.0.0.0",  # noqa: S104 - an address to refuse: Linux connects to itself by it
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "::7f00:1",
    ],
}
ALLOWED: dict[Network, set[str]] = {"public": {"public"}, "private": {"public", "private"}, "loopback": {"loopback"}}


@pytest.mark.parametrize("network", ALLOWED)
@pytest.mark.parametrize(("kind", "address"), [(kind, address) for kind in KINDS for address in KINDS[kind]])
def test_every_address_is_of_one_kind(network: Network, kind: str, address: str) -> None:
    refused = refusal(address, network=network, is_secure=True)
    assert (refused is None) == (kind in ALLOWED[network])
    if kind == "never":
        assert refused is not None
        assert "not allowed" in refused
    elif refused is not None:
        assert f'network = "{kind}"' in refused


@pytest.mark.parametrize("address", KINDS["public"])
def test_nothing_goes_to_a_public_address_in_the_clear(address: str) -> None:
    assert refusal(address, network="private", is_secure=False) == f"{address} is a public address; use https"


class Handler(BaseHTTPRequestHandler):
    hosts: ClassVar[list[str | None]] = []

    def do_POST(self) -> None:
        self.hosts.append(self.headers["Host"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening(context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A receiver on loopback, and its port."""
    Handler.hosts.clear()
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


class Names:
    """Stands in for the system's resolver: what each look-up of a name gives, in turn; the last for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, **_: object) -> list[Any]:
        self.asked.append(host)
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]


@pytest.mark.parametrize("network", ["public", "private"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"])
def test_a_name_that_leads_inside_is_not_connected_to(
    network: Network, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("it was connected to")

    monkeypatch.setattr("socket.socket.connect", connect)
    target = Target(name="a", url="https://hooks.example.org/", network=network)
    answer = send(target, **MESSAGE, resolve=Names([address]))
    assert isinstance(answer, NoAnswer)
    assert answer.startswith(f"hooks.example.org: {address} is a")


def test_what_is_checked_is_what_is_connected_to() -> None:
    with listening() as port:
        target = Target(name="a", url=f"http://hooks.internal:{port}/hook", network="loopback", seconds=2)
        # The second answer is the one that a resolver under somebody else's control would give to a second question.
        names = Names(["127.0.0.1"], ["169.254.169.254"])
        assert send(target, **MESSAGE, resolve=names) is None
        assert names.asked == ["hooks.internal"]
        assert Handler.hosts == [f"hooks.internal:{port}"]
        assert "link-local" in str(send(target, **MESSAGE, resolve=names))
        assert len(Handler.hosts) == 1


def test_of_several_addresses_only_those_that_are_allowed_are_tried() -> None:
    with listening() as port:
        target = Target(name="a", url=f"http://hooks.internal:{port}/", network="loopback", seconds=2)
        assert send(target, **MESSAGE, resolve=Names(["169.254.169.254", "10.0.0.7", "127.0.0.1"])) is None
        assert len(Handler.hosts) == 1


def test_a_name_without_an_address_is_an_error() -> None:
    target = Target(name="a", url="https://hooks.example.org/", seconds=2)
    assert send(target, **MESSAGE, resolve=Names([])) == "OSError: cannot resolve hooks.example.org"


def test_the_receiver_has_to_prove_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=hooks.internal"
    files = "-addext subjectAltName=DNS:hooks.internal -keyout key.pem -out certificate.pem"
    subprocess.run([*made.split(), *files.split()], cwd=tmp_path, check=True, capture_output=True)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    trusted = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
    with listening(served) as port:
        right, wrong = (
            Target(name="a", url=f"https://{host}:{port}/", network="loopback", seconds=5)
            for host in ("hooks.internal", "other.internal")
        )
        names = Names(["127.0.0.1"])
        assert "certificate verify failed" in str(send(right, **MESSAGE, resolve=names))  # nobody vouches for it
        monkeypatch.setattr(_delivery, "_trusted", lambda: trusted)
        assert send(right, **MESSAGE, resolve=names) is None
        assert "certificate verify failed" in str(send(wrong, **MESSAGE, resolve=names))
        assert Handler.hosts == [f"hooks.internal:{port}"]
