"""A server for tests: on loopback, in a thread of this process, asked by the standard library's client."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from steelyard.questions import ArenaSource, RunsSource
from steelyard.server import ServeOptions
from steelyard.server._server_process import Server, bound, configured, guarded, site_of
from steelyard.server._site import Site

SECURITY = {
    "content-security-policy",
    "x-content-type-options",
    "referrer-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
}


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # Any: JSON values
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A server that answers."""

    address: str
    site: Site
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    def ask(
        self, path: str, method: str = "GET", *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """One request, exactly as it is written; every answer must have the security headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers={**self.headers, **(headers or {})})
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            answer = Answer(response.status, told, response.read())
        finally:
            connection.close()
        assert told.keys() >= SECURITY, f"{method} {path} lacks {SECURITY - told.keys()}"
        return answer

    def api(self, path: str, **asked: Any) -> Any:  # Any: JSON values
        """The JSON of an answer that must be good."""
        answer = self.ask(f"/api/v1{path}", **asked)
        assert answer.status == 200, answer.body
        return answer.json


@contextmanager
def serving(source: ArenaSource | RunsSource, options: ServeOptions | None = None) -> Iterator[Served]:
    """The source over HTTP while the block runs, at a free port."""
    options = options or ServeOptions()
    site = site_of(source, options)
    source.warm()
    is_ready = threading.Event()
    listening = bound("127.0.0.1", 0)
    server = Server(configured(guarded(site, options)), site, is_ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        assert is_ready.wait(30), "the server did not start"
        yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", site)
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive(), "the server did not stop"
