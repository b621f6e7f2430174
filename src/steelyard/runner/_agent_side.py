"""A connection of an agent to the metering proxy."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass

from steelyard.runner._http import HEAD_BYTES, HttpMessageError, answer_line, as_chunk, head_bytes

AGENT_SECONDS = 60.0
"""How long an agent may leave an answer unread; it takes up a place at the endpoint meanwhile."""
LAST_WORDS_SECONDS = 1.0
"""How long an answer is read on when its agent has left: the usage mostly follows the last word."""


class AgentReader(asyncio.StreamReader):
    """Reader of an agent's requests; notifies the session when the agent disconnects."""

    def __init__(self) -> None:
        super().__init__(limit=HEAD_BYTES)
        self.is_gone = False
        self.worker: asyncio.Task[None] | None = None

    def feed_eof(self) -> None:
        """The agent closed the connection, or at least its sending side."""
        super().feed_eof()
        self._leave()

    def set_exception(self, exc: Exception) -> None:
        """The connection broke."""
        super().set_exception(exc)
        self._leave()

    def _leave(self) -> None:
        if not self.is_gone and self.worker is not None:
            asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self.worker.cancel)
        self.is_gone = True


@dataclass
class AgentSide:
    """Where an answer goes."""

    reader: AgentReader
    writer: asyncio.StreamWriter
    is_chunked: bool = False
    """Whether the answer that is being sent goes in chunks."""

    async def send(self, data: bytes) -> None:
        """Sends bytes, unless the agent has left."""
        if self.reader.is_gone:
            return
        self.writer.write(data)
        if self.writer.transport.get_write_buffer_size() <= HEAD_BYTES:
            return
        try:
            async with asyncio.timeout(AGENT_SECONDS):
                await self.writer.drain()
        except ConnectionError:
            return  # the reader hears of it too
        except TimeoutError:
            raise HttpMessageError("the agent did not read the response") from None

    async def send_piece(self, piece: bytes) -> None:
        """Sends a piece of a body."""
        if piece:
            await self.send(as_chunk(piece) if self.is_chunked else piece)

    async def send_error(self, status: int, message: str, *headers: tuple[str, str]) -> bool:
        """Send an error of the proxy in a form that every client parses; the connection stays open."""
        error = {"type": "invalid_request_error", "code": status, "status": "FAILED_PRECONDITION"}
        body = json.dumps({"type": "error", "error": {**error, "message": f"steelyard proxy: {message}"}}).encode()
        fixed = (("content-type", "application/json"), ("content-length", str(len(body))), *headers)
        with suppress(ConnectionError):
            self.writer.write(head_bytes(answer_line(status), fixed) + body)
            await self.writer.drain()
        return True
