"""Cache of results, computed once per version of the source.

A build runs in a worker thread, one for a key and at most four at once. Under steady writes an answer is built again
at most every ten times the processor time of its last build: until then the last one is returned, with its time.
Returning an older one schedules the next build for the end of that time, so steady reads do not wait.
"""

from __future__ import annotations

import asyncio
import ctypes
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec

from steelyard.errors import RequestError
from steelyard.records import Redaction

if TYPE_CHECKING:
    from steelyard.questions import ArenaSource, RunsSource

BUILDS_AT_ONCE = 4
BUILD_SECONDS = 120.0
"""How long a response may be computed. Clients wait for less; those that ask again get what was computed meanwhile."""
STOP_AGAIN_SECONDS = 0.5
MAX_WAITING = 50
"""Responses that wait to be computed."""
MAX_VIEWS = 64
MAX_ROWS = 500_000
"""Maximum number of rows of all views; a leaderboard row takes about 700 bytes."""
MAX_BODIES = 64
"""Maximum number of cached responses per view."""
MAX_READY_BODY = 4 << 20
REST = 10
"""Pause after a computation, as a multiple of its duration."""
MIN_IDLE_SECONDS = 1.0
VERSION_SECONDS = 0.25
"""How old a version may be where asking for it takes a query or a look at files; of very many files, older."""


@dataclass(eq=False)
class View:
    """A result at one version, with cached responses."""

    version: str
    as_of: str
    result: Any
    """Result of the route, with secrets redacted, because all readers can see it."""
    redacted: str = ""
    """Number of redacted secrets by kind; empty if there are none."""
    bodies: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)

    @property
    def rows(self) -> int:
        """Return the number of rows in the lists of the result."""
        values: Iterable[object] = ()
        if isinstance(self.result, msgspec.Struct):
            values = msgspec.structs.astuple(self.result)
        return sum(len(value) for value in values if isinstance(value, tuple))

    def ready(self, key: Hashable) -> Any | None:
        """Return a cached value derived from the result, if there is one."""
        if key in self.bodies:
            self.bodies.move_to_end(key)
            return self.bodies[key]
        return None

    def keep(self, key: Hashable, made: Any, size: int) -> None:
        """Cache a value derived from the result, if it is not too large."""
        if size <= MAX_READY_BODY:
            self.bodies[key] = made
            while len(self.bodies) > MAX_BODIES:
                self.bodies.popitem(last=False)


@dataclass(eq=False)
class _CachedViews:
    """Views of one key: the current one, and the previous one for cursors that still use it."""

    latest: View | None = None
    before: View | None = None
    rests_until: float = 0.0
    building: asyncio.Task[View] | None = None
    is_asked_for: bool = False
    """Whether an outdated view was returned, so that the next one is computed after the pause."""

    @property
    def rows(self) -> int:
        return sum(view.rows for view in (self.latest, self.before) if view is not None)

    def put(self, view: View) -> None:
        if self.latest is not None and self.latest.version != view.version:
            self.before = self.latest
        self.latest = view


class Views:
    """Views of one process."""

    def __init__(self, source: ArenaSource | RunsSource, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._clock = clock
        self._cached: OrderedDict[Hashable, _CachedViews] = OrderedDict()
        self._limiter = anyio.CapacityLimiter(BUILDS_AT_ONCE)
        self._builds = 0
        self._query: asyncio.Task[str] | None = None
        self._version: str | None = None
        self._signal: object | None = None
        self._asks_again_at = float("-inf")

    async def version(self) -> str:
        """Return the version of the source, at most a quarter of a second old unless it is slow to determine."""
        signal = self._source.signal()
        if self._version is not None:
            if signal is not None and signal == self._signal:
                return self._version
            if signal is None and self._clock() < self._asks_again_at:
                return self._version
        if self._query is None or self._query.done():
            self._query = asyncio.create_task(self._ask(signal))
        return await asyncio.shield(self._query)

    async def _ask(self, signal: object | None) -> str:
        # The signal was taken before the version: a change in between makes us ask once more, never once less.
        version, seconds = await anyio.to_thread.run_sync(_timed, self._source.version)
        self._version, self._signal = str(version), signal
        self._asks_again_at = self._clock() + max(VERSION_SECONDS, REST * seconds)
        return self._version

    async def get(self, key: Hashable, build: Callable[[], Any]) -> View:
        """Return the view of the key at this version, or the previous one during the pause."""
        version = await self.version()
        entry = self._entry(key)
        latest = entry.latest
        if latest is None:
            return await self._built(key, entry, version, build)
        if latest.version == version or entry.building is not None:
            return latest
        if self._clock() >= entry.rests_until:
            return await self._built(key, entry, version, build)
        if not entry.is_asked_for:
            entry.is_asked_for = True
            rest = entry.rests_until - self._clock()
            asyncio.get_running_loop().call_later(rest, self._build_again, key, entry, build)
        return latest

    def _build_again(self, key: Hashable, entry: _CachedViews, build: Callable[[], Any]) -> None:
        """Compute a view in advance, unless it exists or the key was evicted."""
        entry.is_asked_for = False
        latest, version = entry.latest, self._version
        if version is None or latest is None or latest.version == version or self._cached.get(key) is not entry:
            return
        if entry.building is None:
            self._start(key, entry, version, build)

    async def at(self, key: Hashable, version: str, build: Callable[[], Any]) -> View:
        """Return the view at the version of a cursor: cached, or computed if the version is current; otherwise 410.

        Another process may have written the cursor, and this one never have built the view.
        """
        entry = self._entry(key)
        for view in (entry.latest, entry.before):
            if view is not None and view.version == version:
                return view
        if version == await self.version():
            view = await self._built(key, entry, version, build)
            if view.version == version:
                return view
        raise RequestError(410, "cursor_gone", "the cursor has expired", hint="start again without `after`")

    async def _built(self, key: Hashable, entry: _CachedViews, version: str, build: Callable[[], Any]) -> View:
        """Return the view in computation, starting it if needed; while many others wait, the one that there is."""
        if entry.building is None and self._builds >= BUILDS_AT_ONCE + MAX_WAITING:
            if entry.latest is not None:
                return entry.latest
            self._cached.pop(key, None)
            raise RequestError(503, "busy", "too many responses are waiting to be computed", hint="try again later")
        return await asyncio.shield(entry.building or self._start(key, entry, version, build))

    def _start(self, key: Hashable, entry: _CachedViews, version: str, build: Callable[[], Any]) -> asyncio.Task[View]:
        entry.building = asyncio.create_task(self._build(key, entry, version, build))
        self._builds += 1
        entry.building.add_done_callback(self._has_ended)
        return entry.building

    def _has_ended(self, task: asyncio.Task[View]) -> None:
        self._builds -= 1
        if not task.cancelled():
            task.exception()  # retrieved, since the client may have disconnected

    def _entry(self, key: Hashable) -> _CachedViews:
        entry = self._cached.setdefault(key, _CachedViews())
        self._cached.move_to_end(key)
        return entry

    def _make_room(self) -> None:
        """Evict the least recently used views, but keep the last one."""
        rows = sum(entry.rows for entry in self._cached.values())
        while len(self._cached) > 1 and (len(self._cached) > MAX_VIEWS or rows > MAX_ROWS):
            _, oldest = self._cached.popitem(last=False)
            rows -= oldest.rows

    async def _build(self, key: Hashable, entry: _CachedViews, version: str, build: Callable[[], Any]) -> View:
        redaction = Redaction()

        def built() -> tuple[Any, str]:  # Any: each route has its own result
            return redaction.tree(build()), str(self._source.version())

        try:
            limited = partial(_within, BUILD_SECONDS, built)
            (result, after), seconds = await anyio.to_thread.run_sync(_timed, limited, limiter=self._limiter)
        except BaseException:
            if entry.latest is None:  # names that there are not must not push out what there is
                self._cached.pop(key, None)
            raise
        finally:
            entry.building = None
        if after != version:  # of either version, or one between: other processes may have another list of that name
            version = f"{version}-{secrets.token_hex(4)}"
        view = View(version, datetime.now(UTC).isoformat(timespec="seconds"), result, redaction.summary)
        entry.put(view)
        self._make_room()
        entry.rests_until = self._clock() + max(MIN_IDLE_SECONDS, REST * seconds)
        return view


class _TooSlowError(BaseException):
    """Raised within a computation; no handler of errors there takes it for one of its own."""


def _within(seconds: float, build: Callable[[], Any]) -> Any:
    """Return the result; stop the computation in this thread after some seconds, as soon as Python code runs in it."""
    thread, is_over, lock = ctypes.c_ulong(threading.get_ident()), threading.Event(), threading.Lock()

    def stop() -> None:
        wait = seconds
        while not is_over.wait(wait):  # again: Python ignores errors in a callback of the garbage collector
            with lock:
                if not is_over.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_TooSlowError))
            wait = STOP_AGAIN_SECONDS

    threading.Thread(target=stop, daemon=True).start()
    try:
        try:
            return build()
        finally:
            with lock:
                is_over.set()
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)
    except _TooSlowError:
        message = f"the response takes longer than {seconds:.0f} seconds to compute, so the computation was stopped"
        raise RequestError(
            503, "too_slow", message, hint="select fewer runs, or run the command on the server"
        ) from None


def _timed(build: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and its CPU time; on a busy machine, wall time would include other work."""
    started = time.thread_time()
    return build(), time.thread_time() - started
