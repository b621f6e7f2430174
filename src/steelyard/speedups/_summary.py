"""Over tasks: the specification's summary by agent, the run's own figures, and ours with an interval by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import metrics
from steelyard.metrics.speedup import mean
from steelyard.records.missing import Missing
from steelyard.speedups._options import Options
from steelyard.speedups._payload import without_missing
from steelyard.speedups._table import Attempt, Table
from steelyard.statistics.bootstrap import bootstrap_mean
from steelyard.statistics.passes import pass_at_k

Fields = dict[str, Any]  # Any: JSON values


def by_agent(table: Table) -> dict[str, list[int]]:
    """Positions of each agent's attempts, agents by name."""
    found: dict[str, list[int]] = {}
    for index in sorted(
        range(len(table.attempts)), key=lambda one: (table.attempts[one].agent, table.attempts[one].trial)
    ):
        found.setdefault(table.attempts[index].agent, []).append(index)
    return found


def summary(table: Table, indexes: Sequence[int]) -> tuple[Fields, dict[str, str]]:
    """The specification's run-level fields of one agent, and the reasons for what is missing in them."""
    attempts = [table.attempts[index] for index in indexes]
    levels = [_finite(table.advantages[index, level] for index in indexes) for level in range(4)]
    costs = _known(one.cost_usd for one in attempts)
    successes = _known(one.success for one in attempts)
    starts = [table.rows(index) for index in indexes]
    fields: Fields = {
        "mean_speedup": metrics.mean_speedup(task_speedups=_finite(table.task_speedup[index] for index in indexes)),
        "mean_success_rate": metrics.mean_success_rate(successes=successes),
        "num_benchmarks": sum(rows.stop - rows.start for rows in starts),
        "num_valid_benchmarks": sum(int(np.count_nonzero(table.valid[rows])) for rows in starts),
        "agent_advantage": _mean(levels[3]),
        **{f"agent_advantage_level{level + 1}": _mean(values) for level, values in enumerate(levels)},
        "mean_cost_per_task": metrics.mean_cost_per_task(costs=costs),
        "cost_weighted_advantage": _cost_weighted(levels[3], costs, len(attempts)),
        "mean_trajectory_length": metrics.mean_trajectory_length(
            lengths=_known(one.trajectory_length for one in attempts)
        ),
        "accuracy": metrics.accuracy(successes=successes),
        "pass@k": passes(attempts, [one.success for one in attempts]),
        "total_cost": _total([one.cost_usd for one in attempts]),
    }
    return without_missing(fields)


def _cost_weighted(advantages: list[float], costs: list[float], attempts: int) -> float | Missing:
    """Missing where some costs are unknown: an advantage of all tasks over the cost of some is no ratio of anything."""
    if 0 < len(costs) < attempts:
        return Missing(f"the cost of {attempts - len(costs)} of {attempts} attempts is not known")
    found: float | Missing = metrics.cost_weighted_advantage(advantages=advantages, costs=costs)
    return found


def run_figures(table: Table) -> Fields:
    """The figures of the whole run: all agents together, and the cost of each."""
    attempts = table.attempts
    costs = {key: _total([attempts[index].cost_usd for index in found]) for key, found in by_agent(table).items()}
    by_key, reasons = without_missing(costs)
    fields, missing = without_missing(
        {
            "accuracy": metrics.accuracy(successes=_known(one.success for one in attempts)),
            "pass@k": passes(attempts, [one.success for one in attempts]),
            "total_cost": _total([one.cost_usd for one in attempts]),
            "cost_by_agent_model": by_key,
        }
    )
    return fields | {"missing": missing | {f"cost_by_agent_model.{key}": why for key, why in reasons.items()}}


def passes(attempts: Sequence[Attempt], verdicts: Sequence[bool | Missing]) -> dict[str, float] | Missing:
    """Mean over tasks of the chance that one of k attempts has the verdict, for each k that every task allows."""
    counts = _counts(attempts, verdicts)
    if not counts:
        return Missing("no attempt's verdict is known")
    found: dict[str, float] = {}
    for k in range(1, min(n for n, _ in counts) + 1):
        found[str(k)] = mean([chance for n, good in counts if (chance := pass_at_k(n, good, k)) is not None])
    return found


def _counts(attempts: Sequence[Attempt], verdicts: Sequence[bool | Missing]) -> list[tuple[int, int]]:
    """Attempts and good ones of each task and agent, as far as verdicts are known."""
    tasks: dict[tuple[str, str], list[bool]] = {}
    for attempt, verdict in zip(attempts, verdicts, strict=True):
        if not isinstance(verdict, Missing):
            tasks.setdefault((attempt.task, attempt.agent), []).append(verdict)
    return [(len(good), sum(good)) for _, good in sorted(tasks.items())]


def overall(table: Table, indexes: Sequence[int], measured: Mapping[int, Fields], options: Options) -> Fields:
    """Our figures of one agent over its tasks."""
    attempts = [table.attempts[index] for index in indexes]
    logs = [(attempts[at].task, measured[index]["log_advantage"]) for at, index in enumerate(indexes)]
    known = [(task, value) for task, value in logs if value is not None]
    per_task: dict[str, list[float]] = {}
    for task, value in known:
        per_task.setdefault(task, []).append(value)
    means = {task: mean(values) for task, values in sorted(per_task.items())}
    interval = bootstrap_mean(
        list(means.values()),
        list(means),
        method="bca",
        level=options.interval_level,
        resamples=options.resamples,
        seed=options.seed,
    )
    curves = _curves(table, indexes, measured, options)
    largest = metrics.largest_share(items=_finite(table.advantages[index, 3] for index in indexes))
    fields, reasons = without_missing(
        {
            "mean_log_advantage": metrics.mean_log_advantage(log_advantages=list(means.values())),
            "largest_share": largest,
        }
    )
    return fields | curves | {"log_advantage_interval": interval.as_dict(), "tasks": len(means), "missing": reasons}


def _curves(table: Table, indexes: Sequence[int], measured: Mapping[int, Fields], options: Options) -> Fields:
    """fast_p, opt_p and opt@k. An attempt whose success is unknown is left out of them."""
    judged = [index for index in indexes if not isinstance(table.attempts[index].success, Missing)]
    inputs: dict[str, list[Any]] = {
        # Nothing valid is not fast: such an attempt stays in the denominator with a speedup of 0.
        "speedups": [float(np.nan_to_num(table.task_speedup[index])) for index in judged],
        "successes": [table.attempts[index].success for index in judged],
    }
    ratios = [measured[index]["speedup_ratio_hmean"] or 0.0 for index in judged]
    gate = {"opt_min_speedup": options.opt_min_speedup}
    fast = {str(p): metrics.fast_p(**inputs, fast_p_at=p) for p in options.fast_p_points}
    opt = {str(p): metrics.opt_p(**inputs, ratios=ratios, opt_p_at=p, **gate) for p in options.opt_p_points}
    optimal = [
        bool(success) and speedup >= options.opt_min_speedup and ratio > options.opt_p_at
        for speedup, success, ratio in zip(inputs["speedups"], inputs["successes"], ratios, strict=True)
    ]
    chances = passes([table.attempts[index] for index in judged], optimal)
    return {
        "fast_p": without_missing(fast)[0],
        "opt_p": without_missing(opt)[0],
        "opt@k": None if isinstance(chances, Missing) else chances,
    }


def fronts(costs: Mapping[str, float | None], gains: Mapping[str, float | None]) -> dict[str, bool | None]:
    """Whether each agent is on the front of cost and gain; None where its cost or gain is unknown."""
    known = {key: (cost, gain) for key, cost in costs.items() if cost is not None and (gain := gains[key]) is not None}
    found: dict[str, bool | None] = dict.fromkeys(costs)
    for key, (cost, gain) in known.items():
        others = [pair for other, pair in known.items() if other != key]
        verdict = metrics.on_cost_front(
            cost=cost, gain=gain, other_costs=[pair[0] for pair in others], other_gains=[pair[1] for pair in others]
        )
        found[key] = verdict == 1.0
    return found


def _finite(values: Any) -> list[float]:  # Any: an iterable of numpy floats
    return [float(value) for value in values if np.isfinite(value)]


def _known(values: Any) -> list[Any]:  # Any: an iterable of numbers, flags and Missing
    return [value for value in values if not isinstance(value, Missing)]


def _mean(values: list[float]) -> float | Missing:
    return mean(values) if values else Missing("no task has a valid benchmark")


def _total(costs: Sequence[float | Missing]) -> float | Missing:
    known = _known(costs)
    if len(known) < len(costs):
        return Missing(f"the cost of {len(costs) - len(known)} of {len(costs)} attempts is unknown")
    return metrics.total_cost(costs=known)
