"""HTTP protocol with header timeouts and problem responses, which uvicorn lacks."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from steelyard.errors import RequestError
from steelyard.server._guard import PATIENCE_SECONDS, SECURITY_HEADERS
from steelyard.server._problems import problem_response


class Protocol(H11Protocol):
    """Protocol that closes connections with incomplete headers and responds to invalid HTTP."""

    head_seconds = PATIENCE_SECONDS
    _slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base has it
        """Start the header timeout."""
        super().connection_made(transport)
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
        error = RequestError(400, "no_http", msg.rstrip("."), hint="send an HTTP/1.1 request")
        problem = problem_response(error, "")
        headers = [*problem.raw_headers, *SECURITY_HEADERS, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(problem.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
