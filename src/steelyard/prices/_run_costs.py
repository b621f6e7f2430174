"""What the parts of a Run cost under a price book."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import add
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import astuple

from steelyard.prices._book import Pico, PriceBook, Priced, Span, add_pico, in_usd
from steelyard.records import TOKEN_KINDS, Component, Missing, Run, Usage, add_usage, kinds_of

_Part: TypeAlias = tuple[Usage, str | None, datetime | None, Span]
"""Tokens of a run that are priced together: under which model, at what moment, and whether they are one call."""

NO_USAGE = "the record has no usage"


class RunCost(NamedTuple):
    """What a run cost, and how that is known."""

    usd: float | None
    """None when the cost is not known."""
    how: Literal["reported", "priced", "lower_bound", "unknown"]
    reason: str | None = None
    """Why the tokens have no price, or only a lower bound of one."""

    @property
    def or_missing(self) -> Priced:
        """The cost, or why there is none."""
        return Missing(self.reason or NO_USAGE) if self.usd is None else self.usd


def cost_of(run: Run, book: PriceBook) -> RunCost:
    """The cost that the run reports, else that of its tokens, else the least that they cost."""
    cost = RunCost(run.cost_usd, "reported") if run.cost_usd is not None else token_cost(run, book)
    return cost if cost.usd is None or not run.cost_is_lower_bound else cost._replace(how="lower_bound")


def price_run(run: Run, book: PriceBook) -> Priced:
    """Cost of the run's tokens: each call under its model at its moment, tokens outside calls under the run's model.

    A call that does not name its model or moment takes the run's.
    """
    cost = token_cost(run, book)
    return cost.usd if cost.usd is not None and cost.how == "priced" else Missing(cost.reason or NO_USAGE)


def token_cost(run: Run, book: PriceBook) -> RunCost:
    """The price of the run's tokens, else the least that they cost.

    Where the price depends on how tokens fall into calls, and that is not known, they are priced as if all calls were
    small. A run that reports its cost needs no lower bound of it.
    """
    together = _together(run, book) if run.calls else None
    if together is not None:
        return RunCost(in_usd(together), "priced")
    parts = _parts(run)
    if isinstance(parts, Missing):
        return RunCost(None, "unknown", parts.reason)
    cost = _sum(parts, book)
    if not isinstance(cost, Missing):
        return RunCost(in_usd(cost), "priced")
    if run.cost_usd is not None:
        return RunCost(None, "unknown", cost.reason)
    least = _sum([(usage, model, at, _AT_LEAST[span]) for usage, model, at, span in parts], book)
    if isinstance(least, Missing):
        return RunCost(None, "unknown", cost.reason)
    return RunCost(in_usd(least), "lower_bound", cost.reason)


_AT_LEAST: dict[Span, Span] = {"call": "call", "run": "least"}


def _sum(parts: Sequence[_Part], book: PriceBook) -> Pico | Missing:
    amounts = []
    for usage, model, at, span in parts:
        amount = book.pico(usage, model=model, at=at, span=span)
        if isinstance(amount, Missing):
            return amount
        amounts.append(amount)
    return add_pico(amounts)


def _together(run: Run, book: PriceBook) -> int | None:
    """Pico-dollars of a run whose calls, added up by model, cost what they cost one by one; None for any other run.

    Most logs are of such runs, and have thousands of calls.
    """
    by_model: dict[str | None, list[tuple[int | None, ...]]] = {}
    for call in run.calls or ():
        if call.usage is None:
            return None
        by_model.setdefault(call.model or run.model, []).append(kinds_of(call.usage))
    pico = 0
    tokens = [0] * len(TOKEN_KINDS)
    for model, rows in by_model.items():
        total = book.pico_together(rows, model=model)
        if total is None:
            return None
        pico += total[0]
        tokens = list(map(add, tokens, total[1]))
    stated = kinds_of(run.usage) if run.usage is not None else ()
    outside = any((count or 0) > known for count, known in zip(stated, tokens, strict=False))
    return None if outside or not by_model else pico


def _parts(run: Run) -> list[_Part] | Missing:
    """The run's calls, then what they leave of its usage; at least one part, or why there is none.

    A call that took no tokens costs nothing whoever answered it (tools log their own messages as such calls), so it is
    left out beside other parts.
    """
    parts: list[_Part] = []
    idle: list[_Part] = []
    for call in run.calls or ():
        usage = call.usage
        if usage is not None:
            took_nothing = usage.input_tokens == 0 and usage.output_tokens == 0 and not any(astuple(usage))
            at = run.started_at if call.at is None else call.at
            part: _Part = (usage, call.model or run.model, at, "run" if call.summed else "call")
            (idle if took_nothing else parts).append(part)
        elif run.usage is None:
            silent = sum(1 for call in run.calls or () if call.usage is None)
            return Missing(f"{silent} of {len(run.calls or ())} calls state no tokens")
    rest = run.usage
    if rest is not None and (parts or idle):
        rest = _outside(rest, [part[0] for part in parts])
    if rest is not None:
        parts.append((rest, run.model, run.started_at, "run"))
    return parts or idle[:1] or Missing(NO_USAGE)


def _outside(usage: Usage, calls: Sequence[Usage]) -> Usage | None:
    """Tokens of the run that no call accounts for; None when there are none."""
    in_calls = add_usage(calls)
    if in_calls == usage:
        return None
    known = in_calls or Usage()
    left = {kind: max(0, (getattr(usage, kind) or 0) - (getattr(known, kind) or 0)) for kind in TOKEN_KINDS}
    return Usage(**left) if any(left.values()) else None


def price_component(component: Component, book: PriceBook, *, model: str | None, at: datetime | None) -> Priced:
    """Cost of a component's tokens under the run's model."""
    usage = Usage(input_tokens=component.input_tokens, output_tokens=component.output_tokens)
    return book.price(usage, model=model, at=at, span="run")
