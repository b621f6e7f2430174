"""What a measurement says about costs."""

from __future__ import annotations

import pytest

from steelyard.prices import open_price_table
from steelyard.questions.measure import measure
from steelyard.records import Finding, Run, Usage

MILLION = Usage(input_tokens=1_000_000, output_tokens=0)


def findings(*runs: Run, code: str, prices: str = "genai-prices") -> list[Finding]:
    result = measure(list(runs), prices=prices)
    return [finding for finding in result.findings if finding.code == code]


def test_reported_and_priced_cost_stand_side_by_side_where_they_differ() -> None:
    off = Run(id="off", task="t", model="gpt-4o", usage=MILLION, cost_usd=5.0)
    near = Run(id="near", task="t", model="gpt-4o", usage=MILLION, cost_usd=2.52)  # 0.8% above 2.50
    (finding,) = findings(off, near, code="cost_differs")
    assert finding.where == "run off"
    assert [place.message for place in finding.places] == ["reported_cost_usd 5.0, priced_cost_usd 2.5"]


def test_a_reported_zero_for_tokens_that_cost_is_found() -> None:
    free = Run(id="free", task="t", model="gpt-4o", usage=MILLION, cost_usd=0.0)
    assert [finding.where for finding in findings(free, code="cost_differs")] == ["run free"]


def test_an_unknown_model_leaves_the_cost_missing_and_the_nearest_is_named() -> None:
    lost = Run(id="lost", task="t", model="gpt-4oo", usage=MILLION)
    (finding,) = findings(lost, code="unpriced")
    assert "unknown model 'gpt-4oo' in price table 'genai-prices'; did you mean 'gpt-4o'?" in finding.message
    cost = measure([lost]).to_dict()["groups"][0]["metrics"]["cost_usd"]
    assert (cost["median"], cost["count"], cost["missing"]) == (None, 0, 1)


@pytest.mark.parametrize("count", [10**15 + 1, 2**53])
def test_an_absurd_count_of_tokens_has_no_cost_and_stops_nothing(count: int) -> None:
    absurd = Run(id="absurd", task="t", model="gpt-4o", usage=Usage(input_tokens=1, output_tokens=count))
    good = Run(id="good", task="t", model="gpt-4o", usage=MILLION)
    (finding,) = findings(absurd, good, code="unpriced")
    assert "are invalid" in finding.message
    assert measure([absurd, good]).to_dict()["groups"][0]["metrics"]["cost_usd"]["median"] == 2.5


def test_a_result_states_the_book_and_its_version() -> None:
    run = Run(id="r", task="t", model="gpt-4o", usage=MILLION)
    assert measure([run]).to_dict()["prices"] == open_price_table("genai-prices").label
    assert measure([run], prices="spec").to_dict()["prices"] == "spec (1)"
