"""What a log states of a step, as values of a `SessionStep`: texts of content blocks, arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from steelyard.files import numbered_lines, recovered
from steelyard.records import JSON_ERRORS, TOKEN_KINDS, Finding, Rejected, SessionStep, Usage, add_usage, kinds_of

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
        for name in ("text", "content", "output", "thinking"):
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
