"""The agent `model`: one request, and the text of the answer is the output."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from steelyard.runner._plan_records import ApiKind, Scalar

MAX_TOKENS = 8_192
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
            return {"model": self.model, "max_tokens": most or MAX_TOKENS, "messages": turns, **sent, **more}
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
