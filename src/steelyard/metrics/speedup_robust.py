"""Additional robust speedup metrics: insensitive to single benchmarks, noise and missing values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, floor, fsum, inf, log
from typing import Annotated, Any

from steelyard.metrics._declare import Example, metric
from steelyard.metrics._signatures import Input, Optional, Param, Required
from steelyard.metrics._words import Value, log as logarithm, missing, when
from steelyard.metrics.speedup import geometric_mean, harmonic_mean
from steelyard.records import Missing, exact_mean

_NO_BENCHMARK = "no benchmark is valid under nop, oracle and agent"
_NO_INTERVAL = "no benchmark has an interval"
_NO_TASK = "no task has a value"
_AGENT = (2.0, 8.0, 0.5)
_ORACLE = (4.0, 4.0, 1.0)

# A benchmark that failed only under the agent may count by rule; these are without such: bounds ask what it could be.
AgentMeasured = Annotated[Any, Input(of="measured_agent_speedups")]  # Any: numbers
OracleMeasured = Annotated[Any, Input(of="measured_oracle_speedups")]  # Any: numbers


def _ratios(agent: Sequence[float], oracle: Sequence[float]) -> list[float]:
    return [mine / theirs for mine, theirs in zip(agent, oracle, strict=True)]


def _log_ratios(agent: Sequence[float], oracle: Sequence[float]) -> list[float]:
    return [log(mine) - log(theirs) for mine, theirs in zip(agent, oracle, strict=True)]


@metric(
    level="benchmark",
    title="Log speedup",
    unit="ln ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="ln(agent_speedup)",
    example=Example({"agent_speedup": 2.0}, 0.6931471805599453),
)
def log_speedup(*, agent_speedup: Required) -> Value:
    """Speedup on the log scale: twice as fast and twice as slow have the same absolute value."""
    return logarithm(when(agent_speedup > 0, agent_speedup, missing("the speedup is not above 0")))


@metric(
    level="task",
    title="Log advantage",
    unit="ln ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="ln(gmean(agent_speedup) / gmean(oracle_speedup))",
    # ln(2 / 16 ^ (1/3)) = ln(2) - 4/3 ln(2) = -ln(2) / 3
    example=Example({"agent_speedups": _AGENT, "oracle_speedups": _ORACLE}, -0.23104906018664842),
)
def log_advantage(*, agent_speedups: Required, oracle_speedups: Required) -> Value:
    """Advantage over the reference solution on the log scale; swapping the two only changes its sign."""
    return exact_mean(_log_ratios(agent_speedups, oracle_speedups)) if agent_speedups else missing(_NO_BENCHMARK)


@metric(
    level="task",
    title="Speedup ratio, geometric",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="geometric mean of agent_speedup / oracle_speedup",
    example=Example({"agent_speedups": _AGENT, "oracle_speedups": _ORACLE}, 0.7937005259840998),  # (1/2) ^ (1/3)
)
def speedup_ratio_gmean(*, agent_speedups: Required, oracle_speedups: Required) -> Value:
    """Agent's speed relative to the reference solution; 1 is equal."""
    return geometric_mean(_ratios(agent_speedups, oracle_speedups)) if agent_speedups else missing(_NO_BENCHMARK)


@metric(
    level="task",
    title="Speedup ratio, harmonic",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="harmonic mean of agent_speedup / oracle_speedup",
    example=Example({"agent_speedups": _AGENT, "oracle_speedups": _ORACLE}, 0.6666666666666666),  # 3 / (2 + 1/2 + 2)
)
def speedup_ratio_hmean(*, agent_speedups: Required, oracle_speedups: Required) -> Value:
    """Harmonic mean of the ratio, which is dominated by slow benchmarks."""
    return harmonic_mean(_ratios(agent_speedups, oracle_speedups)) if agent_speedups else missing(_NO_BENCHMARK)


@metric(
    level="task",
    title="Harmonic speedup",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="harmonic mean of agent_speedup",
    example=Example({"agent_speedups": _AGENT}, 1.1428571428571428),  # 3 / (1/2 + 1/8 + 2) = 8/7
)
def harmonic_speedup(*, agent_speedups: Required) -> Value:
    """Speedup of a workload in which every benchmark took the same time before."""
    return harmonic_mean(agent_speedups) if agent_speedups else missing(_NO_BENCHMARK)


@metric(
    level="task",
    title="Worst speedup",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="smallest agent_speedup",
    example=Example({"agent_speedups": _AGENT}, 0.5),
)
def worst_speedup(*, agent_speedups: Required) -> Value:
    """Smallest speedup; below 1 if a benchmark became slower."""
    return min(agent_speedups) if agent_speedups else missing(_NO_BENCHMARK)


@metric(
    level="task",
    title="Significant regressions",
    unit="fraction",
    better="lower",
    bounds=(0, 1),
    spec="speedup",
    formula="benchmarks whose interval for log_speedup is below 0 / benchmarks with an interval",
    example=Example({"log_speedup_highs": (-0.1, 0.2, 0.5, 0.3)}, 0.25),
)
def significant_regressions(*, log_speedup_highs: Required) -> Value:
    """Fraction of benchmarks that became significantly slower."""
    highs = log_speedup_highs
    return sum(high < 0 for high in highs) / len(highs) if highs else missing(_NO_INTERVAL)


@metric(
    level="task",
    title="Minimum significant gain",
    unit="fraction of time",
    better="higher",
    bounds=(0, 1),
    spec="speedup",
    formula="mean of max(0, 1 - exp(-low)) over benchmarks, low being the lower bound of log_speedup's interval",
    # surely half the time saved on one of two: 1 - exp(-ln 2) = 0.5
    example=Example({"log_speedup_lows": (0.6931471805599453, -0.2)}, 0.25),
)
def minimum_significant_gain(*, log_speedup_lows: Required) -> Value:
    """Lower bound on the fraction of time saved; noise counts as 0."""
    lows = log_speedup_lows
    return exact_mean([max(0.0, 1 - exp(-low)) for low in lows]) if lows else missing(_NO_INTERVAL)


@metric(
    level="task",
    title="Log advantage, pessimistic",
    unit="ln ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="log_advantage with the benchmarks missing under the agent excluded or at its worst speedup, at most 1: "
    "the lower of the two",
    # ratios 2/4, 8/4, 0.5/1 and 0.5/2: (-1 + 1 - 1 - 2) ln 2 / 4
    example=Example(
        {"agent_speedups": _AGENT, "oracle_speedups": _ORACLE, "unmatched_oracle_speedups": (2.0,)}, -0.5198603854199589
    ),
)
def log_advantage_low(
    *,
    agent_speedups: AgentMeasured,
    oracle_speedups: OracleMeasured,
    unmatched_oracle_speedups: Required,
    log_advantage: Optional,
) -> Value:
    """Lower bound of log_advantage if the benchmarks missing under the agent were as bad as its worst."""
    worst = _with_imputed(agent_speedups, oracle_speedups, unmatched_oracle_speedups, min([1.0, *agent_speedups]))
    return _outermost(min, log_advantage, worst)


@metric(
    level="task",
    title="Log advantage, optimistic",
    unit="ln ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="log_advantage with the benchmarks missing under the agent excluded or at its best speedup, at least 1: "
    "the higher of the two",
    # ratios 2/4, 8/4, 0.5/1 and 8/2: (-1 + 1 - 1 + 2) ln 2 / 4
    example=Example(
        {"agent_speedups": _AGENT, "oracle_speedups": _ORACLE, "unmatched_oracle_speedups": (2.0,)}, 0.17328679513998632
    ),
)
def log_advantage_high(
    *,
    agent_speedups: AgentMeasured,
    oracle_speedups: OracleMeasured,
    unmatched_oracle_speedups: Required,
    log_advantage: Optional,
) -> Value:
    """Upper bound of log_advantage if the benchmarks missing under the agent were as good as its best."""
    best = _with_imputed(agent_speedups, oracle_speedups, unmatched_oracle_speedups, max([1.0, *agent_speedups]))
    return _outermost(max, log_advantage, best)


def _with_imputed(agent: Sequence[float], oracle: Sequence[float], unmatched: Sequence[float], value: float) -> Value:
    """log_advantage with that value for every benchmark missing under the agent; missing where none is."""
    if not unmatched:
        return missing(_NO_BENCHMARK)
    return exact_mean(_log_ratios([*agent, *[value] * len(unmatched)], [*oracle, *unmatched]))


def _outermost(outer: Callable[[list[float]], float], *values: float | Missing) -> Value:
    known = [value for value in values if not isinstance(value, Missing)]
    return outer(known) if known else values[0]


@metric(
    level="task",
    title="Cost per log gain",
    unit="USD per ln ratio",
    better="lower",
    bounds=(0, inf),
    spec="speedup",
    formula="task_cost_usd / ln(task_speedup), only if task_speedup is above 1",
    example=Example({"task_cost": 0.6931471805599453, "task_speedup": 2.0}, 1.0),
)
def cost_per_log_gain(*, task_cost: Required, task_speedup: Required) -> Value:
    """Cost of a speedup by a factor of e at this rate; missing if there is no gain."""
    return task_cost / log(task_speedup) if task_speedup > 1 else missing("no gain")


@metric(
    level="task",
    title="Noise floor",
    unit="ln ratio",
    better="lower",
    bounds=(0, inf),
    spec="speedup",
    formula="quantile of |ln(nop / nop repeat)| over benchmarks",
    # sorted 0.1, 0.2, 0.3: position 0.95 x 2 = 1.9
    example=Example({"repeat_log_ratios": (0.1, -0.3, 0.2)}, 0.29),
)
def noise_floor(*, repeat_log_ratios: Required, noise_quantile: Param) -> Value:
    """Difference between two measurements of the same code; smaller changes are not distinguishable from noise."""
    sizes = sorted(abs(log_ratio) for log_ratio in repeat_log_ratios)
    if not sizes:
        return missing("the unchanged code was not measured twice")
    position = noise_quantile * (len(sizes) - 1)
    below = floor(position)
    above = min(below + 1, len(sizes) - 1)
    return sizes[below] + (position - below) * (sizes[above] - sizes[below])


@metric(
    level="task",
    title="Fraction of the largest item",
    unit="fraction",
    better="lower",
    bounds=(0, 1),
    spec="speedup",
    formula="largest |item| / sum of |items|",
    example=Example({"items": (0.5, -0.25, 0.25)}, 0.5),
)
def max_fraction(*, items: Required) -> Value:
    """Contribution of the largest item to a mean; near 1, a single item dominates the mean."""
    total = fsum(abs(item) for item in items)
    return max(abs(item) for item in items) / total if total > 0 else missing("there are no items, or all are 0")
