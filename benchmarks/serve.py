"""The server: a page of a task with many submissions, what a browser has already, and open streams.

The alternative is a file of the same size from the same server: same process, same guard, same headers, bytes from
memory. Requests of each kind are made in turn over one open connection, so that whatever else the machine does falls on
all of them. The claims are on ratios of medians in one run: a warm page at most 3 times the file, an answer that the
browser has already (304) at most 1.5 times.

    python -m benchmarks.serve [--submissions 50000] [--tasks 1000] [--quick]
    python -m benchmarks.serve --viewers --inspect DIR --promptfoo DIR     (benchmarks/_viewers.py)
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from served_arenas import BIG_TASK, filled_store

ROUNDS = 200
STREAMS = 100
PAGE = f"/tasks/{BIG_TASK}"
PAGE_LIMIT, KNOWN_LIMIT = 3.0, 1.5
NOTICE_SECONDS = 2.0

SERVER = """
import sys
from steelyard.server import ServeOptions, serve, site_of
from steelyard.server import _assets as assets
from steelyard.questions import ArenaSource

store, size = sys.argv[1], int(sys.argv[2])
assets._assets()["static.css"] = b"x" * size
options = ServeOptions(port=0)
site = site_of(ArenaSource(store), options)
serve(site, options, ready=lambda address: print(address, assets.asset_path("static.css"), flush=True))
"""
"""The server of the package, with one more file in the memory that it answers files from."""

SUBMITTER = """
import sys
from steelyard.records import Submission
from steelyard.questions import open_arena

arena = open_arena(sys.argv[1])
arena.submit([Submission(id=sys.argv[2], task_id=sys.argv[3], total_tokens=20_000, tool_calls=20)])
print("done", flush=True)
"""
"""Another process that writes to the same store."""


@contextmanager
def serving(store: str, size: int) -> Iterator[tuple[int, str]]:
    """The port, and the path of the file."""
    words = [sys.executable, "-c", SERVER, store, str(size)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address, path = process.stdout.readline().split()
        try:
            yield int(address.rstrip("/").rpartition(":")[2]), path
        finally:
            process.terminate()


def asked(connection: HTTPConnection, path: str, headers: dict[str, str], status: int) -> bytes:
    """One request, which must be answered so."""
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    assert response.status == status, f"{path}: {response.status} {body[:300]!r}"
    return body


def in_turn(kinds: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each, made in turn."""
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, ask in kinds.items():
            begin = time.perf_counter()
            ask()
            times[name].append(1000 * (time.perf_counter() - begin))
    return {name: statistics.median(each) for name, each in times.items()}


def page_size(store: str) -> tuple[int, str]:
    """How long the page is, and its ETag."""
    with serving(store, 1) as (port, _):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        begin = time.perf_counter()
        connection.request("GET", PAGE)
        response = connection.getresponse()
        body = response.read()
        print(f"first page: {time.perf_counter() - begin:.2f} s, {len(body):,} bytes")
        connection.close()
        return len(body), response.headers["ETag"]


def measured(store: str, rounds: int) -> bool:
    """Whether the claims hold."""
    size, _ = page_size(store)
    with serving(store, size) as (port, file):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", PAGE)
        response = connection.getresponse()
        response.read()
        etag = response.headers["ETag"]
        kinds: dict[str, Callable[[], object]] = {
            "file": lambda: asked(connection, file, {}, 200),
            "page": lambda: asked(connection, PAGE, {}, 200),
            "known": lambda: asked(connection, PAGE, {"If-None-Match": etag}, 304),
            "rows": lambda: asked(connection, f"/api/v1{PAGE}/leaderboard?limit=200", {}, 200),
        }
        in_turn(kinds, max(rounds // 10, 3))
        times = in_turn(kinds, rounds)
        held = _told(times, size)
        held &= streamed(store, port, kinds, rounds)
        connection.close()
    return held


def _told(times: dict[str, float], size: int) -> bool:
    file = times["file"]
    print(f"file of {size:,} bytes: {file:.2f} ms")
    print(f"200 rows as JSON: {times['rows']:.2f} ms, {times['rows'] / file:.2f} times the file")
    held = True
    for name, limit in (("page", PAGE_LIMIT), ("known", KNOWN_LIMIT)):
        ratio = times[name] / file
        held &= ratio <= limit
        words = "holds" if ratio <= limit else "MISSED"
        print(f"{name}: {times[name]:.2f} ms, {ratio:.2f} times the file (at most {limit}): {words}")
    return held


class Stream:
    """One open stream, which notes when it heard of a change."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        self.heard: list[float] = []
        self.has_begun = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            while piece := self.socket.recv(65_536):
                now = time.monotonic()
                self.heard += [now] * piece.count(b"event: changed")
                if self.heard:
                    self.has_begun.set()
        except OSError:
            return


def streamed(store: str, port: int, kinds: dict[str, Callable[[], object]], rounds: int) -> bool:
    """The same with open streams, all of which hear of what another process submits."""
    streams = [Stream(port) for _ in range(STREAMS)]
    begun = sum(stream.has_begun.wait(10) for stream in streams)
    times = in_turn({name: kinds[name] for name in ("file", "page")}, max(rounds // 2, 3))
    print(f"{begun} open streams: file {times['file']:.2f} ms, page {times['page']:.2f} ms")
    submitter = [sys.executable, "-c", SUBMITTER, store, f"bench-{time.time_ns()}", BIG_TASK]
    before = [len(stream.heard) for stream in streams]
    with subprocess.Popen(submitter, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        submitted = time.monotonic()
    deadline = submitted + 10
    while time.monotonic() < deadline and any(
        len(stream.heard) == count for stream, count in zip(streams, before, strict=True)
    ):
        time.sleep(0.01)
    late = [stream.heard[-1] - submitted for stream in streams if stream.heard]
    for stream in streams:
        stream.socket.close()
    everybody = all(len(stream.heard) > count for stream, count in zip(streams, before, strict=True))
    held = begun == STREAMS and everybody and max(late) <= NOTICE_SECONDS
    print(
        f"a submission of another process was heard of by all within {max(late):.2f} s: {'holds' if held else 'MISSED'}"
    )
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=50_000)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true", help="a small arena and few rounds, to see that it runs")
    parser.add_argument("--viewers", action="store_true", help="time to the first useful page, in a Chromium")
    parser.add_argument("--inspect", type=Path, help="the environment of Inspect, for --viewers")
    parser.add_argument("--promptfoo", type=Path, help="the folder with promptfoo's node_modules, for --viewers")
    options = parser.parse_args()
    if options.viewers:
        from benchmarks._viewers import compare_viewers  # needs Playwright

        return compare_viewers(inspect=options.inspect, promptfoo=options.promptfoo, quick=options.quick)
    count, tasks, rounds = (2_000, 20, 20) if options.quick else (options.submissions, options.tasks, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        store = filled_store(Path(folder), count=count, tasks=tasks)
        print(f"{count:,} submissions in one task, {tasks:,} tasks, made in {time.perf_counter() - begin:.1f} s")
        return 0 if measured(store, rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
