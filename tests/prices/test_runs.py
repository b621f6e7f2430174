"""What runs and their components cost."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import steelyard as sy
from steelyard.prices import Period, Rates, cost_of, open_price_table, price_component, price_run, token_cost
from steelyard.questions.read import RunReading
from steelyard.records import TOKEN_KINDS, Call, Component, ComponentType, Missing, Run, Usage, encode_run

PRICES = open_price_table("genai-prices")
SPEC = open_price_table("spec")
BEFORE = datetime(2025, 6, 9, tzinfo=UTC)
AFTER = datetime(2025, 6, 10, tzinfo=UTC)


def tokens(input_tokens: int, output_tokens: int = 0, **more: int) -> Usage:
    return Usage(input_tokens=input_tokens, output_tokens=output_tokens, **more)


def call(model: str | None, usage: Usage | None, at: datetime | None = None) -> Call:
    return Call(model=model, usage=usage, at=at)


def run(**parts: Any) -> Run:
    return Run(task="t", **parts)


def test_each_call_is_priced_under_its_model_on_its_day() -> None:
    calls = (
        call("o3", tokens(1_000_000), BEFORE),
        call("o3", tokens(1_000_000), AFTER),
        call("gpt-4o", tokens(1_000_000)),
    )
    assert price_run(run(calls=calls, started_at=BEFORE), PRICES) == 14.5  # 10 + 2 + 2.5


def test_a_call_without_model_or_day_takes_those_of_the_run() -> None:
    assert price_run(run(model="o3", started_at=BEFORE, calls=(call(None, tokens(1_000_000)),)), PRICES) == 10.0


def test_calls_below_a_tier_stay_below_it_together() -> None:
    calls = tuple(call("claude-sonnet-4-5", tokens(150_000)) for _ in range(2))
    assert price_run(run(calls=calls), PRICES) == 0.9  # 2 x 150,000 x 3 per million, not 300,000 x 6


def test_without_calls_the_usage_is_priced_at_the_start_of_the_run() -> None:
    assert price_run(run(model="o3", started_at=AFTER, usage=tokens(1_000_000)), PRICES) == 2.0


def test_a_run_whose_calls_are_not_known_is_not_put_into_a_tier() -> None:
    answer = price_run(run(model="claude-sonnet-4-5", usage=tokens(300_000)), PRICES)
    assert isinstance(answer, Missing)
    assert "the calls are unknown" in answer.reason


def test_tokens_outside_calls_are_priced_under_the_model_of_the_run() -> None:
    calls = (call("gpt-4o", tokens(400_000)),)
    record = run(model="claude-sonnet-4", usage=tokens(1_000_000), calls=calls)
    assert price_run(record, SPEC) == 3.8  # 400,000 x 5 + 600,000 x 3 per million


def test_usage_that_calls_add_up_to_is_not_priced_twice() -> None:
    calls = (call("gpt-4o", tokens(400_000)), call("gpt-4o", tokens(600_000)))
    assert price_run(run(usage=tokens(1_000_000), calls=calls), SPEC) == 5.0


def test_a_call_without_tokens_makes_the_cost_missing_unless_the_run_states_the_sum() -> None:
    calls = (call("gpt-4o", tokens(400_000)), call("gpt-4o", None))
    assert price_run(run(calls=calls), SPEC) == Missing("1 of 2 calls report no tokens")
    assert price_run(run(calls=calls, usage=tokens(1_000_000), model="gpt-4o"), SPEC) == 5.0


def test_one_call_that_cannot_be_priced_leaves_the_run_without_a_price() -> None:
    calls = (call("gpt-4o", tokens(1)), call("gpt-5", tokens(1)))
    answer = price_run(run(calls=calls), SPEC)
    assert isinstance(answer, Missing)
    assert "'gpt-5'" in answer.reason


def test_nothing_measured_has_no_price() -> None:
    assert price_run(run(model="gpt-4o"), SPEC) == Missing("the record has no usage")
    assert price_run(run(model="gpt-4o", calls=()), SPEC) == Missing("the record has no usage")
    assert price_run(run(usage=tokens(5)), SPEC) == Missing("the model is unknown")


@given(counts=st.lists(st.integers(0, 10**9), min_size=1, max_size=40), seed=st.integers())
def test_the_order_of_calls_does_not_matter_and_the_sum_is_rounded_once(counts: list[int], seed: int) -> None:
    calls = [call("claude-haiku-4-5", tokens(count, count // 7, cache_read_tokens=count // 3)) for count in counts]
    forward = price_run(run(calls=tuple(calls)), PRICES)
    random.Random(seed).shuffle(calls)
    assert price_run(run(calls=tuple(calls)), PRICES) == forward
    exact = sum(Fraction(count) + Fraction(count // 7) * 5 + Fraction(count // 3) / 10 for count in counts) / 10**6
    assert forward == float(exact)


def test_a_call_that_took_no_tokens_costs_nothing_whoever_answered() -> None:
    calls = (call("gpt-4o", tokens(1_000_000)), call("<synthetic>", tokens(0)))
    assert price_run(run(calls=calls), SPEC) == 5.0
    alone = price_run(run(calls=(call("<synthetic>", tokens(0)),)), SPEC)
    assert isinstance(alone, Missing)
    beside = run(model="gpt-4o", usage=tokens(1_000_000), calls=(call("<synthetic>", tokens(0)),))
    assert price_run(beside, SPEC) == 5.0
    unknown = price_run(run(calls=(*calls, call("gpt-4o", Usage()))), SPEC)
    assert unknown == Missing("the number of input tokens is unknown")


MODELS = (None, "gpt-4o", "o3", "claude-sonnet-4-5", "nobody", "deepseek-chat", "openrouter/google/gemini-2.5-flash")
counts = st.none() | st.integers(0, 300_000) | st.integers(0, 10**15) | st.integers(0, 2**64) | st.just(10**400)
usages = st.builds(Usage, **dict.fromkeys(TOKEN_KINDS, counts))
moments = st.none() | st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1))  # noqa: DTZ001 - some have no zone
zoned = moments | st.datetimes(timezones=st.timezones())
calls_of_a_run = st.builds(Call, model=st.sampled_from(MODELS), at=zoned, usage=st.none() | usages)
any_runs = st.builds(
    Run,
    task=st.just("t"),
    model=st.sampled_from(MODELS),
    started_at=zoned,
    usage=st.none() | usages,
    calls=st.none() | st.lists(calls_of_a_run, max_size=4).map(tuple),
)


@settings(max_examples=300, deadline=None)
@given(one=any_runs, price_table=st.sampled_from([PRICES, SPEC]))
def test_no_run_breaks_the_pricing(one: Run, price_table: Any) -> None:
    cost = price_run(one, price_table)
    assert isinstance(cost, Missing) or 0 <= cost < math.inf


few = st.integers(0, 300_000)
known_usages = st.builds(Usage, **dict.fromkeys(TOKEN_KINDS, few))
known_calls = st.builds(
    Call, model=st.sampled_from(["gpt-4o", "claude-sonnet-4-5", "o3"]), at=moments, usage=known_usages
)


@settings(max_examples=200, deadline=None)
@given(calls=st.lists(known_calls, min_size=1, max_size=12), price_table=st.sampled_from([PRICES, SPEC]))
def test_a_run_costs_what_its_calls_cost(calls: list[Call], price_table: Any) -> None:
    alone = [price_run(run(calls=(one,)), price_table) for one in calls]
    together = price_run(run(calls=tuple(calls)), price_table)
    if any(isinstance(cost, Missing) for cost in alone):
        assert isinstance(together, Missing)
    else:
        assert together == pytest.approx(sum(cost for cost in alone if not isinstance(cost, Missing)), rel=1e-12)


def test_one_impossible_count_among_many_calls_is_named() -> None:
    calls = (*(call("gpt-4o", tokens(1)) for _ in range(9)), call("gpt-4o", tokens(10**15 + 1)))
    assert price_run(run(calls=calls), SPEC) == Missing("token counts above 1,000,000,000,000,000 are invalid")
    many = tuple(call("gpt-4o", tokens(10**15)) for _ in range(9))
    assert price_run(run(calls=many), SPEC) == 9 * 5e9  # possible one by one, 5 USD per million


def test_a_component_is_priced_under_the_model_of_the_run() -> None:
    part = Component(type=ComponentType.TOOL_SCHEMA, input_tokens=1_000_000, output_tokens=100_000)
    assert price_component(part, SPEC, model="gpt-4o", at=None) == 6.5  # 5 + 0.1 x 15
    assert isinstance(price_component(part, SPEC, model=None, at=None), Missing)


TIERED = "gemini-2.5-pro"
"""A model whose input costs more in calls of more than 200,000 tokens."""


@pytest.mark.parametrize("summed_call", [False, True])
def test_a_sum_above_a_tier_is_priced_as_small_calls_and_told_as_a_lower_bound(summed_call: bool) -> None:
    price_table = open_price_table("genai-prices")
    usage = Usage(input_tokens=300_000, output_tokens=1_000)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    calls = (Call(model=TIERED, usage=usage, at=at, summed=True),) if summed_call else None
    run = Run(id="a", task="t", model=TIERED, started_at=at, usage=None if summed_call else usage, calls=calls)
    cost = price_run(run, price_table)
    assert isinstance(cost, Missing)
    least, how, reason = token_cost(run, price_table)
    assert (how, reason) == ("lower_bound", cost.reason)
    assert least is not None
    # whichever way the tokens fall into calls: all in small ones is the least, one large call the most
    parts = [Usage(input_tokens=100_000, output_tokens=n) for n in (0, 1, 999)]
    small = [Call(id=f"{n}", model=TIERED, at=at, usage=part) for n, part in enumerate(parts)]
    one = Call(id="x", model=TIERED, at=at, usage=usage)
    known = [price_run(Run(task="t", calls=made), price_table) for made in (tuple(small), (one,))]
    assert least == pytest.approx(known[0])
    assert isinstance(known[1], float)
    assert least < known[1]
    result = sy.measure([run])
    assert result.groups[0].metrics["cost_usd"].mean == least  # type: ignore[union-attr]
    found = {finding.code: finding.message for finding in result.findings}
    assert "200,000 input tokens, and the calls are unknown" in found["priced_at_least"]
    assert "cost_lower_bound" in found
    assert "unpriced" not in found


def test_a_lower_bound_is_the_same_from_columns_and_marked_in_every_command(tmp_path: Path) -> None:
    tokens = [300_000, 1_000, 400_000]
    frame = pl.DataFrame(
        {
            "id": ["a", "b", "c"],
            "task": ["t"] * 3,
            "model": [TIERED] * 3,
            "cost_usd": [None, None, 0.75],
            "input_tokens": tokens,
            "output_tokens": [1_000] * 3,
        },
        schema_overrides={"cost_usd": pl.Float64},
    )
    flat, lines = tmp_path / "runs.parquet", tmp_path / "runs.jsonl"
    frame.write_parquet(flat)
    runs = [
        Run(id=id_, task="t", model=TIERED, cost_usd=cost, usage=Usage(input_tokens=n, output_tokens=1_000))
        for id_, cost, n in zip("abc", (None, None, 0.75), tokens, strict=True)
    ]
    lines.write_bytes(b"".join(encode_run(run) + b"\n" for run in runs))
    assert sy.measure(flat).to_dict() == sy.measure(lines).to_dict()
    columns = ["id", "priced_cost_usd", "cost_is_lower_bound"]
    held = sy.read(flat).frame.select(columns).collect().rows()
    assert held == sy.read(lines).frame.select(columns).collect().rows()
    assert [(row[0], row[2]) for row in held] == [("a", True), ("b", None), ("c", None)]
    assert held[2][1] is None  # a run that reports its cost needs no bound, which would contradict it
    reading = RunReading([lines])
    assert [run.id for run in reading] == ["a", "b", "c"]
    total = reading.summary.total
    assert (total.cost_known_runs, total.cost_lower_bound_runs, total.cost_unknown_runs) == (2, 1, 0)
    assert total.cost_lower_bound_usd == held[0][1]
    explained = sy.explain(lines, "cost_usd", run="a").explanation
    assert explained is not None
    assert explained.value == held[0][1]
    assert "lower_bound" in [part.provenance for part in explained.inputs]


def test_no_bound_is_given_where_large_calls_are_cheaper() -> None:
    base, large = (Rates((Decimal(price),) * 6, above_input_tokens=above) for price, above in ((2, None), (1, 1_000)))
    assert not Period((base, large)).rises
    assert Period((large, base)).rises
    assert Period((base,)).rises


@pytest.mark.parametrize(
    ("cost_usd", "provenance", "expected"),
    [
        (2.0, None, (2.0, "reported")),
        (2.0, {"cost_usd": "lower_bound"}, (2.0, "lower_bound")),
        (2.0, {"cost_usd": "reported", "usage": "lower_bound"}, (2.0, "reported")),
        (None, None, (5.0, "priced")),
        (None, {"usage": "lower_bound"}, (5.0, "lower_bound")),  # tokens that are too few cost too little
    ],
)
def test_a_cost_is_reported_else_priced_and_says_when_it_is_too_low(
    cost_usd: float | None, provenance: dict[str, Any] | None, expected: tuple[float, str]
) -> None:
    told = Run(task="t", model="gpt-4o", usage=tokens(1_000_000), cost_usd=cost_usd, provenance=provenance)
    assert cost_of(told, SPEC)[:2] == expected


def test_a_cost_that_is_not_known_says_why() -> None:
    cost = cost_of(Run(task="t", usage=tokens(5)), SPEC)
    assert (cost.usd, cost.how) == (None, "unknown")
    assert cost.or_missing == Missing("the model is unknown")
