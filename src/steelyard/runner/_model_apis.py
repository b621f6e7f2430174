"""The APIs of models: token usage in responses, requests that the proxy forwards, and the agent `model`.

There are four: OpenAI chat and responses, Anthropic messages, and Gemini. Usage is read from whole and streamed
responses. The agent `model` sends one request, and the text of the response is its output.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

import msgspec

from steelyard.records import Usage
from steelyard.runner._plan_records import ApiKind, Scalar
from steelyard.sources import ClaudeUsage, GeminiUsage, ProviderUsage

MAX_KEPT = 64 << 20
"""Bytes of a whole answer, or of one event of a stream, that are kept to be read; a longer one states nothing."""
MAX_MODEL_LENGTH = 200
UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)
"""What reading a JSON text that is none, or is nested without end, ends in."""
MAX_ERROR_LENGTH = 100
_MAX_COUNT = 1_000_000
"""A larger limit of tokens is none."""
_RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
_EVENT_END = re.compile(rb"\n\r?\n")


class _Chat(msgspec.Struct):
    """A chat completion, or a chunk of one."""

    model: str | None = None
    usage: ProviderUsage | None = None
    choices: list[Any] | None = None  # Any: only whether there are some counts


class _Response(msgspec.Struct):
    model: str | None = None
    usage: ProviderUsage | None = None


class _ResponseEvent(msgspec.Struct):
    """An event of a streamed response, or a whole one."""

    type: str | None = None
    response: _Response | None = None
    model: str | None = None
    usage: ProviderUsage | None = None


class _Message(msgspec.Struct):
    model: str | None = None
    usage: ClaudeUsage | None = None


class _MessageEvent(msgspec.Struct):
    """An event of a streamed message, or a whole one."""

    type: str | None = None
    message: _Message | None = None
    model: str | None = None
    usage: ClaudeUsage | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    finish_reason: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    """Why a prompt has no answer."""

    block_reason: str | None = None


class _GeminiAnswer(msgspec.Struct, rename="camel"):
    """An answer of Gemini, or a part of one."""

    model_version: str | None = None
    usage_metadata: GeminiUsage | None = None
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None


class _ErrorBody(msgspec.Struct):
    error: Any = None  # Any: an object, or what a server has in its place


_ERROR_BODY = msgspec.json.Decoder(_ErrorBody)
_Part: TypeAlias = _Chat | _ResponseEvent | _MessageEvent | _GeminiAnswer
_PARTS: dict[ApiKind, type[_Part]] = {
    "chat": _Chat,
    "responses": _ResponseEvent,
    "messages": _MessageEvent,
    "gemini": _GeminiAnswer,
}
_DECODERS = {kind: msgspec.json.Decoder(part) for kind, part in _PARTS.items()}
_LISTS = {kind: msgspec.json.Decoder(list[part]) for kind, part in _PARTS.items()}  # type: ignore[valid-type] # a type at run time


class EventSplitter:
    r"""The events of a stream, each as the bytes that it was sent as.

    >>> events = EventSplitter()
    >>> events.feed(b"data: 1\n\nda"), events.feed(b"ta: 2\n"), events.feed(b"\n"), events.rest()
    ([b'data: 1\n\n'], [], [b'data: 2\n\n'], b'')
    """

    def __init__(self) -> None:
        self._kept = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """The events that the piece completes."""
        kept = self._kept
        search_from = max(0, len(kept) - 2)  # an end is at most three bytes long
        kept += piece
        events, start = [], 0
        while end := _EVENT_END.search(kept, max(start, search_from)):
            events.append(bytes(kept[start : end.end()]))
            start = end.end()
        if start:
            del kept[:start]
        if len(kept) > MAX_KEPT:
            events.append(self.rest())
        return events

    def rest(self) -> bytes:
        """What no empty line has closed yet; it is forgotten."""
        rest = bytes(self._kept)
        self._kept.clear()
        return rest


def data_of(event: bytes) -> bytes:
    r"""What an event carries.

    >>> data_of(b"event: ping\r\ndata: {}\r\n\r\n")
    b'{}'
    """
    lines = (line.rstrip(b"\r") for line in event.split(b"\n"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))


class UsageReader:
    """The usage of one answer. It is fed as bytes come, cut wherever they are, and ended once."""

    def __init__(self, kind: ApiKind) -> None:
        self.kind = kind
        self.model: str | None = None
        """Model name in the response."""
        self.is_final = False
        """Whether the usage is that of the whole answer; a stream that was cut has stated less, or nothing."""
        self.has_ended = False
        """Whether the event that ends a stream was read, or a whole answer."""
        self._stated: ProviderUsage | ClaudeUsage | GeminiUsage | None = None
        self._whole: bytearray | None = None
        self._events: EventSplitter | None = None
        self._start = b""

    def feed(self, piece: bytes) -> None:
        """Reads on."""
        if self._events is None and self._whole is None:
            self._start = (self._start + piece).lstrip()
            if not self._start:
                return
            if self._start[:1] in b"{[":
                self._whole = bytearray()
            else:
                self._events = EventSplitter()
            piece, self._start = self._start, b""
        if self._events is not None:
            for event in self._events.feed(piece):
                self._take_event(event)
        elif self._whole is not None and len(self._whole) <= MAX_KEPT:
            self._whole += piece

    def end(self) -> None:
        """Finish reading."""
        if self._events is not None:
            self._take_event(self._events.rest())
        elif self._whole is not None and len(self._whole) <= MAX_KEPT:
            self._take_whole(bytes(self._whole))
            self._whole.clear()

    @property
    def was_cut(self) -> bool:
        """Whether a stream was read that stopped before the event that ends it."""
        return self._events is not None and not self.has_ended

    @property
    def usage(self) -> Usage | None:
        """The tokens stated so far; None when none were."""
        usage = None if self._stated is None else self._stated.disjoint()
        return usage if usage is not None and usage.total is not None else None

    def _take_event(self, event: bytes) -> None:
        data = data_of(event)
        self.has_ended |= data == b"[DONE]"
        if data.startswith(b"{"):
            try:
                part = _DECODERS[self.kind].decode(data)
            except UNREADABLE:
                return
            self._take(part)

    def _take_whole(self, text: bytes) -> None:
        """A JSON object, or the list of parts that Gemini streams where no events were asked for."""
        try:
            parts = _LISTS[self.kind].decode(text) if text.startswith(b"[") else [_DECODERS[self.kind].decode(text)]
        except UNREADABLE:
            return
        for part in parts:
            self._take(part)
        self.is_final = self._stated is not None
        self.has_ended = True

    def _take(self, part: _Part) -> None:
        match part:
            case _Chat():
                self._name(part.model)
                self.has_ended |= _has_ended(part.choices or [])
                if part.usage is not None:
                    # Some servers state usage along the way; the last one is that of all.
                    self._stated, self.is_final = part.usage, not part.choices or _has_ended(part.choices)
            case _ResponseEvent():
                stated = part.response or part
                self._name(stated.model)
                self.has_ended |= part.type in _RESPONSE_ENDS
                if stated.usage is not None:
                    self._stated, self.is_final = stated.usage, True
            case _MessageEvent():
                stated_in = part.message or part
                self._name(stated_in.model)
                self.has_ended |= part.type == "message_stop"
                if stated_in.usage is not None:
                    self._stated = _updated(self._stated, stated_in.usage)
                    self.is_final = part.type == "message_delta"
            case _GeminiAnswer():
                self._name(part.model_version)
                is_last = any(candidate.finish_reason for candidate in part.candidates or ())
                self.has_ended |= is_last or (
                    part.prompt_feedback is not None and bool(part.prompt_feedback.block_reason)
                )
                if part.usage_metadata is not None:
                    self._stated, self.is_final = part.usage_metadata, is_last

    def _name(self, model: str | None) -> None:
        if model:
            self.model = model[:MAX_MODEL_LENGTH]


def _has_ended(choices: list[Any]) -> bool:  # Any: JSON values
    return any(isinstance(choice, dict) and choice.get("finish_reason") for choice in choices)


def _updated(before: object, after: ClaudeUsage) -> ClaudeUsage:
    """Merge cumulative counts of a message: later values replace earlier ones."""
    if not isinstance(before, ClaudeUsage):
        return after
    known = {name: value for name, value in msgspec.structs.asdict(after).items() if value is not None}
    return msgspec.structs.replace(before, **known)


def error_code_of(body: bytes) -> str | None:
    """What an endpoint calls the error that it answers with; None where its words are not known.

    >>> error_code_of(b'{"error": {"message": "...", "type": "insufficient_quota", "code": "insufficient_quota"}}')
    'insufficient_quota'
    """
    try:
        decoded = _ERROR_BODY.decode(body)
    except UNREADABLE:
        return None
    error = decoded.error if isinstance(decoded.error, dict) else {}
    words = dict.fromkeys(str(word) for name in ("type", "code", "status") if (word := error.get(name)) is not None)
    return "".join(char for char in " ".join(words) if char.isprintable())[:MAX_ERROR_LENGTH] or None


class UsageChunkFilter:
    """Takes the chunk with usage out of a chat stream again, for an agent that did not ask for it."""

    def __init__(self) -> None:
        self._events = EventSplitter()

    def feed(self, piece: bytes) -> bytes:
        """What the agent is to see of the events that the piece completes."""
        return b"".join(event for event in self._events.feed(piece) if not _is_usage_alone(event))

    def end(self) -> bytes:
        """What was left without an end."""
        return self._events.rest()


def _is_usage_alone(event: bytes) -> bool:
    data = data_of(event)
    if not data.startswith(b"{"):
        return False
    try:
        chunk = _DECODERS["chat"].decode(data)
    except UNREADABLE:
        return False
    return isinstance(chunk, _Chat) and chunk.usage is not None and chunk.choices == []


_VERSION_AT_END = re.compile(r"/v[0-9]+(?:alpha|beta)?[0-9]*$")
_MODELS = r"(?P<path>/models(?:/[\w.:-]+){0,3})"


@dataclass(frozen=True)
class _Api:
    """One request that an endpoint takes."""

    method: str
    pattern: re.Pattern[str]
    """Path pattern; the group `path` is the part after the version."""
    kind: ApiKind
    """In whose words the answer states its usage."""
    generates: bool = True
    """Whether it is a call of a model; else a question that costs nothing."""


def _api(method: str, pattern: str, kind: ApiKind, *, generates: bool = True) -> _Api:
    version = r"(?P<version>/v1(?:beta|alpha)?)?" if kind == "gemini" else r"(?P<version>/v1)?"
    return _Api(method, re.compile(version + pattern, re.ASCII), kind, generates)


_OPENAI = (
    _api("POST", "(?P<path>/(?:chat/completions|completions|embeddings))", "chat"),
    _api("POST", "(?P<path>/responses(?:/compact)?)", "responses"),
    _api("GET", _MODELS, "chat", generates=False),
)
_TAKEN: dict[ApiKind, tuple[_Api, ...]] = {
    "chat": _OPENAI,
    "responses": _OPENAI,
    "messages": (
        _api("POST", "(?P<path>/messages)", "messages"),
        _api("POST", "(?P<path>/messages/count_tokens)", "messages", generates=False),
        _api("GET", _MODELS, "messages", generates=False),
    ),
    "gemini": (
        _api("POST", r"(?P<path>/models/(?P<model>[\w.-]+):(?:generate|streamGenerate|embed)Content)", "gemini"),
        _api("POST", r"(?P<path>/models/(?P<model>[\w.-]+):countTokens)", "gemini", generates=False),
        _api("GET", _MODELS, "gemini", generates=False),
    ),
}
"""By the kind of the endpoint. A server that speaks one of OpenAI's two interfaces mostly speaks the other."""


class _Configuration(msgspec.Struct):
    temperature: Any = None  # Any: whatever an agent writes
    seed: Any = None
    max_output: Any = msgspec.field(name="maxOutputTokens", default=None)
    answers: Any = msgspec.field(name="candidateCount", default=None)


class _Body(msgspec.Struct):
    """What counts in a request."""

    model: Any = None  # Any: whatever an agent writes
    temperature: Any = None
    seed: Any = None
    stream: Any = None
    stream_options: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None
    answers: Any = msgspec.field(name="n", default=None)
    configuration: _Configuration | None = msgspec.field(name="generationConfig", default=None)


_BODY = msgspec.json.Decoder(_Body)
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class ApiRequest:
    """A request that may be passed on."""

    kind: ApiKind
    path: str
    """As it was asked for."""
    target: str
    """The path to ask the endpoint for."""
    body: bytes
    generates: bool
    model: str | None = None
    temperature: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    """Limit of the output in the request; None if it has none."""
    is_streamed: bool = False
    adds_usage: bool = False
    """Whether the stream is asked to state its usage although the agent did not ask for it."""


def request_of(endpoint: ApiKind, method: str, path: str, body: bytes, *, base: str) -> ApiRequest | None:
    """The request, for an endpoint whose address has that base; None where the endpoint's API has no such path."""
    for api in _TAKEN[endpoint]:
        match = api.pattern.fullmatch(path)
        if match is not None and api.method == method and ".." not in path:
            target = _target(api.kind, match["version"], match["path"], base=base)
            model = match.groupdict().get("model")
            request = ApiRequest(api.kind, path, target, body, api.generates, model=model)
            return _with_facts(request) if api.generates else request
    return None


def _target(kind: ApiKind, version: str | None, path: str, *, base: str) -> str:
    """The endpoint's base, a version unless the base has one, and the path behind the version.

    >>> _target("chat", None, "/chat/completions", base=""), _target("chat", "/v1", "/models", base="/v1beta/openai")
    ('/v1/chat/completions', '/v1beta/openai/models')
    >>> _target("messages", "/v1", "/messages", base="/a/v1"), _target("messages", "/v1", "/messages", base="/a")
    ('/a/v1/messages', '/a/v1/messages')
    """
    if kind in ("chat", "responses"):  # their base ends before /chat/completions; only a bare host leaves out /v1
        return f"{base or '/v1'}{path}"
    has_version = _VERSION_AT_END.search(base) is not None
    return f"{base}{'' if has_version else version or {'gemini': '/v1beta'}.get(kind, '/v1')}{path}"


def _with_facts(request: ApiRequest) -> ApiRequest:
    """Return the request with the values in its body; the endpoint rejects an invalid body."""
    try:
        decoded = _BODY.decode(request.body)
    except UNREADABLE:
        return request
    sent = decoded.configuration or decoded
    is_streamed = decoded.stream is True or request.path.endswith(":streamGenerateContent")
    options = decoded.stream_options if isinstance(decoded.stream_options, dict) else {}
    adds_usage = request.kind == "chat" and decoded.stream is True and options.get("include_usage") is not True
    return ApiRequest(
        kind=request.kind,
        path=request.path,
        target=request.target,
        body=_asking_for_usage(request.body, options) if adds_usage else request.body,
        generates=True,
        model=decoded.model[:MAX_MODEL_LENGTH] if isinstance(decoded.model, str) else request.model,
        temperature=_number(sent.temperature),
        seed=sent.seed if isinstance(sent.seed, int) and abs(sent.seed) < 1 << 63 else None,
        max_output_tokens=_max_output(decoded, request.path),
        is_streamed=is_streamed,
        adds_usage=adds_usage,
    )


def _max_output(body: _Body, path: str) -> int | None:
    """Return the limit of all answers to the request together."""
    if path.endswith(("/embeddings", ":embedContent")):
        return 0
    stated = body.max_completion_tokens, body.max_output_tokens, body.max_tokens
    limits = (*stated, body.configuration.max_output) if body.configuration else stated
    limit = next((value for value in limits if _is_count(value)), None)
    answers = body.configuration.answers if body.configuration else body.answers
    return None if limit is None else limit * (answers if _is_count(answers) else 1)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_COUNT


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _asking_for_usage(body: bytes, options: dict[str, Any]) -> bytes:  # Any: the agent's own options
    """The body with that one option added; every other value stays as it was written."""
    values: dict[str, Any] = dict(_RAW.decode(body))
    return msgspec.json.encode({**values, "stream_options": {**options, "include_usage": True}})


DEFAULT_OUTPUT_TOKENS = 8_192
"""Asked for where the API demands a number and the plan names none."""
_MAX_ANSWER = 64 << 20
_ANSWER = msgspec.json.Decoder(dict[str, Any])  # Any: JSON of a model server


@dataclass(frozen=True)
class ModelAnswer:
    """What came back."""

    status: int | None
    """The HTTP status; None where no answer came."""
    text: str | None
    """The text of the answer; None where it has none."""
    problem: str | None = None
    """Why there is no text."""


@dataclass(frozen=True)
class ModelQuestion:
    """What is asked of which model, and how."""

    kind: ApiKind
    model: str
    prompt: str
    setting: Mapping[str, Scalar]

    @property
    def path(self) -> str:
        """Where the API takes it."""
        return {
            "chat": "/v1/chat/completions",
            "responses": "/v1/responses",
            "messages": "/v1/messages",
            "gemini": f"/v1beta/models/{quote(self.model, safe='')}:generateContent",
        }[self.kind]

    @property
    def body(self) -> dict[str, Any]:  # Any: JSON
        """The request. A setting that the plan does not name is not sent."""
        sent = {name: self.setting[name] for name in ("temperature", "top_p", "seed") if name in self.setting}
        system, most = self.setting.get("system"), self.setting.get("max_tokens")
        turns = [{"role": "user", "content": self.prompt}]
        more: dict[str, Any] = {}
        if self.kind == "gemini":
            names = {"top_p": "topP", "max_tokens": "maxOutputTokens"}
            limit = {} if most is None else {"max_tokens": most}
            configuration = {names.get(name, name): value for name, value in {**sent, **limit}.items()}
            if system is not None:
                more["systemInstruction"] = {"parts": [{"text": system}]}
            contents = [{"role": "user", "parts": [{"text": self.prompt}]}]
            return {"contents": contents, **({"generationConfig": configuration} if configuration else {}), **more}
        if self.kind == "messages":
            sent.pop("seed", None)  # the API has none
            if system is not None:
                more["system"] = system
            return {"model": self.model, "max_tokens": most or DEFAULT_OUTPUT_TOKENS, "messages": turns, **sent, **more}
        if self.kind == "responses":
            sent.pop("seed", None)
            if system is not None:
                more["instructions"] = system
            limit = {} if most is None else {"max_output_tokens": most}
            return {"model": self.model, "input": self.prompt, **sent, **limit, **more}
        first = [] if system is None else [{"role": "system", "content": system}]
        limit = {} if most is None else {"max_tokens": most}
        return {"model": self.model, "messages": [*first, *turns], **sent, **limit}


def ask(question: ModelQuestion, *, url: str, token: str, seconds: float) -> ModelAnswer:
    """Return the response to one request, without retries."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=seconds)
    headers = {"Content-Type": "application/json"}
    match question.kind:
        case "messages":
            headers |= {"x-api-key": token, "anthropic-version": "2023-06-01"}
        case "gemini":
            headers["x-goog-api-key"] = token
        case _:
            headers["Authorization"] = f"Bearer {token}"
    try:
        connection.request("POST", question.path, msgspec.json.encode(question.body), headers)
        response = connection.getresponse()
        content = response.read(_MAX_ANSWER)
    except (OSError, http.client.HTTPException) as error:
        return ModelAnswer(None, None, f"no response: {str(error) or type(error).__name__}")
    finally:
        connection.close()
    if response.status != 200:
        return ModelAnswer(response.status, None, f"status {response.status}: {content[:300].decode(errors='replace')}")
    try:
        text = text_of(question.kind, _ANSWER.decode(content))
    except (msgspec.MsgspecError, RecursionError, TypeError, KeyError, AttributeError) as error:
        return ModelAnswer(response.status, None, f"invalid response: {error}"[:300])
    return ModelAnswer(response.status, text, None if text else "the response has no text")


def text_of(kind: ApiKind, answer: Mapping[str, Any]) -> str | None:  # Any: JSON
    """The text of an answer, its parts joined; None where it has none (a rejection, a tool call)."""
    if kind == "chat":
        parts = [choice["message"].get("content") for choice in answer["choices"][:1]]
    elif kind == "messages":
        parts = [block.get("text") for block in answer["content"] if block.get("type") == "text"]
    elif kind == "responses":
        messages = [item for item in answer["output"] if item.get("type") == "message"]
        parts = [part.get("text") for item in messages for part in item["content"] if part.get("type") == "output_text"]
    else:
        first = answer.get("candidates") or [{}]
        content = (first[0].get("content") or {}).get("parts") or []
        parts = [part.get("text") for part in content if not part.get("thought")]
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else None
