"""What the parts of a Run cost under a price book."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec.structs import astuple

from steelyard.prices._book import MOST_TOKENS, PriceBook, Priced, Span, add_pico, in_usd
from steelyard.records.missing import Missing
from steelyard.records.run import TOKEN_KINDS, Component, Run, Usage, add_usage

_Part: TypeAlias = tuple[Usage, str | None, datetime | None, Span]
"""Tokens of a run that are priced together: under which model, at what moment, and whether they are one call."""


WORTH_ADDING = 4
"""From so many parts on, adding up what costs the same saves time."""


def price_run(run: Run, book: PriceBook) -> Priced:
    """Cost of the run's tokens: each call under its model at its moment, tokens outside calls under the run's model.

    A call that does not name its model or moment takes the run's.
    """
    parts = _parts(run)
    if isinstance(parts, Missing):
        return parts
    amounts = []
    for usage, model, at, span in _together(parts, book):
        amount = book.pico(usage, model=model, at=at, span=span)
        if isinstance(amount, Missing):
            return amount
        amounts.append(amount)
    return in_usd(add_pico(amounts))


def _together(parts: Sequence[_Part], book: PriceBook) -> Iterable[_Part]:
    """Parts of one model whose tokens cost the same in every call as one part: a log has thousands of them."""
    if len(parts) < WORTH_ADDING:
        return parts
    alike: dict[str | None, list[_Part]] = {}
    for part in parts:
        alike.setdefault(part[1], []).append(part)
    found: list[_Part] = []
    for model, group in alike.items():
        total = _added(group) if book.is_flat(model) else None
        found += group if total is None else [(total, model, None, "call")]
    return found


def _added(parts: Sequence[_Part]) -> Usage | None:
    """The parts' tokens added up; None where one of them may have no price: its reason is the answer then."""
    usages = [part[0] for part in parts]
    total = add_usage(usages)
    if total is None or any(usage.input_tokens is None or usage.output_tokens is None for usage in usages):
        return None
    return None if max(filter(None, astuple(total)), default=0) > MOST_TOKENS else total


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
            silent = sum(1 for one in run.calls or () if one.usage is None)
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
