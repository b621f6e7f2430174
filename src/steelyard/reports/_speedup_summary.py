"""What the specification of speedup asks of each agent over its tasks, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.formatting import quantity
from steelyard.metrics import catalog
from steelyard.reports._measurement_tables import heading
from steelyard.reports._plain_text import DASH, number_text
from steelyard.reports._terminal_tables import TextTable, add_row, plain_table
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
"""What of the summary is shown, besides what the first table has."""
SPARED = {"agent_advantage_level1": 2, "agent_advantage_level2": 4, "agent_advantage_level3": 4}
"""What leaves a narrow terminal first; what is absent here stays longest."""
MAX_TRIES = 5
"""The largest k of pass@k that is shown."""


def speedup_summary_table(result: SpeedupResult) -> TextTable:
    """One row an agent: success, advantages by level, cost, and pass@k for each k that all its tasks allow."""
    table = plain_table("Over tasks: success, advantage by level, cost, pass@k")
    table.add_column("agent")
    # without an expert there are no advantages to show
    compared = any(summary.fields["agent_advantage"] is not None for summary in result.summaries.values())
    known = [name for name in OVER_TASKS if compared or "advantage" not in name]
    for name in known:
        table.add_column(heading(name), justify="right", spare=SPARED.get(name, 0))
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
    """The number, and below it from how many it was made where that is not all of them."""
    if value is None:
        return DASH
    text = number_text(value, catalog()[name].unit)
    return text if count is None or count["n"] == count["of"] else f"{text}\n({count['n']} of {count['of']})"
