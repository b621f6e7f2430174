"""Pricing whole columns of tokens at once.

Prices are whole pico-dollars per token, so the cost of a row is a sum of six integer products: exact, and the same as
the scalar path gives. Rows where that does not hold (uneven prices, costs over 2**53 pico-dollars) take that path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import UnknownNameError
from steelyard.prices._price_table import (
    INPUT_KINDS,
    MAX_TOKENS,
    NEEDED_KINDS,
    PICO_PER_USD,
    TOO_MANY,
    UNDATED,
    ModelPrices,
    Period,
    PriceTable,
    Rates,
    Span,
    no_price,
    tier_doubt,
    unknown_tokens,
    whole_run_doubt,
)
from steelyard.records import DAY, TOKEN_KINDS, Missing, Usage

ROWS_AT_ONCE = 1 << 17
"""Small enough for the columns of a chunk to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class PricedColumn:
    """Costs of many rows, and why some have none."""

    cost_usd: NDArray[np.float64]
    """USD; NaN where there is no cost. A cost with a reason is a lower bound."""
    reason_of: NDArray[np.int32]
    """Index into `reasons`; -1 where the row is priced."""
    reasons: tuple[str, ...]
    """Each distinct reason once."""

    def reason(self, row: int) -> str | None:
        """Why the row has no price, or only a lower bound of one; None when it has one."""
        index = int(self.reason_of[row])
        return None if index < 0 else self.reasons[index]


def price_run_columns(
    price_table: PriceTable,
    *,
    models: Sequence[str | None],
    at: NDArray[np.datetime64] | None,
    tokens: Mapping[str, NDArray[Any]],  # Any: whole numbers, or floats with NaN where a count is not known
) -> PricedColumn:
    """Cost of runs of which the calls are not known: the same answers as `token_cost` row by row."""
    priced = price_columns(price_table, models=models, at=at, tokens=tokens, span="run")
    short = (priced.reason_of >= 0).nonzero()[0]
    least = price_columns(
        price_table,
        models=[models[row] for row in short.tolist()],
        at=None if at is None else at[short],
        tokens={kind: counts[short] for kind, counts in tokens.items()},
        span="least",
    )
    priced.cost_usd[short] = least.cost_usd
    return priced


def price_columns(
    price_table: PriceTable,
    *,
    models: Sequence[str | None] | NDArray[Any],  # Any: an object array of names
    at: NDArray[np.datetime64] | None,
    tokens: Mapping[str, NDArray[Any]],  # Any: whole numbers, or floats with NaN where a count is not known
    span: Span = "call",
) -> PricedColumn:
    """Cost of each row: the model's name, the moment in UTC (NaT where unknown) and token counts by kind.

    The same answers as `PriceTable.price` row by row. A kind without a column is not known for any row.
    """
    for kind in tokens:
        if kind not in TOKEN_KINDS:
            raise UnknownNameError("kind of tokens", kind, TOKEN_KINDS)
    rows = len(models)
    code_of = {name: code for code, name in enumerate(dict.fromkeys(models))}
    codes = np.fromiter(map(code_of.__getitem__, models), dtype=np.int32, count=rows)
    moments = np.full(rows, "NaT", "datetime64[us]") if at is None else np.asarray(at).astype("datetime64[us]")
    columns = {kind: np.asarray(column) for kind, column in tokens.items()}
    if any(len(column) != rows for column in (moments, *columns.values())):
        raise ValueError("price columns differ in length")
    compiled = TierArrays(price_table, list(code_of), span)
    cost_usd = np.empty(rows, np.float64)
    reason_of = np.empty(rows, np.int32)
    for start in range(0, rows, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        chunk = compiled.chunk(codes[part], moments[part], {kind: column[part] for kind, column in columns.items()})
        cost_usd[part], reason_of[part] = compiled.price(chunk)
    return PricedColumn(cost_usd, *_used(reason_of, list(compiled.reasons)))


def _used(reason_of: NDArray[np.int32], reasons: Sequence[str]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """The reasons that some row has, in alphabetical order, whatever the order of the rows."""
    # counted: np.unique would bring masked arrays along, whose import takes longer than the pricing
    present = np.flatnonzero(np.bincount(reason_of + 1)) - 1
    used = sorted((reasons[index], index) for index in present.tolist() if index >= 0)
    place = np.full(len(reasons) + 1, -1, np.int32)  # one more: index -1, no reason, leads to the last place
    place[[index for _, index in used]] = np.arange(len(used), dtype=np.int32)
    return place[reason_of], tuple(reason for reason, _ in used)


MAX_EXACT_INTEGER = 2**53
"""Up to here a whole number and its quotient by 10**12 are one correctly rounded float."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NEVER = np.iinfo(np.int64).max

PRICED = -1
"""Reason code of a row without a reason."""

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of the table, made ready."""

    codes: Codes
    micros: Ints
    dated: Flags
    tokens: tuple[Ints | None, ...]
    """By TOKEN_KINDS; None for a kind that no row has any of."""
    unknown: Mapping[str, Flags]
    """Rows in which a needed kind is not known."""
    huge: Flags
    """Rows with a count that cannot be right; it is 0 in `tokens`."""
    total_input: Ints
    columns: Mapping[str, NDArray[Any]]  # Any: whole numbers, or floats with NaN
    """The counts as they came, for the scalar path."""


class _Tier(NamedTuple):
    """One row of the coefficient arrays."""

    prices: ModelPrices
    period: Period
    rates: Rates
    next_above: int


class TierArrays:
    """Every tier of every period of the models in a table, as rows of coefficient arrays."""

    def __init__(self, price_table: PriceTable, names: Sequence[str | None], span: Span) -> None:
        self.price_table = price_table
        self.names = names
        self.span = span
        self.reasons: dict[str, int] = {}
        self._several: list[tuple[int, ModelPrices, list[int]]] = []
        self._first_tier = np.zeros(len(names), np.int32)
        self._unknown_model = np.full(len(names), PRICED, np.int32)
        tiers: list[_Tier] = []
        for code, name in enumerate(names):
            prices = price_table.find(name)
            if isinstance(prices, Missing):
                self._unknown_model[code] = self._reason(prices.reason)
                continue
            self._first_tier[code] = len(tiers)
            firsts = []
            for period in prices.periods:
                firsts.append(len(tiers))
                uppers = [tier.above_input_tokens or 0 for tier in period.tiers[1:]]
                above = [*uppers, NEVER]
                tiers.extend(_Tier(prices, period, *pair) for pair in zip(period.tiers, above, strict=True))
            if len(firsts) > 1:
                self._several.append((code, prices, firsts))
        self._fill(tiers)

    def _fill(self, tiers: Sequence[_Tier]) -> None:
        count = max(1, len(tiers))
        self._coefficients = np.zeros((len(TOKEN_KINDS), count), np.int64)
        self._fee = np.zeros(count, np.int64)
        self._next_above = np.full(count, NEVER, np.int64)
        self._uneven = np.zeros((len(TOKEN_KINDS), count), np.bool_)
        self._doubt = np.full(count, PRICED, np.int32)
        self._no_price = np.full((len(TOKEN_KINDS), count), PRICED, np.int32)
        for index, (prices, period, rates, next_above) in enumerate(tiers):
            self._next_above[index] = next_above
            self._uneven[:, index] = rates.uneven
            self._coefficients[:, index] = rates.pico
            self._fee[index] = rates.pico_per_request
            doubt = whole_run_doubt(prices, period, rates) if self.span == "run" else None
            if self.span == "least":
                self._next_above[index] = NEVER
                doubt = None if period.rises else tier_doubt(prices, period)
            if doubt is not None:
                self._doubt[index] = self._reason(doubt)
            for row, kind in enumerate(TOKEN_KINDS):
                if rates.usd_per_million[row] is None:
                    self._no_price[row, index] = self._reason(no_price(prices, rates, kind))
        self._has_uneven = [bool(kind.any()) for kind in self._uneven]
        self._without_price = (self._no_price != PRICED).any(axis=1)

    def _reason(self, reason: str) -> int:
        return self.reasons.setdefault(reason, len(self.reasons))

    def chunk(
        self,
        codes: Codes,
        moments: NDArray[np.datetime64],
        columns: Mapping[str, NDArray[Any]],  # Any: whole numbers, or floats with NaN
    ) -> Chunk:
        """Prepare rows: unknown counts separate from zeros, times as numbers."""
        rows = len(codes)
        huge = np.zeros(rows, np.bool_)
        unknown = {kind: np.ones(rows, np.bool_) for kind in NEEDED_KINDS}
        tokens: list[Ints | None] = []
        total_input = np.zeros(rows, np.int64)
        for kind in TOKEN_KINDS:
            if kind not in columns:
                tokens.append(None)
                continue
            counts, absent, beyond = _whole(kind, columns[kind])
            huge |= beyond
            if kind in unknown:
                unknown[kind] = absent
            if kind in INPUT_KINDS:
                total_input += counts
            tokens.append(counts if counts.any() else None)
        dated = ~np.isnat(moments)
        return Chunk(codes, moments.view(np.int64), dated, tuple(tokens), unknown, huge, total_input, columns)

    def price(self, chunk: Chunk) -> tuple[NDArray[np.float64], Codes]:
        """USD of each row (NaN where missing), and the index of its reason."""
        tier = self._first_tier[chunk.codes]
        undated: list[tuple[NDArray[np.intp], ModelPrices, list[int]]] = []
        for code, prices, firsts in self._several:
            rows = np.flatnonzero(chunk.codes == code)
            dated = rows[chunk.dated[rows]]
            tier[dated] = _period_of(prices, firsts, chunk.micros[dated])
            if len(dated) < len(rows):
                undated.append((rows[~chunk.dated[rows]], prices, firsts))
        pico, reason, scalar = self._evaluate(chunk, tier, slice(None))
        for rows, prices, firsts in undated:
            self._settle_undated(chunk, rows, prices, firsts, pico, reason, scalar)
        reason[chunk.huge] = self._reason(TOO_MANY)
        for kind in reversed(NEEDED_KINDS):
            reason[chunk.unknown[kind]] = self._reason(unknown_tokens(kind))
        no_model = self._unknown_model[chunk.codes]
        reason = np.where(no_model == PRICED, reason, no_model)
        cost_usd = pico / PICO_PER_USD
        for row in np.flatnonzero(scalar & (reason == PRICED)):
            cost_usd[row], reason[row] = self._price_row(chunk, int(row))
        cost_usd[reason != PRICED] = np.nan
        return cost_usd, reason

    def _evaluate(self, chunk: Chunk, tier: Codes, rows: NDArray[np.intp] | slice) -> tuple[Ints, Codes, Flags]:
        """Pico-dollars, reason and need of the scalar path of some rows, each in the period that begins at its tier."""
        total_input = chunk.total_input[rows]
        while (above := total_input > self._next_above[tier]).any():
            tier = tier + above
        pico = self._fee[tier]
        largest = float(pico.max(initial=0))
        reason = self._doubt[tier]
        scalar = np.zeros(len(tier), np.bool_)
        for kind, column in enumerate(chunk.tokens):
            if column is None:
                continue
            counts = column[rows]
            price = self._coefficients[kind][tier]
            largest += float(counts.max(initial=0)) * float(price.max(initial=0))
            pico += counts * price
            if self._without_price[kind]:
                absent = self._no_price[kind][tier]
                reason = np.where((reason == PRICED) & (counts > 0), absent, reason)
            if self._has_uneven[kind]:
                scalar |= self._uneven[kind][tier] & (counts > 0)
        if largest > MAX_EXACT_INTEGER:
            scalar |= self._may_be_large(chunk, tier, rows)
        return pico, reason, scalar

    def _may_be_large(self, chunk: Chunk, tier: Codes, rows: NDArray[np.intp] | slice) -> Flags:
        estimate = self._fee[tier].astype(np.float64)
        for kind, column in enumerate(chunk.tokens):
            if column is not None:
                estimate += column[rows].astype(np.float64) * self._coefficients[kind][tier]
        return estimate > MAX_EXACT_INTEGER * 0.99

    def _settle_undated(
        self,
        chunk: Chunk,
        rows: NDArray[np.intp],
        prices: ModelPrices,
        firsts: Sequence[int],
        pico: Ints,
        reason: Codes,
        scalar: Flags,
    ) -> None:
        """A row without a moment has a cost only where every period agrees on it."""
        answers = [self._evaluate(chunk, np.full(len(rows), first, np.int32), rows) for first in firsts]
        agreed_pico, agreed_reason, by_hand = answers[0]
        same = np.ones(len(rows), np.bool_)
        for other_pico, other_reason, other_by_hand in answers[1:]:
            by_hand = by_hand | other_by_hand
            both_priced = (other_reason == PRICED) & (other_pico == agreed_pico)
            same &= (other_reason == agreed_reason) & ((other_reason != PRICED) | both_priced)
        undated = self._reason(UNDATED.format(model=prices.id, what=prices.depends_on))
        pico[rows] = agreed_pico
        scalar[rows] = by_hand
        reason[rows] = np.where(by_hand, PRICED, np.where(same, agreed_reason, undated))

    def _price_row(self, chunk: Chunk, row: int) -> tuple[float, int]:
        known = {kind: _count(column[row]) for kind, column in chunk.columns.items()}
        at = EPOCH + timedelta(microseconds=int(chunk.micros[row])) if chunk.dated[row] else None
        answer = self.price_table.price(Usage(**known), model=self.names[chunk.codes[row]], at=at, span=self.span)
        return (np.nan, self._reason(answer.reason)) if isinstance(answer, Missing) else (answer, PRICED)


def _whole(kind: str, column: NDArray[Any]) -> tuple[Ints, Flags, Flags]:  # Any: whole numbers, or floats with NaN
    """Counts with 0 for the unknown and the huge, and which rows those are."""
    absent = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), np.bool_)
    beyond = column > MAX_TOKENS
    filled = np.where(absent | beyond, 0, column) if absent.any() or beyond.any() else column
    counts: Ints = filled.astype(np.int64)
    if counts.min(initial=0) < 0:
        raise ValueError(f"{kind} contains a negative count")
    if (counts != filled).any() or np.isinf(column).any():
        raise ValueError(f"{kind} contains a count that is not an integer")
    return counts, absent, beyond


def _count(value: Any) -> int | None:  # Any: a whole number, or a float that may be NaN
    return None if value != value else int(value)  # noqa: PLR0124 - only NaN differs from itself


def _period_of(prices: ModelPrices, firsts: Sequence[int], micros: Ints) -> Codes:
    """The first tier of the period that holds at each moment."""
    tier = np.full(len(micros), firsts[0], np.int32)
    for period, first in zip(prices.periods, firsts, strict=True):
        active = np.ones(len(micros), np.bool_)
        if period.since is not None:
            active &= micros >= _day_micros(period.since)
        if period.between is not None:
            start, end = (_clock_micros(clock) for clock in period.between)
            clock = micros % DAY
            inside = (clock >= start, clock < end)
            active &= inside[0] & inside[1] if start <= end else inside[0] | inside[1]
        tier[active] = first
    return tier


def _day_micros(day: date) -> int:
    return (day - EPOCH.date()).days * DAY


def _clock_micros(clock: time) -> int:
    return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1_000_000 + clock.microsecond
