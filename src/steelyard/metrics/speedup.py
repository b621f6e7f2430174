"""Speedups: an agent's change vs. unchanged code and vs. the reference solution (speedup specification).

A speedup is time before over time after: above 1 is faster. nop is the unchanged code, oracle the reference solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, inf, log

from steelyard.metrics._declare import Example, metric
from steelyard.metrics._signatures import Required
from steelyard.metrics._words import Value, missing, ratio
from steelyard.records import exact_mean

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
    """Advantage over the reference solution, with equal weight per class; a module's bare functions form one."""
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
    return fsum(costs) if costs else missing("no task's cost is known")


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
