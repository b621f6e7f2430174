"""Scripted model: an endpoint for testing a plan offline and without cost.

`url = "scripted:model.toml"` in a plan starts it. It listens on the loopback address behind the metering proxy, as
other endpoints do, so this line is the only difference from a plan for a real model. The script is a TOML file:

    [[answers]]
    when = ["fibonacci", "temperature=0.0"]  # strings that the request must all contain; without it, any request
    text = ["def f(n): ...", "no idea"]      # returned in turn

The first entry whose `when` matches is used. Tokens are estimated as characters divided by four.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Annotated, Any, Self

import msgspec

from steelyard.errors import UsageError
from steelyard.files import errors_as, toml_or_json
from steelyard.records import Record, problem_text

SCRIPTED = "scripted:"
"""What the address of such an endpoint begins with; the path of the script follows."""
_LOOPBACK = "127.0.0.1"
_CHARACTERS_A_TOKEN = 4
_MAX_REQUEST = 64 << 20
_GEMINI = re.compile(r"/models/([^/:?]+):(streamGenerateContent|generateContent)")
Json = dict[str, Any]  # Any: JSON values


class ScriptedAnswer(Record, frozen=True, kw_only=True):
    """Response of the scripted model to some requests."""

    when: tuple[str, ...] = ()
    """Texts that the request must hold, all of them, or numbers with their names; none fits every request."""
    text: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] = ("ok",)
    """What it answers, given in turn."""
    status: Annotated[int, msgspec.Meta(ge=200, le=599)] = 200
    """The HTTP status; from 400 on the text is the message of the error."""


class Script(Record, frozen=True, kw_only=True):
    """The script of a model."""

    answers: Annotated[tuple[ScriptedAnswer, ...], msgspec.Meta(min_length=1)]
    """Looked through in order; the first that fits answers."""


def read_script(path: Path) -> Script:
    """Load a script from a TOML file; raise UsageError with location and hint if it is invalid."""
    with errors_as(UsageError):
        values = toml_or_json(path)
    try:
        return msgspec.convert(values, Script)
    except msgspec.ValidationError as error:
        hint = 'a script needs [[answers]] with `text = ["..."]` and, if not for all requests, `when = ["..."]`'
        raise UsageError(problem_text(error), where=str(path), hint=hint) from error


class ScriptedModel(AbstractContextManager["ScriptedModel"]):
    """The model of a script as a server on the loopback address, from entering the context to leaving it."""

    def __init__(self, path: Path) -> None:
        self._entries = [(entry, itertools.cycle(entry.text)) for entry in read_script(path).answers]
        self._server = ThreadingHTTPServer((_LOOPBACK, 0), _Handler)
        self._server.daemon_threads = True
        self._server.model = self  # type: ignore[attr-defined] # handlers reach the script through their server
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://{_LOOPBACK}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: str) -> tuple[int, str]:
        """Status and text for a request; 404 where nothing in the script fits."""
        for entry, texts in self._entries:
            if all(text in request for text in entry.when):
                return entry.status, next(texts)  # next() of an iterator in C is one step to other threads
        return 404, "the script has no response for this request"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # Any, name: the base class's
        """Nothing: the metering proxy keeps the record of calls."""

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(min(length, _MAX_REQUEST))
        try:
            request = json.loads(sent or b"{}")
        except ValueError:
            request = None
        if not isinstance(request, dict):
            self._send(400, "application/json", [_error("the request is not a JSON object")])
            return
        status, text = self.server.model.answer(_texts_of(request))  # type: ignore[attr-defined] # set by ScriptedModel
        if status >= 400:
            self._send(status, "application/json", [_error(text)])
            return
        tokens = (len(sent) // _CHARACTERS_A_TOKEN + 1, len(text) // _CHARACTERS_A_TOKEN + 1)
        reply = _reply(self.path, request, text, tokens)
        if reply is None:
            self._send(404, "application/json", [_error(f"unknown path {self.path[:100]}")])
        else:
            self._send(200, *reply)

    def _send(self, status: int, content_type: str, parts: list[bytes]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(sum(map(len, parts))))
        self.end_headers()
        for part in parts:
            self.wfile.write(part)
            self.wfile.flush()


def _texts_of(value: Any) -> str:  # Any: JSON values
    """All texts in the request, one a line, and its numbers with their names, as `temperature=0.5`."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(
            f"{key}={item}" if isinstance(item, (int, float)) else _texts_of(item) for key, item in value.items()
        )
    return "\n".join(map(_texts_of, value)) if isinstance(value, list) else ""


def _error(message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": "scripted", "message": message}}).encode()


def _reply(path: str, request: Json, text: str, tokens: tuple[int, int]) -> tuple[str, list[bytes]] | None:
    """Content type and body in the words of the API that the path belongs to; None for no known one."""
    model = str(request.get("model") or "scripted")
    where = path.partition("?")[0]
    is_streamed = bool(request.get("stream"))
    if where.endswith("/chat/completions"):
        whole, events = _chat(model, text, tokens), _chat_events(request, model, text, tokens)
    elif where.endswith("/responses"):
        whole, events = _response(model, text, tokens), _response_events(model, text, tokens)
    elif where.endswith("/messages"):
        whole, events = _message(model, text, tokens), _message_events(model, text, tokens)
    elif match := _GEMINI.search(where):
        whole = _gemini(match[1], text, tokens)
        events, is_streamed = iter([(None, whole)]), match[2].startswith("stream")
    else:
        return None
    if not is_streamed:
        return "application/json", [json.dumps(whole).encode()]
    return "text/event-stream", [_event(name, data) for name, data in events]


def _event(name: str | None, data: Json | str) -> bytes:
    content = data if isinstance(data, str) else json.dumps(data)
    return f"{f'event: {name}' + chr(10) if name else ''}data: {content}\n\n".encode()


Events = Iterator[tuple[str | None, Json | str]]


def _chat(model: str, text: str, tokens: tuple[int, int]) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {**_chat_base(model, "chat.completion"), "choices": [choice], "usage": _chat_usage(tokens)}


def _chat_base(model: str, kind: str) -> Json:
    return {"id": "scripted", "object": kind, "created": 0, "model": model}


def _chat_usage(tokens: tuple[int, int]) -> Json:
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}


def _chat_events(request: Json, model: str, text: str, tokens: tuple[int, int]) -> Events:
    base = _chat_base(model, "chat.completion.chunk")
    for delta, reason in (({"role": "assistant", "content": text}, None), ({}, "stop")):
        yield None, {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    if (request.get("stream_options") or {}).get("include_usage"):
        yield None, {**base, "choices": [], "usage": _chat_usage(tokens)}
    yield None, "[DONE]"


def _response(model: str, text: str, tokens: tuple[int, int], *, status: str = "completed") -> Json:
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
    base = {"id": "resp_scripted", "object": "response", "created_at": 0, "status": status, "model": model}
    return {**base, "output": [_output_item(text)], "usage": usage}


def _output_item(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg_scripted", "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def _response_events(model: str, text: str, tokens: tuple[int, int]) -> Events:
    whole, place = _response(model, text, tokens), {"item_id": "msg_scripted", "output_index": 0, "content_index": 0}
    steps: list[Json] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**_output_item(""), "content": []}},
        {"type": "response.output_text.delta", **place, "delta": text},
        {"type": "response.output_text.done", **place, "text": text},
        {"type": "response.output_item.done", "output_index": 0, "item": _output_item(text)},
        {"type": "response.completed", "response": whole},
    ]
    for number, step in enumerate(steps):
        yield step["type"], {**step, "sequence_number": number}


def _message(model: str, text: str, tokens: tuple[int, int]) -> Json:
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    base = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": model}
    ends = {"stop_reason": "end_turn", "stop_sequence": None}
    return {**base, "content": [{"type": "text", "text": text}], **ends, "usage": usage}


def _message_events(model: str, text: str, tokens: tuple[int, int]) -> Events:
    whole = _message(model, text, tokens)
    start = {**whole, "content": [], "stop_reason": None, "usage": {"input_tokens": tokens[0], "output_tokens": 1}}
    steps: list[Json] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": tokens[1]}},
        {"type": "message_stop"},
    ]
    for step in steps:
        yield step["type"], step


def _gemini(model: str, text: str, tokens: tuple[int, int]) -> Json:
    usage = {"promptTokenCount": tokens[0], "candidatesTokenCount": tokens[1], "totalTokenCount": sum(tokens)}
    candidate = {"index": 0, "content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}
