"""Speedups for people: a table of agents, a tree of benchmarks with bars, and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from steelyard.metrics import catalog
from steelyard.reports._plain_text import clean
from steelyard.reports._terminal_tables import add_row

Fields = Mapping[str, Any]  # Any: JSON values, as `steelyard speedup --json` prints them

DASH = "-"
BAR = 20
"""Cells of the longest bar to either side of 1x."""
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def speedup_tables(result: Fields) -> Iterator[Table]:
    """The table of each task with one row an agent, and over tasks a table of agents."""
    if "agents" in result:
        yield _task_table(f"one task, profile {result['profile']}", result)
        return
    yield _overall_table(result)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold", pad_edge=False)


def _heading(name: str) -> str:
    declared = catalog()[name]
    return f"{declared.title}\n{ARROWS[declared.better]}".rstrip()


_TASK_COLUMNS = (
    ("task_speedup", "agents"),
    ("agent_advantage", "agents"),
    ("agent_advantage_level1", "agents"),
    ("agent_advantage_level2", "agents"),
    ("agent_advantage_level3", "agents"),
    ("log_advantage", "measures"),
    ("speedup_ratio_gmean", "measures"),
    ("worst_speedup", "measures"),
    ("significant_regressions", "measures"),
)


def _task_table(title: str, result: Fields) -> Table:
    table = _table(title)
    table.add_column("agent", no_wrap=True)
    table.add_column("valid", justify="right")
    table.add_column("success")
    for name, _ in _TASK_COLUMNS:
        table.add_column(_heading(name), justify="right")
    table.add_column("cost\nUSD ↓", justify="right")
    for key, payload in result["agents"].items():
        counts = f"{payload['num_valid_benchmarks']} of {payload['num_benchmarks']}"
        shown = [_number(result[part][key][name]) for name, part in _TASK_COLUMNS]
        add_row(table, key, counts, _flag(payload["success"]), *shown, _number(payload["task_cost_usd"]))
    return table


def _overall_table(result: Fields) -> Table:
    attempts = sum(n for agents in result["coverage"].values() for n in agents.values())
    table = _table(f"{attempts:,} attempts at {len(result['coverage']):,} tasks, profile {result['profile']}")
    table.add_column("agent", no_wrap=True)
    table.add_column("tasks", justify="right")
    table.add_column("valid", justify="right")
    for name in ("mean_speedup", "agent_advantage", "mean_log_advantage"):
        table.add_column(_heading(name), justify="right")
    table.add_column("interval", justify="center", no_wrap=True)
    for name in ("accuracy", "mean_cost_per_task", "mean_trajectory_length"):
        table.add_column(_heading(name), justify="right")
    table.add_column("on cost\nfront")
    for key, summary in result["summary"].items():
        ours, counts = result["overall"][key], result["summary_counts"][key]
        interval = ours["log_advantage_interval"]
        ends = DASH if interval["low"] is None else f"{interval['low']:+.3f} to {interval['high']:+.3f}"
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


def _share(count: Fields) -> str:
    return f"{count['n']} of {count['of']}"


def _counted(value: float | None, count: Fields) -> str:
    """The number, and below it from how many tasks it was made where that is not all of them."""
    partly = value is not None and count["n"] < count["of"]
    return f"{_number(value)}\n({_share(count)})" if partly else _number(value)


def _flag(value: bool | None) -> str:
    return {True: "yes", False: "no", None: DASH}[value]


def benchmark_tree(title: str, root: Fields) -> Tree:
    """The benchmarks by module, class and function, with bars on a log scale: to the right faster, left slower."""
    longest = max((abs(math.log(value)) for value in _speedups(root)), default=0.0)
    tree = Tree(Text.assemble((clean(title), "bold"), "  ", _line(root, longest)))
    _grow(tree, root, longest)
    return tree


def _speedups(node: Fields) -> Iterator[float]:
    if node["agent"] is not None:
        yield node["agent"]
    for child in node.get("children", ()):
        yield from _speedups(child)


def _grow(tree: Tree, node: Fields, longest: float) -> None:
    for child in node.get("children", ()):
        _grow(tree.add(Text.assemble(clean(child["label"]), "  ", _line(child, longest))), child, longest)


def _line(node: Fields, longest: float) -> Text:
    agent, oracle = node["agent"], node["oracle"]
    if agent is None:
        return Text(f"no valid benchmark of {node['size']}", style="dim")
    cells = round(abs(math.log(agent)) / longest * BAR) if longest > 0 else 0
    bar = ("◀" if agent < 1 else "▶") + "█" * cells if cells else "|"
    ahead = "green" if agent >= oracle else "yellow" if agent >= 1 else "red"
    share = "" if node["valid"] == node["size"] else f", {node['valid']} of {node['size']} valid"
    return Text.assemble(f"{agent:.3g}x (expert {oracle:.3g}x{share}) ", (bar, ahead))


def speedup_csv(result: Fields, *, benchmarks: bool = False) -> str:
    """One line an attempt, or with `benchmarks` one line a benchmark; missing values are empty cells."""
    rows = speedup_rows(result, benchmarks=benchmarks)
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def speedup_rows(result: Fields, *, benchmarks: bool = False) -> list[dict[str, Any]]:
    """One flat row an attempt, or with `benchmarks` one a benchmark; None where a value is missing."""
    return list(_benchmark_rows(result) if benchmarks else _attempt_rows(result))


def _tasks(result: Fields) -> Mapping[str, Fields]:
    tasks: Mapping[str, Fields] = result["tasks"] if "tasks" in result else {next(iter(result["coverage"])): result}
    return tasks


def _attempt_rows(result: Fields) -> Iterator[dict[str, Any]]:
    for task, parts in _tasks(result).items():
        for key, payload in parts["agents"].items():
            fields = payload | parts["measures"][key]
            plain = {name: value for name, value in fields.items() if name not in _NESTED}
            yield {"profile": result["profile"], "task": task, "agent": key, **plain}


_NESTED = frozenset(
    {"per_benchmark_speedups", "pytest_summary", "snapshot_summary", "benchmarks", "missing", "advantage_by_level"}
)


def _benchmark_rows(result: Fields) -> Iterator[dict[str, Any]]:
    for task, parts in _tasks(result).items():
        for key, payload in parts["agents"].items():
            sure = parts["measures"][key]["benchmarks"]
            for name, speedups in payload["per_benchmark_speedups"].items():
                yield (
                    {"profile": result["profile"], "task": task, "agent": key, "benchmark": name}
                    | speedups
                    | sure.get(name, {})
                )
