"""Metering proxy: pass-through endpoint between agents and models, with its own event loop and thread."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from steelyard.errors import UnknownNameError
from steelyard.runner._call_budget import CallBudget
from steelyard.runner._metering_records import CallLimits, CallLog, MeteredCalls, ResolvedEndpoint
from steelyard.runner._proxy_session import PATIENCE_SECONDS, Gate
from steelyard.runner._upstream import Upstream

SOCKET_NAME = "proxy.sock"
_MAX_ADDRESS_LENGTH = 100
"""Bytes of the path of a socket that every system takes."""
T = TypeVar("T")


class MeteringProxy:
    """Metering proxy between agents and endpoints.

    `with MeteringProxy(endpoints) as proxy: admission = proxy.admit(token, "anthropic", ...)`. All executions of a
    runner share one proxy and the limits of its endpoints. Its methods are thread-safe.
    """

    def __init__(
        self, endpoints: Mapping[str, ResolvedEndpoint], *, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._upstreams = {name: Upstream(endpoint) for name, endpoint in endpoints.items()}
        self._patience_seconds = patience_seconds
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._open: set[Admission] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for admission in list(self._open):
            admission.close()
        self.run(self._close_upstreams())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def admit(
        self, token: str, endpoint: str, *, log: Path, socket_folder: Path, limits: CallLimits | None = None
    ) -> Admission:
        """A way to the endpoint for one execution, which ends with `close`.

        Who comes with the token is let through and asks with the endpoint's key; the calls are written to `log`.
        """
        upstream = self._upstreams.get(endpoint)
        if upstream is None:
            raise UnknownNameError("endpoint", endpoint, self._upstreams)
        budget = CallBudget(limits or CallLimits(), upstream.endpoint.price_table)
        gate = Gate(token, upstream, CallLog(log), budget, self._patience_seconds)
        admission = Admission(self, gate, socket_folder / SOCKET_NAME)
        self._open.add(admission)
        return admission

    def run(self, work: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine yields to its loop is its own affair
        """The work's result, done on the metering proxy's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def forget(self, admission: Admission) -> None:
        """The admission has been closed."""
        self._open.discard(admission)

    async def _close_upstreams(self) -> None:
        for upstream in self._upstreams.values():
            upstream.close()
        for _ in range(3):  # a connection that is closed hears of it in the loop's next turns
            await asyncio.sleep(0)


class Admission:
    """The way of one execution to its endpoint."""

    def __init__(self, proxy: MeteringProxy, gate: Gate, path: Path) -> None:
        self.socket = path
        """A socket of this execution alone, to be shown to its sandbox."""
        self._proxy = proxy
        self._gate = gate
        self._servers: list[asyncio.AbstractServer] = []
        self._url: str | None = None
        self._lock = threading.Lock()
        self._count: MeteredCalls | None = None
        proxy.run(self._listen(_bound(path)))

    @property
    def url_outside(self) -> str:
        """The same for an agent that is not isolated: an address of this machine, opened when it is asked for."""
        with self._lock:
            if self._url is None:
                listening = socket.create_server(("127.0.0.1", 0), backlog=128)
                self._proxy.run(self._listen(listening))
                self._url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            return self._url

    @property
    def rejection(self) -> str | None:
        """Why calls are rejected; None while they are not."""
        return self._gate.log.rejection

    def reject(self, reason: str) -> None:
        """From now on calls get an error that agents do not try again; those under way go on."""
        if self._count is None:
            self._proxy.run(self._reject(reason))

    def count(self) -> MeteredCalls:
        """Return the calls so far."""
        return self._count or self._proxy.run(self._counted())

    def close(self) -> MeteredCalls:
        """Cuts what is under way; all calls of the execution."""
        with self._lock:
            if self._count is None:
                self._count = self._proxy.run(self._close())
                self._proxy.forget(self)
            return self._count

    async def _listen(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        if listening.family == socket.AF_UNIX:
            self._servers.append(await loop.create_unix_server(self._gate.connection, sock=listening, backlog=128))
        else:
            self._servers.append(await loop.create_server(self._gate.connection, sock=listening, backlog=128))

    async def _reject(self, reason: str) -> None:
        self._gate.log.reject(reason)

    async def _counted(self) -> MeteredCalls:
        return self._gate.log.count()

    async def _close(self) -> MeteredCalls:
        for server in self._servers:
            server.close()
        await self._gate.close()
        self.socket.unlink(missing_ok=True)
        self._gate.log.close()
        return self._gate.log.count()


def _bound(path: Path) -> socket.socket:
    """Bind a Unix socket at a path of any length; any user can connect, since a sandbox has a separate uid."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if len(os.fsencode(path)) <= _MAX_ADDRESS_LENGTH:
        listening.bind(str(path))
    else:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            listening.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)
    path.chmod(0o666)
    return listening
