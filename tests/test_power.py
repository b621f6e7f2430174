"""`power`: the sample size of a comparison from assumptions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import steelyard as sy
from steelyard.errors import UsageError
from steelyard.statistics import paired_mean, quantum_of


def simulated_power(tasks: int, *, rates: tuple[float, float], icc: float, attempts: int, same: bool) -> float:
    """Return how often `paired_mean` finds B higher, with tasks drawn from a beta distribution."""
    random, found, sets = np.random.default_rng(7), 0, 400
    spread = 1 / icc - 1
    for _ in range(sets):
        ranks = [random.random(tasks)] * 2 if same else random.random((2, tasks))
        chances = [
            special.betaincinv(rate * spread, (1 - rate) * spread, rank)
            for rate, rank in zip(rates, ranks, strict=True)
        ]
        a, b = (random.binomial(attempts, side) / attempts for side in chances)
        low = paired_mean(b - a, quantum=quantum_of([attempts], [attempts]))[0].low
        found += low is not None and low > 0
    return found / sets


@pytest.mark.parametrize("same", [True, False])
def test_power_range_has_its_power_in_simulated_data(same: bool) -> None:
    planned = sy.power(pass_rate=0.6, effect_size=0.1, attempts=3, icc=0.3)
    tasks = planned.min_tasks if same else planned.max_tasks
    assert tasks is not None
    # standard error 2 points
    power = simulated_power(tasks, rates=(0.6, 0.7), icc=0.3, attempts=3, same=same)
    assert 0.73 <= power <= 0.87


def test_power_lists_runs_per_correlation() -> None:
    planned = sy.power(pass_rate=0.6, effect_size=0.2, attempts=3, icc=0.3)
    sizes = [planned.min_tasks, planned.tasks_needed, planned.max_tasks]
    assert [each.correlation for each in planned.samples] == [1.0, 0.5, 0.0]
    assert [each.tasks_needed for each in planned.samples] == sizes
    assert [each.runs_per_side for each in planned.samples] == [3 * size for size in sizes if size is not None]


def test_power_of_equally_hard_tasks_has_no_range() -> None:
    planned = sy.power(pass_rate=0.6, effect_size=0.2)
    assert planned.min_tasks == planned.tasks_needed == planned.max_tasks
    assert len(planned.samples) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pass_rate": 0.6, "attempts": 3}, "several attempts need an intraclass correlation"),
        ({"pass_rate": 60}, "pass_rate must be between 0 and 1"),
        ({"pass_rate": 0.6, "effect_size": 5}, "effect size must be above 0 and below 1"),
        ({"pass_rate": 0.6, "attempts": 0, "icc": 0.3}, "attempts must be from 1 to 1,000"),
        ({"pass_rate": 0.6, "attempts": 10**6, "icc": 0.3}, "attempts must be from 1 to 1,000"),
        ({"pass_rate": 0.6, "icc": 1}, "icc must be at least 0 and below 1"),
        ({"pass_rate": 0.6, "seed": -1}, "seed must be 0 or more"),
    ],
)
def test_power_rejects_impossible_assumptions(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sy.power(**options)
