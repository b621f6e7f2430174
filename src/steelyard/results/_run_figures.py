"""Figures of one run: its tokens by kind, and its calls over time."""

from __future__ import annotations

from steelyard.errors import UsageError
from steelyard.figures import Axis, CallAmount, Figure, StackedRow, calls, stacked
from steelyard.pages import DRAWN_TOKENS
from steelyard.results._run_detail import RunDetail


def run_tokens(detail: RunDetail, width: int) -> Figure:
    """Tokens by kind in one bar."""
    usage = detail.record.total_usage
    parts = {kind: getattr(usage, name) for kind, name in DRAWN_TOKENS.items()} if usage is not None else {}
    # a tool that counts no cache has none to show, which is not the same as an unknown part of the whole
    stated = {kind: count for kind, count in parts.items() if count is not None}
    if not stated:
        raise UsageError("the run does not report tokens by kind")
    return stacked(
        [StackedRow("tokens", stated)],
        kinds=tuple(stated),
        title="Tokens by kind",
        axis=Axis(title="Tokens", unit="tokens"),
        width=width,
    )


def run_calls(detail: RunDetail, width: int) -> Figure:
    """Each call at its time, its cost as height; its tokens where no call has a price."""
    if all(call.seconds is None for call in detail.calls):
        raise UsageError("the run does not report the times of its calls")
    by_cost = any(call.cost_usd is not None for call in detail.calls)
    return calls(
        [
            CallAmount(call.seconds, call.cost_usd if by_cost else call.tokens, call.model or "")
            for call in detail.calls
        ],
        title=f"Calls over time, by {'cost' if by_cost else 'tokens'}",
        axis=Axis(title="Cost of a call", unit="USD") if by_cost else Axis(title="Tokens of a call", unit="tokens"),
        note=f"prices {detail.prices}" if by_cost else "",
        width=width,
    )
