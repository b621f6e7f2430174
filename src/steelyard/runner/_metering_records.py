"""Records of the metering proxy: endpoints with their prices, limits and budget, calls, and the call log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from steelyard.errors import RecordError
from steelyard.files import whole_file
from steelyard.prices import (
    INPUT_KINDS,
    NEEDED_KINDS,
    PICO_PER_USD,
    ModelPrices,
    Period,
    Pico,
    PriceTable,
    Rates,
    add_pico,
    in_usd,
)
from steelyard.records import TOKEN_KINDS, Amount, Count, Missing, Record, Usage, add_usage, kinds_of
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


MAX_OUTPUT_TOKENS = 131_072
"""Output of a call without an end whose request states no limit: what the models with the longest output allow."""
NO_TOKENS = Usage(**dict.fromkeys(TOKEN_KINDS, 0))


def least(usage: Usage | None) -> Usage | None:
    """Return the least that a call used whose end is unknown: what it has not stated yet may be none."""
    if usage is None:
        return None
    missing = {kind: 0 for kind in NEEDED_KINDS if getattr(usage, kind) is None}
    return msgspec.structs.replace(usage, **missing) if len(missing) < len(NEEDED_KINDS) else usage


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
    request_bytes: Count = 0
    """Bytes of the request body; its tokens are at most as many."""
    max_output_tokens: Count | None = None
    """Limit of the output in the request; None if it has none."""
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
    def worst_usages(self) -> tuple[Usage, ...]:
        """Usages of which one costs at least as much as the call: more than stated if its end is unknown.

        Input that the response does not state is one token per byte of the request, of the kind that costs most.
        """
        if not self.is_lower_bound:
            return () if self.usage is None else (self.usage,)
        stated = self.usage or Usage()
        limit = MAX_OUTPUT_TOKENS if self.max_output_tokens is None else self.max_output_tokens
        output = max(limit, (stated.output_tokens or 0) + (stated.reasoning_tokens or 0))
        if stated.input_tokens is not None:
            known = {kind: count or 0 for kind, count in zip(TOKEN_KINDS, kinds_of(stated), strict=True)}
            return (Usage(**{**known, "output_tokens": output, "reasoning_tokens": 0}),)
        return tuple(
            Usage(**{**dict.fromkeys(TOKEN_KINDS, 0), "output_tokens": output, kind: self.request_bytes})
            for kind in INPUT_KINDS
        )

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
    def served(self) -> tuple[MeteredCall, ...]:
        """The calls that the endpoint answered, or may have answered."""
        return tuple(call for call in self.calls if call.usage is not None or call.is_lower_bound)

    @property
    def usage(self) -> Usage | None:
        """Tokens of all calls; None if unknown. Rejected calls use none."""
        stated = add_usage(call.usage for call in self.calls)
        return NO_TOKENS if stated is None and not self.is_lower_bound else stated

    @property
    def is_lower_bound(self) -> bool:
        """Whether usage is incomplete."""
        return any(call.is_lower_bound for call in self.calls)


class CallRejection(Record, frozen=True, kw_only=True, tag_field="event", tag="rejected"):
    """Time from which calls were rejected."""

    at: datetime
    reason: str


class CallStart(Record, frozen=True, kw_only=True, tag_field="event", tag="started"):
    """Call about to be forwarded."""

    call: MeteredCall


class CallEnd(Record, frozen=True, kw_only=True, tag_field="event", tag="ended"):
    """Call that has ended or was aborted."""

    call: MeteredCall


Line: TypeAlias = CallStart | CallEnd | CallRejection
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
        self._write(CallStart(call=call))

    def end(self, call: MeteredCall) -> None:
        """Record the end of a call."""
        self._calls[call.number] = call
        self._write(CallEnd(call=call))

    def reject(self, reason: str) -> None:
        """Reject further calls; the first reason is kept."""
        if self.rejection is None:
            self.rejection = reason
            self._write(CallRejection(at=datetime.now(UTC), reason=reason))

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
            case CallStart(call=call):
                calls[call.number] = msgspec.structs.replace(call, is_lower_bound=True)
            case CallEnd(call=call):
                calls[call.number] = call
            case CallRejection(reason=reason):
                rejection = rejection or reason
    return MeteredCalls(calls=tuple(calls[number] for number in sorted(calls)), rejection=rejection)


KEY_REJECTED = "key_rejected"
UNFINISHED_CALLS = "unfinished_calls"
REJECTIONS = {
    "trial_usd": "the dollar budget of this trial is used up",
    "trial_tokens": "the token budget of this trial is used up",
    "usage_unknown": "the endpoint does not report usage, so the budget of this trial cannot be enforced",
    KEY_REJECTED: "the endpoint rejected the key of this plan",
    UNFINISHED_CALLS: "incomplete calls may have used up the budget of this trial",
    "price_unknown": "the price of the responding model is unknown, so the budget of this trial cannot be enforced",
    "too_many_calls": "this trial reached its maximum number of calls",
    "time_limit": "this trial reached its time limit",
}
"""Messages to the agent when a call is rejected."""
_OF_KEYS = ("authentication_error", "invalid_api_key", "unauthenticated")
"""What endpoints call the error of a wrong key; others answer 401 for a model that the key may not use, too."""


class KeyCheck:
    """Decides from the statuses of an execution's calls whether the endpoint takes the key at all."""

    def __init__(self) -> None:
        self._rejected = 0

    def is_rejected(self, call: MeteredCall) -> bool:
        """Whether no call can succeed: a 401 that names the key, or the second 401 in a row."""
        self._rejected = self._rejected + 1 if call.status == 401 else 0
        names_key = any(word in (call.error_code or "").lower() for word in _OF_KEYS)
        return self._rejected > 1 or (call.status == 401 and names_key)


class CallCharge(NamedTuple):
    """What a call is charged to a budget: what is known, and a reserve for what a call without an end may have used."""

    tokens: int = 0
    reserved_tokens: int = 0
    pico: Pico | None = 0
    """Known cost; None without a price."""
    reserved_pico: Pico | None = 0
    """Cost of the worst case beyond the known cost; None without a price."""


def charge_of(call: MeteredCall, price_table: PriceTable | None) -> CallCharge:
    """Return the charge of a call; the worst case of a call without an end is the most expensive of its usages."""
    worst = call.worst_usages
    if not worst:
        return CallCharge()
    tokens = 0 if call.usage is None else call.usage.total or 0
    reserved = max(0, max(usage.total or 0 for usage in worst) - tokens)
    known = 0 if call.usage is None else _pico(call, call.usage, price_table)
    prices = [price for usage in worst if (price := _pico(call, usage, price_table)) is not None]
    if known is None and call.is_lower_bound:
        known = 0  # a part of the usage has no price, but the worst case may
    if known is None or not prices:
        return CallCharge(tokens, reserved, None, None)
    return CallCharge(tokens, reserved, known, max(0, max(prices) - known))


def _pico(call: MeteredCall, usage: Usage, price_table: PriceTable | None) -> Pico | None:
    if price_table is None:
        return None
    cost = price_table.pico(usage, model=call.model_answered or call.model_asked, at=call.started)
    return None if isinstance(cost, Missing) else cost


class Reserve(NamedTuple):
    """What calls without an end may have used beyond what is known."""

    calls: int
    """Number of these calls."""
    tokens: int
    usd: float | None
    """None without a price."""


def reserve_of(calls: Iterable[MeteredCall], price_table: PriceTable | None) -> Reserve:
    """Return the reserve for the calls without an end."""
    charges = [charge_of(call, price_table) for call in calls if call.is_lower_bound]
    known = [charge.reserved_pico for charge in charges if charge.reserved_pico is not None]
    usd = in_usd(add_pico(known)) if len(known) == len(charges) else None
    return Reserve(len(charges), sum(charge.reserved_tokens for charge in charges), usd)


class CallBudget:
    """Budget of the calls of one execution.

    It is checked before each call: an execution overspends by the calls that are open when the limit is reached. A call
    without an end is charged at its worst case.
    """

    def __init__(self, limits: CallLimits, price_table: PriceTable | None) -> None:
        self._limits = limits
        self._price_table = price_table
        self._spent: dict[str, list[Decimal]] = {"tokens": [Decimal(0)] * 2, "usd": [Decimal(0)] * 2}
        """By unit: what is known, and that with the reserve."""

    def spend(self, call: MeteredCall) -> str | None:
        """Return why no other call may follow; None while budget is left."""
        limits = self._limits
        if limits.usd is None and limits.tokens is None:
            return None
        if call.is_successful and call.usage is None and call.error is None:
            return "usage_unknown"  # a truncated response might have reported usage; a complete one never will
        charge = charge_of(call, self._price_table)
        if reason := self._charge("tokens", charge.tokens, charge.reserved_tokens, limits.tokens):
            return reason
        if limits.usd is None:
            return None
        if charge.pico is None or charge.reserved_pico is None:
            return "price_unknown"
        return self._charge("usd", charge.pico, charge.reserved_pico, Decimal(str(limits.usd)) * PICO_PER_USD)

    def _charge(self, unit: str, known: Pico, reserved: Pico, limit: Decimal | int | None) -> str | None:
        spent = self._spent[unit]
        spent[0] += known
        spent[1] += known + reserved
        if limit is None or spent[1] < limit:
            return None
        return f"trial_{unit}" if spent[0] >= limit else UNFINISHED_CALLS


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
