"""Figures of a measurement: groups with their intervals, quality and cost, tokens by kind and component."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard import statistics
from steelyard.errors import UsageError
from steelyard.figures import Axis, Estimate, Figure, PricedEstimate, StackedRow, dots, pareto, stacked
from steelyard.formatting import counted
from steelyard.metrics import Metric, catalog
from steelyard.option_names import option
from steelyard.pages import DRAWN_TOKENS, confidence_text, key_name, metric_axis
from steelyard.questions.measure._answer import OF_COMPONENT, Group, GroupValue, Measurement, Statistics
from steelyard.questions.measure._page import overview_of

if TYPE_CHECKING:
    from steelyard.statistics import Interval

TOKEN_KINDS = {kind: f"total_{field}" for kind, field in DRAWN_TOKENS.items()}


def group_dots(result: Measurement, width: int) -> Figure:
    """The first metric that was asked for, else of the overview, of each group."""
    metric = _main_metric(result)
    rows, intervals = [], []
    for group in result.groups:
        value, interval, note = _figure_of(group, metric)
        intervals += [] if interval is None else [interval]
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        label = key_name(group.key, result.tier_scheme)
        rows.append(Estimate(label=label, value=value, low=low, high=high, note=note))
    level = (
        "no intervals were requested" if result.interval == "none" else confidence_text(result.confidence, intervals)
    )
    note = f"{metric.figure if metric.level == 'run' else 'whole group'} of each group; {level}; {_measured(result)}"
    return dots(rows, title=f"{metric.title}{_by(result)}", axis=metric_axis(metric), note=note, width=width)


def group_pareto(result: Measurement, width: int) -> Figure:
    """Mean quality against mean cost of each group."""
    quality, cost = _main_metric(result), catalog()["cost_usd"]
    if quality.better != "higher" or quality.level != "run" or any(cost.name not in g.metrics for g in result.groups):
        hint = "measure pass_rate and cost_usd"
        raise UsageError("a Pareto figure needs cost_usd and a per-run metric for which higher is better", hint=hint)
    values = [_mean(group, quality.name) for group in result.groups]
    costs = [_mean(group, cost.name) for group in result.groups]
    pairs = {i: pair for i, pair in enumerate(zip(values, costs, strict=True)) if None not in pair}
    front = statistics.pareto_optimal(*([pair[side] or 0.0 for pair in pairs.values()] for side in (0, 1))).tolist()
    is_pareto_optimal: dict[int, bool] = dict(zip(pairs, front, strict=True))
    points = []
    for i, group in enumerate(result.groups):
        ends = [_mean_interval(group, name) for name in (quality.name, cost.name)]
        points.append(
            PricedEstimate(
                label=key_name(group.key, result.tier_scheme),
                value=values[i],
                low=ends[0][0],
                high=ends[0][1],
                cost=costs[i],
                cost_low=ends[1][0],
                cost_high=ends[1][1],
                pareto_optimal=is_pareto_optimal.get(i),
                note=counted(group.n, "run"),
            )
        )
    axis = Axis(title="Mean cost, USD", unit="USD", low=0, log=True)
    title = f"{quality.title} and cost{_by(result)}"
    note = f"means; filled: on the frontier; {_measured(result)}"
    return pareto(points, title=title, quality=metric_axis(quality), cost=axis, note=note, width=width)


def group_tokens(result: Measurement, width: int) -> Figure:
    """Tokens by kind of each group."""
    if not result.groups or any(name not in result.groups[0].metrics for name in TOKEN_KINDS.values()):
        raise UsageError("tokens by kind were not measured", hint=f"omit {option('metrics')}")
    rows = []
    for group in result.groups:
        values = {kind: group.metrics[name] for kind, name in TOKEN_KINDS.items()}
        parts = {kind: value.value for kind, value in values.items() if isinstance(value, GroupValue)}
        is_partial = any(isinstance(value, GroupValue) and value.at_least for value in values.values())
        note = counted(group.n, "run") + ("; lower bound: some runs do not report it" if is_partial else "")
        rows.append(StackedRow(key_name(group.key, result.tier_scheme), parts, note))
    return stacked(
        rows,
        kinds=tuple(TOKEN_KINDS),
        title=f"Tokens by kind{_by(result)}",
        axis=Axis(title="Tokens of all runs", unit="tokens"),
        note=_measured(result),
        width=width,
    )


def group_components(result: Measurement, width: int) -> Figure:
    """Tokens by component of each group."""
    names = list(dict.fromkeys(name for group in result.groups for name in group.components))
    kinds = [name for name in names if any(_component(group, name) for group in result.groups)]
    if not kinds:
        raise UsageError("no run reports tokens by component", hint="use the tokens figure, which shows tokens by kind")
    rows = [
        StackedRow(key_name(group.key, result.tier_scheme), {kind: _component(group, kind) or 0.0 for kind in kinds})
        for group in result.groups
    ]
    axis = Axis(title="Tokens of all runs", unit="tokens")
    title = f"Tokens by component{_by(result)}"
    return stacked(rows, kinds=kinds, title=title, axis=axis, note=_measured(result), width=width)


def _component(group: Group, name: str) -> float | None:
    return group.components[name].tokens if name in group.components else None


def _main_metric(result: Measurement) -> Metric:
    """Return the first metric with a value per group: of those requested, else of the overview."""
    metrics = overview_of(result)
    if not metrics:
        names = ", ".join(result.metrics_requested)
        only_components = all(name in OF_COMPONENT for name in result.metrics_requested)
        hint = "use the components figure" if only_components else "measure pass_rate too"
        raise UsageError(f"no value per group to draw: {names}", hint=hint)
    return metrics[0]


def _figure_of(group: Group, metric: Metric) -> tuple[float | None, Interval | None, str]:
    value = group.metrics[metric.name]
    if isinstance(value, GroupValue):
        known = group.n - value.missing
        return value.value, value.interval, value.reason or f"{known:,} of {group.n:,} runs"
    number = getattr(value, metric.figure)
    why = value.reason if number is None and value.reason else f"{value.count:,} of {group.n:,} runs"
    return number, value.intervals.get(metric.figure), why


def _mean(group: Group, name: str) -> float | None:
    value = group.metrics[name]
    return value.mean if isinstance(value, Statistics) else None


def _mean_interval(group: Group, name: str) -> tuple[float | None, float | None]:
    value = group.metrics[name]
    interval = value.intervals.get("mean") if isinstance(value, Statistics) else None
    return (None, None) if interval is None else (interval.low, interval.high)


def _by(result: Measurement) -> str:
    return f" by {', '.join(result.by)}" if result.by else ""


def _measured(result: Measurement) -> str:
    return f"{counted(result.n, 'run')}, weighted by {result.weight_by}, profile {result.profile}"


DRAWINGS = {"dots": group_dots, "pareto": group_pareto, "tokens": group_tokens, "components": group_components}
"""Figures of the answer, the default first."""
