"""Speedups for people: a table of agents, and a tree of benchmarks with bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rich import box
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from steelyard.metrics import catalog
from steelyard.plain_text import clean
from steelyard.reports._terminal_tables import add_row
from steelyard.results import BenchmarkNode, SpeedupResult

DASH = "-"
BAR = 20
"""Cells of the longest bar to either side of 1x."""
_POLICIES = {"fail": "without a verdict: failed", "exclude": "without a verdict: excluded"}
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def speedup_table(result: SpeedupResult) -> Table:
    """The table of one task's files with one row an attempt, or over tasks one row an agent."""
    return _overall_table(result) if result.many else _task_table(result)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold", pad_edge=False)


def _heading(name: str) -> str:
    declared = catalog()[name]
    return f"{declared.title}\n{ARROWS[declared.better]}".rstrip()


_OF_PAYLOAD = (
    "task_speedup",
    "agent_advantage",
    "agent_advantage_level1",
    "agent_advantage_level2",
    "agent_advantage_level3",
)
_OF_MEASURES = ("log_advantage", "speedup_ratio_gmean", "worst_speedup", "significant_regressions")


def _task_table(result: SpeedupResult) -> Table:
    table = _table(f"one task, profile {result.profile}")
    table.add_column("agent", no_wrap=True)
    table.add_column("valid", justify="right")
    table.add_column("success")
    for name in (*_OF_PAYLOAD, *_OF_MEASURES):
        table.add_column(_heading(name), justify="right")
    table.add_column("cost\nUSD ↓", justify="right")
    for _, key, attempt in result.placed():
        payload = attempt.payload
        counts = f"{payload.num_valid_benchmarks} of {payload.num_benchmarks}"
        shown = [_number(getattr(payload, name)) for name in _OF_PAYLOAD]
        shown += [_number(attempt.measures[name]) for name in _OF_MEASURES]
        add_row(table, key, counts, _flag(payload.success), *shown, _number(payload.task_cost_usd))
    return table


def _overall_table(result: SpeedupResult) -> Table:
    made = f"{len(result.attempts):,} attempts at {len(result.coverage):,} tasks"
    table = _table(f"{made}, profile {result.profile}, {_POLICIES[result.unscored]}")
    table.add_column("agent", no_wrap=True)
    table.add_column("tasks", justify="right")
    table.add_column("valid", justify="right")
    for name in ("mean_speedup", "agent_advantage", "mean_log_advantage"):
        table.add_column(_heading(name), justify="right")
    table.add_column("interval", justify="center", no_wrap=True)
    for name in ("accuracy", "mean_cost_per_task", "mean_trajectory_length"):
        table.add_column(_heading(name), justify="right")
    table.add_column("on cost\nfront")
    for key, of_agent in result.summaries.items():
        summary, counts, ours = of_agent.fields, of_agent.counts, result.overall[key]
        interval = ours["log_advantage_interval"]
        ends = DASH if interval["low"] is None else f"{interval['low']:+.3f} to {interval['high']:+.3f}"
        ends += f"\napproximate (about {interval['reaches']:.0%})".replace("%", " %") if "reaches" in interval else ""
        add_row(
            table,
            key,
            _share(ours["counts"]["mean_log_advantage"]),
            f"{summary['num_valid_benchmarks']} of {summary['num_benchmarks']}",
            *(_counted(summary[name], counts[name]) for name in ("mean_speedup", "agent_advantage")),
            _number(ours["mean_log_advantage"]),
            ends,
            *(
                _counted(summary[name], counts[name])
                for name in ("accuracy", "mean_cost_per_task", "mean_trajectory_length")
            ),
            _flag(ours["on_cost_front"]),
        )
    return table


def _number(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.3f}"


def _share(count: Mapping[str, int]) -> str:
    return f"{count['n']} of {count['of']}"


def _counted(value: float | None, count: Mapping[str, int]) -> str:
    """The number, and below it from how many tasks it was made where that is not all of them."""
    partly = value is not None and count["n"] < count["of"]
    return f"{_number(value)}\n({_share(count)})" if partly else _number(value)


def _flag(value: bool | None) -> str:
    return {True: "yes", False: "no", None: DASH}[value]


def benchmark_tree(title: str, root: BenchmarkNode) -> Tree:
    """The benchmarks by module, class and function, with bars on a log scale: to the right faster, left slower."""
    longest = max((abs(math.log(value)) for value in _speedups(root)), default=0.0)
    tree = Tree(Text.assemble((clean(title), "bold"), "  ", _line(root, longest)))
    _grow(tree, root, longest)
    return tree


def _speedups(node: BenchmarkNode) -> Iterator[float]:
    if node.agent is not None:
        yield node.agent
    for child in node.children:
        yield from _speedups(child)


def _grow(tree: Tree, node: BenchmarkNode, longest: float) -> None:
    for child in node.children:
        _grow(tree.add(Text.assemble(clean(child.label), "  ", _line(child, longest))), child, longest)


def _line(node: BenchmarkNode, longest: float) -> Text:
    agent, oracle = node.agent, node.oracle
    if agent is None:
        return Text(f"no valid benchmark of {node.size}", style="dim")
    cells = round(abs(math.log(agent)) / longest * BAR) if longest > 0 else 0
    bar = ("◀" if agent < 1 else "▶") + "█" * cells if cells else "|"
    ahead = "green" if agent >= (oracle or 1) else "yellow" if agent >= 1 else "red"
    expert = "no expert" if oracle is None else f"expert {oracle:.3g}x"
    share = "" if node.valid == node.size else f", {node.valid} of {node.size} valid"
    return Text.assemble(f"{agent:.3g}x ({expert}{share}) ", (bar, ahead))
