"""the genai-prices table against genai-prices itself, the library whose prices it compiles."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from functools import cache

import genai_prices
import pytest
from genai_prices import Usage as GenaiUsage, types as genai
from hypothesis import given, settings, strategies as st

from steelyard.prices import ModelPrices, open_price_table
from steelyard.prices._genai_prices import GenaiPriceTable
from steelyard.prices._price_table import NAMES_TRIED
from steelyard.records import Missing, Usage

PRICES = open_price_table("genai-prices")


@cache
def names() -> list[str]:
    """A name for every model, which takes a second to find out."""
    return sorted(PRICES.models())


EDGES = (0, 1, 31_999, 32_000, 32_001, 99_999, 100_001, 128_001, 199_999, 200_000, 200_001, 272_000, 272_001, 1_000_000)

# What genai-prices must have a price under to charge for a kind at all.
CHARGED_UNDER = {
    "input_tokens": "input_mtok",
    "cache_read_tokens": "input_mtok",
    "cache_write_5m_tokens": "input_mtok",
    "cache_write_1h_tokens": "input_mtok",
    "output_tokens": "output_mtok",
    "reasoning_tokens": "output_mtok",
}


def ask_genai(usage: Usage, model: str, at: datetime) -> genai.PriceCalculation:
    read, short, long = usage.cache_read_tokens or 0, usage.cache_write_5m_tokens or 0, usage.cache_write_1h_tokens or 0
    theirs = GenaiUsage(
        input_tokens=(usage.input_tokens or 0) + read + short + long,
        cache_read_tokens=read,
        cache_write_tokens=short + long,
        cache_write_5m_tokens=short,
        cache_write_1h_tokens=long,
        output_tokens=(usage.output_tokens or 0) + (usage.reasoning_tokens or 0),
        output_reasoning_tokens=usage.reasoning_tokens or 0,
    )
    try:
        return genai_prices.calc_price(theirs, model, genai_request_timestamp=at)
    except LookupError:
        return genai_prices.calc_price(theirs, model, provider_id="litellm", genai_request_timestamp=at)


def check_against_genai(usage: Usage, model: str, at: datetime) -> bool:
    """Compares one case to the last digit; whether it had a price."""
    ours = PRICES.price(usage, model=model, at=at)
    theirs = ask_genai(usage, model, at)
    held = {key for key, price in vars(theirs.model_price).items() if price is not None}
    uncharged = [kind for kind, key in CHARGED_UNDER.items() if getattr(usage, kind) and key not in held]
    if uncharged:
        assert isinstance(ours, Missing), (model, at, usage, theirs.total_price)
        return False
    assert ours == float(theirs.total_price), (model, at, usage, theirs.total_price)
    return True


counts = st.one_of(st.integers(0, 2_000_000), st.sampled_from(EDGES), st.integers(0, 10**12))
usages = st.builds(
    Usage,
    input_tokens=counts,
    output_tokens=counts,
    cache_read_tokens=st.none() | counts,
    cache_write_5m_tokens=st.none() | counts,
    cache_write_1h_tokens=st.none() | counts,
    reasoning_tokens=st.none() | counts,
)
a_name = st.deferred(lambda: st.sampled_from(names()))
days = st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - zone is given


@settings(max_examples=1000, deadline=None)
@given(usage=usages, model=a_name, at=days)
def test_a_price_equals_genai_prices_own_answer_to_the_last_digit(usage: Usage, model: str, at: datetime) -> None:
    check_against_genai(usage, model, at)


@pytest.mark.long
@settings(max_examples=50_000, deadline=None)
@given(usage=usages, model=a_name, at=days)
def test_many_prices_equal_genai_prices_own_answer(usage: Usage, model: str, at: datetime) -> None:
    check_against_genai(usage, model, at)


def moments_of(found: ModelPrices) -> list[datetime]:
    """One moment on each side of every change of price."""
    moments = [datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2026, 11, 15, 12, tzinfo=UTC)]
    for period in found.periods:
        if period.since is not None:
            start = datetime.combine(period.since, time(), UTC)
            moments += [start, start - timedelta(microseconds=1)]
        for clock in period.between or ():
            turn = datetime(2026, 11, 15, tzinfo=UTC).replace(hour=clock.hour, minute=clock.minute)
            moments += [turn, turn - timedelta(microseconds=1)]
    return moments


def test_every_model_in_every_period_and_tier_equals_genai_prices() -> None:
    priced = 0
    for model in names():
        found = PRICES.find(model)
        assert isinstance(found, ModelPrices), model
        sizes = {tier.above_input_tokens or 1 for period in found.periods for tier in period.tiers}
        for at in moments_of(found):
            for size in sorted({size + step for size in sizes for step in (0, 1)}):
                usage = Usage(
                    input_tokens=size - size // 2 - size // 8 - size // 16,
                    cache_read_tokens=size // 2,
                    cache_write_5m_tokens=size // 8,
                    cache_write_1h_tokens=size // 16,
                    output_tokens=12_345,
                    reasoning_tokens=678,
                )
                priced += check_against_genai(usage, model, at)
    assert priced > 5_000  # otherwise the comparison above compares little


def test_a_model_that_is_not_known_has_no_price_and_the_nearest_is_named() -> None:
    answer = PRICES.price(Usage(input_tokens=1, output_tokens=1), model="claude-opus-45", at=None)
    assert answer == Missing(
        "unknown model 'claude-opus-45' in price table 'genai-prices'; did you mean 'claude-opus-4-5'?"
    )


def test_a_name_of_any_length_is_answered() -> None:
    assert PRICES.nearest("anthropic/" + "x" * 100_000)


def test_the_nearest_name_is_told_without_looking_up_every_model(monkeypatch: pytest.MonkeyPatch) -> None:
    price_table = GenaiPriceTable()
    asked: list[str] = []
    look_up = price_table.look_up
    monkeypatch.setattr(price_table, "look_up", lambda name: (asked.append(name), look_up(name))[1])
    assert isinstance(price_table.find("azureai/gpt-4oo"), Missing)
    assert len(asked) <= 1 + NAMES_TRIED  # of some two thousand, which took a second


def test_a_nearest_name_can_itself_be_looked_up() -> None:
    for name in names()[::20]:
        assert isinstance(PRICES.find(name), ModelPrices), name


def test_a_provider_before_the_name_is_understood() -> None:
    usage = Usage(input_tokens=29_248, output_tokens=2_298)
    at = datetime(2026, 4, 1, tzinfo=UTC)
    plain = PRICES.price(usage, model="claude-opus-4.6", at=at)
    assert plain == 0.20369  # 29,248 x 5 + 2,298 x 25 per million
    assert PRICES.price(usage, model="anthropic/claude-opus-4.6", at=at) == plain


def test_the_price_is_that_of_the_day_of_the_call() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    assert PRICES.price(usage, model="o3", at=datetime(2025, 6, 9, 23, 59, 59, tzinfo=UTC)) == 10.0
    assert PRICES.price(usage, model="o3", at=datetime(2025, 6, 10, tzinfo=UTC)) == 2.0


def test_a_time_in_another_zone_is_taken_at_its_day_in_utc() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    at = datetime.fromisoformat("2025-06-10T01:00:00+02:00")  # still the 9th in UTC
    assert PRICES.price(usage, model="o3", at=at) == 10.0
    assert PRICES.price(usage, model="o3", at=datetime(2025, 6, 10, 1)) == 2.0  # noqa: DTZ001 - no zone means UTC


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_the_ends_of_the_calendar_have_a_price(text: str) -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    assert PRICES.price(usage, model="gpt-4o", at=datetime.fromisoformat(text)) == 2.5


def test_without_a_day_there_is_a_price_only_where_all_days_agree() -> None:
    small = Usage(input_tokens=1_000, output_tokens=1_000)
    assert PRICES.price(small, model="claude-opus-4-6", at=None) == 0.03  # 1,000 x 5 + 1,000 x 25 per million
    large = Usage(input_tokens=300_000, output_tokens=0)
    assert isinstance(PRICES.price(large, model="claude-opus-4-6", at=None), Missing)  # until 2026-03-13 it had a tier
    answer = PRICES.price(small, model="o3", at=None)
    assert answer == Missing("the price of o3 depends on the day (it changed on 2025-06-10), which is unknown")


def test_the_sum_of_calls_does_not_fall_into_the_tier_of_large_calls_unseen() -> None:
    usage = Usage(input_tokens=250_000, output_tokens=0)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert PRICES.price(usage, model="claude-sonnet-4-5", at=at) == 1.5  # one call: 250,000 x 6 per million
    answer = PRICES.price(usage, model="claude-sonnet-4-5", at=at, span="run")
    assert isinstance(answer, Missing)
    assert "above 200,000 input tokens" in answer.reason
    below = Usage(input_tokens=200_000, output_tokens=0)
    assert PRICES.price(below, model="claude-sonnet-4-5", at=at, span="run") == 0.6  # 200,000 x 3 per million


def test_a_fee_for_each_request_is_charged_for_a_call_and_leaves_a_run_without_price() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    assert PRICES.price(usage, model="perplexity/sonar", at=None) == 1.012  # 1.00 for the tokens, 12 for 1,000 requests
    assert isinstance(PRICES.price(usage, model="perplexity/sonar", at=None, span="run"), Missing)


@pytest.mark.parametrize("kind", ["input_tokens", "output_tokens"])
def test_tokens_that_are_not_known_are_not_free(kind: str) -> None:
    other = {"input_tokens": 5, "output_tokens": 5, kind: None}
    answer = PRICES.price(Usage(**other), model="gpt-4o", at=None)
    assert answer == Missing(f"the number of {kind.removesuffix('_tokens')} tokens is unknown")


def test_the_version_names_the_library_that_dates_the_prices() -> None:
    assert PRICES.version == genai_prices.__version__


def test_prices_fetched_into_the_library_by_others_do_not_reach_the_book() -> None:
    from genai_prices import data_snapshot

    empty = data_snapshot.DataSnapshot(providers=[], from_auto_update=True)
    data_snapshot.set_custom_snapshot(empty)
    try:
        fresh = type(PRICES)()
        assert fresh.price(Usage(input_tokens=1_000_000, output_tokens=0), model="gpt-4o", at=None) == 2.5
    finally:
        data_snapshot.set_custom_snapshot(None)


def test_uneven_prices_are_priced_by_the_library() -> None:
    model = "openrouter/google/gemini-2.5-flash"
    found = PRICES.find(model)
    assert isinstance(found, ModelPrices)
    assert any(found.periods[-1].tiers[0].uneven)  # a cache write costs 0.0833333333333333 per million
    usage = Usage(input_tokens=10, output_tokens=10, cache_write_5m_tokens=3)
    at = datetime(2026, 11, 1, tzinfo=UTC)
    pico = PRICES.pico(usage, model=model, at=at)
    assert isinstance(pico, Decimal)
    assert pico == ask_genai(usage, model, at).total_price * 10**12


WITHOUT_PYDANTIC = """
import sys
from datetime import UTC, datetime
from steelyard.prices import open_price_table
from steelyard.records import Usage

price_table, at = open_price_table("genai-prices"), datetime(2026, 11, 1, tzinfo=UTC)
usage = Usage(input_tokens=10, output_tokens=10, cache_write_5m_tokens=3)
for model in {models!r}:
    print(price_table.price(usage, model=model, at=at))
print("pydantic" in sys.modules)
import genai_prices  # whole: what checks fetched prices is there, and the price table goes on with what it has
print(genai_prices.types._providers_schema.validate_python([]), price_table.price(usage, model="gpt-4o", at=at))
"""


def test_a_price_is_looked_up_without_pydantic_and_the_library_stays_whole_for_others() -> None:
    models = ["gpt-4o", "claude-sonnet-4-5", "openai/gpt-5"]
    code = WITHOUT_PYDANTIC.format(models=models)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    at = datetime(2026, 11, 1, tzinfo=UTC)
    usage = Usage(input_tokens=10, output_tokens=10, cache_write_5m_tokens=3)
    expected = [str(PRICES.price(usage, model=model, at=at)) for model in models]
    assert done.stdout.splitlines() == [*expected, "False", f"[] {expected[0]}"]
