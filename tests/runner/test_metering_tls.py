"""The metering proxy reaches an endpoint with https: checked, and through the proxy that the environment names."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from agents.model_server import model_server
from runner.metered import metered
from steelyard.errors import UsageError
from steelyard.runner._metering_proxy import MeteringProxy
from steelyard.runner._metering_records import ResolvedEndpoint
from steelyard.runner._upstream import address_of, proxy_of


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS on 127.0.0.1, and the certificate that nobody trusts yet."""
    folder = tmp_path_factory.mktemp("certificate")
    made, key = folder / "made.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)]
    try:
        subprocess.run([*words, *names], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return context, made


@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_certificate_is_checked_against_the_systems_store(
    is_trusted: bool, certificate: tuple[ssl.SSLContext, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, made = certificate
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(made))
    with model_server(secured_by=context) as server:
        with metered(tmp_path, url=server.url.replace("http:", "https:")) as proxy:
            answer = proxy.ask()
            (call,) = proxy.count().calls
        assert (answer.status, len(server.calls)) == ((200, 1) if is_trusted else (502, 0))
        if not is_trusted:
            assert str(call.error).startswith("the endpoint's certificate is not trusted: self")


@pytest.mark.parametrize(("status", "is_bypassed"), [(200, False), (407, False), (200, True)])
def test_a_proxy_of_the_environment_is_gone_through(
    status: int,
    is_bypassed: bool,
    certificate: tuple[ssl.SSLContext, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context, made = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(made))
    with model_server(secured_by=context) as server, connect_proxy(status) as (port, asked):
        monkeypatch.setenv("https_proxy", f"http://me:p%40ss@127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1" if is_bypassed else "")
        with metered(tmp_path, url=server.url.replace("http:", "https:")) as proxy:
            answers = [proxy.ask(), proxy.ask()]
            error = proxy.count().calls[0].error
        assert [answer.status for answer in answers] == [200 if status == 200 else 502] * 2
        assert len(server.calls) == (2 if status == 200 else 0)
        heads = [b"CONNECT 127.0.0.1:%d HTTP/1.1" % server.server_port, b"proxy-authorization: Basic bWU6cEBzcw=="]
        assert all(line in head for head in asked for line in heads)
        assert bool(asked) == (not is_bypassed)
        if status != 200:
            assert error == "the proxy in HTTPS_PROXY rejected the connection with status 407"


@contextmanager
def connect_proxy(status: int) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy on loopback: its port, and the heads of what it was asked for."""
    heads: list[bytes] = []

    def serve(peer: socket.socket) -> None:
        with peer:
            head = b""
            while b"\r\n\r\n" not in head:
                head += peer.recv(4_096)
            heads.append(head)
            peer.sendall(b"HTTP/1.1 %d told\r\n\r\n" % status)
            if status != 200:
                return
            with socket.create_connection(("127.0.0.1", int(head.split()[1].split(b":")[1]))) as endpoint:
                ways = [threading.Thread(target=copied, args=pair) for pair in ((peer, endpoint), (endpoint, peer))]
                for way in ways:
                    way.start()
                for way in ways:
                    way.join()

    def copied(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65_536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listening.getsockname()[1], heads
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def test_a_proxy_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = ResolvedEndpoint("e", "chat", "https://models.example")
    monkeypatch.setenv("no_proxy", "")
    for named in ("socks5://h:1", "http://", "h:x"):
        monkeypatch.setenv("https_proxy", named)
        with pytest.raises(UsageError, match="HTTPS_PROXY is not a valid proxy URL"):
            MeteringProxy({"e": endpoint})
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    proxy = proxy_of(address_of(endpoint))
    assert proxy is not None
    assert (proxy.host, proxy.port, proxy.authorization) == ("proxy.example", 3128, ())
