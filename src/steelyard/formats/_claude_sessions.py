"""One session of a Claude Code log while its lines are read."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from steelyard.files import label
from steelyard.formats._claude import ClaudeUsage, CostState
from steelyard.records import Call, moment

CHARACTERS_PER_TOKEN = 4
SHORTFALL = 0.5
"""An output count below this fraction of the text's own length in tokens cannot be the final one."""


ABSENT = msgspec.Raw()


class Block(msgspec.Struct, gc=False):
    """One block of a message's content."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    text: msgspec.Raw = ABSENT
    thinking: msgspec.Raw = ABSENT
    input: msgspec.Raw = ABSENT


class Message(msgspec.Struct, gc=False):
    """The provider's message."""

    id: str | None = None
    model: str | None = None
    usage: ClaudeUsage | None = None
    stop_reason: str | None = None
    content: str | list[Block] | None = None


class Fork(msgspec.Struct, gc=False):
    """Where a copied line came from."""

    session: str | None = msgspec.field(name="sessionId", default=None)


class Line(msgspec.Struct, gc=False):
    """What we take of a line."""

    type: str | None = None
    session: str | None = msgspec.field(name="sessionId", default=None)
    timestamp: str | None = None
    cwd: str | None = None
    version: str | None = None
    sidechain: bool | None = msgspec.field(name="isSidechain", default=None)
    message: Message | None = None
    forked: Fork | None = msgspec.field(name="forkedFrom", default=None)
    is_api_error: bool | None = msgspec.field(name="isApiErrorMessage", default=None)
    api_status: int | None = msgspec.field(name="apiErrorStatus", default=None)


class CallSoFar(msgspec.Struct, gc=False):
    """One model call while its lines are read."""

    first: Line
    last: Message
    usage: ClaudeUsage | None = None
    """The latest that does not fall behind an earlier one."""
    output: int | None = None
    """Its output tokens."""
    final: bool = False
    """Whether the output count is more than the placeholder from the stream's start."""
    characters: int = 0
    """How much text the model wrote, as written in the file; counted until the output count is known to be final."""

    @property
    def is_doubtful(self) -> bool:
        """Whether the output count is a placeholder from the stream's start."""
        return (
            not self.final
            and self.output is not None
            and self.output < SHORTFALL * self.characters / CHARACTERS_PER_TOKEN
        )

    def made(self, id_: str) -> Call:
        """Return the call that its lines report."""
        return Call(
            id=label(id_),
            model=label(self.last.model if self.first.message is None else self.first.message.model),
            at=moment(self.first.timestamp),
            usage=self.usage.disjoint() if self.usage is not None else None,
        )


@dataclass(slots=True)
class SessionSoFar:
    """One session while its lines are read."""

    line: int
    calls: dict[str, CallSoFar] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    began: str = ""
    """The first time of all lines; times of one log are written alike, so they sort as text."""
    ended: str = ""
    place: Line | None = None
    """The first line that names the agent's folder, other than those of calls."""
    created: dict[str, None] = field(default_factory=dict)
    last_call: int = -1
    states: list[tuple[int, CostState]] = field(default_factory=list)
    """Its totals, with their places in the file."""
    refusal: tuple[int, Line] | None = None
    """The last message that reports a rejected call in place of the model's answer, with its place."""

    def take_other(self, item: Line) -> None:
        """Note the time and folder of a line."""
        if item.timestamp:
            self.ended = max(self.ended, item.timestamp)
            self.began = min(self.began or item.timestamp, item.timestamp)
        if self.place is None and item.cwd:
            self.place = item

    def take_call(self, id_: str, item: Line, message: Message) -> CallSoFar:
        """Takes a line of a model call. Most of the time of reading is spent here, so little is called."""
        time, used = item.timestamp, message.usage
        if time:
            if time > self.ended:  # noqa: PLR1730 # a call for every line
                self.ended = time
            if time < self.began or not self.began:
                self.began = time
        call = self.calls.get(id_)
        if call is None:
            call = self.calls[id_] = CallSoFar(item, message)
        else:
            call.last = message
        if message.stop_reason is not None:
            call.final = True
        if used is not None:
            stated, before = used.output_tokens, call.output
            if before is None or stated is None or stated >= before:
                if before is not None and stated is not None and stated > before:
                    call.final = True
                call.usage, call.output = used, stated
        return call
