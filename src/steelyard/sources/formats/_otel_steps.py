"""Steps of OpenTelemetry spans: messages of models and calls of tools, if the exporter records content.

Each model span repeats the conversation so far in its input, so only the messages are taken that no span had before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from steelyard.records import JSON_ERRORS, SessionStep, Usage
from steelyard.sources.formats._step_values import call_and_result, chat_steps, first_with_usage, flat_text

Attributes = Mapping[str, Any]  # Any: JSON scalars
_INPUTS = ("gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "input.value")
_OUTPUTS = ("gen_ai.output.messages", "gen_ai.completion", "llm.output_messages", "output.value")
_INSTRUCTIONS = "gen_ai.system_instructions"
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "tool_name")
_TOOL_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool.parameters", "input.value")
_TOOL_RESULTS = ("gen_ai.tool.call.result", "output.value")
MAX_MESSAGES = 10_000
"""Messages of one span whose attributes are numbered."""


class StatedSpan(NamedTuple):
    """What a span shows of its steps."""

    facts: Attributes
    name: str
    at: datetime | None
    is_tool: bool
    call: str | None
    model: str | None
    usage: Usage | None
    """Tokens, if they are those of a model call."""
    error: str | None
    """Message of a span that failed."""
    events: Sequence[Attributes] = ()
    """Attributes of its events, each with the event's name under `event.name`."""


def span_steps(spans: Sequence[StatedSpan]) -> Iterator[SessionStep]:
    """Yield the steps of the spans of one conversation, which are in the order of their times."""
    seen: set[bytes] = set()
    called: set[str] = set()
    answered: set[str] = set()
    for span in spans:
        made = _tool_steps(span) if span.is_tool else _model_steps(span, seen)
        for step in made:
            if step.call is not None:  # a tool's span and a model's message may both tell of it
                known = answered if step.kind == "tool_result" else called
                if step.call in known and step.usage is None:
                    continue
                known.add(step.call)
            yield step
        if span.error is not None:
            yield SessionStep(kind="error", role="system", text=span.error or span.name, at=span.at)


def _tool_steps(span: StatedSpan) -> Iterator[SessionStep]:
    tool = _first(span.facts, _TOOL_NAMES)
    result = _first(span.facts, _TOOL_RESULTS)
    name = tool if isinstance(tool, str) else span.name.removeprefix("execute_tool ")
    yield from call_and_result(
        name, span.call, _first(span.facts, _TOOL_ARGUMENTS), flat_text(result), is_done=result is not None, at=span.at
    )


def _model_steps(span: StatedSpan, seen: set[bytes]) -> Iterator[SessionStep]:
    """Yield the new messages of the input, then the answer with the tokens of the call."""
    instructions = _decoded(span.facts.get(_INSTRUCTIONS))
    given = [] if instructions is None else [{"role": "system", "content": instructions}]
    inputs = [*given, *_messages(span.facts, _INPUTS, "user"), *_of_events(span.events, outputs=False)]
    for message in inputs:
        if _is_new(message, seen):
            yield from chat_steps(message, at=span.at)
    outputs = [*_messages(span.facts, _OUTPUTS, "assistant"), *_of_events(span.events, outputs=True)]
    for message in outputs:
        _is_new(message, seen)  # the next input repeats it
    known = {"at": span.at, "model": span.model}
    made = [step for message in outputs for step in chat_steps(message, **known)]
    yield from first_with_usage(made, span.usage, **known)


def _is_new(message: Mapping[str, Any], seen: set[bytes]) -> bool:  # Any: JSON values
    bare = {name: value for name, value in message.items() if name != "finish_reason"}
    key = blake2b(msgspec.json.encode(bare, order="deterministic"), digest_size=16).digest()
    if key in seen:
        return False
    seen.add(key)
    return True


def _first(facts: Attributes, names: Sequence[str]) -> Any:  # Any: a JSON scalar
    return next((facts[name] for name in names if facts.get(name) not in (None, "")), None)


def _decoded(value: Any) -> Any:  # Any: JSON values
    """The value; of a text that contains JSON, what it contains."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(value)
        except JSON_ERRORS:
            return value
    return value


def _messages(facts: Attributes, names: Sequence[str], role: str) -> list[dict[str, Any]]:  # Any: JSON values
    """The messages under the first of these names: a list in JSON, one text, or numbered attributes."""
    for name in names:
        value = _decoded(facts.get(name))
        if isinstance(value, dict) and isinstance(value.get("messages"), list):
            value = value["messages"]
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            return [_message(each, role) for each in value]
        if value not in (None, "", []):
            return [{"role": role, "content": value}]
        if numbered := _numbered(facts, name, role):
            return numbered
    return []


def _message(message: dict[str, Any], role: str) -> dict[str, Any]:  # Any: JSON values
    """A message with its parts named as chat interfaces name them."""
    parts = message.get("parts")
    if isinstance(parts, list):
        content = [
            {**part, "text": part["content"]}
            if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("content"), str)
            else part
            for part in parts
        ]
        return {"role": message.get("role", role), "content": content}
    return message if "role" in message else {**message, "role": role}


def _numbered(facts: Attributes, name: str, role: str) -> list[dict[str, Any]]:  # Any: JSON values
    """Messages in attributes such as `llm.input_messages.0.message.content` or `gen_ai.prompt.0.content`."""
    made = []
    for number in range(MAX_MESSAGES):
        begins = [f"{name}.{number}.message.", f"{name}.{number}."]
        begin = next((each for each in begins if any(f"{each}{key}" in facts for key in _MESSAGE_KEYS)), None)
        if begin is None:
            break
        message = {key: facts[f"{begin}{key}"] for key in _MESSAGE_KEYS if f"{begin}{key}" in facts}
        calls = list(_numbered_calls(facts, f"{begin}tool_calls"))
        made.append({"role": role, **message, **({"tool_calls": calls} if calls else {})})
    return made


_MESSAGE_KEYS = ("role", "content", "tool_call_id", "tool_calls.0.tool_call.function.name", "tool_calls.0.name")


def _numbered_calls(facts: Attributes, name: str) -> Iterator[dict[str, Any]]:  # Any: JSON values
    for number in range(MAX_MESSAGES):
        for begin in (f"{name}.{number}.tool_call.", f"{name}.{number}."):
            tool = facts.get(f"{begin}function.name", facts.get(f"{begin}name"))
            if tool is not None:
                arguments = facts.get(f"{begin}function.arguments", facts.get(f"{begin}arguments"))
                yield {"id": facts.get(f"{begin}id"), "name": tool, "arguments": arguments}
                break
        else:
            return


_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def _of_events(events: Sequence[Attributes], *, outputs: bool) -> Iterator[dict[str, Any]]:  # Any: JSON values
    """Messages in events of a span, as earlier versions of the conventions have them."""
    for event in events:
        name = event.get("event.name")
        if outputs:
            if name == "gen_ai.choice":
                message = _decoded(event.get("message", event.get("content")))
                yield message if isinstance(message, dict) else {"role": "assistant", "content": message}
        elif name in _EVENT_ROLES:
            calls = _decoded(event.get("tool_calls"))
            yield {
                "role": _EVENT_ROLES[str(name)],
                "content": _decoded(event.get("content")),
                **({"tool_calls": calls} if isinstance(calls, list) else {}),
                **({"tool_call_id": event["id"]} if "id" in event else {}),
            }
