"""Every declared route against requests that are wrong or hostile: the right status, and nothing given away.

`Served.ask` wants the security headers on every answer; `told` here wants that no answer tells a path or a trace.
"""

from __future__ import annotations

import itertools
import json
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from sqlalchemy import update

import steelyard as sy
from serving import SECURITY, Answer, Served, serving
from steelyard.questions import ArenaSource
from steelyard.server import API, ROUTES, Route, ServeOptions
from steelyard.server._app import Application
from steelyard.server._guard import LOOPBACK, Guard
from steelyard.store.schema import tokens as token_rows

JSON, NDJSON = "application/json", "application/x-ndjson"
VALUES = {
    "task": "task",
    "submission": "s1",
    "prompt": "p",
    "run": "r",
    "metric": "cost_usd",
    "season": "2026-11",
    "agent": "ant",
}
QUERIES = {
    "/changes": "since=2026-01-01",
    "/find": "pattern=a",
    "/history": "submitter=submit",
    "/compare": "baseline=agent=x&candidate=agent=y",
    "/gate": "rule=pass_rate+%3E%3D+0.3",
}
BODIES: dict[str, Any] = {
    "/submissions": {
        "id": "s1",
        "task_id": "task",
        "total_tokens": 5,
        "tool_calls": 1,
        "agent": "ant",
        "submitter": "submit",
    },
    "/runs": {
        "id": "s2",
        "task": "task",
        "usage": {"input_tokens": 4, "output_tokens": 1},
        "tool_calls": 1,
        "passed": True,
    },
    "/tasks": {"id": "task"},
    "/users": {"kind": "person", "id": "ada"},
    "/submissions/{submission}/ratings": {"score": 70},
    "/assignments": {"task": "task", "reviewers": ["ada", "bob"], "per_submission": 1},
    "/seasons": {"season": "2026-12"},
    "/models": {},
    "/submissions/{submission}/accept": {},
    "/submissions/{submission}/exclude": {"reason": "odd"},
    "/submissions/{submission}/reinstate": {},
    "/submissions/{submission}/withdraw": {},
}
"""For each route that writes what it takes; sent again it changes nothing. A season takes a new name each time."""
SEASONS = itertools.count(12)
LEAKS = re.compile(rb"Traceback|File \"|site-packages|/usr/|/tmp/|/root/|/home/|steelyard/server|sqlite:/|\.py\b")
STREAMS = {"/events"}
"""Routes whose answer does not end."""


def path_of(route: Route, **values: str) -> str:
    own = {"submission": "withdrawn"} if route.path.endswith("/withdraw") else {}
    filled = re.sub(r"\{(\w+)\}", lambda match: {**VALUES, **own, **values}[match[1]], route.path)
    return f"{API}{filled}" + (f"?{QUERIES[route.path]}" if route.path in QUERIES else "")


READS = [route for route in ROUTES if route.method == "GET" and route.path not in STREAMS]
WRITES = [route for route in ROUTES if route.method == "POST"]
PAGES = sorted(
    {re.sub(r"\{(\w+)\}", lambda match: VALUES[match[1]], route.page_path) for route in READS if route.page_path}
)


def test_every_route_that_writes_stands_in_the_law() -> None:
    assert {route.path for route in WRITES} == BODIES.keys()
    assert {route.method for route in ROUTES} == {"GET", "POST"}
    assert all(route.scope not in (None, "read") for route in WRITES)
    assert all(route.scope is None for route in ROUTES if route.method == "GET")


class Keys(NamedTuple):
    """Tokens, by what they are worth."""

    right: dict[str, str]
    expired: str
    revoked: str


@pytest.fixture(scope="module", autouse=True)
def _guessing() -> Iterator[None]:
    """More invalid tokens than the limit of one address, which test_limits.py tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steelyard.server._site.MAX_FAILURES", 100_000)
        yield


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ArenaSource:
    arena = sy.init_arena(f"sqlite:///{tmp_path_factory.mktemp('guarded')}/arena.db", profile="arena-community")
    arena.add_task({"id": "task"})
    arena.submit([BODIES["/submissions"], {**BODIES["/submissions"], "id": "withdrawn"}])
    arena.season_create("2026-11")
    return ArenaSource(arena)


@pytest.fixture(scope="module")
def keys(source: ArenaSource) -> Keys:
    arena: Any = source.arena
    right = {
        scope: sy.create_token(scope, scopes=[scope], store=arena).token
        for scope in ("submit", "review", "admin", "read")
    }
    expired = sy.create_token("expired", scopes=["admin"], store=arena).token
    with arena.store.write() as connection:
        connection.execute(update(token_rows).where(token_rows.c.name == "expired").values(expires_at=1))
    revoked = sy.create_token("revoked", scopes=["admin"], store=arena).token
    sy.revoke_token("revoked", store=arena)
    return Keys(right, expired, revoked)


@pytest.fixture(scope="module")
def served(source: ArenaSource, keys: Keys) -> Iterator[Served]:
    with serving(source, ServeOptions(write=True)) as server:
        yield server


@pytest.fixture(scope="module")
def private(source: ArenaSource, keys: Keys) -> Iterator[Served]:
    """As it is served to other machines; the tests reach it on loopback all the same."""
    with serving(source, ServeOptions(host="0.0.0.0", write=True)) as server:  # noqa: S104 - only the rules of it
        yield server


def told(answer: Answer, where: str) -> Answer:
    """The answer, if it gives nothing away; what is wrong is told as a problem."""
    leak = LEAKS.search(answer.body)
    assert leak is None, f"{where}: {answer.body[max(0, leak.start() - 100) : leak.end() + 100]!r}"
    assert answer.status != 500, f"{where}: {answer.body!r}"
    if answer.status >= 400 and where.startswith(API) and answer.body:
        assert answer.headers["content-type"] == "application/problem+json", where
        problem = answer.json
        assert problem["status"] == answer.status
        assert {"type", "title", "detail", "instance", "kind", "hint"} <= problem.keys()
        assert problem["type"] == f"/problems/{problem['kind']}"
    return answer


def read(server: Served, path: str, **headers: str) -> Answer:
    return told(server.ask(path, headers={name.replace("_", "-"): value for name, value in headers.items()}), path)


def write(
    server: Served,
    route: Route,
    token: str | None,
    headers: Mapping[str, str] | None = None,
    *,
    body: bytes | None = None,
    path: str | None = None,
) -> Answer:
    given = {"season": f"2026-{next(SEASONS)}"} if route.path == "/seasons" else BODIES[route.path]
    content = json.dumps(given).encode() if body is None else body
    whole = {"Content-Type": JSON, **({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
    path = path or path_of(route)
    return told(server.ask(path, "POST", headers=whole, body=content), path)


def test_what_is_right_is_answered(served: Served, keys: Keys) -> None:
    """Without it, every refusal below could have another reason."""
    for route in WRITES:
        assert write(served, route, keys.right[route.scope or ""]).status in (200, 201), route.path
    for route in READS:
        answer = read(served, path_of(route))
        assert answer.status == 200 or answer.json["kind"] == "not_in_source", route.path


FOREIGN = (
    *("evil.test", "localhost.evil.test", "127.0.0.1.evil.test", "evil.test:80", "localhost@evil.test", "[::2]"),
    *("127.0.0.2", "localhost:a", ""),
)


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_host_is_refused(served: Served, keys: Keys, host: str) -> None:
    for route in READS:
        answer = read(served, path_of(route), Host=host)
        assert (answer.status, answer.json["kind"]) == (421, "unknown_host"), route.path
        assert "--allow-host" in answer.json["hint"]
    for route in WRITES:
        assert write(served, route, keys.right["admin"], {"Host": host}).status == 421, route.path
    for path in PAGES:
        assert read(served, path, Host=host).status == 421, path


def test_another_site_may_neither_read_nor_write(served: Served, keys: Keys) -> None:
    for route in READS:
        path = path_of(route)
        assert read(served, path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors").status == 403, path
        assert read(served, path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403, path
        assert read(served, path, Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors").status != 403, path
    origin = f"http://127.0.0.1:{served.port}"
    for route in WRITES:
        for headers in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
            {"Origin": "http://evil.test"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:1"},
            {"Origin": f"http://localhost.evil.test:{served.port}"},
            {"Origin": f"{origin}.evil.test"},
            {"Sec-Fetch-Site": "same-site", "Origin": origin},
        ):
            answer = write(served, route, keys.right["admin"], headers)
            assert (answer.status, answer.json["kind"]) == (403, "cross_site"), (route.path, headers)
        own = {"Sec-Fetch-Site": "same-origin", "Origin": origin}
        assert write(served, route, keys.right[route.scope or ""], own).status in (200, 201), route.path


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", "", "json"],
)
def test_a_body_of_another_type_is_refused(served: Served, keys: Keys, kind: str) -> None:
    for route in WRITES:
        answer = write(served, route, keys.right["admin"], {"Content-Type": kind})
        assert (answer.status, answer.json["kind"]) == (415, "content_type"), route.path


@pytest.mark.parametrize("packed", ["gzip", "deflate", "br", "gzip, gzip", ""])
def test_a_packed_body_is_refused(served: Served, keys: Keys, packed: str) -> None:
    for route in WRITES:
        answer = write(served, route, keys.right["admin"], {"Content-Encoding": packed})
        assert (answer.status, answer.json["kind"]) == (415, "content_encoding"), route.path


def test_many_records_are_taken_only_where_many_are_declared(served: Served, keys: Keys) -> None:
    for route in WRITES:
        answer = write(served, route, keys.right[route.scope or ""], {"Content-Type": NDJSON})
        assert answer.status == (200 if route.many else 415), route.path


def test_a_token_that_does_not_hold_is_refused(served: Served, private: Served, keys: Keys) -> None:
    right = keys.right["admin"]
    wrong = [None, keys.expired, keys.revoked, right[:-1], right + "x", "x", "sytk_" + "0" * 60, "x" * 5_000]
    for token in wrong:
        answers = [write(served, route, token) for route in WRITES]
        answers += [
            read(private, path_of(route), **({"Authorization": f"Bearer {token}"} if token else {})) for route in READS
        ]
        for answer in answers:
            assert (answer.status, answer.json["kind"]) == (401, "not_authenticated")
            assert answer.headers["www-authenticate"] == 'Bearer realm="steelyard"'
    for route in WRITES:
        assert write(served, route, None, {"Authorization": f"Basic {right}"}).status == 401
        assert write(served, route, None, path=f"{path_of(route)}?token={right}").status == 401
    for path in PAGES:
        assert read(private, path).status == 401, path
    for route in READS:
        assert read(private, path_of(route), Authorization=f"Bearer {keys.right['read']}").status != 401


def test_a_token_of_another_scope_is_refused(served: Served, keys: Keys) -> None:
    for route in WRITES:
        for scope, token in keys.right.items():
            answer = write(served, route, token)
            if scope in (route.scope, "admin"):
                assert answer.status in (200, 201) or route.path.endswith("/withdraw"), (route.path, scope)
            else:
                assert (answer.status, answer.json["kind"]) == (403, "permission_denied"), (route.path, scope)


def test_a_body_of_nine_megabytes_is_refused(served: Served, keys: Keys) -> None:
    large = b'{"id": "' + b"x" * (9 << 20) + b'"}'
    for route in WRITES:
        answer = write(served, route, keys.right["admin"], body=large)
        assert (answer.status, answer.json["kind"]) == (413, "too_large"), route.path


def exchange(server: Served, sent: bytes, *, timeout: float = 30.0) -> Answer:
    """The answer to bytes that need not be a request."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as client:
        with suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
            client.sendall(sent)
        received = b""
        while piece := client.recv(1 << 16):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(first.split()[1]), headers, body)


def head(server: Served, path: str, method: str = "GET", *, host: str | None = None, **headers: str) -> bytes:
    told_host = f"127.0.0.1:{server.port}" if host is None else host
    lines = [f"{method} {path} HTTP/1.1", f"Host: {told_host}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def test_a_body_without_a_length_is_bounded_too(served: Served, keys: Keys) -> None:
    chunk = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
    for route in WRITES:
        start = head(
            served,
            path_of(route),
            "POST",
            **{"Content-Type": JSON, "Authorization": f"Bearer {keys.right['admin']}", "Transfer-Encoding": "chunked"},
        )
        answer = exchange(served, start + chunk * 9 + b"0\r\n\r\n")
        assert answer.status == 413, route.path
        assert answer.headers.keys() >= SECURITY


def test_a_length_that_is_a_lie_is_refused(served: Served, keys: Keys) -> None:
    for length in (str(65 << 20), "9" * 30):
        for route in WRITES:
            headers = {
                "Content-Type": NDJSON,
                "Authorization": f"Bearer {keys.right['admin']}",
                "Content-Length": length,
                "Expect": "100-continue",
            }
            answer = exchange(served, head(served, path_of(route), "POST", **headers))
            assert answer.status in (400, 413, 415), route.path
            assert answer.headers.keys() >= SECURITY


DEEP: dict[str, bytes] = {
    "arrays": b"[" * 200_000,
    "closed arrays": b"[" * 50_000 + b"]" * 50_000,
    "objects": b'{"a":' * 100_000,
    "in a field": b'{"id": "x", "task_id": "task", "judgments": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "in an own field": b'{"task": "task", "x_own": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "in a criterion": b'{"id": "x", "success_criteria": ' + b'[{"a":' * 30_000 + b"1" + b"}]" * 30_000 + b"}",
    "a huge number": b'{"id": "x", "total_tokens": ' + b"9" * 100_000 + b"}",
    "a huge exponent": b'{"id": "x", "total_tokens": 1e999999}',
    "lone surrogate": b'{"id": "\\ud800", "decision": "\\ud800"}',
    "no text": b'{"id": "\xff\xfe"}',
    "nothing": b"",
    "NUL": b'{"id": "a\\u0000b", "task_id": "task", "total_tokens": 1, "tool_calls": 1}',
    "many keys": b"{" + b",".join(b'"k%d":1' % number for number in range(50_000)) + b"}",
    "a key twice": b'{"id": "x", "id": "y", "decision": "accept", "decision": "delete"}',
}


@pytest.mark.parametrize("body", DEEP.values(), ids=list(DEEP))
def test_json_that_is_deep_or_odd_is_refused(served: Served, keys: Keys, body: bytes) -> None:
    for route in WRITES:
        answer = write(served, route, keys.right["admin"], body=body)
        assert answer.status in (400, 403, 409, 422), (route.path, answer.body[:200])
        if route.many:
            lines = write(served, route, keys.right["admin"], {"Content-Type": NDJSON}, body=body)
            assert lines.status == 200
            assert json.loads(lines.body.splitlines()[-1])["totals"]["accepted"] == 0


TRICKS = (
    "/../../etc/passwd",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/....//....//etc/passwd",
    "/%c0%ae%c0%ae/etc/passwd",
    "/..\\..\\etc\\passwd",
    "/%00",
    "/a%00.csv",
    "//evil.test/",
    "/%2f%2fevil.test",
    "/;/",
    "/.",
    "/%",
    "/%zz",
    "/%ff%fe",
    "/%F0%9F%92%A9",
    "/" + "a" * 9_000,
    "/" + "%61" * 3_000,
    "/" + "/".join("abc" * 200),
    "/file:%2f%2f%2fetc%2fpasswd",
    "/.csv",
    "/..csv",
    "/'%20OR%20'1'='1",
    "/%0d%0aX-Evil:%201",
)


@pytest.mark.parametrize("trick", TRICKS, ids=[trick[:24] for trick in TRICKS])
def test_a_path_that_tricks_finds_nothing(served: Served, keys: Keys, trick: str) -> None:
    for start in ("", API, "/assets", f"{API}/tasks", f"{API}/submissions", "/tasks", "/runs"):
        answer = exchange(served, head(served, start + trick))
        told(answer, start + trick if start.startswith("/api") else "/")
        assert answer.status in (400, 404, 414) or (start, trick) == ("", "/.csv"), (start, answer.status)
        assert answer.headers.keys() >= SECURITY
        assert b"root:" not in answer.body
        assert "x-evil" not in answer.headers
    for route in ROUTES:
        if route.parameters and route.path not in STREAMS:
            path = path_of(route, **dict.fromkeys(route.parameters, trick.removeprefix("/")))
            token = {"Content-Type": JSON, "Authorization": f"Bearer {keys.right['admin']}", "Content-Length": "2"}
            sent = head(served, path, route.method, **(token if route.method == "POST" else {}))
            answer = exchange(served, sent + (b"{}" if route.method == "POST" else b""))
            told(answer, "/")
            assert 400 <= answer.status < 500, (route.path, answer.status)


def test_ten_thousand_ids_are_refused_or_answered_in_time(served: Served, keys: Keys) -> None:
    many = "&".join(f"agent=a{number}" for number in range(10_000))
    listed = ",".join(f"a{number}" for number in range(10_000))
    for route in READS:
        start = path_of(route)
        for query in (many, f"by={listed}", f"after={listed}"):
            begun = time.monotonic()
            answer = exchange(served, head(served, f"{start}{'&' if '?' in start else '?'}{query}"))
            told(answer, "/")
            assert answer.status in (400, 404, 414), (route.path, answer.status)
            assert time.monotonic() - begun < 5
    body = {"id": "ids", "task_id": "task", "total_tokens": 1, "tool_calls": 1}
    lines = b"".join(json.dumps({**body, "id": f"ids-{number}"}).encode() + b"\n" for number in range(10_000))
    (route,) = [route for route in WRITES if route.path == "/submissions"]
    answer = write(served, route, keys.right["submit"], {"Content-Type": NDJSON}, body=lines)
    assert json.loads(answer.body.splitlines()[-1])["totals"]["lines"] == 10_000


def test_a_header_that_decides_stands_once(served: Served, keys: Keys) -> None:
    for route in READS:
        path, own = path_of(route), f"127.0.0.1:{served.port}"
        for first, second in ((own, "evil.test"), ("evil.test", own)):
            sent = f"GET {path} HTTP/1.1\r\nHost: {first}\r\nHost: {second}\r\nConnection: close\r\n\r\n"
            assert exchange(served, sent.encode()).status in (400, 421), path
        assert exchange(served, f"GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n".encode()).status in (400, 421), path
        assert (
            exchange(
                served, f"GET http://evil.test{path} HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n".encode()
            ).status
            >= 400
        )


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND", "get", "X" * 100])
def test_other_methods_are_refused(served: Served, method: str) -> None:
    for route in ROUTES:
        answer = exchange(
            served, head(served, path_of(route), method, **{"Content-Type": JSON, "Content-Length": "2"}) + b"{}"
        )
        assert answer.status in (400, 405), (route.path, answer.status)
        told(answer, "/")


def test_reading_takes_no_body_and_head_tells_none(served: Served) -> None:
    for route in READS:
        assert served.ask(path_of(route), "HEAD").body == b"", route.path
        allowed = served.ask(path_of(route), "OPTIONS")
        assert (allowed.status, "GET" in allowed.headers["allow"]) == (204, True), route.path
        assert "access-control-allow-origin" not in allowed.headers


@pytest.fixture(scope="module")
def impatient(source: ArenaSource, keys: Keys) -> Iterator[Served]:
    """The same, with a third of a second for a body."""
    from steelyard.server import _server_process

    def guarded(site: Any, options: ServeOptions) -> Guard:
        return Guard(Application(site), LOOPBACK, patience=0.3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("serving.guarded", guarded)
        assert _server_process.guarded is not guarded
        with serving(source, ServeOptions(write=True)) as server:
            yield server


def test_a_client_that_is_slow_is_not_waited_for(impatient: Served, keys: Keys) -> None:
    def stall(route: Route, kind: str) -> tuple[str, int]:
        headers = {"Content-Type": kind, "Authorization": f"Bearer {keys.right['admin']}", "Content-Length": "100"}
        return route.path, exchange(impatient, head(impatient, path_of(route), "POST", **headers) + b'{"id"').status

    for route in WRITES:
        assert stall(route, JSON) == (route.path, 408)
        if route.many:
            assert stall(route, NDJSON) == (route.path, 408)


def test_a_client_that_trickles_is_not_waited_for(impatient: Served, keys: Keys) -> None:
    """Each byte comes in time, and the whole does not."""
    headers = {"Content-Type": JSON, "Authorization": f"Bearer {keys.right['admin']}", "Content-Length": "1000"}
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=10) as client:
        client.sendall(head(impatient, f"{API}/tasks", "POST", **headers))
        begun = time.monotonic()
        with suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() - begun < 5:
                client.sendall(b" ")
                time.sleep(0.05)
        assert time.monotonic() - begun < 5


def test_slow_clients_do_not_keep_others_waiting(impatient: Served) -> None:
    half = b"GET /api/v1/healthz HTTP/1.1\r\nHost: 127.0.0.1"
    clients = [socket.create_connection(("127.0.0.1", impatient.port), timeout=10) for _ in range(100)]
    try:
        for client in clients:
            client.sendall(half)
        begun = time.monotonic()
        assert impatient.ask(f"{API}/healthz").status == 200
        assert time.monotonic() - begun < 2
    finally:
        for client in clients:
            client.close()


def test_an_error_of_ours_tells_an_id_and_no_more(
    served: Served, keys: Keys, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_given: object, **_named: object) -> None:
        raise RuntimeError("secret at /tmp/somewhere/else.py")

    monkeypatch.setattr("steelyard.server._routes.add_task_from", broken)
    headers = {"Content-Type": JSON, "Authorization": f"Bearer {keys.right['admin']}"}
    answer = served.ask(f"{API}/tasks", "POST", headers=headers, body=b"{}")
    assert (answer.status, answer.json["kind"]) == (500, "internal")
    assert LEAKS.search(answer.body) is None
    assert b"secret" not in answer.body
    identity = answer.json["instance"].partition("#")[2]
    assert identity
    assert identity in caplog.text


def test_a_connection_whose_request_does_not_come_is_closed(
    source: ArenaSource, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.server._server_process.Protocol.head_seconds", 0.3)
    with serving(source) as server:
        whole = head(server, f"{API}/healthz").replace(b"Connection: close\r\n", b"")
        for before, first in ((b"", b""), (b"", b"GET / HTTP/1.1\r\nHost: 127"), (whole, b"GET /")):
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
                client.sendall(before)
                assert not before or b"200 OK" in client.recv(1 << 16)
                client.sendall(first)
                begun = time.monotonic()
                while client.recv(1 << 16):
                    pass
                assert 0.2 < time.monotonic() - begun < 3, first
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            client.sendall(head(server, f"{API}/events"))
            time.sleep(0.6)  # a stream whose request came whole stays
            assert b"event: changed" in client.recv(1 << 16)
            client.settimeout(0.2)
            with pytest.raises(TimeoutError):
                client.recv(1 << 16)


def test_no_query_names_a_file() -> None:
    """An option that names a file of this machine on the command line is none over HTTP."""

    from steelyard.questions.speedup import TaskFileOptions

    files = TaskFileOptions.declared.keys() - {"agent", "baseline", "candidate"}
    asked = {
        name
        for route in ROUTES
        for name in route.query.__struct_fields__
        if (route.path, name) != ("/runs/{run}", "tests")
    }  # a flag of `show`
    assert not asked & (files | {"map", "prices", "contract", "store", "out"})
    (route,) = [route for route in ROUTES if route.path == "/speedup"]
    assert not {"agent", "baseline", "candidate", "log"} & set(route.query.__struct_fields__)
