"""Terminal output of speedups: a table of agents, and a tree of benchmarks with bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from steelyard.formatting import bounds_text, counted, decimal_bounds, percent, quantity
from steelyard.metrics import catalog
from steelyard.pages import DASH, Painted, Style, TextTable, TextTree, add_row, number_text, plain_table
from steelyard.plain_text import clean
from steelyard.results import BenchmarkNode, SpeedupResult

BAR = 20
"""Width of the longest bar."""
_POLICIES = {"fail": "attempts without a verdict: failed", "exclude": "attempts without a verdict: excluded"}


def speedup_sentence(result: SpeedupResult) -> str:
    """Return the largest speedup, and how it compares with the reference solution."""
    known = {
        key: speedup
        for key, summary in result.summaries.items()
        if (speedup := summary.fields["mean_speedup"]) is not None
    }
    if not known:
        return "No benchmark of any attempt could be compared."
    best = max(known, key=lambda key: (known[key], key))
    counts = result.summaries[best].counts
    count = counts["mean_speedup"]
    advantage = result.summaries[best].fields["agent_advantage"]
    comparison = ""
    if advantage is not None:
        # Both are means over tasks; over the same tasks, their difference is the reference solution's speedup.
        reference = f" ({known[best] - advantage:.3f})" if count == counts["agent_advantage"] else ""
        more = "more" if advantage >= 0 else "less"
        comparison = f", {abs(advantage):.3f} {more} than the reference solution{reference}"
    if not result.many:
        return _of_one_task(result, best, comparison)
    return (
        f"{best} has the largest mean speedup: {known[best]:.3f} times as fast over {count['n']:,} of "
        f"{counted(count['of'], 'task')}{comparison}."
    )


def _of_one_task(result: SpeedupResult, best: str, comparison: str) -> str:
    """Return the speedup of the fastest candidate, and the number of faster and slower benchmarks."""
    attempt = next(attempt for attempt in result.attempts if attempt.agent == best)
    payload = attempt.payload
    verdicts = Counter(
        entry["verdict"]
        for name, entry in attempt.benchmarks.items()
        if payload.per_benchmark_speedups[name].agent is not None
    )
    words = {"faster": "faster", "slower": "slower", "unclear": "unclear", "unknown": "without an interval"}
    listed = ", ".join(f"{verdicts[verdict]} {word}" for verdict, word in words.items() if verdicts[verdict])
    valid = f"{payload.num_valid_benchmarks:,} of {counted(payload.num_benchmarks, 'benchmark')}"
    fastest = ", the fastest," if len(result.summaries) > 1 else ""
    speed = "not measured"
    if payload.task_speedup is not None:
        slower = "slower: " if payload.task_speedup < 1 else ""
        is_noise = set(verdicts) == {"unclear"}
        speed = f"{'within noise: ' if is_noise else slower}{payload.task_speedup:.3f} times as fast"
    return f"{best}{fastest} is {speed} over {valid}{f' ({listed})' if listed else ''}{comparison}."


def speedup_table(result: SpeedupResult) -> TextTable:
    """Return the table of one task (one row per attempt), or over tasks (one row per agent)."""
    return _overall_table(result) if result.many else _task_table(result)


_OF_PAYLOAD = (
    "task_speedup",
    "agent_advantage",
    "agent_advantage_level1",
    "agent_advantage_level2",
    "agent_advantage_level3",
)
_OF_MEASURES = ("log_advantage", "speedup_ratio_gmean", "worst_speedup", "significant_regressions")


_SPARED = {
    "agent_advantage_level1": 3,
    "agent_advantage_level2": 5,
    "agent_advantage_level3": 5,
    "speedup_ratio_gmean": 4,
    "worst_speedup": 2,
    "significant_regressions": 1,
    "log_advantage": 4,
}


def _task_table(result: SpeedupResult) -> TextTable:
    figures: tuple[tuple[str, ...], tuple[str, ...]] = (_OF_PAYLOAD, _OF_MEASURES)
    if not any(attempt.tree is not None and attempt.tree.oracle is not None for attempt in result.attempts):
        figures = (
            ("task_speedup",),
            ("worst_speedup", "significant_regressions"),
        )  # without a reference solution there are no advantages
    table = plain_table(f"One task, profile {result.profile}")
    table.add_column("agent")
    table.add_column("valid", justify="right", spare=2)
    table.add_column("success", spare=1)
    for name in (*figures[0], *figures[1]):
        table.add_column(catalog()[name].heading(), justify="right", spare=_SPARED.get(name, 0))
    table.add_column("cost ↓", justify="right", spare=1)
    for _, key, attempt in result.placed():
        payload = attempt.payload
        counts = f"{payload.num_valid_benchmarks} of {payload.num_benchmarks}"
        shown = [_number(getattr(payload, name), name) for name in figures[0]]
        shown += [_number(attempt.measures[name], name) for name in figures[1]]
        add_row(table, key, counts, _flag(payload.success), *shown, number_text(payload.task_cost_usd, "USD"))
    return table


def _overall_table(result: SpeedupResult) -> TextTable:
    made = f"{counted(len(result.attempts), 'attempt')} on {counted(len(result.coverage), 'task')}"
    table = plain_table(f"{made}, profile {result.profile}, {_POLICIES[result.unscored]}")
    table.add_column("agent")
    table.add_column("tasks", justify="right", spare=2)
    table.add_column("valid", justify="right", spare=5)
    for name, spare in (("mean_speedup", 0), ("agent_advantage", 0), ("mean_log_advantage", 3)):
        table.add_column(catalog()[name].heading(), justify="right", spare=spare)
    table.add_column("interval", justify="right", spare=3)
    for name, spare in (("accuracy", 1), ("mean_cost_per_task", 2), ("mean_trajectory_length", 5)):
        table.add_column(catalog()[name].heading(), justify="right", spare=spare)
    table.add_column("Pareto\noptimal", spare=4)
    for key, of_agent in result.summaries.items():
        summary, counts, ours = of_agent.fields, of_agent.counts, result.overall[key]
        interval = ours["log_advantage_interval"]
        ends = decimal_bounds(interval["low"], interval["high"], decimals=3, signed=True)
        ends += (
            f"\n~{percent(interval['approx_coverage'], decimals=0)} actual coverage"
            if "approx_coverage" in interval
            else ""
        )
        add_row(
            table,
            key,
            _share(ours["counts"]["mean_log_advantage"]),
            f"{summary['num_valid_benchmarks']} of {summary['num_benchmarks']}",
            *(_counted(summary[name], name, counts[name]) for name in ("mean_speedup", "agent_advantage")),
            _number(ours["mean_log_advantage"], "mean_log_advantage"),
            ends,
            *(
                _counted(summary[name], name, counts[name])
                for name in ("accuracy", "mean_cost_per_task", "mean_trajectory_length")
            ),
            _flag(ours["pareto_optimal"]),
        )
    return table


def _number(value: float | None, name: str) -> str:
    return number_text(value, catalog()[name].unit)


def _share(count: Mapping[str, int]) -> str:
    return f"{count['n']} of {count['of']}"


def _counted(value: float | None, name: str, count: Mapping[str, int]) -> str:
    """Return the number, with the number of tasks below it if some tasks lack it."""
    partly = value is not None and count["n"] < count["of"]
    return f"{_number(value, name)}\n({_share(count)})" if partly else _number(value, name)


def _flag(value: bool | None) -> str:
    return {True: "yes", False: "no", None: DASH}[value]


def benchmark_trees(result: SpeedupResult) -> list[TextTree]:
    """Return the benchmarks of each attempt by module, class and function, and a legend.

    All bars share one log scale; the longest is the largest change beyond noise. Noise has no color.
    """
    trees = [(attempt.agent, attempt.tree) for attempt in result.attempts if attempt.tree is not None]
    changes = [value for _, tree in trees for value in _speedups(tree)]
    largest = max(changes, key=lambda value: abs(math.log(value)), default=1.0)
    grown = [_grown(agent, tree, abs(math.log(largest))) for agent, tree in trees]
    if largest == 1:
        return grown
    return [*grown, TextTree(f"Bars: log scale, ▶ faster, ◀ slower; longest bar: {quantity(largest, 'ratio')}x.")]


def _speedups(node: BenchmarkNode) -> Iterator[float]:
    if node.agent is not None and not node.is_noise:
        yield node.agent
    for child in node.children:
        yield from _speedups(child)


def _grown(label: str, node: BenchmarkNode, longest: float) -> TextTree:
    text, bar = _line(node, longest)
    branches = tuple(_grown(child.label, child, longest) for child in node.children)
    return TextTree(clean(f"{label}  {text}"), bar, branches)


def _line(node: BenchmarkNode, longest: float) -> tuple[str, Painted | None]:
    agent, oracle = node.agent, node.oracle
    if agent is None:
        return f"0 of {node.size} valid", None
    cells = min(round(abs(math.log(agent)) / longest * BAR), BAR) if longest > 0 else 0
    bar = ("◀" if agent < 1 else "▶") + "█" * cells if cells else "|"
    ahead: Style = "green" if agent >= (oracle or 1) else "yellow" if agent >= 1 else "red"
    notes = ["within noise"] if node.is_noise else []
    if node.low is not None and node.high is not None:
        notes.insert(0, bounds_text(node.low, node.high, "ratio", bare=False))
    notes += [] if oracle is None else [f"reference {quantity(oracle, 'ratio')}x"]
    notes += [] if node.valid == node.size else [f"{node.valid} of {node.size} valid"]
    listed = f" ({', '.join(notes)})" if notes else ""
    return f"{quantity(agent, 'ratio')}x{listed}", Painted(bar, "dim" if node.is_noise else ahead)
