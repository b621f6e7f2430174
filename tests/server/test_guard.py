"""Who may ask, from where, with how much and for how long: the right status, and security headers on every answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import steelyard as sy
from serving import SECURITY, Served, serving
from steelyard.errors import UsageError
from steelyard.questions import RunsSource
from steelyard.records import encode_run
from steelyard.server import ServeOptions
from steelyard.server._guard import LOOPBACK, Guard, host_name
from steelyard.server._problems import without_folders
from steelyard.server._server_process import is_loopback, site_of

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("guarded") / "demo.jsonl"
    path.write_bytes(b"".join(encode_run(run) + b"\n" for run in list(sy.demo_runs())[:20]))
    return path


@pytest.fixture(scope="module")
def served(runs: Path) -> Iterator[Served]:
    with serving(
        RunsSource([runs]), ServeOptions(allow_host=("Dashboard.Example.org",), root_path="/weigh/")
    ) as served:
        yield served


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:9999", 200),  # a tunnel has another port
        ("[::1]:8600", 200),
        ("dashboard.example.org", 200),
        ("dashboard.example.org.", 421),
        ("localhost.evil.test", 421),
        ("evil.test", 421),
        ("127.0.0.1.evil.test:8600", 421),
        ("localhost:80@evil.test", 421),
        ("", 421),
    ],
)
def test_a_server_answers_to_its_names_alone(served: Served, host: str, status: int) -> None:
    answer = served.ask("/api/v1/healthz", headers={"Host": host})
    assert answer.status == status
    if status == 421:
        assert "--allow-host" in answer.json["hint"]


def test_two_names_are_none(served: Served) -> None:
    status, headers = raw(served, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
    assert status in (400, 421)  # h11 refuses it before we can
    status, headers = raw(served, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert status == 421
    assert headers >= SECURITY


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, 200),
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_another_site_may_link_and_not_read(served: Served, headers: dict[str, str], status: int) -> None:
    assert served.ask("/", headers=headers).status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (JSON, 405),  # nothing is written at this address, and nothing else stands in the way
        ({**JSON, "Sec-Fetch-Site": "same-site"}, 403),
        ({**JSON, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**JSON, "Origin": "http://localhost:1"}, 403),
        ({**JSON, "Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({}, 415),
    ],
)
def test_another_site_may_not_write(served: Served, headers: dict[str, str], status: int) -> None:
    assert served.ask("/api/v1/rank", "POST", headers=headers, body=b"{}").status == status


def test_its_own_page_may_write(served: Served) -> None:
    own = {**JSON, "Host": "dashboard.example.org", "Sec-Fetch-Site": "same-origin"}
    for origin in ("http://dashboard.example.org", "https://dashboard.example.org"):
        assert served.ask("/api/v1/rank", "POST", headers={**own, "Origin": origin}, body=b"{}").status == 405


def test_a_body_is_refused_by_its_stated_length_before_it_comes(served: Served) -> None:
    head = b"POST /api/v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    status, headers = raw(served, head + b"Content-Length: %d\r\n\r\n" % (9 << 20))
    assert status == 413
    assert headers >= SECURITY


def test_methods_are_told_and_kept(served: Served) -> None:
    asked = served.ask("/api/v1/rank", "OPTIONS")
    assert (asked.status, asked.headers["allow"], asked.body) == (204, "GET, HEAD, OPTIONS", b"")
    assert "access-control-allow-origin" not in asked.headers
    head, whole = served.ask("/api/v1/rank", "HEAD"), served.ask("/api/v1/rank")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", whole.headers["etag"])
    wrong = served.ask("/api/v1/rank", "DELETE", headers=JSON)
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


@pytest.mark.parametrize(
    "path",
    ["/../etc/passwd", "/api/v1/../../x", "/%2e%2e/%2e%2e/x", "//evil.test/", "/assets/../x.css", "/api/v1/runs/%00"],
)
def test_tricks_with_paths_lead_nowhere(served: Served, path: str) -> None:
    assert served.ask(path).status == 404


def test_an_address_has_an_end(served: Served) -> None:
    assert served.ask("/api/v1/" + "x" * 9_000).status == 414
    assert served.ask("/api/v1/runs?" + "&".join(f"task={number}" for number in range(10_000))).status in (400, 414)
    assert served.ask("/api/v1/runs?" + "&".join(f"task={number}" for number in range(201))).status == 400


def test_links_carry_what_a_proxy_puts_before_them(served: Served) -> None:
    through = served.ask("/weigh/api/v1/runs?limit=1")
    assert through.headers["link"].startswith("</weigh/api/v1/runs?limit=1&after=")
    page = served.ask("/weigh/").body.decode()
    assert 'href="/weigh/assets/steel.' in page
    style = page.partition('href="/weigh')[2].partition('"')[0]
    answer = served.ask(style)
    assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert served.ask(style.replace("steel.", "steel.0")).status == 404


def test_a_slow_body_is_not_waited_for(runs: Path) -> None:
    from steelyard.server._app import Application

    site = site_of(RunsSource([runs]), ServeOptions())
    guard = Guard(Application(site), LOOPBACK, patience=0.2)
    assert status_of_a_silent_client(guard) == 408


def status_of_a_silent_client(guard: Guard) -> int:
    """What is answered to a client that sends the head of a request and then nothing."""
    import asyncio

    sent: list[int] = []

    async def app(scope: object, receive: object, send: object) -> None:
        from starlette.requests import Request

        from steelyard.server._problems import problem_response

        try:
            await Request(scope, receive).body()  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 # as the application answers
            await problem_response(error, "/")(scope, receive, send)  # type: ignore[arg-type]

    async def receive() -> dict[str, object]:
        await asyncio.sleep(60)
        return {}

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            sent.append(int(str(message["status"])))

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"5")],
    }
    guarded = Guard(app, guard.hosts, guard.patience)  # type: ignore[arg-type]
    asyncio.run(guarded(scope, receive, send))  # type: ignore[arg-type]
    (status,) = sent
    return status


def raw(served: Served, request: bytes) -> tuple[int, set[str]]:
    """The status and the names of headers that come back for these bytes."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        connection.sendall(request)
        head = b""
        while b"\r\n\r\n" not in head and (piece := connection.recv(65536)):
            head += piece
    first, *lines = head.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    return int(first.split()[1]), {line.partition(":")[0].lower() for line in lines}


def test_what_strangers_could_reach_is_not_served_unasked(runs: Path) -> None:
    source = RunsSource([runs])
    for host in ("0.0.0.0", "::", "192.0.2.1", "dashboard.example.org"):  # noqa: S104 # nothing is bound here
        with pytest.raises(UsageError, match="would let other machines read"):
            site_of(source, ServeOptions(host=host))
        assert site_of(source, ServeOptions(host=host, public_read=True)).access.public_read
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST", "10.0.0.1")] == [
        True,
        True,
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("host", ["localhost:80:80", "localhost:", "local host", "localhost:\uff18\uff10"])
def test_a_name_with_a_strange_port_is_none_of_ours(host: str) -> None:
    assert host_name(host) not in LOOPBACK


def test_folders_are_left_out_of_what_is_told() -> None:
    for text in ("/home/ada/x.jsonl", "C:\\Users\\ada\\x.jsonl", "'/srv/a b/x.jsonl'"):
        assert "ada" not in without_folders(text)
        assert "srv" not in without_folders(text)
