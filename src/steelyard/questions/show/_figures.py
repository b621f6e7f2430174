"""Figures of one run: its tokens by kind, and its calls over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.figures import Axis, CallAmount, Figure, StackedRow, calls, stacked
from steelyard.pages import DRAWN_TOKENS

if TYPE_CHECKING:
    from steelyard.questions.show._answer import RunDetail


def run_tokens(answer: RunDetail, width: int) -> Figure:
    """Draw tokens by kind in one bar."""
    usage = answer.record.total_usage
    parts = {kind: getattr(usage, name) for kind, name in DRAWN_TOKENS.items()} if usage is not None else {}
    # an agent that does not count a kind has nothing to draw, which differs from an unknown part of the whole
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


def run_calls(answer: RunDetail, width: int) -> Figure:
    """Draw each call at its time, with its cost as height, or its tokens if no call has a price."""
    if all(call.seconds is None for call in answer.calls):
        raise UsageError("the run does not report the times of its calls")
    by_cost = any(call.cost_usd is not None for call in answer.calls)
    return calls(
        [
            CallAmount(call.seconds, call.cost_usd if by_cost else call.tokens, call.model or "")
            for call in answer.calls
        ],
        title=f"Calls over time, by {'cost' if by_cost else 'tokens'}",
        axis=Axis(title="Cost of a call", unit="USD") if by_cost else Axis(title="Tokens of a call", unit="tokens"),
        note=f"prices {answer.prices}" if by_cost else "",
        width=width,
    )


DRAWINGS = {"tokens": run_tokens, "calls": run_calls}
"""Figures of the answer, the default first."""
