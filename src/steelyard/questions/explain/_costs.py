"""Explain the priced cost of a run: calls by day and model, tokens and prices."""

from __future__ import annotations

from datetime import UTC, date

from msgspec.structs import replace

from steelyard.formatting import exact_dollars
from steelyard.prices import Charge, PriceTable, charges, in_usd, price_lines
from steelyard.questions.explain._answer import ExplainedValue
from steelyard.records import TOKEN_KINDS, DayFinder, Missing, Run, calls_in, kinds_of

PRICED = "priced_cost_usd"


def with_calls(explained: ExplainedValue, run: Run, price_table: PriceTable) -> ExplainedValue:
    """Add the calls to the priced cost within the explanation."""
    if explained.name == PRICED:
        parts = charges(run, price_table, DayFinder(UTC).days_of)
        return replace(explained, inputs=tuple(_part(part, price_table) for part in parts))
    return replace(explained, inputs=tuple(with_calls(part, run, price_table) for part in explained.inputs))


def _part(part: Charge, price_table: PriceTable) -> ExplainedValue:
    day = part.place if isinstance(part.place, date) else None
    when = f"on {day} (UTC)" if day else "on an unknown day"
    is_low = part.reason is not None and not part.unpriced
    lacking = f"; {part.unpriced:,} without a price: {part.reason}" if part.unpriced and part.pico is not None else ""
    return ExplainedValue(
        name=f"{part.model or 'unknown model'} {when}",
        value=None if part.pico is None else in_usd(part.pico),
        reason=(part.reason or "token counts are not reported") if part.pico is None else None,
        title=_calls(part) + lacking,
        unit="USD",
        formula=_formula(part, day, price_table),
        provenance=None if part.pico is None else "lower_bound" if is_low or part.unpriced else "priced",
    )


def _calls(part: Charge) -> str:
    calls = calls_in(part.calls)
    if not calls:
        return "Tokens without call details"
    return "1 call" if calls == 1 else f"{calls:,} calls"


def _formula(part: Charge, day: date | None, price_table: PriceTable) -> str | None:
    """Tokens of each kind times its price; several prices where the sizes of calls or the time of day decide."""
    prices, usage = price_table.find(part.model), part.usage
    if usage is None or isinstance(prices, Missing):
        return None
    priced = [(call.usage, call.at) for call in part.calls if call.usage is not None and not call.summed]
    rates = dict.fromkeys(prices.rates_of(used, at) for used, at in priced if at is not None)
    if len(priced) < len(part.calls) or not rates or any(at is None for _, at in priced):
        rates = dict.fromkeys(line.rates for line in price_lines(prices, on=day))
    terms = []
    for place, (kind, count) in enumerate(zip(TOKEN_KINDS, kinds_of(usage), strict=True)):
        if count:
            known = (rate.usd_per_million[place] for rate in rates)
            words = dict.fromkeys("no price" if usd is None else exact_dollars(usd) for usd in known)
            terms.append(f"{count:,} {kind.removesuffix('_tokens').replace('_', ' ')} x {' or '.join(words)}")
    return f"{_calls(part)}: {' + '.join(terms)} per million tokens" if terms else None
