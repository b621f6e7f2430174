"""HTTP itself, where uvicorn answers by its own before there is a request, or waits for one without end."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from steelyard.errors import RequestError
from steelyard.surfaces.server._guard import PATIENCE_SECONDS, SECURITY_HEADERS
from steelyard.surfaces.server._problems import problem_response


class Protocol(H11Protocol):
    """Closes a connection whose request does not come to the end of its headers, and answers what is no HTTP."""

    head_seconds = PATIENCE_SECONDS
    _slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; a request that has not told all its headers has as long as the first one."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._wait_no_more()
        elif self._slow is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._slow = self.loop.call_later(self.head_seconds, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP, as every other problem is told."""
        refusal = RequestError(400, "no_http", msg.rstrip("."), hint="send an HTTP/1.1 request")
        problem = problem_response(refusal, "")
        headers = [*problem.raw_headers, *SECURITY_HEADERS, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(problem.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
