"""The budget of one execution, kept call by call."""

from __future__ import annotations

from decimal import Decimal

from steelyard.prices import PICO_PER_USD, PriceTable
from steelyard.records import Missing
from steelyard.runner._metering_records import CallLimits, MeteredCall

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
    """What the calls of an execution may use, and have used.

    It is looked at before each call: an execution overspends by the calls that are open when the limit is reached.
    """

    def __init__(self, limits: CallLimits, price_table: PriceTable | None) -> None:
        self._limits = limits
        self._price_table = price_table
        self._tokens = 0
        self._pico: int | Decimal = 0

    def spend(self, call: MeteredCall) -> str | None:
        """Why no other call may follow; None while there is something left."""
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
