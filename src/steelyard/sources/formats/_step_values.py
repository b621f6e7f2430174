"""What a log states of a step, as values of a `SessionStep`: texts of content blocks, arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from steelyard.files import numbered_lines, open_file, recovered
from steelyard.records import (
    JSON_ERRORS,
    TOKEN_KINDS,
    Finding,
    Rejected,
    SessionStep,
    StepKind,
    StepRole,
    Usage,
    add_usage,
    kinds_of,
)

StepItem: TypeAlias = SessionStep | Rejected
"""What a format yields: a step, or a line of the log that it cannot use."""
T = TypeVar("T")
ABSENT = msgspec.Raw()
"""A key that the log does not have."""
_ANY = msgspec.json.Decoder()


def value_of(raw: msgspec.Raw) -> Any:  # Any: a JSON value
    """The JSON value; None for one that is absent or broken. Lone surrogates are replaced."""
    if raw is ABSENT or not bytes(raw):
        return None
    try:
        return _ANY.decode(raw)
    except JSON_ERRORS:
        try:
            text = json.dumps(json.loads(bytes(raw)), ensure_ascii=False)
            return _ANY.decode(text.encode("utf-8", "replace"))
        except JSON_ERRORS:
            return None


def flat_text(value: Any) -> str | None:  # Any: a JSON value
    r"""The text of a message's content: a text, a block, or a list of blocks; None if there is no text.

    >>> flat_text([{"type": "text", "text": "a"}, {"type": "image"}, "b"])
    'a\n[image]\nb'
    """
    if isinstance(value, str):
        return value or None
    if isinstance(value, list):
        texts = [text for each in value if (text := flat_text(each)) is not None]
        return "\n".join(texts) or None
    if isinstance(value, dict):
        for name in ("text", "content", "output", "thinking", "result"):
            if isinstance(value.get(name), (str, list)):
                return flat_text(value[name])
        kind = value.get("type")
        if isinstance(kind, str):
            return f"[{kind.removeprefix('input_').removesuffix('_url')}]"
        return msgspec.json.encode(value).decode() if value else None
    return None if value is None else msgspec.json.encode(value).decode()


def raw_text(raw: msgspec.Raw) -> str | None:
    """The text of content that is not yet decoded."""
    return flat_text(value_of(raw))


def arguments_of(value: Any) -> dict[str, Any] | None:  # Any: JSON values
    """The arguments of a tool call: an object, a text that contains one, or else free text under `input`.

    >>> arguments_of('{"command": "ls"}'), arguments_of("ls")
    ({'command': 'ls'}, {'input': 'ls'})
    """
    if isinstance(value, str):
        if value.lstrip().startswith("{"):
            try:
                decoded = _ANY.decode(value)
            except JSON_ERRORS:
                return {"input": value}
            return decoded if isinstance(decoded, dict) else {"input": value}
        return {"input": value} if value else None
    if isinstance(value, dict):
        return value
    return None if value is None else {"input": value}


def decoded_lines(path: Path, decoder: msgspec.json.Decoder[T]) -> Iterator[tuple[int, T] | Rejected]:
    """Each line's record with its number; a broken line gives what is whole in it, then itself as rejected."""
    decode = decoder.decode
    for number, line in numbered_lines(path):
        try:
            yield number, decode(line)
        except JSON_ERRORS as error:
            for item in recovered(path, number, line, decoder, error):
                if not isinstance(item, Finding):
                    yield item


MAX_TEXT_BYTES = 1 << 20
"""How much of a file of text is shown."""


def text_of_file(path: Path) -> str | None:
    """The text of a file next to a log; None if there is none. A link is not followed, as an agent may have made it."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with open_file(path) as file:
            text = file.read(MAX_TEXT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return text if text.strip() else None


def added(before: Usage | None, now: Usage) -> Usage:
    """What a count that is stated again, and grows, states beyond the one before."""
    if before is None:
        return now
    pairs = zip(TOKEN_KINDS, kinds_of(now), kinds_of(before), strict=True)
    return Usage(**{name: max(new - (old or 0), 0) for name, new, old in pairs if new is not None})


def with_usage(step: SessionStep, usage: Usage | None) -> SessionStep:
    """The step with more tokens."""
    if usage is None:
        return step
    msgspec.structs.force_setattr(step, "usage", add_usage((step.usage, usage)))
    return step


CHAT_ROLES: dict[str, StepRole] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "agent": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""Roles of messages; any other is a system's, such as `developer`."""
_CALLS = frozenset({"tool_use", "tool_call", "function_call", "server_tool_use"})
_RESULTS = frozenset({"tool_result", "tool_call_response", "function_call_output"})
_THOUGHTS = frozenset({"thinking", "reasoning", "redacted_thinking"})


def chat_steps(message: Mapping[str, Any], **known: Any) -> Iterator[SessionStep]:
    """Yield the steps of a message as chat interfaces write it: texts, thoughts, calls of tools and their results.

    `known`: fields of every step (Any: JSON values, fields of a step).

    >>> call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    >>> [(step.kind, step.tool) for step in chat_steps({"role": "assistant", "content": "Look.", "tool_calls": [call]})]
    [('message', None), ('tool_call', 'bash')]
    """
    role = CHAT_ROLES.get(str(message.get("role")), "system")
    content = message.get("content", message.get("parts"))
    step = partial(SessionStep, **known)
    if role == "tool" and not (isinstance(content, list) and any(_is_result(block) for block in content)):
        error = message.get("error")
        yield step(
            kind="tool_result",
            role="tool",
            call=_word(message.get("tool_call_id")),
            result=flat_text(content) or flat_text(error),
            is_error=bool(error),
        )
        return
    for key in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(thought := message.get(key), str) and thought:
            yield step(kind="message", role="reasoning", text=thought)
            break
    for block in content if isinstance(content, list) else [content]:
        yield from _block_steps(block, role, step)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            function = call.get("function")
            inner = function if isinstance(function, dict) else call
            name = function if isinstance(function, str) else inner.get("name")
            yield step(
                kind="tool_call",
                role="assistant",
                tool=_word(name) or "tool",
                call=_word(call.get("id")),
                arguments=arguments_of(inner.get("arguments")),
            )


def _is_result(block: Any) -> bool:  # Any: a JSON value
    return isinstance(block, dict) and block.get("type") in _RESULTS


def _block_steps(
    block: Any, role: StepRole, step: Callable[..., SessionStep]
) -> Iterator[SessionStep]:  # Any: as above
    kind = block.get("type") if isinstance(block, dict) else None
    if isinstance(block, dict) and kind in _CALLS:
        arguments = next((block[name] for name in ("input", "arguments") if name in block), None)
        yield step(
            kind="tool_call",
            role="assistant",
            tool=_word(block.get("name")) or "tool",
            call=_word(block.get("call_id") or block.get("id")),
            arguments=arguments_of(arguments),
        )
    elif isinstance(block, dict) and kind in _RESULTS:
        names = ("content", "output", "response", "result")
        yield step(
            kind="tool_result",
            role="tool",
            call=_word(block.get("tool_use_id") or block.get("call_id") or block.get("id")),
            result=next((flat_text(block[name]) for name in names if name in block), None),
            is_error=block.get("is_error") is True,
        )
    elif isinstance(block, dict) and kind in _THOUGHTS:
        thoughts = (flat_text(block.get(name)) for name in ("thinking", "reasoning", "text", "summary", "content"))
        if thought := next(filter(None, thoughts), None):
            yield step(kind="message", role="reasoning", text=thought)
    elif (text := flat_text(block)) is not None:
        yield step(kind="message", role=role, text=text)


def _word(value: Any) -> str | None:  # Any: a JSON value
    return value if isinstance(value, str) and value else None


def call_and_result(
    tool: str | None,
    call: str | None,
    arguments: Any,  # Any: a JSON value
    result: str | None,
    *,
    is_done: bool,
    is_error: bool = False,
    kind: StepKind = "tool_call",
    **known: Any,  # Any: fields of a step
) -> Iterator[SessionStep]:
    """Yield the steps of a tool call that its log records with its result."""
    yield SessionStep(
        kind=kind, role="assistant", tool=tool or "tool", call=call, arguments=arguments_of(arguments), **known
    )
    if is_done:
        known.pop("model", None)
        yield SessionStep(kind="tool_result", role="tool", call=call, result=result, is_error=is_error, **known)


def first_with_usage(steps: Iterable[SessionStep], usage: Usage | None, **known: Any) -> list[SessionStep]:
    """Return the steps of one model call, the first with its tokens; a call without a text is an empty message."""
    made = list(steps)
    if usage is not None:
        made = made or [SessionStep(kind="message", role="assistant", **known)]
        with_usage(made[0], usage)
    return made
