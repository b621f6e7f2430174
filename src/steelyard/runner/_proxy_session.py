"""Proxy of one execution: log every call, forward it, count its tokens and return the response unchanged."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from steelyard.runner._agent_side import AgentReader, AgentSide
from steelyard.runner._api_requests import ApiRequest, request_of
from steelyard.runner._call_budget import REJECTIONS, CallBudget
from steelyard.runner._call_usage import UsageChunkFilter, UsageReader, error_code_of
from steelyard.runner._http import (
    LAST_CHUNK,
    Body,
    Head,
    HttpMessageError,
    TruncatedMessageError,
    answer_line,
    head_bytes,
    read_answer,
    read_request,
)
from steelyard.runner._metering_records import CallLog, MeteredCall
from steelyard.runner._token_swap import NOT_PASSED_BACK, KeyMask, swapped
from steelyard.runner._upstream import Upstream

MAX_BODY_BYTES = 64 << 20
"""Bytes of one request."""
MAX_BODIES = 256 << 20
"""Bytes of all requests of an execution that are there at the same time."""
MAX_CONNECTIONS = 64
"""Open connections of an execution. Each takes a file of this process."""
MAX_CALLS = 20_000
"""Calls of an execution: each takes two lines of its file."""
MAX_ERROR_BODY_BYTES = 1 << 14
"""Bytes of a rejection that are kept to be read, save for its last piece."""
PATIENCE_SECONDS = 600.0
"""How long an endpoint may send nothing: some think for minutes before a whole answer."""
NO_RETRY = ("x-should-retry", "false")
"""What the clients of OpenAI and Anthropic obey."""


@dataclass
class _Exchange:
    """A call under way, and how far it has come."""

    agent: AgentSide
    head: Head
    request: ApiRequest
    message: bytes
    """The request as the endpoint is to see it."""
    usage: UsageReader
    was_sent: bool = False
    """Whether the endpoint may have seen it."""
    is_answering: bool = False
    """Whether the agent has the head of an answer."""
    status: int | None = None
    first_byte: datetime | None = None
    error_body: bytes = b""
    """The beginning of an answer that is a rejection."""
    was_aborted: bool = False
    error: str | None = "the execution ended before the response"
    """None once the answer has come whole."""


@dataclass
class Gate:
    """Session between one execution and its endpoint; runs on the proxy's event loop."""

    token: str = field(repr=False)
    upstream: Upstream
    log: CallLog
    budget: CallBudget
    patience_seconds: float = PATIENCE_SECONDS
    _calls: int = 0
    _bodies: int = 0
    _workers: set[asyncio.Task[None]] = field(default_factory=set)

    def connection(self) -> asyncio.StreamReaderProtocol:
        """A protocol for a connection of the agent."""
        return asyncio.StreamReaderProtocol(AgentReader(), self._serve)

    async def close(self) -> None:
        """Cuts what is under way."""
        workers = list(self._workers)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        worker = asyncio.current_task()
        assert isinstance(reader, AgentReader)  # made by `connection`
        assert worker is not None
        if len(self._workers) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        reader.worker = worker
        self._workers.add(worker)
        agent = AgentSide(reader, writer)
        try:
            while not reader.is_gone and await self._exchange(agent):
                pass
        except HttpMessageError as problem:
            await agent.send_error(problem.status, str(problem))
        except (TruncatedMessageError, ConnectionError, asyncio.CancelledError):
            pass  # the connection ended, and nothing waits for more
        finally:
            self._workers.discard(worker)
            writer.close()

    async def _exchange(self, agent: AgentSide) -> bool:
        """One request and its answer; whether another may follow."""
        head = await read_request(agent.reader)
        if head is None:
            return False
        if (head.get("expect") or "").lower() == "100-continue":
            await agent.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        framed, body = Body(head, until_end=False), bytearray()
        try:
            while piece := await framed.read(agent.reader):
                body += piece
                self._bodies += len(piece)
                if len(body) > MAX_BODY_BYTES or self._bodies > MAX_BODIES:
                    raise HttpMessageError(
                        f"request larger than {MAX_BODY_BYTES:,} bytes, or too many requests at once", 413
                    )
            return await self._answer(agent, head, bytes(body)) and head.stays_open and framed.is_exact
        finally:
            self._bodies -= len(body)

    async def _answer(self, agent: AgentSide, head: Head, body: bytes) -> bool:
        path, _, query = head.target.partition("?")
        endpoint, address = self.upstream.endpoint, self.upstream.address
        asked = swapped(head, query, token=self.token, key=endpoint.key)
        if asked is None:
            return await agent.send_error(401, "invalid token for this trial")
        request = request_of(endpoint.kind, head.method, path, body, base=address.base)
        if request is None:
            return await agent.send_error(
                404, f"{head.method} is not supported on this path for endpoints of kind {endpoint.kind}"
            )
        headers, query = asked
        headers = [("host", address.authority), *headers, ("accept-encoding", "identity")]
        if head.method == "POST":
            headers.append(("content-length", str(len(request.body))))
        target = f"{request.target}?{query}" if query else request.target
        message = head_bytes(f"{head.method} {target} HTTP/1.1", headers) + request.body
        exchange = _Exchange(agent, head, request, message, UsageReader(request.kind))
        async with self.upstream.turn() as waited_seconds:
            if agent.reader.is_gone:
                return False
            if request.generates and self._calls >= MAX_CALLS:
                self.log.reject("too_many_calls")
            if self.log.rejection is not None:
                reason = REJECTIONS.get(self.log.rejection, self.log.rejection)
                return await agent.send_error(400, f"no more calls: {reason}", NO_RETRY)
            if not request.generates:
                return await self._passed_on(exchange)
            return await self._metered(exchange, waited_seconds)

    async def _metered(self, exchange: _Exchange, waited_seconds: float) -> bool:
        """The call, written down before it is passed on and when it has ended, however it ended."""
        request = exchange.request
        self._calls += 1
        call = MeteredCall(
            number=self._calls,
            path=request.path,
            started=datetime.now(UTC),
            model_asked=request.model,
            temperature=request.temperature,
            seed=request.seed,
            is_streamed=request.is_streamed,
            waited_seconds=round(waited_seconds, 6),
        )
        self.log.begin(call)
        try:
            return await self._passed_on(exchange)
        finally:
            self._end(call, exchange)

    def _end(self, call: MeteredCall, exchange: _Exchange) -> None:
        """Record the end of the call, and reject further calls if the budget is used up."""
        usage, status = exchange.usage, exchange.status
        usage.end()
        is_successful = status is not None and 200 <= status < 300
        ended = msgspec.structs.replace(
            call,
            status=status,
            model_answered=usage.model,
            usage=usage.usage,
            is_lower_bound=exchange.was_sent and (status is None or (is_successful and not usage.is_final)),
            first_byte=exchange.first_byte,
            ended=datetime.now(UTC),
            error=exchange.error,
            was_aborted=exchange.was_aborted,
            error_code=error_code_of(exchange.error_body) if exchange.error_body else None,
        )
        self.log.end(ended)
        if reason := self.budget.spend(ended):
            self.log.reject(reason)

    async def _passed_on(self, exchange: _Exchange) -> bool:
        """Whether another request may follow, when the answer is with the agent or could not be had."""
        try:
            await self._pass_on(exchange)
        except (OSError, TruncatedMessageError, HttpMessageError) as problem:
            exchange.error = _problem(problem, was_sent=exchange.was_sent)
            if exchange.is_answering:
                return False  # a truncated response is closed as the endpoint closed it
            return await exchange.agent.send_error(504 if isinstance(problem, TimeoutError) else 502, exchange.error)
        except asyncio.CancelledError:
            exchange.was_aborted = True
            if exchange.agent.reader.is_gone:
                exchange.error = "the agent disconnected before the end of the response"
            raise
        exchange.error = None
        return True

    async def _pass_on(self, exchange: _Exchange) -> None:
        connection = await self.upstream.connect()
        is_reusable = False
        try:
            exchange.was_sent = True
            connection.writer.write(exchange.message)
            async with asyncio.timeout(self.patience_seconds) as limit:
                answer = await read_answer(connection.reader)
                exchange.status = answer.status
                if answer.status in (429, 503):
                    self.upstream.pause(answer.get("retry-after"))
                if 300 <= answer.status < 400:
                    raise HttpMessageError("the endpoint redirects, which is not supported; use its final URL")
                if (answer.get("content-encoding") or "identity").lower() != "identity":
                    raise HttpMessageError("the endpoint sent a compressed response despite accept-encoding: identity")
                body = Body(answer, until_end=answer.status != 204)
                await self._pass_back(exchange, answer, body, connection.reader, limit)
            is_reusable = answer.stays_open and body.is_exact
        finally:
            if is_reusable:
                self.upstream.keep(connection)
            else:
                connection.close()

    async def _pass_back(
        self, exchange: _Exchange, answer: Head, body: Body, reader: asyncio.StreamReader, limit: asyncio.Timeout
    ) -> None:
        """The answer as it came, piece by piece."""
        agent, mask = exchange.agent, KeyMask(self.upstream.endpoint.key)
        is_stream = (answer.get("content-type") or "").startswith("text/event-stream")
        chosen = UsageChunkFilter() if exchange.request.adds_usage and is_stream else None
        length = 0 if answer.status == 204 else answer.length if chosen is None else None
        agent.is_chunked = length is None and exchange.head.is_newer
        headers = [(name, mask.text(value)) for name, value in answer.headers if name not in NOT_PASSED_BACK]
        if length is not None:
            headers.append(("content-length", str(length)))
        elif agent.is_chunked:
            headers.append(("transfer-encoding", "chunked"))
        if not exchange.head.stays_open:
            headers.append(("connection", "close"))
        exchange.is_answering = True
        await agent.send(head_bytes(answer_line(answer.status), headers))
        while piece := await body.read(reader):
            self._go_on(limit)
            exchange.first_byte = exchange.first_byte or datetime.now(UTC)
            if answer.status < 300:
                exchange.usage.feed(piece)
            elif len(exchange.error_body) < MAX_ERROR_BODY_BYTES:
                exchange.error_body += piece
            shown = mask.feed(piece)
            await agent.send_piece(shown if chosen is None else chosen.feed(shown))
        rest = mask.end()
        await agent.send_piece(rest if chosen is None else chosen.feed(rest) + chosen.end())
        if agent.is_chunked:
            await agent.send(LAST_CHUNK)

    def _go_on(self, limit: asyncio.Timeout) -> None:
        """Restart the timeout when data arrives; not for every piece, which would be slow."""
        now, until = asyncio.get_running_loop().time(), limit.when()
        if until is not None and until - now < 0.9 * self.patience_seconds:
            limit.reschedule(now + self.patience_seconds)


def _problem(problem: Exception, *, was_sent: bool) -> str:
    """What went wrong, without the address of the endpoint."""
    match problem:
        case HttpMessageError():
            return str(problem)
        case TimeoutError():
            return "timeout while waiting for the endpoint" if was_sent else "timeout while connecting to the endpoint"
        case ssl.SSLCertVerificationError():
            return f"the endpoint's certificate is not trusted: {problem.verify_message}"
        case OSError(errno=int() as number):
            reason = os.strerror(number)
        case _:
            reason = "connection closed by the endpoint"
    return (
        f"the connection to the endpoint was lost: {reason}"
        if was_sent
        else f"the endpoint cannot be reached: {reason}"
    )
