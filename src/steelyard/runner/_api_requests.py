"""API requests of agents: those that reach an endpoint, their path, and the values in their body."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from steelyard.runner._call_usage import MAX_MODEL_LENGTH, UNREADABLE
from steelyard.runner._plan_records import ApiKind

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


class _Body(msgspec.Struct):
    """What counts in a request."""

    model: Any = None  # Any: whatever an agent writes
    temperature: Any = None
    seed: Any = None
    stream: Any = None
    stream_options: Any = None
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
        is_streamed=is_streamed,
        adds_usage=adds_usage,
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _asking_for_usage(body: bytes, options: dict[str, Any]) -> bytes:  # Any: the agent's own options
    """The body with that one option added; every other value stays as it was written."""
    values: dict[str, Any] = dict(_RAW.decode(body))
    return msgspec.json.encode({**values, "stream_options": {**options, "include_usage": True}})
