"""Server-sent events with the new version when the source changes. Pages then reload their data.

One watcher per process checks the version and notifies every stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from starlette.responses import Response, StreamingResponse

from steelyard.errors import RequestError, SteelyardError
from steelyard.pages import json_bytes
from steelyard.server._problems import LOG

MAX_STREAMS = 200
LOOK_SECONDS = 0.5
COMMENT_SECONDS = 15.0
"""Interval of comments; proxies close streams that are silent for longer."""


class Live:
    """Open streams of a process, with one watcher."""

    def __init__(self, version: Callable[[], Awaitable[str]]) -> None:
        self._version = version
        self._current: str | None = None
        self._changed = asyncio.Condition()
        self._watcher: asyncio.Task[None] | None = None
        self._is_stopping = False
        self.streams = 0

    async def start(self) -> None:
        """Start watching."""
        self._watcher = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Close all streams."""
        self._is_stopping = True
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher
        async with self._changed:
            self._changed.notify_all()

    async def _watch(self) -> None:
        while True:
            try:
                version: str | None = await self._version()
            except SteelyardError as error:  # a store that does not answer may do so again
                LOG.warning("cannot watch the source: %s", error)
                version = self._current
            if version != self._current:
                self._current = version
                async with self._changed:
                    self._changed.notify_all()
            await asyncio.sleep(LOOK_SECONDS)

    def response(self, seen: str | None) -> Response:
        """Return a stream that starts with the current version, unless the client has it."""
        if self.streams >= MAX_STREAMS:
            raise RequestError(503, "too_many_streams", f"too many open event streams (limit: {MAX_STREAMS})")
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._stream(seen), media_type="text/event-stream", headers=headers)

    async def _stream(self, seen: str | None) -> AsyncIterator[bytes]:
        self.streams += 1
        try:
            yield b"retry: 2000\n\n"
            while not self._is_stopping:
                if self._current is not None and self._current != seen:
                    seen = self._current
                    yield _event(seen)
                try:
                    async with asyncio.timeout(COMMENT_SECONDS), self._changed:
                        await self._changed.wait()
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self.streams -= 1


def _event(version: str) -> bytes:
    return b"id: %b\nevent: changed\ndata: %b\n\n" % (version.encode(), json_bytes({"version": version}))
