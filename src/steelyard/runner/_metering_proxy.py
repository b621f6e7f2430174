"""Metering proxy: pass-through endpoint between agents and models, with its own event loop and thread.

It logs every call of an execution, forwards it, counts its tokens, and returns the response unchanged.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import struct
import threading
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import h11
import msgspec

from steelyard.errors import UnknownNameError
from steelyard.runner._call_transcript import MAX_KEPT_BODY_BYTES, CallTranscript
from steelyard.runner._http import (
    HEAD_BYTES,
    Body,
    Head,
    HttpMessageError,
    TruncatedMessageError,
    agent_state,
    endpoint_state,
    read_answer,
    read_request,
    request_bytes,
    response_event,
)
from steelyard.runner._metering_records import (
    KEY_REJECTED,
    REJECTIONS,
    CallBudget,
    CallLimits,
    CallLog,
    KeyCheck,
    MeteredCall,
    MeteredCalls,
    ResolvedEndpoint,
    least,
)
from steelyard.runner._model_apis import ApiRequest, UsageChunkFilter, UsageReader, error_code_of, request_of
from steelyard.runner._relay import RESET_MARK
from steelyard.runner._upstream import NOT_PASSED_BACK, KeyMask, Upstream, swapped

AGENT_SECONDS = 60.0
"""Time that an agent may leave a response unread, which occupies a slot of the endpoint."""
RESET_POLL_SECONDS = 0.01
LAST_WORDS_SECONDS = 1.0
"""Time to read on when the agent has disconnected: usage is mostly sent last."""


class AgentStalledError(Exception):
    """The agent leaves a response unread."""


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
    """Connection of an agent, on which it sends requests and receives responses."""

    reader: AgentReader
    writer: asyncio.StreamWriter
    state: h11.Connection = field(default_factory=agent_state)
    """State of the current request."""

    async def send(self, event: h11.Event) -> None:
        """Send a part of the response, unless the agent has disconnected."""
        data = self.state.send(event)
        if not data or self.reader.is_gone:
            return
        self.writer.write(data)
        if self.writer.transport.get_write_buffer_size() <= HEAD_BYTES:
            return
        try:
            async with asyncio.timeout(AGENT_SECONDS):
                await self.writer.drain()
        except ConnectionError:
            return  # the reader is notified too
        except TimeoutError:
            raise AgentStalledError("the agent did not read the response") from None

    async def send_piece(self, piece: bytes) -> None:
        """Send a piece of a body."""
        if piece:
            await self.send(h11.Data(data=piece))

    async def reset(self) -> None:
        """Reset the connection when all that was sent has been written, as an endpoint does that fails."""
        transport = self.writer.transport
        with suppress(OSError):  # the agent may be gone, or not read what is left
            async with asyncio.timeout(AGENT_SECONDS):
                while transport.get_write_buffer_size():
                    await asyncio.sleep(RESET_POLL_SECONDS)
                while not _is_marked(transport.get_extra_info("socket").fileno()):
                    await asyncio.sleep(RESET_POLL_SECONDS)
        transport.abort()

    async def send_error(self, status: int, message: str, *headers: tuple[str, str]) -> bool:
        """Send an error of the proxy in a form that every client parses; the connection stays open."""
        error = {"type": "invalid_request_error", "code": status, "status": "FAILED_PRECONDITION"}
        body = json.dumps({"type": "error", "error": {**error, "message": f"steelyard proxy: {message}"}}).encode()
        fixed = (("content-type", "application/json"), ("content-length", str(len(body))), *headers)
        events = (response_event(status, fixed), h11.Data(data=body), h11.EndOfMessage())
        with suppress(ConnectionError):
            self.writer.write(b"".join(self.state.send(event) or b"" for event in events))
            await self.writer.drain()
        return True


def _is_marked(descriptor: int) -> bool:
    """Whether the connection is now reset when it is closed; False where its buffer is full.

    A Unix socket cannot be reset: the relay behind it gets a mark, and resets the agent's connection.
    """
    with socket.socket(fileno=os.dup(descriptor)) as agent, open(os.devnull, "rb") as mark:
        if agent.family != socket.AF_UNIX:
            agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return True
        try:
            return socket.send_fds(agent, [RESET_MARK], [mark.fileno()]) > 0
        except BlockingIOError:
            return False


MAX_BODY_BYTES = 64 << 20
"""Bytes of one request."""
MAX_BODIES = 256 << 20
"""Bytes of all concurrent requests of an execution."""
MAX_CONNECTIONS = 64
"""Open connections of an execution. Each is an open file of this process."""
MAX_CALLS = 20_000
"""Calls of an execution: each takes two lines of its file."""
MAX_ERROR_BODY_BYTES = 1 << 14
"""Bytes of a rejection that are kept to be read, save for its last piece."""
PATIENCE_SECONDS = 600.0
"""Time that an endpoint may send nothing; some take minutes before a whole response."""
NO_RETRY = ("x-should-retry", "false")
"""What the clients of OpenAI and Anthropic obey."""


@dataclass
class _Exchange:
    """Call in progress."""

    agent: AgentSide
    request: ApiRequest
    state: h11.Connection
    """State of the request to the endpoint."""
    message: bytes
    """The request as it is sent to the endpoint."""
    usage: UsageReader
    was_sent: bool = False
    """Whether the endpoint may have seen it."""
    is_answering: bool = False
    """Whether the agent has the head of an answer."""
    status: int | None = None
    first_byte: datetime | None = None
    error_body: bytes = b""
    """The beginning of an answer that is a rejection."""
    answer: bytearray | None = None
    """What the agent got, if it is kept."""
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
    transcript: CallTranscript | None = None
    """Where requests and responses are kept; None if they are not."""
    _calls: int = 0
    _bodies: int = 0
    _workers: set[asyncio.Task[None]] = field(default_factory=set)
    _key: KeyCheck = field(default_factory=KeyCheck)

    def connection(self) -> asyncio.StreamReaderProtocol:
        """A protocol for a connection of the agent."""
        return asyncio.StreamReaderProtocol(AgentReader(), self._serve)

    async def close(self) -> None:
        """Cancel the calls in progress."""
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
        except (AgentStalledError, TruncatedMessageError, ConnectionError, asyncio.CancelledError):
            pass  # the connection ended, and nothing waits for more
        finally:
            self._workers.discard(worker)
            writer.close()

    async def _exchange(self, agent: AgentSide) -> bool:
        """Handle one request; return whether another may follow."""
        agent.state = agent_state()
        head = await read_request(agent.state, agent.reader)
        if head is None:
            return False
        if agent.state.they_are_waiting_for_100_continue:
            await agent.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        framed, body = Body(agent.state, head), bytearray()
        try:
            while piece := await framed.read(agent.reader):
                body += piece
                self._bodies += len(piece)
                if len(body) > MAX_BODY_BYTES or self._bodies > MAX_BODIES:
                    raise HttpMessageError(
                        f"request larger than {MAX_BODY_BYTES:,} bytes, or too many requests at once", 413
                    )
            return await self._answer(agent, head, bytes(body)) and framed.allows_another
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
        state = endpoint_state()
        message = request_bytes(state, head.method, target, headers, request.body)
        exchange = _Exchange(agent, request, state, message, UsageReader(request.kind))
        async with self.upstream.turn() as waited_seconds:
            if agent.reader.is_gone:
                return False
            if request.generates and self._calls >= MAX_CALLS:
                self.log.reject("too_many_calls")
            if self.log.rejection is not None:
                reason = REJECTIONS.get(self.log.rejection, self.log.rejection)
                status = 401 if self.log.rejection == KEY_REJECTED else 400  # what the agent's log then tells
                return await agent.send_error(status, f"no more calls: {reason}", NO_RETRY)
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
            request_bytes=len(request.body),
            max_output_tokens=request.max_output_tokens,
            waited_seconds=round(waited_seconds, 6),
        )
        self.log.begin(call)
        exchange.answer = bytearray() if self.transcript is not None else None
        try:
            return await self._passed_on(exchange)
        finally:
            self._end(call, exchange)

    def _end(self, call: MeteredCall, exchange: _Exchange) -> None:
        """Record the end of the call, and reject further calls if the budget is used up."""
        usage, status = exchange.usage, exchange.status
        usage.end()
        is_successful = status is not None and 200 <= status < 300
        if is_successful and usage.was_cut and exchange.error is None:
            exchange.error = "the endpoint ended the stream without its last event"
        is_lower_bound = exchange.was_sent and (status is None or (is_successful and not usage.is_final))
        ended = msgspec.structs.replace(
            call,
            status=status,
            model_answered=usage.model,
            usage=least(usage.usage) if is_lower_bound else usage.usage,
            is_lower_bound=is_lower_bound,
            first_byte=exchange.first_byte,
            ended=datetime.now(UTC),
            error=exchange.error,
            was_aborted=exchange.was_aborted,
            error_code=error_code_of(exchange.error_body) if exchange.error_body else None,
        )
        self.log.end(ended)
        if self.transcript is not None and exchange.answer is not None:
            self.transcript.keep(ended, exchange.request.body, bytes(exchange.answer))
        if reason := self.budget.spend(ended):
            self.log.reject(reason)
        if self._key.is_rejected(ended):
            self.log.reject(KEY_REJECTED)

    async def _passed_on(self, exchange: _Exchange) -> bool:
        """Whether another request may follow, when the answer is with the agent or could not be had."""
        try:
            await self._pass_on(exchange)
        except (OSError, TruncatedMessageError, HttpMessageError) as problem:
            exchange.error = _problem(problem, was_sent=exchange.was_sent)
            is_closed = isinstance(problem, TruncatedMessageError)
            is_reset = isinstance(problem, ConnectionError) and exchange.was_sent
            if is_closed or is_reset or exchange.is_answering:  # the agent's connection ends as the endpoint's did
                if not is_closed:
                    await exchange.agent.reset()
                return False
            return await exchange.agent.send_error(504 if isinstance(problem, TimeoutError) else 502, exchange.error)
        except AgentStalledError as problem:
            exchange.was_aborted, exchange.error = True, str(problem)
            return False
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
                answer = await read_answer(exchange.state, connection.reader)
                exchange.status = answer.status
                if answer.status in (429, 503):
                    self.upstream.pause(answer.get("retry-after"))
                if 300 <= answer.status < 400:
                    raise HttpMessageError("the endpoint redirects, which is not supported; use its final URL")
                if (answer.get("content-encoding") or "identity").lower() != "identity":
                    raise HttpMessageError("the endpoint sent a compressed response despite accept-encoding: identity")
                body = Body(exchange.state, answer)
                await self._pass_back(exchange, answer, body, connection.reader, limit)
            is_reusable = body.allows_another
        finally:
            if is_reusable:
                self.upstream.keep(connection)
            else:
                connection.close()

    async def _pass_back(
        self, exchange: _Exchange, answer: Head, body: Body, reader: asyncio.StreamReader, limit: asyncio.Timeout
    ) -> None:
        """Return the response to the agent, piece by piece."""
        agent, mask = exchange.agent, KeyMask(self.upstream.endpoint.key)
        is_stream = (answer.get("content-type") or "").startswith("text/event-stream")
        chosen = UsageChunkFilter() if exchange.request.adds_usage and is_stream else None
        length = 0 if answer.status == 204 else answer.length if chosen is None else None
        headers = [(name, mask.text(value)) for name, value in answer.headers if name not in NOT_PASSED_BACK]
        if length is not None:
            headers.append(("content-length", str(length)))
        exchange.is_answering = True
        await agent.send(response_event(answer.status, headers))
        while piece := await body.read(reader):
            self._go_on(limit)
            exchange.first_byte = exchange.first_byte or datetime.now(UTC)
            if answer.status < 300:
                exchange.usage.feed(piece)
            elif len(exchange.error_body) < MAX_ERROR_BODY_BYTES:
                exchange.error_body += piece
            shown = mask.feed(piece)
            if exchange.answer is not None and len(exchange.answer) <= MAX_KEPT_BODY_BYTES:
                exchange.answer += shown
            await agent.send_piece(shown if chosen is None else chosen.feed(shown))
        rest = mask.end()
        if exchange.answer is not None:
            exchange.answer += rest
        await agent.send_piece(rest if chosen is None else chosen.feed(rest) + chosen.end())
        await agent.send(h11.EndOfMessage())

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


SOCKET_NAME = "proxy.sock"
_MAX_ADDRESS_LENGTH = 100
"""Maximum length of a socket path in bytes, on all systems."""
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
        self,
        token: str,
        endpoint: str,
        *,
        log: Path,
        socket_folder: Path,
        limits: CallLimits | None = None,
        transcript: Path | None = None,
    ) -> Admission:
        """A way to the endpoint for one execution, which ends with `close`.

        Who comes with the token is let through and asks with the endpoint's key; the calls are written to `log`, and
        requests and responses to `transcript`.
        """
        upstream = self._upstreams.get(endpoint)
        if upstream is None:
            raise UnknownNameError("endpoint", endpoint, self._upstreams)
        budget = CallBudget(limits or CallLimits(), upstream.endpoint.price_table)
        kept = CallTranscript(transcript) if transcript is not None else None
        gate = Gate(token, upstream, CallLog(log), budget, self._patience_seconds, kept)
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
        if self._gate.transcript is not None:
            await asyncio.to_thread(self._gate.transcript.close)
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
