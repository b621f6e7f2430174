"""What the parts of a Run cost under a price book."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from steelyard.prices._book import EXACT, PriceBook, Priced
from steelyard.records.missing import Missing
from steelyard.records.run import TOKEN_KINDS, Call, Component, Run, Usage, add_usage


def price_run(run: Run, book: PriceBook) -> Priced:
    """Cost of the run's tokens: each call under its model at its moment, tokens outside calls under the run's model.

    A call that does not name its model or moment takes the run's.
    """
    calls = [(call, call.usage) for call in run.calls or () if call.usage is not None]
    if run.usage is None and len(calls) < len(run.calls or ()):
        return Missing(f"{len(run.calls or ()) - len(calls)} of {len(run.calls or ())} calls state no tokens")
    total = _cost_of_calls(calls, run, book)
    if isinstance(total, Missing):
        return total
    rest = run.usage if not calls else _outside(run.usage, [usage for _, usage in calls])
    if rest is not None:
        cost = book.cost(rest, model=run.model, at=run.started_at, span="run")
        return cost if isinstance(cost, Missing) else float(EXACT.add(total, cost))
    return float(total) if calls else Missing("the record has no usage")


def _cost_of_calls(calls: Sequence[tuple[Call, Usage]], run: Run, book: PriceBook) -> Decimal | Missing:
    total = Decimal(0)
    for call, usage in calls:
        moment = run.started_at if call.at is None else call.at
        cost = book.cost(usage, model=call.model or run.model, at=moment)
        if isinstance(cost, Missing):
            return cost
        total = EXACT.add(total, cost)
    return total


def _outside(usage: Usage | None, calls: Sequence[Usage]) -> Usage | None:
    """Tokens of the run that no call accounts for; None when there are none."""
    in_calls = add_usage(calls)
    if usage is None or in_calls is None:
        return None
    left = {kind: max(0, (getattr(usage, kind) or 0) - (getattr(in_calls, kind) or 0)) for kind in TOKEN_KINDS}
    return Usage(**left) if any(left.values()) else None


def price_component(component: Component, book: PriceBook, *, model: str | None, at: datetime | None) -> Priced:
    """Cost of a component's tokens under the run's model."""
    usage = Usage(input_tokens=component.input_tokens, output_tokens=component.output_tokens)
    return book.price(usage, model=model, at=at, span="run")
