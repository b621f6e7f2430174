"""the genai-prices table: the dated prices that the library genai-prices carries, read offline."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.prices._price_table import ModelPrices, Period, PriceTable, Rates
from steelyard.records import TOKEN_KINDS

if TYPE_CHECKING:
    from genai_prices import types as genai

PRICE_KEYS: dict[str, tuple[str, ...]] = {
    "input_tokens": ("input_mtok",),
    "output_tokens": ("output_mtok",),
    "cache_read_tokens": ("cache_read_mtok", "input_mtok"),
    "cache_write_5m_tokens": ("cache_write_5m_mtok", "cache_write_mtok", "input_mtok"),
    "cache_write_1h_tokens": ("cache_write_1h_mtok", "cache_write_mtok", "input_mtok"),
    "reasoning_tokens": ("output_reasoning_mtok", "output_mtok"),
}
"""Where each kind's price is: the first key that the model has. A kind without a price of its own is part of a
wider one (a cache write is input), and the library charges it as that."""

REQUESTS_KEY = "requests_kcount"

_MODULES = ("types", "data", "data_snapshot")


def _installed_version() -> str:
    """The version of the installed library, without importing it.

    The folder of its metadata is named after it; asking for the metadata themselves takes a tenth of a command's start.
    """
    package = find_spec("genai_prices")
    assert package is not None  # a dependency of ours
    if package.origin is not None:
        folders = [path.name for path in Path(package.origin).parents[1].glob("genai_prices-*.dist-info")]
        if len(folders) == 1:
            return folders[0].removeprefix("genai_prices-").removesuffix(".dist-info")
    from importlib.metadata import version

    return version("genai-prices")


@cache
def _library() -> Mapping[str, Any]:  # Any: modules of genai-prices
    """The modules of genai-prices that hold prices, imported late and without what is never used here.

    The package around them fetches prices over the network, and pydantic is there to check what was fetched: both
    together take four times as long as the prices. Importing the package itself loads all of it.
    """
    package = find_spec("genai_prices")
    assert package is not None  # a dependency of ours
    if "genai_prices" in sys.modules:
        return {name: import_module(f"genai_prices.{name}") for name in _MODULES}
    sys.modules["genai_prices"] = module_from_spec(package)
    try:
        _import_without_pydantic("genai_prices.types")
        return {name: import_module(f"genai_prices.{name}") for name in _MODULES}
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "genai_prices"]:
            del sys.modules[name]


def _import_without_pydantic(name: str) -> None:
    """Import a module that finds a stub named pydantic; other imports are unchanged."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None

    def import_for_it(name: str, *rest: Any) -> Any:  # Any: as builtins.__import__ has it
        return _Stub() if name == "pydantic" else builtins.__import__(name, *rest)

    module = module_from_spec(spec)
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": import_for_it}
    sys.modules[name] = module
    spec.loader.exec_module(module)


class _Stub:
    """Stub that takes any call and has any attribute: what is declared with it exists, but is unusable."""

    def __getattr__(self, name: str) -> _Stub:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_arguments: object, **_options: object) -> _Stub:
        return self


class GenaiPriceTable(PriceTable):
    """genai-prices' own data. Nothing is fetched: the prices are those of the installed version."""

    name = "genai-prices"

    def __init__(self) -> None:
        super().__init__()
        self.version = _installed_version()

    @cached_property
    def _snapshot(self) -> Any:  # Any: genai-prices' DataSnapshot, which is imported late
        # One of our own: the library's shared one can be replaced by prices fetched from the network.
        providers = _library()["data"].providers
        return _library()["data_snapshot"].DataSnapshot(providers=providers, from_auto_update=False)

    def look_up(self, model: str) -> ModelPrices | None:
        """The model as genai-prices finds it; `provider/model` is looked up under that provider where it must be."""
        for provider in (None, "litellm") if "/" in model else (None,):
            try:
                source = self._snapshot.find_provider_model(model, None, provider, None)
            except LookupError:
                continue
            return _compile(*source)
        return None

    @cached_property
    def _names(self) -> tuple[str, ...]:
        names = (
            next((name for name in _names_of(provider, model) if self._leads_to(name, model)), None)
            for provider in self._snapshot.providers
            for model in provider.models
        )
        return tuple(name for name in names if name is not None)

    def _leads_to(self, name: str, model: genai.ModelInfo) -> bool:
        answer = self.look_up(name)
        return answer is not None and answer.origin[1] is model

    def models(self) -> Sequence[str]:
        """A name for every model: its id, with the provider where the id alone leads elsewhere."""
        return self._names

    def likely_names(self) -> Sequence[str]:
        """Each id, alone and with its provider; to find out for all which of them leads to the model takes a second."""
        ids = [(provider.id, model.id) for provider in self._snapshot.providers for model in provider.models]
        return [name for provider, model in ids for name in (model, f"{provider}/{model}")]

    def cost_of_uneven(
        self, prices: ModelPrices, rates: Rates, tokens: tuple[int, ...], at: datetime | None
    ) -> Decimal:
        """The library's own answer: its decimal arithmetic rounds where ours would not."""
        if at is None:
            return super().cost_of_uneven(prices, rates, tokens, at)
        provider, model = prices.origin
        answer: Decimal = model.calc_price(as_genai_usage(tokens), provider, genai_request_timestamp=at).total_price
        return answer


def _names_of(provider: genai.Provider, model: genai.ModelInfo) -> Iterator[str]:
    yield model.id
    for word in (model.id, *_words(model.match)):
        yield f"{provider.id}/{word}"


def _words(clause: Any) -> Iterator[str]:  # Any: one of genai-prices' clauses
    """The texts that a clause looks for in a name."""
    for value in vars(clause).values():
        if isinstance(value, str):
            yield value
        else:
            for part in value:
                yield from _words(part)


def as_genai_usage(tokens: Sequence[int]) -> Any:  # Any: genai-prices' Usage, which is imported late
    """Our disjoint kinds, in the order of TOKEN_KINDS, as the library counts them: a wider kind includes its parts."""
    count = dict(zip(TOKEN_KINDS, tokens, strict=True))
    written = count["cache_write_5m_tokens"] + count["cache_write_1h_tokens"]
    return _library()["types"].Usage(
        input_tokens=count["input_tokens"] + count["cache_read_tokens"] + written,
        cache_read_tokens=count["cache_read_tokens"],
        cache_write_tokens=written,
        cache_write_5m_tokens=count["cache_write_5m_tokens"],
        cache_write_1h_tokens=count["cache_write_1h_tokens"],
        output_tokens=count["output_tokens"] + count["reasoning_tokens"],
        output_reasoning_tokens=count["reasoning_tokens"],
    )


def _compile(provider: genai.Provider, model: genai.ModelInfo) -> ModelPrices:
    """The library's prices as periods and tiers of our own.

    Its variants by service tier are left out: logs do not state one, and without one the library too takes the
    standard price.
    """
    if not isinstance(model.prices, list):
        return ModelPrices(model.id, provider.id, (Period(_tiers(model.prices)),), origin=(provider, model))
    types = _library()["types"]
    periods = []
    for priced in model.prices:
        limit = priced.constraint
        since = limit.start_date if isinstance(limit, types.StartDateConstraint) else None
        slot = (_utc(limit.start_time), _utc(limit.end_time)) if isinstance(limit, types.TimeOfDateConstraint) else None
        periods.append(Period(_tiers(priced.prices), since=since, between=slot))
    return ModelPrices(model.id, provider.id, tuple(periods), origin=(provider, model))


def _tiers(prices: genai.ModelPrice) -> tuple[Rates, ...]:
    stated = {key: price for key, price in vars(prices).items() if price is not None}
    starts = sorted({tier.start for price in stated.values() for tier in getattr(price, "tiers", ())})
    tiers = []
    for above in (None, *starts):
        at_size = {key: _at_size(price, above) for key, price in stated.items()}
        kinds = tuple(_first_price(at_size, PRICE_KEYS[kind]) for kind in TOKEN_KINDS)
        fee = at_size.get(REQUESTS_KEY, Decimal(0)) / 1000
        tiers.append(Rates(kinds, fee, above))
    return tuple(tiers)


def _at_size(price: Decimal | genai.TieredPrices, above: int | None) -> Decimal:
    if isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if above is not None and tier.start <= above]
    return reached[-1] if reached else price.base


def _first_price(prices: dict[str, Decimal], keys: tuple[str, ...]) -> Decimal | None:
    return next((prices[key] for key in keys if key in prices), None)


def _utc(clock: time) -> time:
    if clock.tzinfo is None:
        return clock
    return datetime.combine(date(1970, 1, 2), clock).astimezone(UTC).time()
