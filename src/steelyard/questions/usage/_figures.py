"""Figures of usage: cost per day, cost per run, tokens by kind."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.figures import Axis, DayAmount, Figure, StackedRow, days, histogram, stacked
from steelyard.formatting import counted
from steelyard.records import TOKEN_KINDS, key_text

if TYPE_CHECKING:
    from steelyard.questions.usage._answer import UsageSummary

MAX_SERIES = 5
"""Maximum number of models, agents or projects with a series of their own; the rest are one."""
REST = "others"
FIVE_WEEKS = 35
"""Up to this many days are drawn one by one on request; a report groups by month and stays small."""


def usage_days(result: UsageSummary, width: int) -> Figure:
    """What each day cost, stacked by the first key that is no time."""
    if not any(each.cost_usd for each in result.days):
        raise UsageError("no day has a known cost", hint="use the tokens figure")
    sums: defaultdict[str, float] = defaultdict(float)
    for each in result.days:
        sums[key_text(each.series)] += each.cost_usd or 0.0
    ranked = sorted(sums, key=lambda name: (-sums[name], name))
    shown = ranked if len(ranked) <= MAX_SERIES + 1 else ranked[:MAX_SERIES]
    kinds = [*shown, *([REST] if len(shown) < len(ranked) else [])]
    amounts = [
        DayAmount(each.day, each.cost_usd, kind=series if (series := key_text(each.series)) in shown else REST)
        for each in result.days
    ]
    return days(
        amounts,
        title="Cost",
        by=result.series_by,
        axis=Axis(title="Cost, USD", unit="USD"),
        kinds=kinds,
        by_day_up_to=FIVE_WEEKS if "day" in result.by else 0,
        zone=result.tz,
        note=result.about,
        width=width,
    )


def usage_run_costs(result: UsageSummary, width: int) -> Figure:
    """Distribution of costs per run."""
    costs = [each.cost_usd for each in result.run_costs for _ in range(each.runs)]
    if not any(costs):
        raise UsageError("no run has a known cost", hint="use the tokens figure")
    note = "lower bounds included" if result.total.lower_bound else ""
    axis = Axis(title="Cost of a run, USD", unit="USD", low=0)
    return histogram(costs, title="Cost of each run", axis=axis, note=note, width=width)


def usage_tokens(result: UsageSummary, width: int) -> Figure:
    """Tokens by kind of each group."""
    if not result.total.total_tokens:
        raise UsageError("no tokens are known", hint="see: steelyard completeness")
    names = {kind: kind.removesuffix("_tokens").replace("_", " ") for kind in TOKEN_KINDS}
    rows = [
        StackedRow(
            " / ".join(key_text(value) for value in group.key.values()) or "all runs",
            {name: group.tokens[kind] or 0 for kind, name in names.items()},
            f"{counted(group.runs, 'run')}",
            "" if group.total_tokens is not None else "unknown",
        )
        for group in result.groups
    ]
    title = f"Tokens by {', '.join(result.by) or 'kind'}"
    axis = Axis(title="Tokens", unit="tokens")
    return stacked(rows, kinds=tuple(names.values()), title=title, axis=axis, width=width)


DRAWINGS = {"days": usage_days, "costs": usage_run_costs, "tokens": usage_tokens}
"""Figures of the answer, the default first."""
