"""`usage` on real logs equals a count made independently, by day and model, to the token and 1e-9 dollars."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

import steelyard as sy
from real.plain_usage import COUNTED, by_day_and_model

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples"
ZONES = ("UTC", "America/Los_Angeles", "Asia/Tokyo")

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="../shared/samples is not here")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("folder", COUNTED)
def test_every_day_and_model_equals_the_plain_count(folder: str, zone: str) -> None:
    counted = by_day_and_model(COUNTED[folder](SAMPLES / folder), zone)
    result = sy.usage(SAMPLES / folder, by=["day", "model"], tz=zone)
    used = {(group.key["day"], group.key["model"]): group for group in result.groups if group.calls is not None}
    used = {key: each for key, each in used.items() if each.total_tokens is not None}
    assert used.keys() == counted.keys()
    for key, (tokens, cost) in counted.items():
        told = {kind.removesuffix("_tokens"): count for kind, count in used[key].tokens.items() if count is not None}
        assert told == dict(tokens), key
        assert abs(Decimal(used[key].cost_usd or 0) - cost) < Decimal("1e-9"), key


def test_days_differ_between_the_zones() -> None:
    """Otherwise the test above would not show that days are the reader's."""
    days = {zone: {group.key["day"] for group in sy.usage(SAMPLES / "claude-code", tz=zone).groups} for zone in ZONES}
    assert len({frozenset(each) for each in days.values()}) == len(ZONES)


def test_the_total_is_that_of_reading() -> None:
    for folder in COUNTED:
        result = sy.usage(SAMPLES / folder, tz="UTC")
        totals = sy.measure(SAMPLES / folder, metrics=["total_cost_usd", "total_tokens_all_kinds"]).groups[0].metrics
        assert totals["total_cost_usd"].value == pytest.approx(result.total.cost_usd, abs=1e-12)
        assert totals["total_tokens_all_kinds"].value == result.total.total_tokens
