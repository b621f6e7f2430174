"""Speedups: an agent's change vs. unchanged code and vs. the reference solution (speedup specification).

A speedup is time before over time after: above 1 is faster. nop is the unchanged code, oracle the reference solution.

The specification's metrics come first, then robust ones (insensitive to single benchmarks, noise and missing values)
and ones over tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, floor, fsum, inf, log
from typing import Annotated, Any

from steelyard.metrics._declare import Example, Input, Optional, Param, Required, metric
from steelyard.metrics._words import Value, log as logarithm, missing, ratio, when
from steelyard.records import TOO_LARGE, Missing, exact_mean

_NO_BENCHMARK = "no benchmark is valid under nop, oracle and agent"
_NO_TASK = "no task has a value"

# The specification's own example: three valid benchmarks, two of them one function with two parameters.
_AGENT = (2.0, 8.0, 0.5)
_ORACLE = (4.0, 4.0, 1.0)


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers, whatever their order; equal numbers have themselves as their mean.

    >>> geometric_mean([2.0, 8.0]), geometric_mean([1.1, 1.1, 1.1])
    (4.0, 1.1)
    """
    if len(values) == 1:
        return values[0]
    # what rounding adds to the logarithms cannot carry a mean outside its values
    return min(max(exp(fsum(map(log, values)) / len(values)), min(values)), max(values))


def harmonic_mean(values: Sequence[float]) -> float:
    """The harmonic mean of positive numbers, whatever their order; equal numbers have themselves as their mean.

    >>> harmonic_mean([1.0, 3.0]), harmonic_mean([1.1, 1.1, 1.1])
    (1.5, 1.1)
    """
    return min(max(len(values) / fsum(1 / value for value in values), min(values)), max(values))


def _level_advantage(agent: Sequence[float], oracle: Sequence[float], groups: Sequence[str | int]) -> Value:
    """Mean over the groups of gmean(agent) - gmean(oracle)."""
    if not agent:
        return missing(_NO_BENCHMARK)
    members: dict[str | int, tuple[list[float], list[float]]] = {}
    for mine, theirs, group in zip(agent, oracle, groups, strict=True):
        of_agent, of_oracle = members.setdefault(group, ([], []))
        of_agent.append(mine)
        of_oracle.append(theirs)
    return exact_mean([geometric_mean(mine) - geometric_mean(theirs) for mine, theirs in members.values()])


@metric(
    level="benchmark",
    title="Agent speedup",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="median(nop) / median(agent)",
    example=Example({"nop_median": 3.0, "agent_median": 1.5}, 2.0),
)
def agent_speedup(*, nop_median: Required, agent_median: Required) -> Value:
    """Speedup of the benchmark with the agent's change; stored under the key `agent/nop`."""
    return ratio(nop_median, agent_median, at_zero=missing("the agent's median is 0"))


@metric(
    level="benchmark",
    title="Oracle speedup",
    unit="ratio",
    better="neither",
    bounds=(0, inf),
    spec="speedup",
    formula="median(nop) / median(oracle)",
    example=Example({"nop_median": 3.0, "oracle_median": 0.75}, 4.0),
)
def oracle_speedup(*, nop_median: Required, oracle_median: Required) -> Value:
    """Speedup of the benchmark with the reference solution; stored under the key `oracle/nop`."""
    return ratio(nop_median, oracle_median, at_zero=missing("the oracle's median is 0"))


@metric(
    level="benchmark",
    title="Advantage",
    unit="ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="agent_speedup - oracle_speedup",
    example=Example({"agent_speedup": 2.0, "oracle_speedup": 4.0}, -2.0),
)
def advantage(*, agent_speedup: Required, oracle_speedup: Required) -> Value:
    """Agent's speedup minus that of the reference solution."""
    return agent_speedup - oracle_speedup


@metric(
    level="task",
    title="Task speedup",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="geometric mean of agent_speedup over the valid benchmarks",
    example=Example({"agent_speedups": _AGENT}, 2.0),  # (2 x 8 x 0.5) ^ (1/3) = 8 ^ (1/3)
)
def task_speedup(*, agent_speedups: Required) -> Value:
    """Speedup of the task's benchmarks with the agent's change."""
    return geometric_mean(agent_speedups) if agent_speedups else missing(_NO_BENCHMARK)


@metric(
    level="task",
    title="Module advantage (level 1)",
    unit="ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="mean over modules of gmean(agent_speedup) - gmean(oracle_speedup)",
    # one module: 2 - 16 ^ (1/3)
    example=Example(
        {"agent_speedups": _AGENT, "oracle_speedups": _ORACLE, "modules": ("m", "m", "m")}, -0.5198420997897459
    ),
)
def agent_advantage_level1(*, agent_speedups: Required, oracle_speedups: Required, modules: Required) -> Value:
    """Advantage over the reference solution, with equal weight per module."""
    return _level_advantage(agent_speedups, oracle_speedups, modules)


@metric(
    level="task",
    title="Class advantage (level 2)",
    unit="ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="mean over classes of gmean(agent_speedup) - gmean(oracle_speedup)",
    # m.A: 4 - 4 = 0; m without a class: 0.5 - 1 = -0.5
    example=Example({"agent_speedups": _AGENT, "oracle_speedups": _ORACLE, "classes": ("m.A", "m.A", "m")}, -0.25),
)
def agent_advantage_level2(*, agent_speedups: Required, oracle_speedups: Required, classes: Required) -> Value:
    """Advantage over the reference solution, with equal weight per class; a module's other functions form one."""
    return _level_advantage(agent_speedups, oracle_speedups, classes)


@metric(
    level="task",
    title="Function advantage (level 3)",
    unit="ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="mean over functions of gmean(agent_speedup) - gmean(oracle_speedup), parameters pooled",
    # the function with two parameters 4 - 4 = 0, the other 0.5 - 1 = -0.5
    example=Example(
        {"agent_speedups": _AGENT, "oracle_speedups": _ORACLE, "functions": ("m.A.time_x", "m.A.time_x", "m.time_f")},
        -0.25,
    ),
)
def agent_advantage_level3(*, agent_speedups: Required, oracle_speedups: Required, functions: Required) -> Value:
    """Advantage over the reference solution, with equal weight per function."""
    return _level_advantage(agent_speedups, oracle_speedups, functions)


@metric(
    level="task",
    title="Overall advantage (level 4)",
    unit="ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="gmean(agent_speedup) - gmean(oracle_speedup)",
    example=Example({"agent_speedups": _AGENT, "oracle_speedups": _ORACLE}, -0.5198420997897459),
)
def agent_advantage_level4(*, agent_speedups: Required, oracle_speedups: Required) -> Value:
    """Advantage over the reference solution over all benchmarks."""
    return (
        geometric_mean(agent_speedups) - geometric_mean(oracle_speedups) if agent_speedups else missing(_NO_BENCHMARK)
    )


@metric(
    level="task",
    title="Agent advantage",
    unit="ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="agent_advantage_level4",
    example=Example({"agent_advantage_level4": -0.5}, -0.5),
)
def agent_advantage(*, agent_advantage_level4: Required) -> Value:
    """Primary metric: advantage over the reference solution over all benchmarks."""
    return agent_advantage_level4


@metric(
    level="tasks",
    title="Mean speedup",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="mean of task_speedup over tasks",
    example=Example({"task_speedups": (1.0, 2.0)}, 1.5),
)
def mean_speedup(*, task_speedups: Required) -> Value:
    """Arithmetic mean over tasks, as in the specification; sensitive to single large speedups."""
    return exact_mean(task_speedups) if task_speedups else missing(_NO_TASK)


@metric(
    level="tasks",
    title="Mean success rate",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="speedup",
    formula="mean over tasks of the fraction of the task's attempts with success",
    example=Example({"successes": (0.5, 1.0, 0.0, 1.0)}, 0.625),
)
def mean_success_rate(*, successes: Required) -> Value:
    """Fraction of attempts that pass tests and snapshot, with equal weight per task."""
    return exact_mean(successes) if successes else missing("no task's success is known")


@metric(
    level="tasks",
    title="Accuracy",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="speedup",
    formula="attempts with success / attempts",
    example=Example({"successes": (True, False)}, 0.5),
    binary=True,
    mean_of="pass_rate",
)
def accuracy(*, successes: Required) -> Value:
    """Fraction of successful attempts, regardless of speed; attempts without a verdict count as failed by default."""
    return exact_mean(successes) if successes else missing("no attempt's success is known")


@metric(
    level="tasks",
    title="pass@k",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="speedup",
    formula="mean over tasks of the probability that one of k attempts succeeds: 1 - C(n - c, k) / C(n, k)",
    example=Example({"chances": (1.0, 0.5)}, 0.75),
)
def pass_at_k(*, chances: Required) -> Value:
    """Fraction of tasks that k attempts would solve, by the unbiased estimator: n attempts on a task, c successful.

    `rank` reports it for runs, with pass^k (all k attempts pass). `speedup` reports it for attempts.
    """
    return exact_mean(chances) if chances else missing("no task has k attempts")


@metric(
    level="tasks",
    title="Mean cost per task",
    unit="USD",
    better="lower",
    bounds=(0, inf),
    spec="speedup",
    formula="mean of task_cost_usd over tasks",
    example=Example({"costs": (0.5, 1.5)}, 1.0),
)
def mean_cost_per_task(*, costs: Required) -> Value:
    """Mean cost per attempt, with equal weight per task, over tasks whose attempts all have a known cost."""
    return exact_mean(costs) if costs else missing("no task's cost is known")


@metric(
    level="tasks",
    title="Total cost",
    unit="USD",
    better="lower",
    bounds=(0, inf),
    spec="speedup",
    formula="sum of task_cost_usd over attempts",
    example=Example({"costs": (0.5, 1.5)}, 2.0),
)
def total_cost(*, costs: Required) -> Value:
    """Total cost of all attempts."""
    try:
        return fsum(costs) if costs else missing("no task's cost is known")
    except OverflowError:
        return missing(TOO_LARGE)


@metric(
    level="tasks",
    title="Cost-weighted advantage",
    unit="ratio/USD",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="mean agent_advantage / mean_cost_per_task; 0 if the cost is 0",
    example=Example({"advantages": (-0.1, -0.3), "costs": (2.0, 2.0)}, -0.1),
)
def cost_weighted_advantage(*, advantages: Required, costs: Required) -> Value:
    """Advantage per dollar. Negative values favor the more expensive agent; see also cost_per_log_gain."""
    if not advantages:
        return missing(_NO_TASK)
    if not costs:
        return missing("no task's cost is known")
    return ratio(exact_mean(advantages), exact_mean(costs), at_zero=0.0)


@metric(
    level="tasks",
    title="Mean trajectory length",
    unit="interactions",
    better="lower",
    bounds=(0, inf),
    spec="speedup",
    formula="mean of trajectory_length over tasks",
    example=Example({"lengths": (10, 20)}, 15.0),
)
def mean_trajectory_length(*, lengths: Required) -> Value:
    """Mean number of actions, with equal weight for each task with a known length."""
    return exact_mean(lengths) if lengths else missing("no task's trajectory length is known")


_NO_INTERVAL = "no benchmark has an interval"

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
    """Agent's speed relative to the reference solution; 1 means equal speed."""
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
    """Speedup of a workload in which every benchmark took the same time before the change."""
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
    formula="the lower of log_advantage without the benchmarks missing for the agent, and with these at its worst "
    "speedup (at most 1)",
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
    """Lower bound of log_advantage if the benchmarks missing for the agent were as bad as its worst."""
    worst = _with_imputed(agent_speedups, oracle_speedups, unmatched_oracle_speedups, min([1.0, *agent_speedups]))
    return _outermost(min, log_advantage, worst)


@metric(
    level="task",
    title="Log advantage, optimistic",
    unit="ln ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="the higher of log_advantage without the benchmarks missing for the agent, and with these at its best "
    "speedup (at least 1)",
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
    """Upper bound of log_advantage if the benchmarks missing for the agent were as good as its best."""
    best = _with_imputed(agent_speedups, oracle_speedups, unmatched_oracle_speedups, max([1.0, *agent_speedups]))
    return _outermost(max, log_advantage, best)


def _with_imputed(agent: Sequence[float], oracle: Sequence[float], unmatched: Sequence[float], value: float) -> Value:
    """log_advantage with that value for every benchmark missing for the agent; missing where none is."""
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


@metric(
    level="tasks",
    title="Mean log advantage",
    unit="ln ratio",
    better="higher",
    bounds=(-inf, inf),
    spec="speedup",
    formula="mean over tasks of the mean log_advantage of the task's attempts",
    example=Example({"log_advantages": (-0.5, 0.25)}, -0.125),
)
def mean_log_advantage(*, log_advantages: Required) -> Value:
    """Advantage over the reference solution, with equal weight per task; its interval is over tasks."""
    return exact_mean(log_advantages) if log_advantages else missing(_NO_TASK)


@metric(
    level="tasks",
    title="Speedup ratio over tasks, geometric",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="geometric mean over tasks of gmean(agent_speedup) / gmean(oracle_speedup)",
    example=Example({"speedup_ratios": (0.5, 2.0, 0.125)}, 0.5),  # (1/2 x 2 x 1/8) ^ (1/3)
)
def speedup_ratio_gmean_over_tasks(*, speedup_ratios: Required) -> Value:
    """Agent's speed relative to the reference solution, with equal weight per task; failures count as unchanged."""
    return geometric_mean(speedup_ratios) if speedup_ratios else missing(_NO_TASK)


@metric(
    level="tasks",
    title="Speedup ratio over tasks, harmonic",
    unit="ratio",
    better="higher",
    bounds=(0, inf),
    spec="speedup",
    formula="harmonic mean over tasks of gmean(agent_speedup) / gmean(oracle_speedup)",
    example=Example({"speedup_ratios": (0.5, 2.0, 0.125)}, 0.2857142857142857),  # 3 / (2 + 1/2 + 8) = 2/7
)
def speedup_ratio_hmean_over_tasks(*, speedup_ratios: Required) -> Value:
    """SWE-fficiency's score: the harmonic mean, which is dominated by tasks far from the reference solution."""
    return harmonic_mean(speedup_ratios) if speedup_ratios else missing(_NO_TASK)


@metric(
    level="tasks",
    title="fast_p",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="speedup",
    formula="(attempts with success and task_speedup > p) / attempts",
    example=Example({"speedups": (1.5, 0.9, 3.0), "successes": (True, True, False)}, 1 / 3),
)
def fast_p(*, speedups: Required, successes: Required, fast_p_at: Param = 1.0) -> Value:
    """Fraction of attempts that are correct and more than p times as fast as the unchanged code."""
    met = [bool(good) and fast > fast_p_at for fast, good in zip(speedups, successes, strict=True)]
    return sum(met) / len(met) if met else missing(_NO_TASK)


@metric(
    level="tasks",
    title="opt_p",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="speedup",
    formula="(attempts with success, task_speedup >= opt_min_speedup and speedup_ratio_hmean > p) / attempts",
    example=Example({"speedups": (1.5, 1.1, 3.0), "ratios": (0.97, 1.2, 0.5), "successes": (True, True, True)}, 1 / 3),
)
def opt_p(
    *, speedups: Required, ratios: Required, successes: Required, opt_p_at: Param, opt_min_speedup: Param
) -> Value:
    """Fraction of attempts that are correct, faster, and reach the fraction p of the reference solution's speed."""
    met = [
        bool(good) and fast >= opt_min_speedup and reached > opt_p_at
        for fast, reached, good in zip(speedups, ratios, successes, strict=True)
    ]
    return sum(met) / len(met) if met else missing(_NO_TASK)


@metric(
    level="tasks",
    title="opt@k",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="speedup",
    formula="mean over tasks of the probability that one of k attempts is optimal: 1 - C(n - c, k) / C(n, k)",
    example=Example({"chances": (1.0, 0.5)}, 0.75),
)
def opt_at_k(*, chances: Required) -> Value:
    """Fraction of tasks that k attempts would solve as well as the reference solution, by the unbiased estimator."""
    return exact_mean(chances) if chances else missing("no task has k attempts")


@metric(
    level="tasks",
    title="On the cost-gain frontier",
    unit="1 or 0",
    better="higher",
    bounds=(0, 1),
    spec="speedup",
    formula="1 unless another agent costs at most as much, gains at least as much, and is better in one of the two",
    example=Example({"cost": 1.0, "gain": 0.2, "other_costs": (2.0, 1.0), "other_gains": (0.5, 0.1)}, 1.0),
)
def pareto_optimal(*, cost: Required, gain: Required, other_costs: Required, other_gains: Required) -> Value:
    """Whether no other agent is at least as good in both cost and gain, and better in one."""
    others = zip(other_costs, other_gains, strict=True)
    beaten = any(paid <= cost and won >= gain and (paid < cost or won > gain) for paid, won in others)
    return 0.0 if beaten else 1.0
