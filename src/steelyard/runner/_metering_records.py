"""What the metering proxy is told, what it counts, and the file that holds its count while an execution runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import msgspec

from steelyard.errors import RecordError
from steelyard.files import whole_file
from steelyard.prices import PriceTable
from steelyard.records import TOKEN_KINDS, Amount, Count, Record, Usage, add_usage
from steelyard.runner._plan_records import ApiKind, FromOne


@dataclass(frozen=True)
class ResolvedEndpoint:
    """An endpoint of a plan with its address and its key."""

    name: str
    kind: ApiKind
    url: str
    key: str | None = field(default=None, repr=False)
    """What it is asked with; None for a server without keys."""
    parallel: int = 8
    """Calls that are open at the same time."""
    requests_per_minute: int | None = None
    """Calls started in a minute; None for no limit."""
    price_table: PriceTable | None = None
    """What its calls are priced by; None where no price is known."""


NO_TOKENS = Usage(**dict.fromkeys(TOKEN_KINDS, 0))


class CallLimits(Record, frozen=True, kw_only=True):
    """What the calls of one execution may use."""

    usd: Amount | None = None
    """Dollars."""
    tokens: Count | None = None
    """Tokens of all kinds."""


class MeteredCall(Record, frozen=True, kw_only=True):
    """One call of a model, as it went through the metering proxy."""

    number: FromOne
    """Which call of its execution."""
    path: str
    """What was asked for, without the query."""
    started: datetime
    """When it was passed on."""
    model_asked: str | None = None
    """The model that the request names."""
    temperature: float | None = None
    """What the request really sent; None when it sent none."""
    seed: int | None = None
    """What the request really sent; None when it sent none."""
    is_streamed: bool = False
    """Whether a stream was asked for."""
    waited_seconds: Amount = 0.0
    """How long it waited for the endpoint's limits."""
    status: int | None = None
    """The status that the endpoint answered with; None when it did not answer."""
    model_answered: str | None = None
    """The model that the answer names."""
    usage: Usage | None = None
    """What the answer says that it used; None when it says nothing."""
    is_lower_bound: bool = False
    """Whether more was used than is known: a call without an end, or an answer that does not state its whole usage."""
    first_byte: datetime | None = None
    """When the body of the answer began; None when none came."""
    ended: datetime | None = None
    """When the answer ended; None for a call without an end."""
    error: str | None = None
    """What went wrong between proxy and endpoint; None when the answer came whole, whatever its status."""
    was_aborted: bool = False
    """Whether the agent, or we, ended it while it was under way."""
    error_code: str | None = None
    """What the endpoint calls the error of a rejection, such as `insufficient_quota`; None where it says nothing."""

    @property
    def is_successful(self) -> bool:
        """Whether the endpoint answered as asked."""
        return self.status is not None and 200 <= self.status < 300


class MeteredCalls(Record, frozen=True, kw_only=True):
    """All calls of an execution."""

    calls: tuple[MeteredCall, ...] = ()
    """In the order in which they were passed on."""
    rejection: str | None = None
    """Why calls were rejected: `trial_usd`, `trial_tokens`, `time_limit`, ...; None if none were."""

    @property
    def usage(self) -> Usage | None:
        """The tokens of all calls; None when they are not known. A call that was refused has used none."""
        stated = add_usage(call.usage for call in self.calls)
        return NO_TOKENS if stated is None and not self.is_lower_bound else stated

    @property
    def is_lower_bound(self) -> bool:
        """Whether more was used than is known."""
        return any(call.is_lower_bound for call in self.calls)


class CallsRejected(Record, frozen=True, kw_only=True, tag_field="event", tag="rejected"):
    """The moment from which on calls were refused."""

    at: datetime
    reason: str


class CallStarted(Record, frozen=True, kw_only=True, tag_field="event", tag="started"):
    """A call that is about to be passed on."""

    call: MeteredCall


class CallEnded(Record, frozen=True, kw_only=True, tag_field="event", tag="ended"):
    """A call that has ended, or was cut."""

    call: MeteredCall


Line: TypeAlias = CallStarted | CallEnded | CallsRejected
_LINE = msgspec.json.Decoder(Line)


class CallLog:
    """The file: every line is with the operating system before the call that it tells of is passed on."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._calls: dict[int, MeteredCall] = {}
        self.rejection: str | None = None

    def begin(self, call: MeteredCall) -> None:
        """A call that is about to be passed on."""
        self._calls[call.number] = msgspec.structs.replace(call, is_lower_bound=True)
        self._write(CallStarted(call=call))

    def end(self, call: MeteredCall) -> None:
        """The same call, with how it ended."""
        self._calls[call.number] = call
        self._write(CallEnded(call=call))

    def reject(self, reason: str) -> None:
        """From now on calls are refused; the first reason stays."""
        if self.rejection is None:
            self.rejection = reason
            self._write(CallsRejected(at=datetime.now(UTC), reason=reason))

    def count(self) -> MeteredCalls:
        """The calls so far."""
        return MeteredCalls(calls=tuple(self._calls.values()), rejection=self.rejection)

    def close(self) -> None:
        """Nothing comes any more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, line: Line) -> None:
        text = msgspec.json.encode(line) + b"\n"
        while text:
            text = text[os.write(self._file, text) :]


def read_call_log(path: Path) -> MeteredCalls:
    """The count that a file holds; of a file that is not there, no calls.

    A call without an end makes its usage a lower bound. What follows the last line break was being written when the
    proxy ended: a call whose beginning breaks off was never passed on.
    """
    if not path.exists():
        return MeteredCalls()
    calls: dict[int, MeteredCall] = {}
    rejection: str | None = None
    *lines, _ = whole_file(path).split(b"\n")
    for number, text in enumerate(lines, start=1):
        try:
            line = _LINE.decode(text)
        except msgspec.MsgspecError as error:
            raise RecordError(f"invalid metering record: {error}", path=str(path), line=number) from error
        match line:
            case CallStarted(call=call):
                calls[call.number] = msgspec.structs.replace(call, is_lower_bound=True)
            case CallEnded(call=call):
                calls[call.number] = call
            case CallsRejected(reason=reason):
                rejection = rejection or reason
    return MeteredCalls(calls=tuple(calls[number] for number in sorted(calls)), rejection=rejection)
