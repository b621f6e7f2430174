"""A total has the same bits on every Python that the package supports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.records import TOO_LARGE, sum_in_order


def test_every_step_is_rounded() -> None:
    assert sum_in_order([1.0, 1e100, 1.0, -1e100]) == 0.0  # compensated, as `sum` is from 3.12 on, it would be 2.0


def test_whole_numbers_stay_whole_and_nothing_is_zero() -> None:
    assert str(sum_in_order([2**60, 1])) == "1152921504606846977"
    assert str(sum_in_order([])) == "0"


def test_the_package_cannot_add_floats_with_sum_unnoticed() -> None:
    caller = {"__name__": "steelyard.somewhere"}
    exec("sum([1, 2])", caller)  # noqa: S102 - our own words
    with pytest.raises(AssertionError, match=r"steelyard\.somewhere adds floats with sum"):
        exec("sum([0.5, 1])", caller)  # noqa: S102 - our own words


LARGE = [
    '{"task": "a", "id": "1", "agent": "x", "tier": "T0", "cost_usd": 1e308, "passed": true, "model": "m"}',
    '{"task": "b", "id": "2", "agent": "x", "tier": "T1", "cost_usd": 1e308, "passed": true, "model": "m"}',
    '{"task": "a", "id": "3", "agent": "x", "tier": "T2", "cost_usd": 1.2e308, "passed": false, "model": "m"}',
    '{"task": "b", "id": "4", "agent": "x", "tier": "T2", "cost_usd": 1.2e308, "passed": false, "model": "m"}',
]


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Runs with costs whose sum no float can be."""
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(LARGE))
    return path


def test_a_total_that_is_too_large_is_missing_with_the_reason(large: Path) -> None:
    total = sy.usage([large]).total
    assert (total.cost_usd, total.reason) == (None, TOO_LARGE)
    read = json.loads(steelyard("read", "--json", str(large)).stdout)["total"]
    assert (read["cost_known_usd"], read["cost_reason"], read["cost_known_runs"]) == (None, TOO_LARGE, 4)
    measured = sy.measure([large]).groups[0].metrics
    assert measured["cost_usd"].mean == 1.1e308
    for name in ("total_cost_usd", "cost_of_pass"):  # half of the runs passed, so 2.2e308 a pass
        assert (measured[name].value, measured[name].reason) == (None, TOO_LARGE)


@pytest.mark.parametrize("command", ["usage", "read", "measure", "matrix --metric cost_usd", "report"])
def test_no_command_shows_infinity_for_a_sum_that_is_too_large(command: str, large: Path, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "report.html")] if command == "report" else []
    done = steelyard(*command.split(), str(large), *out)
    assert done.status == 0, done.stderr
    assert "\N{INFINITY}" not in done.stdout
