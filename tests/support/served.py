"""`steelyard serve` as a process of its own, on a free port of loopback."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple

READY = re.compile(r"serving at http://127\.0\.0\.1:(\d+)")
PATIENCE = 60.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # Any: JSON values
        return json.loads(self.body)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Served:
    """A running server; it can be killed and started again at the same port."""

    def __init__(self, *words: str, port: int = 0, log: Path | None = None) -> None:
        self.words = words
        self.port = port
        self.log = log
        self.process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> float:
        """Start it and wait until it answers; gives the seconds that took."""
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "steelyard", "serve", *self.words, "--port", str(self.port)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"COLUMNS": "200"},
        )
        assert self.process.stderr is not None
        told = []
        for line in self.process.stderr:
            told.append(line)
            if ready := READY.search(line):
                self.port = int(ready[1])
                # what it says from now on must not fill the pipe
                threading.Thread(target=self._drain, args=(self.process.stderr,), daemon=True).start()
                return time.monotonic() - begin
        raise AssertionError(f"it did not start: {''.join(told)}")

    def _drain(self, stream: Any) -> None:  # Any: a text stream
        with suppress(ValueError, OSError):
            for line in stream:
                if self.log is not None:
                    with self.log.open("a", encoding="utf-8") as file:
                        file.write(line)

    def kill(self) -> None:
        """End it without a warning."""
        assert self.process is not None
        self.process.kill()
        self._wait()

    def stop(self) -> float:
        """End it as a service manager does; gives the seconds that took."""
        assert self.process is not None
        begin = time.monotonic()
        self.process.terminate()
        self._wait()
        return time.monotonic() - begin

    def _wait(self) -> None:
        assert self.process is not None
        self.process.wait(PATIENCE)
        if self.process.stderr is not None:
            self.process.stderr.close()

    @property
    def resident_bytes(self) -> int:
        """Memory of the process, by the kernel's count."""
        assert self.process is not None
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def cpu_seconds(self) -> float:
        """What it has computed so far."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connection(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: bytes | None = None,
        connection: HTTPConnection | None = None,
        **headers: str,
    ) -> Answer:
        """One request; a name of a header has underscores for hyphens."""
        asked = connection or self.connection()
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            asked.request(method, path, body, named)
            response = asked.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            if connection is None:
                asked.close()


@contextmanager
def serving(*words: str, log: Path | None = None) -> Iterator[Served]:
    """A server for as long as the block lasts."""
    server = Served(*words, log=log)
    server.start()
    try:
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()


def token_of(store: str, *, scope: str, name: str = "tests") -> str:
    """A token of the store, made by the command that makes them."""
    words = ["serve", "token", "create", name, "--scope", scope, "--store", store, "--json"]
    done = subprocess.run([sys.executable, "-m", "steelyard", *words], capture_output=True, text=True, check=True)
    token: str = json.loads(done.stdout)["token"]
    return token


CONNECTION_LOST = (HTTPException, OSError)
"""What a client sees of a server that is killed."""
