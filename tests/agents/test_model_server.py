"""The scripted model states what it counts, in the words of each API, whole and streamed."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents.model_server import BASES, KINDS, MAX_CALLS, Api, ModelServer, Script, calls_of, model_server, usage_of

PATHS: dict[Api, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}
SHELL = {"properties": {"command": {"type": "string"}, "is_background": {"type": "boolean"}}, "required": ["command"]}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


def body_of(api: Api, *, results: int, streamed: bool = False) -> dict[str, Any]:
    """A request after so many tool results."""
    turns: list[dict[str, Any]]
    if api == "gemini":
        turns = [{"parts": [{"functionResponse": {}}]}] * results
        return {"contents": turns, "tools": [{"functionDeclarations": [{"name": "run_shell_command", **SHELL}]}]}
    body = {"model": "m", "stream": streamed, "stream_options": {"include_usage": True}}
    if api == "responses":
        tools = [{"type": "function", "name": "shell", "parameters": SHELL}]
        return {**body, "input": [{"type": "function_call_output"}] * results, "tools": tools}
    if api == "chat":
        tools = [{"type": "function", "function": {"name": "bash", "parameters": SHELL}}]
        return {**body, "messages": [{"role": "tool"}] * results, "tools": tools}
    turns = [{"content": [{"type": "tool_result"}] * results}]
    return {**body, "messages": turns, "tools": [{"name": "Bash", "input_schema": SHELL}]}


def post(server: ModelServer, path: str, body: dict[str, Any]) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    try:
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def stated(api: Api, text: str) -> dict[str, int]:
    """The kinds of tokens as each API's own documentation defines them, from the last usage in the answer."""
    values = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: {")]
    whole: dict[str, Any] = {}
    for value in values or [json.loads(text)]:
        told = value.get("response") or value.get("message") or value
        whole |= told.get("usage") or told.get("usageMetadata") or {}
    if api == "messages":
        return {
            "input": whole["input_tokens"],
            "cache_read": whole["cache_read_input_tokens"],
            "cache_write": whole["cache_creation_input_tokens"],
            "output": whole["output_tokens"],
        }
    if api == "gemini":
        cached = whole["cachedContentTokenCount"]
        kinds = {"output": whole["candidatesTokenCount"], "reasoning": whole["thoughtsTokenCount"]}
        return {"input": whole["promptTokenCount"] - cached, "cache_read": cached, **kinds}
    prompt, completion = ("prompt", "completion") if api == "chat" else ("input", "output")
    cached = whole[f"{prompt}_tokens_details"]["cached_tokens"]
    reasoned = whole[f"{completion}_tokens_details"]["reasoning_tokens"]
    return {
        "input": whole[f"{prompt}_tokens"] - cached,
        "cache_read": cached,
        "output": whole[f"{completion}_tokens"] - reasoned,
        "reasoning": reasoned,
    }


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("api", PATHS)
def test_an_answer_states_what_is_counted_for_it(api: Api, streamed: bool, server: ModelServer) -> None:
    path = PATHS[api].replace(":generate", ":streamGenerate") if streamed else PATHS[api]
    for results in range(2):
        status, text = post(server, path, body_of(api, results=results, streamed=streamed))
        assert status == 200
        assert stated(api, text) == server.calls[results].usage
        assert ("hello.txt says" in text) == (results == 1)
    assert [bool(call.tool) for call in server.calls] == [True, False]
    assert [(call.api, call.model, call.streamed) for call in server.calls] == [(api, "m", streamed)] * 2
    assert calls_of(server.count()) == server.calls


def test_a_sum_tells_which_kinds_and_which_calls_went_into_it() -> None:
    sums: dict[int, tuple[str, tuple[int, ...]]] = {}
    for kind in BASES:
        for chosen in range(1, 1 << MAX_CALLS):
            numbers = tuple(number for number in range(MAX_CALLS) if chosen >> number & 1)
            total = len(numbers) * BASES[kind] + chosen
            assert sums.setdefault(total, (kind, numbers)) == (kind, numbers)
    assert usage_of("messages", 3)["cache_write"] == 3_008
    with pytest.raises(ValueError, match="at most 9"):
        usage_of("chat", MAX_CALLS)


def test_a_request_without_a_shell_gets_a_text(server: ModelServer) -> None:
    _, text = post(server, PATHS["chat"], {"model": "m", "messages": []})
    assert json.loads(text)["choices"][0]["message"]["content"] == "A short title"
    assert (server.calls[0].tool, server.calls[0].offered_tools) == (None, 0)


def test_a_refusal_is_counted_and_costs_no_tokens() -> None:
    for status in (401, 429, 500):
        with model_server(Script(status=status)) as refusing:
            told, _ = post(refusing, PATHS["messages"], body_of("messages", results=0))
            assert (told, refusing.calls[0].status, refusing.calls[0].usage) == (status, status, {})


def test_a_question_about_length_is_no_call(server: ModelServer) -> None:
    assert post(server, "/v1/messages/count_tokens", {})[0] == 200
    assert server.calls == []
    assert set(KINDS) == set(PATHS)
