"""Additional speedup metrics over tasks: agent relative to the reference solution, and success rates."""

from __future__ import annotations

from math import inf

from steelyard.metrics._declare import Example, metric
from steelyard.metrics._signatures import Param, Required
from steelyard.metrics._words import Value, missing
from steelyard.metrics.speedup import geometric_mean, harmonic_mean
from steelyard.records import exact_mean

_NO_TASK = "no task has a value"


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
    formula="attempts with success and task_speedup > p / attempts",
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
    formula="attempts with success, task_speedup >= opt_min_speedup and speedup_ratio_hmean > p / attempts",
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
    """Whether no other agent is better in cost and gain."""
    others = zip(other_costs, other_gains, strict=True)
    beaten = any(paid <= cost and won >= gain and (paid < cost or won > gain) for paid, won in others)
    return 0.0 if beaten else 1.0
