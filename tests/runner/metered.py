"""a metering proxy before a scripted model, and an agent's requests to it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.model_server import Api, ModelServer, Script, model_server
from agents.test_model_server import PATHS, body_of
from steelyard.runner._metering_proxy import Admission, MeteringProxy
from steelyard.runner._metering_records import CallLimits, MeteredCalls, ResolvedEndpoint, read_call_log

KEY = "sk-canary-9f8e7d6c5b4a3210"
TOKEN = "trial-0123456789abcdef"  # noqa: S105 # of a trial of these tests


@dataclass(frozen=True)
class Answered:
    """What an agent got."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> str:
        """The metering proxy's own words."""
        return str(json.loads(self.body)["error"]["message"])


@dataclass(frozen=True)
class Metered:
    """a metering proxy with one execution, and the model behind it."""

    server: ModelServer
    admission: Admission
    log: Path
    api: Api

    def ask(
        self,
        body: Any = None,  # Any: JSON, or the bytes themselves
        *,
        path: str | None = None,
        streamed: bool = False,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """One request of the agent; by default the API's own call."""
        told = body_of(self.api, results=0, streamed=streamed) if body is None else body
        data = told if isinstance(told, bytes) else json.dumps(told).encode()
        given = {"x-api-key": TOKEN} if headers is None else headers
        connection = http.client.HTTPConnection(self.admission.url_outside.removeprefix("http://"), timeout=20)
        try:
            connection.request(method, path or call_path(self.api, streamed=streamed), data, dict(given))
            answer = connection.getresponse()
            return Answered(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """What comes back for bytes that are no client's, through the socket of the execution."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
            agent.settimeout(20)
            agent.connect(str(self.admission.socket))
            received = b""
            with suppress(OSError):  # answered before all was sent, and closed
                agent.sendall(data)
            with suppress(ConnectionResetError):
                while piece := agent.recv(65_536):
                    received += piece
            return received

    def count(self) -> MeteredCalls:
        """The count in the file, which must be the one in memory."""
        counted = self.admission.count()
        assert read_call_log(self.log) == counted
        return counted


def call_path(api: Api, *, streamed: bool = False) -> str:
    return PATHS[api].replace(":generate", ":streamGenerate") if streamed else PATHS[api]


@contextmanager
def metered(
    folder: Path,
    script: Script | None = None,
    *,
    api: Api = "messages",
    limits: CallLimits | None = None,
    transcript: Path | None = None,
    patience_seconds: float = 20.0,
    **facts: Any,  # Any: other facts of the endpoint
) -> Iterator[Metered]:
    """One execution before one model."""
    with model_server(script) as server:
        endpoint = ResolvedEndpoint(**{"name": "model", "kind": api, "url": server.url, "key": KEY, **facts})
        with MeteringProxy({"model": endpoint}, patience_seconds=patience_seconds) as proxy:
            log = folder / "metering.jsonl"
            admission = proxy.admit(TOKEN, "model", log=log, socket_folder=folder, limits=limits, transcript=transcript)
            yield Metered(server, admission, log, api)


@contextmanager
def raw_endpoint(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that says the same to everyone and closes: its address, and what it heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listening.accept()
                except OSError:
                    return
                with peer:
                    request = b""
                    while b"\r\n\r\n" not in request:
                        request += peer.recv(65_536)
                    head, _, body = request.partition(b"\r\n\r\n")
                    length = next(
                        (int(line[16:]) for line in head.split(b"\r\n") if line[:16] == b"content-length: "), 0
                    )
                    while len(body) < length:
                        body += peer.recv(65_536)
                    heard.append(head + b"\r\n\r\n" + body)
                    peer.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", heard
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)
