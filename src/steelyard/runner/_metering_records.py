"""Records of the metering proxy: endpoints with their prices, limits and budget, calls, and the call log."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import msgspec

from steelyard.errors import RecordError
from steelyard.files import whole_file
from steelyard.prices import PICO_PER_USD, ModelPrices, Period, PriceTable, Rates
from steelyard.records import TOKEN_KINDS, Amount, Count, Missing, Record, Usage, add_usage
from steelyard.runner._plan_records import ApiKind, EndpointPrice, FromOne


@dataclass(frozen=True)
class ResolvedEndpoint:
    """Endpoint of a plan with URL and key."""

    name: str
    kind: ApiKind
    url: str
    key: str | None = field(default=None, repr=False)
    """Key; None for a server without keys."""
    parallel: int = 8
    """Maximum number of open calls."""
    requests_per_minute: int | None = None
    """Maximum number of calls started per minute; None for no limit."""
    price_table: PriceTable | None = None
    """Price table; None if no price is known."""


NO_TOKENS = Usage(**dict.fromkeys(TOKEN_KINDS, 0))


class CallLimits(Record, frozen=True, kw_only=True):
    """Limits on the calls of one execution."""

    usd: Amount | None = None
    """Dollars."""
    tokens: Count | None = None
    """Tokens of all kinds."""


class MeteredCall(Record, frozen=True, kw_only=True):
    """Model call recorded by the metering proxy."""

    number: FromOne
    """Number of the call within its execution."""
    path: str
    """Path of the request, without the query."""
    started: datetime
    """Time when it was forwarded."""
    model_asked: str | None = None
    """Model in the request."""
    temperature: float | None = None
    """Value in the request; None if it has none."""
    seed: int | None = None
    """Value in the request; None if it has none."""
    is_streamed: bool = False
    """Whether a stream was requested."""
    waited_seconds: Amount = 0.0
    """Time spent waiting for the endpoint's limits."""
    status: int | None = None
    """HTTP status of the response; None without a response."""
    model_answered: str | None = None
    """Model in the response."""
    usage: Usage | None = None
    """Usage in the response; None if it reports none."""
    is_lower_bound: bool = False
    """Whether usage is incomplete: a call without an end, or a response that does not report all tokens."""
    first_byte: datetime | None = None
    """Time of the first byte of the response body; None if there was none."""
    ended: datetime | None = None
    """Time when the response ended; None for a call without an end."""
    error: str | None = None
    """Error between proxy and endpoint; None if the response was complete, with any status."""
    was_aborted: bool = False
    """Whether the agent or the runner aborted the call."""
    error_code: str | None = None
    """Error code of the endpoint, such as `insufficient_quota`; None if it has none."""

    @property
    def is_successful(self) -> bool:
        """Whether the endpoint returned a 2xx status."""
        return self.status is not None and 200 <= self.status < 300


class MeteredCalls(Record, frozen=True, kw_only=True):
    """All calls of an execution."""

    calls: tuple[MeteredCall, ...] = ()
    """In the order in which they were forwarded."""
    rejection: str | None = None
    """Why calls were rejected: `trial_usd`, `trial_tokens`, `time_limit`, ...; None if none were."""

    @property
    def usage(self) -> Usage | None:
        """Tokens of all calls; None if unknown. Rejected calls use none."""
        stated = add_usage(call.usage for call in self.calls)
        return NO_TOKENS if stated is None and not self.is_lower_bound else stated

    @property
    def is_lower_bound(self) -> bool:
        """Whether usage is incomplete."""
        return any(call.is_lower_bound for call in self.calls)


class CallsRejected(Record, frozen=True, kw_only=True, tag_field="event", tag="rejected"):
    """Time from which calls were rejected."""

    at: datetime
    reason: str


class CallStarted(Record, frozen=True, kw_only=True, tag_field="event", tag="started"):
    """Call about to be forwarded."""

    call: MeteredCall


class CallEnded(Record, frozen=True, kw_only=True, tag_field="event", tag="ended"):
    """Call that has ended or was aborted."""

    call: MeteredCall


Line: TypeAlias = CallStarted | CallEnded | CallsRejected
_LINE = msgspec.json.Decoder(Line)


class CallLog:
    """Call log file; each line is written before its call is forwarded."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._calls: dict[int, MeteredCall] = {}
        self.rejection: str | None = None

    def begin(self, call: MeteredCall) -> None:
        """Call about to be forwarded."""
        self._calls[call.number] = msgspec.structs.replace(call, is_lower_bound=True)
        self._write(CallStarted(call=call))

    def end(self, call: MeteredCall) -> None:
        """Record the end of a call."""
        self._calls[call.number] = call
        self._write(CallEnded(call=call))

    def reject(self, reason: str) -> None:
        """Reject further calls; the first reason is kept."""
        if self.rejection is None:
            self.rejection = reason
            self._write(CallsRejected(at=datetime.now(UTC), reason=reason))

    def count(self) -> MeteredCalls:
        """Return the calls so far."""
        return MeteredCalls(calls=tuple(self._calls.values()), rejection=self.rejection)

    def close(self) -> None:
        """Close the log."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, line: Line) -> None:
        text = msgspec.json.encode(line) + b"\n"
        while text:
            text = text[os.write(self._file, text) :]


def read_call_log(path: Path) -> MeteredCalls:
    """Return the calls in a call log; none if the file does not exist.

    A call without an end makes its usage a lower bound. An incomplete last line was being written when the proxy
    ended: its call was never forwarded.
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


REJECTIONS = {
    "trial_usd": "the dollar budget of this trial is used up",
    "trial_tokens": "the token budget of this trial is used up",
    "usage_unknown": "the endpoint does not report usage, so the budget of this trial cannot be enforced",
    "price_unknown": "the price of the responding model is unknown, so the budget of this trial cannot be enforced",
    "too_many_calls": "this trial reached its maximum number of calls",
    "time_limit": "this trial reached its time limit",
}
"""Messages to the agent when a call is rejected."""


class CallBudget:
    """Budget of the calls of one execution.

    It is checked before each call: an execution overspends by the calls that are open when the limit is reached.
    """

    def __init__(self, limits: CallLimits, price_table: PriceTable | None) -> None:
        self._limits = limits
        self._price_table = price_table
        self._tokens = 0
        self._pico: int | Decimal = 0

    def spend(self, call: MeteredCall) -> str | None:
        """Return why no other call may follow; None while budget is left."""
        limits = self._limits
        if not call.is_successful or (limits.usd is None and limits.tokens is None):
            return None
        if call.usage is None:
            # A truncated response might have reported usage; a complete one without usage never will.
            return "usage_unknown" if call.error is None else None
        self._tokens += call.usage.total or 0
        if limits.tokens is not None and self._tokens >= limits.tokens:
            return "trial_tokens"
        return None if limits.usd is None else self._spend_usd(call, limits.usd)

    def _spend_usd(self, call: MeteredCall, limit: float) -> str | None:
        if self._price_table is None or call.usage is None:
            return "price_unknown"
        cost = self._price_table.pico(call.usage, model=call.model_answered or call.model_asked, at=call.started)
        if isinstance(cost, Missing):
            return "price_unknown"
        self._pico += cost
        return "trial_usd" if self._pico >= Decimal(str(limit)) * PICO_PER_USD else None


_FIELDS = {
    "output_tokens": "output_usd",
    "reasoning_tokens": "output_usd",
    "cache_read_tokens": "cache_read_usd",
    "cache_write_5m_tokens": "cache_write_usd",
    "cache_write_1h_tokens": "cache_write_usd",
}
"""Token kinds that are not priced as input."""


class EndpointPriceTable(PriceTable):
    """Prices that a plan states for an endpoint, the same for every model."""

    def __init__(self, endpoint: str, price: EndpointPrice) -> None:
        super().__init__()
        self.name, self.version = f"endpoint {endpoint}", "from the plan"
        stated = [getattr(price, _FIELDS.get(kind, "input_usd")) for kind in TOKEN_KINDS]
        usd = [price.input_usd if each is None else each for each in stated]
        self._periods = (Period((Rates(tuple(Decimal(str(each)) for each in usd)),)),)

    def look_up(self, model: str) -> ModelPrices:
        """Return the endpoint's price for any model."""
        return ModelPrices(id=model, provider=None, periods=self._periods)

    def models(self) -> Sequence[str]:
        """Return no names: the price applies to every model."""
        return ()
