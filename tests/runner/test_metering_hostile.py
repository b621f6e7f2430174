"""Input from an agent's socket and from an endpoint is bounded, and neither side can fool the other."""

from __future__ import annotations

import http.client
import json
import socket
import time
from pathlib import Path

import pytest

from agents.model_server import Script
from agents.test_model_server import PATHS, body_of
from runner.metered import KEY, TOKEN, metered, raw_endpoint

BODY = json.dumps(body_of("messages", results=0)).encode()
HEAD = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {TOKEN}\r\n"


def request(headers: str, body: bytes = b"") -> bytes:
    return f"{HEAD}{headers}\r\n\r\n".encode() + body


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01 no HTTP\r\n\r\n", 400),
        (b"get /v1/messages HTTP/1.1\r\n\r\n", 400),
        (b"POST /v1/messages HTTP/2\r\n\r\n", 400),
        (b"POST /v1/mess ages HTTP/1.1\r\n\r\n", 400),
        (request("bad header"), 400),
        (request(": none"), 400),
        (request("x y: z"), 400),
        (request("a: b\x00c"), 400),
        (request("a: b\r\n folded"), 400),
        (request("content-length: 3\r\ncontent-length: 4", b"{}{}"), 400),
        (request("content-length: -3"), 400),
        (request("content-length: 3\r\ntransfer-encoding: chunked", b"0\r\n\r\n"), 400),
        (request("transfer-encoding: gzip, chunked", b"0\r\n\r\n"), 400),
        (request("transfer-encoding: chunked", b"zz\r\n"), 400),
        (request("transfer-encoding: chunked", b"2\r\nabc\r\n0\r\n\r\n"), 400),
        (request("transfer-encoding: chunked", b"1" * 100_000), 431),
        (request("transfer-encoding: chunked", b"0\r\n" + b"a: b\r\n" * 1_000), 431),
        (request("x: " + "y" * 70_000), 431),
        (request("\r\n".join(f"x-{n}: y" for n in range(300))), 431),
        (request("content-length: 100000000000", b"x" * 10_000), 413),
    ],
)
def test_a_request_that_is_none_gets_an_error_and_reaches_nobody(
    sent: bytes, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.runner._metering_proxy.MAX_BODY_BYTES", 5_000)
    with metered(tmp_path) as proxy:
        assert status_of(proxy.raw(sent)) == status
        assert (proxy.server.calls, proxy.count().calls) == ([], ())
        assert proxy.ask().status == 200


def test_a_body_in_chunks_arrives_whole_and_nothing_behind_it_does(tmp_path: Path) -> None:
    chunks = b"".join(b"%x;name=value\r\n%c\r\n" % (1, byte) for byte in BODY) + b"0\r\ntrailer: x\r\n\r\n"
    with metered(tmp_path) as proxy:
        answer = proxy.raw(request("transfer-encoding: chunked\r\nconnection: close", chunks + request("smuggled: 1")))
        assert status_of(answer) == 200
        assert answer.endswith(proxy.server.sent[0])
        assert len(proxy.server.calls) == 1


def test_what_an_agent_says_of_itself_does_not_reach_the_endpoint(tmp_path: Path) -> None:
    headers = {
        "x-api-key": TOKEN,
        "Host": "elsewhere.example",
        "Cookie": "a=b",
        "Connection": "close, x-secret",
        "X-Forwarded-For": "1.2.3.4",
        "OpenAI-Organization": "someone",
        "Accept-Encoding": "gzip, br",
        "anthropic-beta": "kept",
    }
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nset-cookie: a=b\r\nrequest-id: kept\r\n\r\n{}"
    with raw_endpoint(answer) as (url, heard), metered(tmp_path, url=f"{url}/base") as proxy:
        told = proxy.ask(headers=headers)
        (asked,) = heard
    head, _, body = asked.partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"POST /base/v1/messages HTTP/1.1",
        f"host: {url.removeprefix('http://')}".encode(),
        b"anthropic-beta: kept",
        f"x-api-key: {KEY}".encode(),
        b"accept-encoding: identity",
        f"content-length: {len(BODY)}".encode(),
    ]
    assert body == BODY
    assert told.headers["request-id"] == "kept"
    assert "set-cookie" not in told.headers


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/steal\r\ncontent-length: 0\r\n\r\n", "redirects"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nxx", "compressed"),
        (b"SSH-2.0-x\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n", "invalid transfer-encoding"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", "headers larger than"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, "no final response"),
    ],
)
def test_an_answer_that_is_none_becomes_an_error_of_the_meter(answer: bytes, words: str, tmp_path: Path) -> None:
    with raw_endpoint(answer) as (url, heard), metered(tmp_path, url=url) as proxy:
        told = proxy.ask()
        (call,) = proxy.count().calls
        assert len(heard) == 1  # nobody is asked twice, and no redirect is followed
    assert told.status == 502
    assert words in told.message
    assert words in str(call.error)
    assert "location" not in told.headers
    assert call.is_lower_bound == (b"302" not in answer)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\n", b""])
def test_an_endpoint_that_closes_closes_for_the_agent(answer: bytes, tmp_path: Path) -> None:
    with raw_endpoint(answer) as (url, heard), metered(tmp_path, url=url) as proxy:
        with pytest.raises(http.client.RemoteDisconnected):
            proxy.ask()
        (call,) = proxy.count().calls
        assert len(heard) == 1  # nobody is asked twice
    assert call.error == "the connection to the endpoint was lost: connection closed by the endpoint"
    assert call.is_lower_bound


def test_an_answer_that_only_announces_another_is_passed_over(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    with raw_endpoint(answer) as (url, _), metered(tmp_path, url=url) as proxy:
        assert (proxy.ask().body, proxy.count().is_lower_bound) == (b"{}", True)


def test_connections_and_calls_of_a_try_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.runner._metering_proxy.MAX_CONNECTIONS", 3)
    monkeypatch.setattr("steelyard.runner._metering_proxy.MAX_CALLS", 2)
    with metered(tmp_path, Script(has_many_calls=True)) as proxy:
        kept = []
        for _ in range(3):
            agent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            agent.connect(str(proxy.admission.socket))
            kept.append(agent)
        time.sleep(0.1)
        assert proxy.raw(request("content-length: 0")) == b""
        for agent in kept:
            agent.close()
        time.sleep(0.1)
        assert [proxy.ask().status for _ in range(4)] == [200, 200, 400, 400]
        assert (proxy.count().rejection, len(proxy.server.calls)) == ("too_many_calls", 2)


def test_requests_that_are_there_at_the_same_time_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.runner._metering_proxy.MAX_BODIES", 50_000)
    with metered(tmp_path) as proxy, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as slow:
        slow.connect(str(proxy.admission.socket))
        slow.sendall(request("content-length: 50000", b"x" * 49_000))
        time.sleep(0.1)
        assert status_of(proxy.raw(request("content-length: 2000", b"x" * 2_000))) == 413
        slow.close()
        time.sleep(0.1)
        assert proxy.ask().status == 200


def test_deep_and_broken_bodies_are_the_endpoints_to_refuse(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}"
    with raw_endpoint(answer) as (url, heard), metered(tmp_path, url=url, api="chat") as proxy:
        for body in (b"[" * 100_000, b'{"stream": true, "model": ' + b"[" * 50_000, b"\xff\xfe", b"{}" * 3, b""):
            assert proxy.ask(body).status == 400
            assert heard[-1].endswith(b"\r\n\r\n" + body)
        assert {call.model_asked for call in proxy.count().calls} == {None}


def test_a_long_model_name_is_cut(tmp_path: Path) -> None:
    with metered(tmp_path, api="chat") as proxy:
        proxy.ask({**body_of("chat", results=0), "model": "m" * 10_000})
        (call,) = proxy.count().calls
        assert (call.model_asked, call.model_answered) == ("m" * 200, "m" * 200)


def test_a_client_that_waits_to_be_told_to_go_on_is_told(tmp_path: Path) -> None:
    with metered(tmp_path) as proxy, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
        agent.settimeout(10)
        agent.connect(str(proxy.admission.socket))
        agent.sendall(request(f"content-length: {len(BODY)}\r\nexpect: 100-continue"))
        assert agent.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        agent.sendall(BODY)
        assert status_of(agent.recv(100)) == 200


def test_an_old_client_gets_its_stream_up_to_the_end_of_the_connection(tmp_path: Path) -> None:
    body = json.dumps(body_of("messages", results=0, streamed=True)).encode()
    head = f"POST {PATHS['messages']} HTTP/1.0\r\nx-api-key: {TOKEN}\r\ncontent-length: {len(body)}\r\n\r\n"
    with metered(tmp_path) as proxy:
        answer = proxy.raw(head.encode() + body)
        assert answer.partition(b"\r\n\r\n")[2] == proxy.server.sent[0]
        assert b"connection: close" in answer.lower()
