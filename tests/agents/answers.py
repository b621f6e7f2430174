"""One scripted answer in the words of each API: a JSON object, or the events of a stream."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Told: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any] | str]


@dataclass(frozen=True)
class Answer:
    """What is to be said."""

    key: str
    """Makes ids of the answer and its parts."""
    model: str
    usage: Mapping[str, int]
    text: str
    tool: str
    arguments: Mapping[str, Any] | None
    """Of the tool to be called; None for a text."""
    streamed: bool


def answer_chat(answer: Answer, body: Mapping[str, Any]) -> Told:
    """OpenAI chat completions: prompts include what was cached, completions what was reasoned."""
    usage = {
        "prompt_tokens": answer.usage["input"] + answer.usage["cache_read"],
        "completion_tokens": answer.usage["output"] + answer.usage["reasoning"],
        "total_tokens": sum(answer.usage.values()),
        "prompt_tokens_details": {"cached_tokens": answer.usage["cache_read"]},
        "completion_tokens_details": {"reasoning_tokens": answer.usage["reasoning"]},
    }
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.arguments is not None:
        function = {"name": answer.tool, "arguments": json.dumps(answer.arguments)}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"index": 0, "id": f"call_{answer.key}", "type": "function", "function": function}],
        }
    end = "stop" if answer.arguments is None else "tool_calls"
    frame = {"id": f"chatcmpl-{answer.key}", "created": int(time.time()), "model": answer.model}
    if not answer.streamed:
        choice = {"index": 0, "message": message, "finish_reason": end, "logprobs": None}
        return {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
    frame["object"] = "chat.completion.chunk"
    asked = (body.get("stream_options") or {}).get("include_usage")  # a stream states usage only when asked to
    return [
        {**frame, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]},
        *([{**frame, "choices": [], "usage": usage}] if asked else []),
        "[DONE]",
    ]


def answer_responses(answer: Answer, body: Mapping[str, Any]) -> Told:
    """OpenAI responses: input includes what was cached, output what was reasoned."""
    usage = {
        "input_tokens": answer.usage["input"] + answer.usage["cache_read"],
        "output_tokens": answer.usage["output"] + answer.usage["reasoning"],
        "total_tokens": sum(answer.usage.values()),
        "input_tokens_details": {"cached_tokens": answer.usage["cache_read"]},
        "output_tokens_details": {"reasoning_tokens": answer.usage["reasoning"]},
    }
    item: dict[str, Any] = {
        "type": "message",
        "id": f"msg_{answer.key}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
    }
    if answer.arguments is not None:
        item = {
            "type": "function_call",
            "id": f"fc_{answer.key}",
            "call_id": f"call_{answer.key}",
            **({"namespace": answer.tool.partition("/")[0]} if "/" in answer.tool else {}),
            "name": answer.tool.rpartition("/")[2],
            "arguments": json.dumps(answer.arguments),
            "status": "completed",
        }
    response = {
        "id": f"resp_{answer.key}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": answer.model,
        "output": [item],
        "usage": usage,
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "error": None,
        "incomplete_details": None,
        "metadata": {},
    }
    if not answer.streamed:
        return response
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    blank = {**item, "status": "in_progress", **({"content": []} if answer.arguments is None else {})}
    place = {"output_index": 0, "item_id": item["id"]}
    said = {"type": "response.output_text.delta", "content_index": 0, "delta": answer.text, **place}
    return [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": blank},
        *([said] if answer.arguments is None else []),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


def answer_messages(answer: Answer, body: Mapping[str, Any]) -> Told:
    """Anthropic messages: the kinds of input do not overlap, and reasoning is not told from output."""
    usage = {
        "input_tokens": answer.usage["input"],
        "cache_read_input_tokens": answer.usage["cache_read"],
        "cache_creation_input_tokens": answer.usage["cache_write"],
        "cache_creation": {
            "ephemeral_5m_input_tokens": answer.usage["cache_write"],
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": answer.usage["output"],
    }
    block: dict[str, Any] = {"type": "text", "text": answer.text}
    delta: dict[str, Any] = {"type": "text_delta", "text": answer.text}
    blank: dict[str, Any] = {"type": "text", "text": ""}
    if answer.arguments is not None:
        block = {"type": "tool_use", "id": f"toolu_{answer.key}", "name": answer.tool, "input": answer.arguments}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        blank = {**block, "input": {}}
    end = "end_turn" if answer.arguments is None else "tool_use"
    message = {
        "id": f"msg_{answer.key}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [block],
        "stop_reason": end,
        "stop_sequence": None,
        "usage": usage,
    }
    if not answer.streamed:
        return message
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    ended = {"stop_reason": end, "stop_sequence": None}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": blank},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": answer.usage["output"]}},
        {"type": "message_stop"},
    ]


def answer_gemini(answer: Answer, body: Mapping[str, Any]) -> Told:
    """Gemini: prompts include what was cached; thoughts stand beside candidates."""
    part: dict[str, Any] = {"text": answer.text}
    if answer.arguments is not None:
        part = {"functionCall": {"name": answer.tool, "args": answer.arguments}}
    whole = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": answer.usage["input"] + answer.usage["cache_read"],
            "cachedContentTokenCount": answer.usage["cache_read"],
            "candidatesTokenCount": answer.usage["output"],
            "thoughtsTokenCount": answer.usage["reasoning"],
            "totalTokenCount": sum(answer.usage.values()),
        },
        "modelVersion": answer.model,
        "responseId": answer.key,
    }
    return [whole] if answer.streamed else whole
