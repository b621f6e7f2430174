"""Token usage reported in model responses, whole or streamed, for every kind of endpoint."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from steelyard.formats import ClaudeUsage, GeminiUsage, ProviderUsage
from steelyard.records import Usage
from steelyard.runner._plan_records import ApiKind

MAX_KEPT = 64 << 20
"""Bytes of a whole answer, or of one event of a stream, that are kept to be read; a longer one states nothing."""
MAX_MODEL_LENGTH = 200
UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)
"""What reading a JSON text that is none, or is nested without end, ends in."""
MAX_ERROR_LENGTH = 100
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


class _Generated(msgspec.Struct, rename="camel"):
    """An answer of Gemini, or a part of one."""

    model_version: str | None = None
    usage_metadata: GeminiUsage | None = None
    candidates: list[_Candidate] | None = None


class _ErrorBody(msgspec.Struct):
    error: Any = None  # Any: an object, or what a server has in its place


_ERROR_BODY = msgspec.json.Decoder(_ErrorBody)
_Part: TypeAlias = _Chat | _ResponseEvent | _MessageEvent | _Generated
_PARTS: dict[ApiKind, type[_Part]] = {
    "chat": _Chat,
    "responses": _ResponseEvent,
    "messages": _MessageEvent,
    "gemini": _Generated,
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
    def usage(self) -> Usage | None:
        """The tokens stated so far; None when none were."""
        usage = None if self._stated is None else self._stated.disjoint()
        return usage if usage is not None and usage.total is not None else None

    def _take_event(self, event: bytes) -> None:
        data = data_of(event)
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

    def _take(self, part: _Part) -> None:
        match part:
            case _Chat():
                self._name(part.model)
                if part.usage is not None:
                    # Some servers state usage along the way; the last one is that of all.
                    self._stated, self.is_final = part.usage, not part.choices or _has_ended(part.choices)
            case _ResponseEvent():
                stated = part.response or part
                self._name(stated.model)
                if stated.usage is not None:
                    self._stated, self.is_final = stated.usage, True
            case _MessageEvent():
                stated_in = part.message or part
                self._name(stated_in.model)
                if stated_in.usage is not None:
                    self._stated = _updated(self._stated, stated_in.usage)
                    self.is_final = part.type == "message_delta"
            case _Generated():
                self._name(part.model_version)
                if part.usage_metadata is not None:
                    self._stated = part.usage_metadata
                    self.is_final = any(candidate.finish_reason for candidate in part.candidates or ())

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
