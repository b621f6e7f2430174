"""A scripted model on 127.0.0.1 that counts what it serves, so that real agents can be run without a model.

It speaks OpenAI chat completions and responses, Anthropic messages and Gemini generateContent, whole or streamed. Which
step of the script an answer takes is told by the conversation itself: the number of tool results that it holds. So the
server keeps no state but its count, and requests may come in any order.

No two calls and no two kinds of tokens have the same number: each kind has its own base, to which the call's own bit is
added. A sum that is read back from a log therefore tells which kinds and which calls went into it.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any, Literal

from agents.answers import Answer, answer_chat, answer_gemini, answer_messages, answer_responses

Api = Literal["chat", "responses", "messages", "gemini"]
BASES = {"input": 12_000, "cache_read": 6_500, "cache_write": 3_000, "output": 2_400, "reasoning": 1_200}
SUBAGENT_TOOL = "complete_task"
"""The tool with which a subagent of Gemini CLI ends; no other agent is offered it."""
RESET_SECONDS = 0.1
"""Before a connection is reset, so that what was sent before has been read."""
MAX_CALLS = 9
"""With more calls, sums of different calls and kinds would coincide."""
KINDS: dict[Api, tuple[str, ...]] = {
    "chat": ("input", "cache_read", "output", "reasoning"),
    "responses": ("input", "cache_read", "output", "reasoning"),
    "gemini": ("input", "cache_read", "output", "reasoning"),
    "messages": ("input", "cache_read", "cache_write", "output"),
}
ENDINGS: dict[str, Api] = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "messages",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
}
ANSWERS = {
    "chat": answer_chat,
    "responses": answer_responses,
    "messages": answer_messages,
    "gemini": answer_gemini,
}
SHELL_TOOLS = frozenset(
    {
        "bash",
        "shell",
        "shell_command",
        "exec_command",
        "run_shell_command",
        "local_shell",
        "execute_command",
        "run_commands",
    }
)

SUBTASK = "SUBTASK"
"""In a task for a subagent: its conversation takes the steps of a subagent."""
DELEGATING_TOOLS = frozenset({"task", "agent", "spawn_agent", "generalist", "invoke_agent", "use_subagents"})
SUBAGENTS = {"agent_name": "generalist", "agent_type": "task", "subagent_type": "general-purpose"}
"""Which subagent is asked, by the argument that names it."""
COMPACTING = re.compile(r"(?i)summary of the conversation|compact")
"""In the last message of a request for a summary of the history."""


@dataclass(frozen=True)
class Step:
    """One answer of the script: a command for the agent's shell tool, a task for its subagent tool, or a text."""

    run: str | None = None
    say: str | None = None
    call: tuple[str, Mapping[str, Any]] | None = None
    """Another tool by its name, and its arguments."""
    delegate: str | None = None
    """The subagent's task; its own requests are recognized by `SUBTASK` in the first message."""


FaultKind = Literal["reset", "close", "hang", "bad_chunk"]


@dataclass(frozen=True)
class Fault:
    """A connection that ends before its answer does."""

    kind: FaultKind
    """`reset` (RST), `close` (FIN), `hang` (nothing more is sent), or `bad_chunk` (FIN within a chunk)."""
    is_early: bool = False
    """Whether nothing of the answer was sent; else the first half of its body."""


@dataclass(frozen=True)
class Script:
    """What the model does: its steps in order, the last one again and again, or a rejection of every call."""

    steps: tuple[Step, ...] = (Step(run="printf 'hello\\n' > hello.txt"), Step(say="hello.txt says hello."))
    subagent_steps: tuple[Step, ...] = (Step(run="printf 'part\\n' > part.txt"), Step(say="part.txt says part."))
    """What the model does in the conversation of a subagent."""
    fills_context_at: int | None = None
    """The call whose stated input fills the agent's context, so that it compacts its history."""
    context_tokens: int = 1 << 20
    """By how much."""
    status: int = 200
    """Another HTTP status refuses every call with it."""
    statuses: tuple[int, ...] = ()
    """The statuses of the first calls, before `status` holds."""
    retry_after: str | None = None
    """The header of a rejection."""
    delay_seconds: float = 0.0
    """Before every answer."""
    count_delay_seconds: float = 0.0
    """Before a call that has arrived is counted, as on a busy machine."""
    hangs_from: int | None = None
    """From this call on, nothing is answered."""
    faults: Mapping[int, Fault] = field(default_factory=dict)
    """How the connection ends of these calls."""
    cut_after: int | None = None
    """Bytes of a body after which the connection is closed."""
    is_chunked: bool = False
    """Whether streams come in chunks, over connections that stay open."""
    piece_bytes: int | None = None
    """A stream is sent in pieces of so many bytes."""
    echoes_key: bool = False
    """Whether a rejection tells the key that it came with, as some do."""
    has_many_calls: bool = False
    """Past the ninth call, a sum does not tell calls apart any more; every single call still has its own numbers."""
    without_tools: str = "A short title"
    """The answer to a request that offers no shell: a title, a summary."""


@dataclass(frozen=True)
class ServedCall:
    """One request and what it was told."""

    number: int
    api: Api
    status: int
    model: str
    streamed: bool
    tool: str | None = None
    """The tool that the answer called."""
    offered_tools: int = 0
    key: str = ""
    """The header that held the key."""
    usage: dict[str, int] = field(default_factory=dict)
    """Tokens that were stated, in kinds that do not overlap; empty for a call that was refused."""


def usage_of(api: Api, number: int, *, has_many_calls: bool = False) -> dict[str, int]:
    """The tokens of a call: each kind's base and the call's own bit; among many calls, its own number."""
    if has_many_calls:
        return {kind: BASES[kind] + number for kind in KINDS[api]}
    if number >= MAX_CALLS:
        raise ValueError(f"the script is for at most {MAX_CALLS} calls")
    return {kind: BASES[kind] + (1 << number) for kind in KINDS[api]}


@contextmanager
def model_server(script: Script | None = None, *, secured_by: SSLContext | None = None) -> Iterator[ModelServer]:
    """A server that runs until the block ends."""
    server = ModelServer(script or Script())
    if secured_by is not None:
        server.socket = secured_by.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()


class ModelServer(ThreadingHTTPServer):
    """The server, its script and its count."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, script: Script) -> None:
        self.script = script
        self.is_over = threading.Event()
        self.sent: list[bytes] = []
        """The bodies of the answers, as they were sent."""
        self.on_call: Callable[[], None] | None = None
        """Done when a call has arrived and before it is answered."""
        self.calls: list[ServedCall] = []
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def served(self, api: Api, body: Mapping[str, Any], path: str, key: str) -> tuple[ServedCall, Answer | None]:
        """Counts one request; the answer, or None where the script refuses it."""
        offered = dict(_tools(api, body))
        shell = next((name for name in offered if name.lower() in SHELL_TOOLS), None)
        texts = list(_user_texts(api, body))
        is_subagent = SUBAGENT_TOOL in offered or any(SUBTASK in text for text in texts[:3])
        steps = self.script.subagent_steps if is_subagent else self.script.steps
        step = steps[min(_tool_results(api, body), len(steps) - 1)]
        if (shell is None and step.call is None) or (texts and COMPACTING.search(texts[-1])):
            step = Step(say=self.script.without_tools)
        tool, arguments = _tool_call(offered, shell, step)
        if is_subagent and step.say is not None and SUBAGENT_TOOL in offered:
            tool, arguments = SUBAGENT_TOOL, _arguments(offered[SUBAGENT_TOOL], step.say)
        model = str(body.get("model") or path.rsplit("/", 1)[-1].split(":", maxsplit=1)[0])
        streamed = bool(body.get("stream")) or path.endswith(":streamGenerateContent")
        with self._lock:
            number = len(self.calls)
            status = self.script.statuses[number] if number < len(self.script.statuses) else self.script.status
            is_rejected = status != 200
            call = ServedCall(
                number=number,
                api=api,
                status=status,
                model=model,
                streamed=streamed,
                tool=None if is_rejected else tool,
                offered_tools=len(offered),
                key=key,
                usage={} if is_rejected else self._usage(api, number),
            )
            self.calls.append(call)
        if is_rejected:
            return call, None
        key = f"scripted{number:04d}"
        return call, Answer(key, model, call.usage, step.say or "", tool or "", arguments, streamed)

    def _usage(self, api: Api, number: int) -> dict[str, int]:
        usage = usage_of(api, number, has_many_calls=self.script.has_many_calls)
        if number == self.script.fills_context_at:
            usage["input"] += self.script.context_tokens
        return usage

    def count(self) -> str:
        """The count as JSON, one call after another."""
        with self._lock:
            return json.dumps([asdict(call) for call in self.calls])


def calls_of(count: str) -> list[ServedCall]:
    """The calls of a count that was written as JSON."""
    return [ServedCall(**call) for call in json.loads(count)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    _fault: Fault | None = None
    server: ModelServer

    def log_message(self, *_: object) -> None:  # type: ignore[override] # nothing is made of what it is given
        """Say nothing: the count has it all."""

    def do_HEAD(self) -> None:
        self._whole({})

    def do_GET(self) -> None:
        self._whole({"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        api = next((api for ending, api in ENDINGS.items() if path.endswith(ending)), None)
        if api is None:  # a question how long a prompt is costs nothing; anything else is telemetry
            self._whole({"input_tokens": BASES["input"], "totalTokens": BASES["input"]})
            return
        body = json.loads(raw or b"{}")
        script, key = self.server.script, self._key()
        self.server.is_over.wait(script.count_delay_seconds)
        call, answer = self.server.served(api, body, path, key)
        if self.server.on_call is not None:
            self.server.on_call()
        self.server.is_over.wait(script.delay_seconds)
        if script.hangs_from is not None and call.number >= script.hangs_from:
            self.server.is_over.wait()
            self.close_connection = True
            return
        self._fault = script.faults.get(call.number)
        if self._fault is not None and self._fault.is_early:
            self._break_off(self._fault)
            return
        if answer is None:
            words = f"rejected by the script: {key}" if script.echoes_key else "rejected by the script"
            message = {"message": words, "type": "scripted", "code": call.status}
            self._whole({"type": "error", "error": message}, status=call.status)
            return
        events = ANSWERS[api](answer, body)
        if isinstance(events, Mapping):
            self._whole(events)
        else:
            self._stream(events, named=api in ("responses", "messages"))

    def _whole(self, value: Mapping[str, Any], *, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status != 200 and self.server.script.retry_after is not None:
            self.send_header("Retry-After", self.server.script.retry_after)
        self.end_headers()
        if self._fault is not None and status == 200:
            self._send([data[: len(data) // 2]], is_chunked=False)
            self._break_off(self._fault)
        elif self.command != "HEAD":
            self._send([data], is_chunked=False)

    def _stream(self, events: Sequence[Mapping[str, Any] | str], *, named: bool) -> None:
        script, fault = self.server.script, self._fault
        is_chunked = script.is_chunked or fault is not None
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header(*(("Transfer-Encoding", "chunked") if is_chunked else ("Connection", "close")))
        self.end_headers()
        self.close_connection = not is_chunked
        pieces = [stream_event(event, named=named) for event in events]
        if (size := script.piece_bytes) is not None:
            whole = b"".join(pieces)
            pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        if fault is not None:
            self._send(pieces[: len(pieces) // 2], is_chunked=True)
            if fault.kind == "bad_chunk":
                self.wfile.write(b"1000\r\ndata: {")
                self.wfile.flush()
            self._break_off(fault)
            return
        self._send(pieces, is_chunked=is_chunked)
        if script.is_chunked and not self.close_connection:
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, pieces: Sequence[bytes], *, is_chunked: bool) -> None:
        """The pieces, one after another, up to where the script cuts."""
        left = self.server.script.cut_after
        self.server.sent.append(b"".join(pieces)[:left])
        for piece in pieces:
            sent = piece if left is None else piece[:left]
            if sent:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(sent), sent) if is_chunked else sent)
                self.wfile.flush()
            if left is not None:
                left -= len(sent)
                if not left:
                    self.close_connection = True
                    return

    def _break_off(self, fault: Fault) -> None:
        """End the connection as the fault says."""
        self.close_connection = True
        if fault.kind == "hang":
            self.server.is_over.wait()
        elif fault.kind == "reset":
            time.sleep(RESET_SECONDS)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, self.connection.fileno())  # the socket is closed at once, and nothing is sent before
            os.close(nothing)

    def _key(self) -> str:
        names = ("Authorization", "x-api-key", "x-goog-api-key")
        return next((value for name in names if (value := self.headers.get(name))), "")


def stream_event(event: Mapping[str, Any] | str, *, named: bool) -> bytes:
    """An event as it is sent."""
    name = f"event: {event['type']}\n" if named and isinstance(event, Mapping) else ""
    text = event if isinstance(event, str) else json.dumps(event)
    return f"{name}data: {text}\n\n".encode()


def _tools(api: Api, body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and JSON schema of the arguments of every tool that the agent offers."""
    for tool in body.get("tools") or ():
        if api == "gemini":
            for function in tool.get("functionDeclarations") or ():
                yield function["name"], function.get("parametersJsonSchema") or function.get("parameters") or {}
        elif api == "chat":
            yield tool["function"]["name"], tool["function"].get("parameters") or {}
        elif tool.get("type") == "namespace":
            yield from ((f"{tool['name']}/{inner['name']}", inner["parameters"]) for inner in tool["tools"])
        else:
            name = tool.get("name") or tool.get("type") or ""
            yield name, tool.get("parameters") or tool.get("input_schema") or {}


def _tool_results(api: Api, body: Mapping[str, Any]) -> int:
    """How many tool results the conversation holds."""
    if api == "chat":
        return sum(message.get("role") == "tool" for message in body["messages"])
    if api == "responses":
        items = body["input"] if isinstance(body["input"], list) else []
        return sum(str(item.get("type", "")).endswith("_call_output") for item in items)
    if api == "gemini":
        return sum("functionResponse" in part for turn in body["contents"] for part in turn.get("parts", ()))
    blocks = (block for turn in body["messages"] if isinstance(turn["content"], list) for block in turn["content"])
    return sum(block.get("type") == "tool_result" for block in blocks)


def _user_texts(api: Api, body: Mapping[str, Any]) -> Iterator[str]:
    """The text of each message of the user."""
    turns = body.get("contents" if api == "gemini" else "input" if api == "responses" else "messages") or []
    for turn in [{"role": "user", "content": turns}] if isinstance(turns, str) else turns:
        if turn.get("role") == "user":
            content = turn.get("parts") or turn.get("content") or ""
            yield content if isinstance(content, str) else "\n".join(str(part.get("text") or "") for part in content)


def _tool_call(
    offered: Mapping[str, Mapping[str, Any]], shell: str | None, step: Step
) -> tuple[str | None, dict[str, Any] | None]:
    """The tool that the step calls, and its arguments."""
    if step.run is not None and shell is not None:
        return shell, _arguments(offered[shell], step.run)
    if step.call is not None and step.call[0] in offered:
        return step.call[0], dict(step.call[1])
    if step.delegate is None:
        return None, None
    name = next(name for name in offered if name.lower().rpartition("/")[2] in DELEGATING_TOOLS)
    arguments = _arguments(offered[name], step.delegate)
    return name, arguments | {key: "general" for key in arguments if (name, key) == ("task", "subagent_type")}


def _arguments(schema: Mapping[str, Any], command: str) -> dict[str, Any]:
    """The arguments of a shell tool, whatever it calls them."""
    given: dict[str, Any] = {}
    fillers = {"boolean": False, "integer": 30, "number": 30, "array": []}
    for name, declared in (schema.get("properties") or {}).items():
        if name in ("command", "cmd", "script", "prompt", "task", "message"):
            given[name] = ["bash", "-lc", command] if declared.get("type") == "array" else command
        elif name == "commands":
            given[name] = [command]
        elif name in SUBAGENTS:
            given[name] = SUBAGENTS[name]
        elif declared.get("type") == "object" and name in (schema.get("required") or ()):
            given[name] = _arguments(declared, command)
        elif name in (schema.get("required") or ()):
            text = declared["enum"][0] if declared.get("enum") else "one step"
            given[name] = fillers.get(str(declared.get("type")), text)
    return given
