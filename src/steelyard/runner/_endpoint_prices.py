"""The prices that a plan states for an endpoint, as a price table."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from steelyard.prices import ModelPrices, Period, PriceTable, Rates
from steelyard.records import TOKEN_KINDS
from steelyard.runner._plan_records import EndpointPrice

_FIELDS = {
    "output_tokens": "output_usd",
    "reasoning_tokens": "output_usd",
    "cache_read_tokens": "cache_read_usd",
    "cache_write_5m_tokens": "cache_write_usd",
    "cache_write_1h_tokens": "cache_write_usd",
}
"""Kinds of tokens with a price other than that of input."""


class EndpointPriceTable(PriceTable):
    """One price for every model of the endpoint."""

    def __init__(self, endpoint: str, price: EndpointPrice) -> None:
        super().__init__()
        self.name, self.version = f"endpoint {endpoint}", "from the plan"
        stated = [getattr(price, _FIELDS.get(kind, "input_usd")) for kind in TOKEN_KINDS]
        usd = [price.input_usd if each is None else each for each in stated]
        self._periods = (Period((Rates(tuple(Decimal(str(each)) for each in usd)),)),)

    def look_up(self, model: str) -> ModelPrices:
        """The endpoint's price, whatever the model."""
        return ModelPrices(id=model, provider=None, periods=self._periods)

    def models(self) -> Sequence[str]:
        """None by name: the price holds for every one."""
        return ()
