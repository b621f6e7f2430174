"""Pricing columns against the plain twin: the same price table asked row by row."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from steelyard.errors import UnknownNameError
from steelyard.prices import (
    PricedColumn,
    _price_columns as columns_module,
    open_price_table,
    price_columns,
    price_run_columns,
    token_cost,
)
from steelyard.records import TOKEN_KINDS, Missing, Run, Usage

GENAI = open_price_table("genai-prices")
SPEC = open_price_table("spec")
MODELS = (
    None,
    "claude-opus-4-6",
    "claude-sonnet-4-5",
    "claude-sonnet-4",
    "deepseek-chat",
    "deepseek-v4-flash",
    "gemini-2.5-pro",
    "gpt-4o",
    "nobody-knows-this",
    "o3",
    "openrouter/google/gemini-2.5-flash",
    "perplexity/sonar",
    "text-embedding-3-small",
)

counts = st.none() | st.integers(0, 400_000) | st.integers(0, 10**15) | st.integers(0, 2**62)
rows = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "at": st.none() | st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)),  # noqa: DTZ001 - as numpy has them
        **dict.fromkeys(TOKEN_KINDS, counts),
    }
)


def ask_row_by_row(price_table: Any, table: list[dict[str, Any]], span: Any) -> list[float | Missing]:
    return [
        price_table.price(
            Usage(**{kind: row[kind] for kind in TOKEN_KINDS}),
            model=row["model"],
            at=None if row["at"] is None else row["at"].replace(tzinfo=UTC),
            span=span,
        )
        for row in table
    ]


def as_columns(table: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "models": [row["model"] for row in table],
        "at": np.array([row["at"] for row in table], "datetime64[us]"),
        "tokens": {kind: _column([row[kind] for row in table]) for kind in TOKEN_KINDS},
    }


def _column(values: list[int | None]) -> Any:
    if None in values:
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array(values, np.int64)


def assert_same(column: PricedColumn, expected: list[float | Missing]) -> None:
    for row, answer in enumerate(expected):
        if isinstance(answer, Missing):
            assert np.isnan(column.cost_usd[row])
            assert column.reason(row) == answer.reason
        else:
            assert column.cost_usd[row] == answer
            assert column.reason(row) is None


@settings(max_examples=250, deadline=None)
@given(
    table=st.lists(rows, max_size=12),
    price_table=st.sampled_from([GENAI, SPEC]),
    span=st.sampled_from(["call", "run", "least"]),
)
def test_columns_give_what_the_book_gives_row_by_row(table: list[dict[str, Any]], price_table: Any, span: Any) -> None:
    for row in table:  # a column with unknown counts holds floats, so what both sides see must fit one
        for kind in TOKEN_KINDS:
            row[kind] = None if row[kind] is None else int(float(row[kind]))
    column = price_columns(price_table, **as_columns(table), span=span)
    assert_same(column, ask_row_by_row(price_table, table, span))


@settings(max_examples=150, deadline=None)
@given(table=st.lists(rows, max_size=12), price_table=st.sampled_from([GENAI, SPEC]))
def test_columns_of_runs_are_priced_else_at_least_as_records_are(table: list[dict[str, Any]], price_table: Any) -> None:
    for row in table:  # as above
        for kind in TOKEN_KINDS:
            row[kind] = None if row[kind] is None else int(float(row[kind]))
    column = price_run_columns(price_table, **as_columns(table))
    for number, row in enumerate(table):
        usage = Usage(**{kind: row[kind] for kind in TOKEN_KINDS})
        expected = token_cost(Run(task="t", model=row["model"], started_at=row["at"], usage=usage), price_table)
        usd = column.cost_usd[number]
        assert (None if np.isnan(usd) else usd, column.reason(number)) == (expected.usd, expected.reason)


def test_a_count_that_cannot_be_right_has_no_price() -> None:
    row = dict.fromkeys(TOKEN_KINDS, 0) | {
        "model": "gpt-4o",
        "at": None,
        "cache_read_tokens": 10**15 + 1,
        "cache_write_1h_tokens": 1,
    }
    column = price_columns(SPEC, **as_columns([row]))
    assert column.reason(0) == "token counts above 1,000,000,000,000,000 are invalid"
    assert_same(column, ask_row_by_row(SPEC, [row], "call"))


def test_a_table_longer_than_one_chunk_is_priced_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "ROWS_AT_ONCE", 3)
    generator = np.random.default_rng(7)
    table = [
        {
            "model": MODELS[generator.integers(len(MODELS))],
            "at": datetime(2025, 6, 9 + row % 3, row % 24),  # noqa: DTZ001 - as numpy has them
            **{kind: int(generator.integers(0, 300_000)) for kind in TOKEN_KINDS},
        }
        for row in range(100)
    ]
    assert_same(price_columns(GENAI, **as_columns(table)), ask_row_by_row(GENAI, table, "call"))


def test_reasons_do_not_depend_on_the_order_of_rows() -> None:
    models = ["nobody", "gpt-4o", None, "o3"]
    tokens = {kind: np.full(4, 10) for kind in ("input_tokens", "output_tokens")}
    forward = price_columns(GENAI, models=models, at=None, tokens=tokens)
    backward = price_columns(GENAI, models=models[::-1], at=None, tokens=tokens)
    assert forward.reasons == backward.reasons
    assert [forward.reason(row) for row in range(4)] == [backward.reason(row) for row in reversed(range(4))]


def test_a_kind_without_a_column_is_not_known() -> None:
    column = price_columns(GENAI, models=["gpt-4o"], at=None, tokens={"input_tokens": np.array([10])})
    assert column.reason(0) == "the number of output tokens is unknown"


def test_an_unknown_kind_of_tokens_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="cache_read_tokens"):
        price_columns(GENAI, models=["gpt-4o"], at=None, tokens={"cache_reads_tokens": np.array([1])})


@pytest.mark.parametrize(
    ("count", "problem"),
    [(-1, "negative"), (-0.5, "not an integer"), (2.5, "not an integer"), (np.inf, "not an integer")],
)
def test_counts_that_cannot_be_are_refused(count: float, problem: str) -> None:
    tokens = {"input_tokens": np.array([count]), "output_tokens": np.array([1])}
    with pytest.raises(ValueError, match=f"input_tokens contains a .*{problem}"):
        price_columns(GENAI, models=["gpt-4o"], at=None, tokens=tokens)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        price_columns(GENAI, models=["gpt-4o"], at=None, tokens={"input_tokens": np.array([1, 2])})


def test_no_rows_give_no_prices() -> None:
    column = price_columns(SPEC, models=[], at=None, tokens={})
    assert len(column.cost_usd) == 0
    assert column.reasons == ()
