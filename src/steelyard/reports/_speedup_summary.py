"""Terminal table of the speedup specification's metrics per agent, over tasks."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.formatting import quantity
from steelyard.metrics import catalog
from steelyard.pages import DASH, TextTable, add_row, number_text, plain_table
from steelyard.results import SpeedupResult

OVER_TASKS = (
    "mean_success_rate",
    "agent_advantage_level1",
    "agent_advantage_level2",
    "agent_advantage_level3",
    "agent_advantage_level4",
    "total_cost",
    "cost_weighted_advantage",
)
"""Metrics shown in addition to the first table."""
SPARED = {"agent_advantage_level1": 2, "agent_advantage_level2": 4, "agent_advantage_level3": 4}
"""Columns that a narrow terminal drops, the highest number first."""
MAX_TRIES = 5
"""The largest k of pass@k that is shown."""


def speedup_summary_table(result: SpeedupResult) -> TextTable:
    """Return the table with one row per agent: success, advantages by level, cost, and pass@k."""
    table = plain_table("Over tasks: success, advantage by level, cost, pass@k")
    table.add_column("agent")
    # Without a reference solution there are no advantages.
    compared = any(summary.fields["agent_advantage"] is not None for summary in result.summaries.values())
    known = [name for name in OVER_TASKS if compared or "advantage" not in name]
    for name in known:
        table.add_column(catalog()[name].heading(), justify="right", spare=SPARED.get(name, 0))
    passes = {key: summary.fields["pass@k"] or {} for key, summary in result.summaries.items()}
    tries = sorted({int(k) for estimates in passes.values() for k in estimates})[:MAX_TRIES]
    for k in tries:
        table.add_column(f"pass@{k}\n↑", justify="right", spare=0 if k == 1 else 2)
    for key, summary in result.summaries.items():
        cells = [_figure(name, summary.fields[name], summary.counts.get(name)) for name in known]
        shares = [passes[key].get(str(k)) for k in tries]
        add_row(table, key, *cells, *(DASH if share is None else quantity(share, "fraction") for share in shares))
    return table


def _figure(name: str, value: float | None, count: Mapping[str, int] | None) -> str:
    """Return the number, with the number of tasks below it if some tasks lack it."""
    if value is None:
        return DASH
    text = number_text(value, catalog()[name].unit)
    return text if count is None or count["n"] == count["of"] else f"{text}\n({count['n']} of {count['of']})"
