"""Every interval holds as often as it says and every test cries wolf as seldom as it says."""

from __future__ import annotations

import pytest
from benchmarks.coverage import SCENARIOS, Row, run

pytestmark = pytest.mark.checkout


def _name(scenario):
    return f"{scenario.kind}: {scenario.method}, {scenario.regime}"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=_name)
def test_a_short_simulation_is_not_far_from_the_promise(scenario):
    row = run(scenario, quick=True)
    assert row.near, f"{row.share:.4f}"


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=_name)
def test_the_promise_is_kept(scenario):
    row = run(scenario)
    assert row.holds, f"{row.share:.4f}"


def test_the_check_can_fail():
    scenario = next(one for one in SCENARIOS if one.kind == "interval")
    assert not Row(scenario, 0.90, 1000).holds
    assert not Row(scenario, 0.98, 1000).holds
    assert not Row(scenario, 0.90, 1000).near
