"""The arithmetic over many rows at once, against the plain way."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given, settings, strategies as st

from steelyard.metrics import geometric_mean
from steelyard.questions.speedup._benchmark_table import pooled
from timing_sides import at, attempt, measured, payload_of, shape_of, side


@given(rows=st.lists(st.lists(st.floats(5e-324, 1e300), min_size=1, max_size=30), min_size=1, max_size=5))
def test_medians_are_those_of_the_standard_library_to_the_bit(rows: list[list[float]]) -> None:
    measured_side = side({f"m.time_{at}": values for at, values in enumerate(rows)})
    assert pooled([measured_side]).medians.tolist() == [statistics.median(values) for values in rows]
    assert measured_side.values.tolist() == [value for values in rows for value in values]


def test_a_task_that_nop_measured_nothing_of_disturbs_no_other() -> None:
    empty = attempt({"a.time_x": None}, {"a.time_x": 1.0}, {"a.time_x": 1.0}, task="a")
    full = attempt({"a.time_x": 4.0}, {"a.time_x": 2.0}, {"a.time_x": 1.0}, task="b")
    found = shape_of(measured(empty, full, intervals=False))
    nothing, something = (at(found, task) for task in "ab")
    assert (nothing["num_benchmarks"], nothing["task_speedup"], nothing["per_benchmark_speedups"]) == (0, None, {})
    assert (something["task_speedup"], something["agent_advantage_level1"]) == (4.0, 2.0)


@given(seed=st.integers(0, 9999), agents=st.integers(1, 4))
@settings(max_examples=30)
def test_agents_that_share_baselines_are_as_if_measured_alone(seed: int, agents: int) -> None:
    draws = random.Random(seed)
    names = [f"m{draws.randrange(3)}.{draws.choice(('', 'A.', 'B.'))}time_{at % 4}({at})" for at in range(9)]

    def times(missing: float) -> dict[str, float | None]:
        return {name: None if draws.random() < missing else draws.uniform(0.5, 2.0) for name in names}

    nop, oracle = times(0.1), times(0.1)
    first = attempt(nop, oracle, times(0.2), task="t", agent="a0:m")
    shared = [first]
    for number in range(1, agents):
        alone = attempt(nop, oracle, times(0.2), task="t", agent=f"a{number}:m")
        shared.append(type(first)(task="t", agent=alone.agent, nop=first.nop, oracle=first.oracle, side=alone.side))
    together = measured(*shared, intervals=False)
    for one in shared:
        assert payload_of(measured(one, intervals=False), one.agent) == payload_of(together, one.agent)


def test_level_advantages_are_the_mean_of_the_groups_gaps() -> None:
    agent = {"m.A.time_x(1)": 2.0, "m.A.time_x(2)": 8.0, "m.B.time_y": 3.0, "n.time_f": 0.5}
    oracle = {"m.A.time_x(1)": 4.0, "m.A.time_x(2)": 4.0, "m.B.time_y": 1.5, "n.time_f": 1.0}
    nop = dict.fromkeys(agent, 1.0)
    one = attempt(nop, {k: 1 / v for k, v in oracle.items()}, {k: 1 / v for k, v in agent.items()})
    found = payload_of(measured(one, intervals=False))
    modules = [geometric_mean([2, 8, 3]) - geometric_mean([4, 4, 1.5]), 0.5 - 1.0]
    classes = [4.0 - 4.0, 3.0 - 1.5, 0.5 - 1.0]
    assert found["agent_advantage_level1"] == pytest.approx(statistics.fmean(modules))
    assert (
        found["agent_advantage_level2"] == found["agent_advantage_level3"] == pytest.approx(statistics.fmean(classes))
    )
