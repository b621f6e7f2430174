"""Page of speedups of agents over the unchanged code and the reference solution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.formatting import counted, decimal_bounds, interval_name, percent
from steelyard.metrics import catalog
from steelyard.pages import DASH, Column, Page, PageTable, text_column, with_figures
from steelyard.reports._speedups import speedup_sentence
from steelyard.results import SpeedupResult

SUMMED = ("mean_speedup", "agent_advantage", "accuracy", "mean_cost_per_task", "mean_trajectory_length")


def speedup_page(result: SpeedupResult) -> Page:
    """Return the page with one row per agent."""
    made = f"{counted(len(result.attempts), 'attempt')} on {counted(len(result.coverage), 'task')}"
    unscored = "counted as failed" if result.unscored == "fail" else "excluded"
    page = Page(
        name="speedup",
        title="What got faster or slower?",
        answer=speedup_sentence(result),
        table=PageTable(caption=made, columns=tuple(_columns(result))),
        facts=(
            ("attempts", made),
            ("interval", "of the mean log advantage, clustered by task"),
            ("attempts without a verdict", unscored),
            ("profile", result.profile),
        ),
    )
    return with_figures(page, result, ("waterfall", "dots"))


def _columns(result: SpeedupResult) -> Iterator[Column]:
    agents = list(result.summaries)
    yield text_column("agent", "agent", agents)
    for name in SUMMED[:2]:
        yield _summed(result, name)
    intervals = [result.overall[key]["log_advantage_interval"] for key in agents]
    logs = [result.overall[key]["mean_log_advantage"] for key in agents]
    yield Column(name="mean_log_advantage", title=_title("mean_log_advantage"), values=logs, decimals=3)
    texts = [_ends(interval) for interval in intervals]
    lows = [interval["low"] for interval in intervals]
    level = next((interval["confidence"] for interval in intervals if interval["low"] is not None), 0.95)
    yield Column(name="interval", title=interval_name(level), values=lows, decimals=6, texts=texts)
    for name in SUMMED[2:]:
        yield _summed(result, name)


def _title(name: str) -> str:
    return catalog()[name].title.lower() if name in catalog() else name.replace("_", " ")


def _ends(interval: Mapping[str, Any]) -> str:  # Any: numbers, text and nulls
    label = (
        f", ~{percent(interval['approx_coverage'], decimals=0)} actual coverage"
        if "approx_coverage" in interval
        else ""
    )
    ends = decimal_bounds(interval["low"], interval["high"], decimals=3, signed=True)
    return ends if interval["low"] is None else f"{ends}{label}"


def _summed(result: SpeedupResult, name: str) -> Column:
    """Return a metric per agent, with its number of tasks if some tasks lack it."""
    values, texts = [], []
    for summary in result.summaries.values():
        value, count = summary.fields[name], summary.counts[name]
        values.append(value)
        of = "" if count["n"] == count["of"] else f" ({count['n']:,} of {count['of']:,})"
        texts.append(DASH if value is None else f"{value:,.3f}{of}")
    return Column(name=name, title=_title(name), values=values, decimals=6, texts=texts)
