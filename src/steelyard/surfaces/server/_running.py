"""Serving: from what the command was given to a process that answers, and stops at once."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from types import FrameType

import uvicorn

from steelyard.errors import SteelyardError, UsageError
from steelyard.surfaces.server._access import Access
from steelyard.surfaces.server._app import Application
from steelyard.surfaces.server._guard import LOOPBACK, Guard
from steelyard.surfaces.server._protocol import Protocol
from steelyard.surfaces.server._site import Site
from steelyard.surfaces.server._workers import keep_running
from steelyard.workflow import ArenaSource, RunsSource, open_source
from steelyard.workflow.token import has_active

BACKLOG = 2_048
STOP_SECONDS = 2
"""How long answers that are being sent may take to end."""


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """How a source is served."""

    host: str = "127.0.0.1"
    port: int = 8600
    write: bool = False
    public_read: bool = False
    allow_host: tuple[str, ...] = ()
    root_path: str = ""
    workers: int = 1
    """How many processes answer."""
    map: str | None = None
    """The mapping that files of runs are read by."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def site_of(source: ArenaSource | RunsSource, options: ServeOptions) -> Site:
    """The source with who may do what; what strangers could reach unasked is refused."""
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
    """The application behind its guard, by the names that it goes by."""
    own = options.host.lower()
    own = f"[{own}]" if ":" in own and not own.startswith("[") else own
    return Guard(Application(site), LOOPBACK | {own, *(name.lower() for name in options.allow_host)})


class Server(uvicorn.Server):
    """Tells when it is ready, and ends open streams before it waits for answers to end."""

    def __init__(self, config: uvicorn.Config, site: Site, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._site = site
        self._ready = ready

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End at the first signal: that takes seconds at most, and another one would only cut it off midway."""
        if not self.should_exit:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: streams would otherwise keep the process until they are cut."""
        await self._site.live.stop()
        await super().shutdown(sockets)


def bound(host: str, port: int) -> socket.socket:
    """A socket at the address; port 0 takes a free one."""
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
    """Show the files of runs, or without any the arena, until a signal comes.

    `ready` is told the address, `warn` of files from which nothing is shown.
    """
    # what cannot be served is refused before a port is taken
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
    """One of several processes at the same port."""
    with suppress(KeyboardInterrupt):  # the process that started this one tells of it
        _answer(site_of(open_source(paths, store, map=options.map), options), options, listening, lambda: None)


def configured(app: Guard) -> uvicorn.Config:
    """How uvicorn runs: quiet, without what is not used, and soon at its end."""
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
