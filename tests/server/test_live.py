"""News within two seconds of a change by another process, few streams, and a server that stops with them open."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path

import pytest

import steelyard as sy
from serving import Served, serving
from steelyard.errors import SteelyardError
from steelyard.questions import ArenaSource, RunsSource
from steelyard.records import encode_run
from steelyard.server import _server_process, _site, _views
from steelyard.server._pages import navigation
from steelyard.server._server_process import bound, keep_running

SUBMISSION = {"task_id": "t", "total_tokens": 10, "tool_calls": 1}


@pytest.fixture
def address(tmp_path: Path) -> str:
    made = sy.init_arena(f"sqlite:///{tmp_path}/arena.db")
    made.add_task({"id": "t"})
    made.submit([{"id": "first", **SUBMISSION}])
    return made.store.address


@pytest.fixture
def served(address: str) -> Iterator[Served]:
    with serving(ArenaSource(address)) as served:
        yield served


class Stream:
    """An open stream of events."""

    def __init__(self, port: int, seen: str | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self._connection.request("GET", "/api/v1/events", headers={"Last-Event-ID": seen} if seen else {})
        self.socket = self._connection.sock
        self.response = self._connection.getresponse()

    def close(self) -> None:
        self.response.close()
        self._connection.close()
        self.socket.close()


@pytest.fixture
def opened() -> Iterator[Callable[..., Stream]]:
    """Opens streams, and closes them when the test is over."""
    streams: list[Stream] = []

    def open_stream(port: int, seen: str | None = None) -> Stream:
        streams.append(Stream(port, seen))
        return streams[-1]

    yield open_stream
    for stream in streams:
        stream.close()


def next_event(stream: Stream) -> dict[str, str]:
    """The fields of the next event; comments and what only sets up the stream are passed over."""
    fields: dict[str, str] = {}
    while True:
        line = stream.response.readline().decode().rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            return fields
        else:
            fields = {}


def submit_elsewhere(address: str, identity: str) -> None:
    """A submission by another process."""
    code = f"import steelyard as sy; sy.open_arena({address!r}).submit([{ {'id': identity, **SUBMISSION}!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_change_by_another_process_is_told_within_two_seconds(
    served: Served, address: str, opened: Callable[..., Stream]
) -> None:
    stream = opened(served.port)
    headers = stream.response.headers
    assert (headers["Content-Type"], headers["Cache-Control"]) == ("text/event-stream; charset=utf-8", "no-store")
    first = next_event(stream)
    assert first["event"] == "changed"
    assert first["data"] == f'{{"version":"{first["id"]}"}}'
    assert served.api("/tasks/t/leaderboard")["total"] == 1
    submit_elsewhere(address, "second")
    ended = time.monotonic()
    assert next_event(stream)["id"] != first["id"]
    assert time.monotonic() - ended < 2
    time.sleep(1)  # the rest of the builder
    assert served.api("/tasks/t/leaderboard")["total"] == 2


def test_who_comes_back_hears_only_what_is_new(served: Served, opened: Callable[..., Stream]) -> None:
    current = next_event(opened(served.port))["id"]
    again = opened(served.port, current)
    again.socket.settimeout(0.8)
    with pytest.raises(TimeoutError):
        next_event(again)


def test_there_are_so_many_streams_and_no_more(
    served: Served, opened: Callable[..., Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_site, "MAX_STREAMS", 3)
    streams = [opened(served.port) for _ in range(3)]
    for stream in streams:
        next_event(stream)
    refused = served.ask("/api/v1/events")
    assert (refused.status, refused.json["kind"]) == (503, "too_many_streams")
    streams[0].close()
    for _ in range(100):
        if served.site.live.streams < 3:
            break
        time.sleep(0.05)
    assert next_event(opened(served.port))["event"] == "changed"


def test_a_silent_stream_says_that_it_is_there(
    served: Served, opened: Callable[..., Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_site, "COMMENT_SECONDS", 0.2)
    stream = opened(served.port)
    next_event(stream)
    assert stream.response.readline() == b": still here\n"


def test_files_that_change_are_read_again(tmp_path: Path, opened: Callable[..., Stream]) -> None:
    path = tmp_path / "runs.jsonl"
    records = [encode_run(run) + b"\n" for run in list(sy.demo_runs())[:40]]
    path.write_bytes(b"".join(records[:10]))
    with serving(RunsSource([tmp_path])) as served:
        stream = opened(served.port)
        first = next_event(stream)["id"]
        assert served.api("/runs")["total"] == 10
        with path.open("ab") as file:
            file.write(b"".join(records[10:]))
        changed = time.monotonic()
        assert next_event(stream)["id"] != first
        assert time.monotonic() - changed < 2
        time.sleep(1)  # the rest of the builder
        assert served.api("/runs")["total"] == 40


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_the_command_stops_at_once_with_streams_open(address: str, opened: Callable[..., Stream]) -> None:
    command = [sys.executable, "-m", "steelyard", "serve", "--store", address, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            told = process.stderr.readline()
            port = re.fullmatch(r"serving at http://127.0.0.1:(\d+)/ \(press Ctrl-C to stop\)\n", told)
            assert port, told
            # what a first answer needs is loaded by then, so that only stopping is timed
            asked = Served(f"http://127.0.0.1:{port[1]}", None)  # type: ignore[arg-type] # the site is elsewhere
            assert asked.api("/tasks/t/leaderboard")["total"] == 1
            for _ in range(3):
                assert next_event(opened(int(port[1])))["event"] == "changed"
            process.send_signal(signal.SIGINT)
            stopped = time.monotonic()
            time.sleep(0.01)
            process.send_signal(signal.SIGINT)  # as the impatient do
            assert process.wait(10) in (0, 130, -signal.SIGINT)
            assert time.monotonic() - stopped < 3
            assert process.stderr.read() == "stopped\n"
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_several_processes_answer_alike_and_stop_together(address: str, opened: Callable[..., Stream]) -> None:
    command = [sys.executable, "-m", "steelyard", "serve", "--store", address, "--port", "0", "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            port = int(process.stderr.readline().partition("127.0.0.1:")[2].partition("/")[0])
            asked = Served(f"http://127.0.0.1:{port}", None)  # type: ignore[arg-type] # the sites are elsewhere
            sy.open_arena(address).submit([{"id": f"s{number}", **SUBMISSION} for number in range(8)])
            for _ in range(20):  # of whichever process
                first = asked.api("/tasks/t/leaderboard?limit=5")
                rest = asked.api(f"/tasks/t/leaderboard?limit=5&after={first['next']}")
                assert (first["total"], rest["version"]) == (9, first["version"])
                assert len({row["submission_id"] for row in first["items"] + rest["items"]}) == 9
            next_event(opened(port))
            process.send_signal(signal.SIGTERM)
            stopped = time.monotonic()
            assert process.wait(10) == 0
            assert time.monotonic() - stopped < 4
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_a_process_that_dies_is_replaced_unless_it_dies_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_a_file = partial(tempfile.mkstemp, dir=tmp_path)
    with pytest.raises(SteelyardError, match="exited immediately"):
        keep_running(leave_a_file, 1)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(_server_process, "MIN_WORKER_SECONDS", 0.0)
    enough = threading.Event()

    def end_after_three() -> None:
        while len(list(tmp_path.iterdir())) < 4 and not enough.wait(0.05):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    watching = threading.Thread(target=end_after_three)
    watching.start()
    keep_running(leave_a_file, 1)
    watching.join()
    assert len(list(tmp_path.iterdir())) >= 4


def test_the_pages_of_the_navigation_are_made_before_the_first_visitor_comes(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Hashable] = []
    put = _views.View.keep
    monkeypatch.setattr(_views.View, "keep", lambda view, key, *made: kept.append(key) or put(view, key, *made))
    with serving(ArenaSource(address)) as served:
        ready = [key for key in kept if isinstance(key, tuple) and key[0] == "html"]
        assert len(ready) == len(navigation("arena"))
        assert served.ask("/").status == 200
        assert len([key for key in kept if isinstance(key, tuple) and key[0] == "html"]) == len(ready)


def test_answers_are_sent_at_once() -> None:
    """A connection that waits to fill its packets gives many an answer 40 ms late."""

    async def accepted() -> int:
        taken: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def take(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            taken.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = bound("127.0.0.1", 0)
        async with await asyncio.start_server(take, sock=listening):
            with socket.create_connection(listening.getsockname()):
                return await taken

    assert asyncio.run(accepted()) == 1
