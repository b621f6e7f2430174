"""No client takes all of the server: open streams, connections, invalid tokens and computations are limited."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from serving import SECURITY, Answer, Served, serving
from steelyard.questions import ArenaSource
from steelyard.questions.token import create_token
from steelyard.server import ServeOptions, _server_process, _site
from steelyard.server._site import FailedTokens


@pytest.fixture
def address(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'arena.db'}"
    sy.init_arena(address)
    return address


@pytest.fixture
def served(address: str) -> Iterator[Served]:
    with serving(ArenaSource(address)) as server:
        yield server


def raw(port: int, request: bytes, *, source: str = "127.0.0.1") -> bytes:
    """What comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0)) as connection:
        connection.sendall(request)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
        return received


def open_stream(port: int, source: str = "127.0.0.1") -> tuple[int, socket.socket]:
    """The status of a new stream, and its connection, which stays open."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0))
    connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return int(connection.recv(12).split()[1]), connection


def test_streams_that_open_at_once_are_counted(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_site, "MAX_STREAMS", 10)
    with ThreadPoolExecutor(40) as pool:
        opened = list(pool.map(open_stream, [served.port] * 40))
    try:
        assert sorted(status for status, _ in opened) == [200] * 10 + [503] * 30
    finally:
        for _, connection in opened:
            connection.close()
    until(lambda: served.site.live.streams == 0)


def until(is_so: Any) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_one_address_cannot_take_all_streams(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_site, "MAX_CLIENT_STREAMS", 3)
    opened = [open_stream(served.port) for _ in range(4)] + [open_stream(served.port, "127.0.0.2")]
    for _, connection in opened:
        connection.close()
    assert [status for status, _ in opened] == [200, 200, 200, 429, 200]


def test_a_stream_that_never_began_gives_up_its_place(served: Served) -> None:
    for _ in range(20):
        connection = socket.create_connection(("127.0.0.1", served.port))
        connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        connection.close()
    until(lambda: served.site.live.streams == 0)


def test_connections_are_limited(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_server_process, "MAX_CONNECTIONS", 5)
    monkeypatch.setattr(_server_process, "MAX_CLIENT_CONNECTIONS", 3)
    held = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(3)]
    time.sleep(0.2)
    answer = raw(served.port, b"")
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b'"kind":"too_many_connections"' in answer
    assert all(f"\r\n{name}: ".encode() in answer.lower() for name in SECURITY)
    held += [socket.create_connection(("127.0.0.1", served.port), source_address=("127.0.0.2", 0)) for _ in range(2)]
    time.sleep(0.2)
    assert raw(served.port, b"", source="127.0.0.3").startswith(b"HTTP/1.1 503 ")
    for connection in held:
        connection.close()
    until(lambda: raw(served.port, HEALTH).startswith(b"HTTP/1.1 200 "))


HEALTH = b"GET /api/v1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
TWO_LENGTHS = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize("head", [b"GET /api/v1/healthz", b"HEAD /", b"OPTIONS /", b"POST /api/v1/submissions"])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_request_with_two_lengths_ends_the_connection(served: Served, head: bytes, *, ordered: bool) -> None:
    lengths = b"\r\n".join(sorted(TWO_LENGTHS.split(b"\r\n")[:2], reverse=ordered)) + b"\r\n"
    begin = head + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    started = time.monotonic()
    answer = raw(served.port, begin + lengths + b"\r\n0\r\n\r\n" + HEALTH)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert time.monotonic() - started < 3, "an idle connection is closed after 5 s"


@pytest.fixture
def guarded(address: str) -> Iterator[tuple[Served, str]]:
    """A server with `--write`, and a valid token."""
    token = create_token("ci", store=address)
    with serving(ArenaSource(address), ServeOptions(write=True)) as server:
        yield server, token.token


def ask_with(served: Served, token: str, source: str = "127.0.0.1") -> Answer:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=30, source_address=(source, 0))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/api/v1/submissions", body=b"{}", headers=headers)
    response = connection.getresponse()
    answer = Answer(response.status, {name.lower(): text for name, text in response.getheaders()}, response.read())
    connection.close()
    return answer


def test_an_address_that_guesses_tokens_is_stopped(guarded: tuple[Served, str]) -> None:
    served, token = guarded
    assert ask_with(served, token).status == 422  # the token is valid; {} is no submission
    wrong = [f"{token[:-4]}{number:04}" for number in range(100)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda each: ask_with(served, each), wrong))
    statuses = [answer.status for answer in answers]
    assert (statuses.count(401), statuses.count(429)) == (_site.MAX_FAILURES, 100 - _site.MAX_FAILURES)
    (stopped, *_) = (answer for answer in answers if answer.status == 429)
    assert 1 <= int(stopped.headers["retry-after"]) <= 60
    assert ask_with(served, token).status == 422  # known before, as that of another client of the same proxy
    assert ask_with(served, wrong[0], "127.0.0.2").status == 401


def test_many_clients_that_begin_at_once_are_not_taken_for_guessing(guarded: tuple[Served, str]) -> None:
    served, token = guarded
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: ask_with(served, token), range(100)))
    assert {answer.status for answer in answers} == {422}


def test_failures_are_forgotten_after_a_minute() -> None:
    now = [0.0]
    failures = FailedTokens(lambda: now[0])
    for _ in range(_site.MAX_FAILURES):
        failures.check("a")
        failures.add("a")
    with pytest.raises(sy.SteelyardError, match="too many invalid tokens"):
        failures.check("a")
    now[0] = _site.FAILURE_SECONDS
    failures.check("a")
    failures.add("a")
    failures.check("a")
