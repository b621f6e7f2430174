"""What the parts of a Run cost under a price book."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import add
from typing import TypeAlias

from msgspec.structs import astuple

from steelyard.prices._book import PriceBook, Priced, Span, add_pico, in_usd
from steelyard.records import TOKEN_KINDS, Component, Missing, Run, Usage, add_usage

_Part: TypeAlias = tuple[Usage, str | None, datetime | None, Span]
"""Tokens of a run that are priced together: under which model, at what moment, and whether they are one call."""


def price_run(run: Run, book: PriceBook, *, least: bool = False) -> Priced:
    """Cost of the run's tokens: each call under its model at its moment, tokens outside calls under the run's model.

    A call that does not name its model or moment takes the run's. With `least`, tokens of which the calls are not
    known are priced as if all calls were small: the cost is then a lower bound.
    """
    together = _together(run, book)
    if together is not None:
        return in_usd(together)
    parts = _parts(run)
    if isinstance(parts, Missing):
        return parts
    amounts = []
    for usage, model, at, span in parts:
        amount = book.pico(usage, model=model, at=at, span="least" if least and span == "run" else span)
        if isinstance(amount, Missing):
            return amount
        amounts.append(amount)
    return in_usd(add_pico(amounts))


def _together(run: Run, book: PriceBook) -> int | None:
    """Pico-dollars of a run whose calls, added up by model, cost what they cost one by one; None for any other run.

    Most logs are of such runs, and have thousands of calls.
    """
    by_model: dict[str | None, list[tuple[int | None, ...]]] = {}
    for call in run.calls or ():
        if call.usage is None:
            return None
        by_model.setdefault(call.model or run.model, []).append(astuple(call.usage))
    pico = 0
    tokens = [0] * len(TOKEN_KINDS)
    for model, rows in by_model.items():
        total = book.pico_together(rows, model=model)
        if total is None:
            return None
        pico += total[0]
        tokens = list(map(add, tokens, total[1]))
    stated = astuple(run.usage) if run.usage is not None else ()
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
    return parts or idle[:1] or Missing("the record has no usage")


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
