"""Pricing whole columns of tokens at once.

Prices are whole pico-dollars per token, so the cost of a row is a sum of six integer products: exact, and the same as
the scalar path gives. Rows where that does not hold (uneven prices, costs over 2**53 pico-dollars) take that path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.errors import UnknownNameError
from steelyard.prices._price_table import PriceTable, Span
from steelyard.records import TOKEN_KINDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    import numpy as np  # heavy: only tables need it

    from steelyard.prices._compiled import Compiled  # imports numpy

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
    compiled = Compiled(price_table, list(code_of), span)
    cost_usd = np.empty(rows, np.float64)
    reason_of = np.empty(rows, np.int32)
    for start in range(0, rows, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        chunk = compiled.chunk(codes[part], moments[part], {kind: column[part] for kind, column in columns.items()})
        cost_usd[part], reason_of[part] = compiled.price(chunk)
    return PricedColumn(cost_usd, *_used(reason_of, list(compiled.reasons)))


def _used(reason_of: NDArray[np.int32], reasons: Sequence[str]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """The reasons that some row has, in alphabetical order, whatever the order of the rows."""
    import numpy as np  # heavy: only tables need it

    # counted: np.unique would bring masked arrays along, whose import takes longer than the pricing
    present = np.flatnonzero(np.bincount(reason_of + 1)) - 1
    used = sorted((reasons[index], index) for index in present.tolist() if index >= 0)
    place = np.full(len(reasons) + 1, -1, np.int32)  # one more: index -1, no reason, leads to the last place
    place[[index for _, index in used]] = np.arange(len(used), dtype=np.int32)
    return place[reason_of], tuple(reason for reason, _ in used)
