"""Start and stop the server: its processes, and the HTTP protocol that they speak."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from steelyard.errors import RequestError, SteelyardError, UsageError
from steelyard.questions import ArenaSource, RunsSource, open_source
from steelyard.questions.token import has_active
from steelyard.server._app import Application
from steelyard.server._guard import LOOPBACK, PATIENCE_SECONDS, SECURITY_HEADERS, Guard
from steelyard.server._problems import LOG, problem_response
from steelyard.server._site import Access, Site

LOOK_SECONDS = 0.25
WORKER_STOP_SECONDS = 4.0
MIN_WORKER_SECONDS = 5.0
"""If a process exits sooner, restarting would not help: all processes stop with an error."""


def keep_running(work: Callable[[], None], count: int) -> None:
    """Run the work in this many processes until a signal arrives."""
    context = multiprocessing.get_context("spawn")  # forking a process with threads may deadlock
    is_over = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        is_over.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    running: dict[BaseProcess, float] = {}

    def start() -> None:
        process = context.Process(target=work, daemon=True)
        process.start()
        running[process] = time.monotonic()

    try:
        for _ in range(count):
            start()
        while not is_over.wait(LOOK_SECONDS):
            for process in [each for each in running if not each.is_alive()]:
                if time.monotonic() - running.pop(process) < MIN_WORKER_SECONDS:
                    message = f"a server process exited immediately with status {process.exitcode}"
                    raise SteelyardError(message, hint="see its message above, or try --workers 1")
                LOG.warning("a server process exited with status %s; restarting", process.exitcode)
                start()
    finally:
        _end(list(running))
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(processes: list[BaseProcess]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + WORKER_STOP_SECONDS
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


MAX_CONNECTIONS = 500
MAX_CLIENT_CONNECTIONS = 250
"""Of one address. A system allows a process about 1,000 open files by default."""


class Protocol(H11Protocol):
    """Protocol that closes connections with incomplete headers and responds to invalid HTTP."""

    head_seconds = PATIENCE_SECONDS
    _slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base has it
        """Start the header timeout; close the connection if there are too many."""
        super().connection_made(transport)
        same = sum(1 for each in self.connections if isinstance(each, Protocol) and _host(each) == _host(self))
        if len(self.connections) > MAX_CONNECTIONS or same > MAX_CLIENT_CONNECTIONS:
            self._refuse(RequestError(503, "too_many_connections", "too many connections", hint="try again later"))
            return
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Process received data; every request with incomplete headers has the same timeout."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._wait_no_more()
        elif self._slow is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._slow = self.loop.call_later(self.head_seconds, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def send_400_response(self, msg: str) -> None:
        """Return problem details for invalid HTTP."""
        self._refuse(RequestError(400, "no_http", msg.rstrip("."), hint="send an HTTP/1.1 request"))

    def _refuse(self, error: RequestError) -> None:
        """Send the error and close the connection."""
        problem = problem_response(error, "")
        headers = [*problem.raw_headers, *SECURITY_HEADERS, (b"connection", b"close")]
        status = HTTPStatus(problem.status_code)
        for event in (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=bytes(problem.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _host(protocol: Protocol) -> str | None:
    return protocol.client[0] if protocol.client else None


BACKLOG = 2_048
STOP_SECONDS = 2
"""Grace period for responses in progress."""


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Options of the server."""

    host: str = "127.0.0.1"
    port: int = 8600
    write: bool = False
    public_read: bool = False
    allow_host: tuple[str, ...] = ()
    root_path: str = ""
    workers: int = 1
    """Number of server processes."""
    map: str | None = None
    """Mapping for run files."""


def is_loopback(host: str) -> bool:
    """Return whether the address is a loopback address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def site_of(source: ArenaSource | RunsSource, options: ServeOptions) -> Site:
    """Return the source with its access rules; reject unintended public access."""
    is_open = options.public_read or is_loopback(options.host)
    arena = source if isinstance(source, ArenaSource) else None
    if options.write and arena is None:
        raise UsageError("--write requires an arena; run files are read-only", hint="use --store URL")
    if not is_open and arena is None:
        raise UsageError(
            f"serving on {options.host} would let other machines read without a token",
            hint="add --public-read to allow this, or remove --host to serve only this machine",
        )
    needs_token = options.write or not is_open
    if arena is not None and needs_token and not has_active(arena.arena, to_write=options.write):
        what = "--write" if options.write else f"--host {options.host}"
        hint = (
            f"create one: steelyard serve token create NAME --scope {'submit' if options.write else 'read'} --store ..."
        )
        raise UsageError(f"{what} requires a token, and the store has no active one", hint=hint)
    root_path = f"/{options.root_path.strip('/')}" if options.root_path.strip("/") else ""
    return Site(source, Access(is_open, options.write, arena), root_path)


def guarded(site: Site, options: ServeOptions) -> Guard:
    """Return the application behind its guard, with the allowed host names."""
    own = options.host.lower()
    own = f"[{own}]" if ":" in own and not own.startswith("[") else own
    return Guard(Application(site), LOOPBACK | {own, *(name.lower() for name in options.allow_host)})


class Server(uvicorn.Server):
    """Server that reports when it is ready, and closes open streams on shutdown."""

    def __init__(self, config: uvicorn.Config, site: Site, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._site = site
        self._ready = ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down at the first signal, which takes a few seconds at most; ignore further signals."""
        if not self.should_exit:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting requests."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down; open streams would otherwise keep the process alive."""
        await self._site.live.stop()
        await super().shutdown(sockets)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket at the address; port 0 selects a free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small packets at once only where the protocol is named; else many an answer waits 40 ms for one
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"cannot listen on {host} port {port}: {reason}", hint="choose another port with --port"
        ) from error
    return listening


def serve(
    paths: Sequence[Path],
    store: str,
    options: ServeOptions,
    *,
    ready: Callable[[str], None],
    warn: Callable[[SteelyardError], None],
) -> None:
    """Serve the run files, or the arena if there are none, until a signal arrives.

    `ready` receives the address, `warn` an error for each file without runs.
    """
    # validate before binding the port
    source = open_source(paths, store, map=options.map)
    site = site_of(source, options)
    for error in source.unrecognized() if isinstance(source, RunsSource) else ():
        warn(error)
    listening = bound(options.host, options.port)
    shown = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{shown}:{listening.getsockname()[1]}{site.root_path}/"
    if options.workers == 1:
        _answer(site, options, listening, lambda: ready(address))
        return
    site.source.close()
    listening.listen(BACKLOG)  # who asks before a process is up waits a moment
    ready(address)
    keep_running(partial(_answer_in_worker, tuple(paths), store, options, listening), options.workers)


def _answer(site: Site, options: ServeOptions, listening: socket.socket, ready: Callable[[], None]) -> None:
    Server(configured(guarded(site, options)), site, ready).run(sockets=[listening])


def _answer_in_worker(paths: Sequence[Path], store: str, options: ServeOptions, listening: socket.socket) -> None:
    """Run one of several processes on the same port."""
    with suppress(KeyboardInterrupt):  # the parent process reports it
        _answer(site_of(open_source(paths, store, map=options.map), options), options, listening, lambda: None)


def configured(app: Guard) -> uvicorn.Config:
    """Return the uvicorn configuration: quiet, minimal, with a short shutdown."""
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=64 << 10,
    )
