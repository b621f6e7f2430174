"""Compute metrics per group, with optional confidence intervals.

Confidence intervals are added if you choose an interval method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard import statistics
from steelyard.errors import UsageError
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.questions import analysis
from steelyard.questions._expected_tasks import with_expected_tasks
from steelyard.questions._figure_options import CONFIDENCE, MeasureOptions
from steelyard.questions._measured_tables import open_table, usual_metrics
from steelyard.questions._question import question
from steelyard.questions._run_input import Measurable
from steelyard.questions.measure._answer import (
    FIGURES as FIGURES,
    OF_COMPONENT as OF_COMPONENT,
    ComponentUsage as ComponentUsage,
    Group as Group,
    GroupValue as GroupValue,
    Measurement as Measurement,
    Statistics as Statistics,
    TierComparison as TierComparison,
)
from steelyard.questions.measure._page import cell_numbers as cell_numbers, cell_text as cell_text, page as page
from steelyard.records import key_named

MEASURED = frozenset({"run", "group", "component", "across"})
"""The levels of the metrics that are made from a table of runs."""

BASED = "tier_uplift"
"""The metric that takes a base tier."""
ALL = "all"
"""Word that adds all other metrics to the requested ones."""


@question(
    MeasureOptions,
    all_parts="Show every statistic of every metric.",
    examples=({"by": "tier"}, {"by": "tier", "interval": "auto"}),
)
def measure(runs: Measurable, options: MeasureOptions) -> Measurement:
    """Compute metrics per group.

    >>> import steelyard as sy
    >>> measured = sy.measure(sy.demo_runs(), by=["tier"])
    >>> measured
    Measurement(1,400 runs in 7 groups by tier, profile outcome-1)
    >>> round(measured.groups[0].metrics["pass_rate"].mean, 4)
    0.505
    """
    from steelyard.questions.measure._assembly import assemble  # brings numpy and Polars

    keys = checked_keys(options.by)
    profile = options.outcome_profile()
    requested = tuple(catalog().named(name) for name in options.metrics if name != ALL) or usual_metrics(runs)
    for name in requested:
        if not (declared := catalog()[name]).is_of_rows and declared.level not in MEASURED:
            message = f"{name} is a single value over all tasks; measure does not compute it"
            raise UsageError(message, hint=f"use steelyard {declared.spec}")
    _check_across(keys, options.metrics, options.base_tier)
    _check_intervals(options)
    table = with_expected_tasks(open_table(runs, requested, options, keys=keys), options.tasks, keys)
    return assemble(
        table,
        by=keys,
        profile=profile,
        requested=requested,
        names=_metrics_of(table.rows) if ALL in options.metrics else requested,
        base_tier=options.base_tier,
        interval=options.interval,
        level=options.confidence,
        weight_by=options.weight_by,
    )


def _metrics_of(rows: str) -> list[str]:
    """Return all metrics of a table of runs, prompts, attempts, benchmarks or submissions."""
    return [
        metric.name
        for metric in catalog().values()
        if (metric.level in MEASURED if rows == "run" else metric.is_of_rows and metric.row == rows)
    ]


def _check_across(keys: Sequence[str], metrics: Sequence[str], base_tier: str | None) -> None:
    """Reject metrics and options that compare tiers unless groups are by tier."""
    across = [name for name in metrics if name != ALL and catalog()[catalog().named(name)].level == "across"]
    if across and "tier" not in keys:
        raise UsageError(f"{across[0]} compares tiers", hint=option("by", "tier"))
    if base_tier is None:
        return
    if "tier" not in keys:
        raise UsageError(f"{option('base_tier')} needs groups by tier", hint=option("by", "tier"))
    if metrics and not {BASED, ALL} & {*metrics}:
        message = f"{option('base_tier')} applies only to {BASED}, which is not in {option('metrics')}"
        raise UsageError(message, hint=option("metrics", BASED))


def _check_intervals(options: MeasureOptions) -> None:
    """Reject an unknown method, and a confidence level that no interval would use."""
    if (options.interval, options.confidence) == ("none", CONFIDENCE):
        return
    statistics.check_level(options.confidence)
    if options.interval == "none":
        hint = f"{option('interval', 'auto')} {option('confidence', f'{options.confidence:g}')}"
        raise UsageError(f"{option('confidence')} needs an interval method", hint=hint)
    analysis.check_method(options.interval)


def checked_keys(by: Sequence[str]) -> list[str]:
    """Return the grouping keys, validated."""
    keys = [key_named(name, what="grouping key") for name in by]
    if len(set(keys)) != len(keys):
        raise UsageError(f"duplicate key in {option('by')}")
    return keys
