"""A scripted model answers in the words of each API, whole and streamed, and counts tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import UsageError
from steelyard.runner._scripted import ScriptedModel, read_script

SCRIPT = """
[[answers]]
when = ["fibonacci", "python"]
text = ["first", "second"]

[[answers]]
when = ["roll", "temperature=0.0"]
text = ["cold"]

[[answers]]
when = ["roll"]
text = ["warm"]

[[answers]]
when = ["busy"]
status = 429
text = ["too many"]

[[answers]]
when = ["hello"]
text = ["hi there"]
"""
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hello"}]},
    "/v1/responses": {"input": [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}]},
    "/v1/messages": {"messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]},
    "/v1beta/models/m:generateContent": {"contents": [{"parts": [{"text": "hello"}]}]},
    "/v1beta/models/m:streamGenerateContent?alt=sse": {"contents": [{"parts": [{"text": "hello"}]}]},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedModel]:
    path = tmp_path_factory.mktemp("script") / "model.toml"
    path.write_text(SCRIPT)
    with ScriptedModel(path) as served:
        yield served


def ask(model: ScriptedModel, path: str, body: dict[str, Any]) -> tuple[int, str]:
    connection = HTTPConnection(model.url.removeprefix("http://"), timeout=10)
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    said = answer.read().decode()
    connection.close()
    return answer.status, said


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_every_api_is_answered_with_text_and_usage(model: ScriptedModel, path: str, is_streamed: bool) -> None:
    body = BODIES[path] | ({"stream": True, "stream_options": {"include_usage": True}} if is_streamed else {})
    status, answered = ask(model, path, body)
    assert status == 200
    assert "hi there" in answered
    words = ("output_tokens", "completion_tokens", "candidatesTokenCount")
    assert any(f'"{word}": 3' in answered for word in words)  # "hi there" has 8 characters: 8 // 4 + 1


def test_several_texts_are_given_in_turn(model: ScriptedModel) -> None:
    body = {"messages": [{"content": "fibonacci in python"}]}
    texts = [json.loads(ask(model, "/chat/completions", body)[1])["choices"][0]["message"]["content"] for _ in range(3)]
    assert texts == ["first", "second", "first"]


def test_numbers_of_a_request_choose_an_answer_too(model: ScriptedModel) -> None:
    for sent, text in (({"temperature": 0.0}, "cold"), ({"temperature": 1.0}, "warm"), ({}, "warm")):
        assert text in ask(model, "/v1/messages", {"messages": [{"content": "roll"}], **sent})[1]


def test_a_request_that_nothing_fits_and_a_scripted_failure_are_errors(model: ScriptedModel) -> None:
    assert ask(model, "/v1/messages", {"messages": [{"content": "fibonacci"}]})[0] == 404
    status, said = ask(model, "/v1/messages", {"messages": [{"content": "busy"}]})
    assert (status, json.loads(said)["error"]["message"]) == (429, "too many")
    assert ask(model, "/v1/embeddings", {"input": "hello"})[0] == 404


def test_a_script_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text("[[answer]]\ntext = ['x']\n")
    with pytest.raises(UsageError, match=r"\[\[answers\]\]"):
        read_script(path)
