"""The agent `model` asks once, in the words of each API, and sends no setting that the plan does not name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from agents.model_server import ModelServer, Script, model_server
from steelyard.runner._model_apis import ModelQuestion, ask, text_of
from steelyard.runner._plan_records import ApiKind

KINDS = get_args(ApiKind)
SAID = {"type": "output_text", "text": "a"}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with model_server(Script(without_tools="The answer.", has_many_calls=True)) as running:
        yield running


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_its_text(kind: ApiKind, server: ModelServer) -> None:
    asked = len(server.calls)
    answer = ask(ModelQuestion(kind, "m-1", "What?", {}), url=server.url, token="sk-x", seconds=20)  # noqa: S106
    assert (answer.status, answer.text, answer.problem) == (200, "The answer.", None)
    call = server.calls[asked]
    assert (call.api, call.model, call.streamed) == (kind, "m-1", False)
    assert call.key.removeprefix("Bearer ") == "sk-x"


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_asked_for_is_sent(kind: ApiKind) -> None:
    bare = str(ModelQuestion(kind, "m", "What?", {}).body)
    assert not any(word in bare for word in ("temperature", "seed", "top", "system", "instructions", "Instruction"))
    setting = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 33, "system": "Be short."}
    full = str(ModelQuestion(kind, "m", "What?", setting).body)
    assert all(word in full for word in ("0.5", "0.9", "33", "Be short."))
    assert ("'seed': 7" in full) == (kind in ("chat", "gemini"))  # the other two have none


def test_a_model_name_cannot_leave_its_place_in_the_path() -> None:
    assert ModelQuestion("gemini", "../x?a=b", "", {}).path == "/v1beta/models/..%2Fx%3Fa%3Db:generateContent"


def test_a_refusal_and_silence_have_no_text() -> None:
    question = ModelQuestion("chat", "m", "What?", {})
    with model_server(Script(status=401)) as refusing:
        answer = ask(question, url=refusing.url, token="t", seconds=20)  # noqa: S106
    assert (answer.status, answer.text) == (401, None)
    gone = ask(question, url=refusing.url, token="t", seconds=20)  # noqa: S106
    assert (gone.status, gone.text) == (None, None)
    assert "no response" in (gone.problem or "")


@pytest.mark.parametrize(
    ("kind", "answer", "text"),
    [
        ("chat", {"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}, "a"),
        ("chat", {"choices": [{"message": {"content": None, "tool_calls": []}}]}, None),
        ("messages", {"content": [{"type": "thinking"}, {"type": "text", "text": "a"}]}, "a"),
        ("responses", {"output": [{"type": "reasoning"}, {"type": "message", "content": [SAID]}]}, "a"),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "t", "thought": True}, {"text": "a"}]}}]}, "a"),
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, None),
    ],
)
def test_reasoning_and_tool_calls_are_no_text(kind: ApiKind, answer: dict[str, Any], text: str | None) -> None:
    assert text_of(kind, answer) == text
