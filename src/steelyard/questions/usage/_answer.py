"""Answer of `usage`: tokens and cost by day, model, agent, project or session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import ClassVar, Literal

import msgspec

from steelyard.formatting import exact_dollars, quantity
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._run_input import LogLocation
from steelyard.records import TOKEN_KINDS, TOO_LARGE, Finding, Zone, zone_of

BudgetStatus = Literal["pass", "fail", "inconclusive"]
STATUS: dict[BudgetStatus, int] = {"pass": 0, "fail": 3, "inconclusive": 4}
"""The exit status of each result."""


class UsageCount(Part, frozen=True, kw_only=True):
    """Usage of a group. A sum that no call reports is None, never 0."""

    key: dict[str, str | None] = {}  # noqa: RUF012 # msgspec copies it
    """Values of the grouping keys; None if a run or call does not report one. The total has no key."""
    runs: int = 0
    """Number of runs with a call in the group; a run with calls on two days is counted on both."""
    calls: int | None = 0
    """Number of model calls; None if no run lists its calls."""
    tokens: dict[str, int | None] = msgspec.field(default_factory=lambda: dict.fromkeys(TOKEN_KINDS))
    """Tokens by kind; None for a kind that is not reported."""
    total_tokens: int | None = None
    """All tokens, including totals that are not reported by kind."""
    cost_usd: float | None = None
    """Known cost; None if nothing is known."""
    lower_bound: bool = False
    """Whether the cost is a lower bound: part of it is unknown or known to be too low, or records were rejected."""
    lower_bound_runs: int = 0
    """Number of runs whose own cost is known to be too low."""
    unpriced_calls: int = 0
    """Number of calls with tokens that have no price, in runs that report no cost."""
    unpriced_runs: int = 0
    """Number of runs with tokens that have no price, and that report no cost."""
    runs_without_usage: int = 0
    """Number of runs that report neither tokens nor a cost."""
    reason: str | None = None
    """Reason for an unknown cost."""


class DayCost(Part, frozen=True, kw_only=True):
    """Cost of one series, such as a model, on one day."""

    day: date
    series: str | None
    cost_usd: float | None
    """None if something was used and its cost is unknown."""


class RunCost(Part, frozen=True, kw_only=True):
    """Number of runs with about the same cost."""

    cost_usd: float | None
    """Cost of a run, to three significant digits if there are more than 1,000 different costs; None if unknown."""
    runs: int


class UsageBudget(Part, frozen=True, kw_only=True):
    """Limit on the total cost."""

    usd: float
    status: BudgetStatus
    """`inconclusive`: the known cost is within the budget, but part of the cost is unknown."""

    @property
    def sentence(self) -> str:
        """The status in one sentence."""
        verdicts = {
            "pass": "within budget",
            "fail": "over budget",
            "inconclusive": "inconclusive; the known cost is within budget, but part of the cost is unknown",
        }
        return f"Budget {exact_dollars(self.usd)}: {verdicts[self.status]}."


class UsageSummary(Answer, frozen=True, kw_only=True):
    """Tokens and cost of runs, by time and other keys."""

    rows: ClassVar[Rows] = Rows("groups")
    by: tuple[str, ...]
    tz: str
    """Time zone of days."""
    since: str | None
    until: str | None
    prices: str
    """Price table."""
    groups: tuple[UsageCount, ...]
    """In the order of the keys; if none of them is a time, the most expensive first."""
    total: UsageCount
    unpriced_models: tuple[str, ...]
    """Models whose tokens have no price."""
    first_day: date | None
    """Day of the first call in the time range."""
    last_day: date | None
    runs_outside: int = 0
    """Number of runs without a call in the time range."""
    last_day_before: date | None = None
    """Last day on which they have a call before it."""
    first_day_after: date | None = None
    """First day on which they have a call after it."""
    summary: str = ""
    """The total and its completeness in one sentence."""
    budget: UsageBudget | None = None
    searched_paths: tuple[LogLocation, ...] = ()
    """Where logs were searched for, if no path was given."""
    series_by: str
    """Key by which `days` splits costs."""
    days: tuple[DayCost, ...]
    run_costs: tuple[RunCost, ...]
    """Distribution of the cost of a run, in rising order; an unknown cost is last."""
    rejected_count: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def about(self) -> str:
        """The summary without its full stop."""
        return self.summary.removesuffix(".")

    @property
    def exit_status(self) -> int:
        """Exit status: 0 within budget, 3 over budget, 4 inconclusive."""
        return 0 if self.budget is None else STATUS[self.budget.status]


def summary_of(answer: UsageSummary) -> str:
    """Return the total and its completeness in one sentence."""
    doubts = list(_doubts(answer))
    if not answer.total.runs and answer.runs_outside:
        outside = "; ".join([f"{_many(answer.runs_outside, 'run')}, {_outside(answer)}", *doubts])
        return f"{_amount(answer)} in the requested time range: {outside}."
    head = ", ".join([_amount(answer), f"{_many(answer.total.runs, 'run')}", *_calls(answer), *_period(answer)])
    return f"{head}: {'; '.join(doubts)}." if doubts else f"{head}."


def _amount(answer: UsageSummary) -> str:
    used = answer.total
    if used.cost_usd is None:
        return f"No total cost ({used.reason})" if used.reason == TOO_LARGE else "Cost unknown"
    return f"{'At least ' if used.lower_bound else ''}{quantity(used.cost_usd, 'USD')}"


def _calls(answer: UsageSummary) -> list[str]:
    calls = answer.total.calls
    return [] if calls is None else [_many(calls, "call")]


def _period(answer: UsageSummary) -> list[str]:
    if answer.first_day is None or answer.last_day is None:
        return []
    return [
        f"{answer.first_day}" if answer.first_day == answer.last_day else f"{answer.first_day} to {answer.last_day}"
    ]


def _outside(answer: UsageSummary) -> str:
    """When the runs happened, if none of them has a call in the requested period."""
    zone = zone_of(answer.tz)
    before = "" if answer.since is None else f"before {_day_or_time(datetime.fromisoformat(answer.since), zone)}"
    after = "" if answer.until is None else f"after {_last_in(datetime.fromisoformat(answer.until), zone)}"
    if answer.first_day_after is None:
        return f"all {before}; the last on {answer.last_day_before}"
    if answer.last_day_before is None:
        return f"all {after}; the first on {answer.first_day_after}"
    days = f"the nearest on {answer.last_day_before} and {answer.first_day_after}"
    return f"all {before} or {after}; {days}"


def _doubts(answer: UsageSummary) -> Sequence[str]:
    used, doubts = answer.total, []
    if used.lower_bound_runs:
        are = "is a lower bound" if used.lower_bound_runs == 1 else "are lower bounds"
        doubts.append(f"{used.lower_bound_runs:,} of {_many(used.runs, 'run')} {are}")
    if answer.unpriced_models:
        models = _many(len(answer.unpriced_models), "model")
        doubts.append(f"{models} without a price ({', '.join(answer.unpriced_models)})")
    elif used.unpriced_runs:
        doubts.append(f"{_many(used.unpriced_runs, 'run')} without a price")
    if used.runs_without_usage:
        doubts.append(f"{_many(used.runs_without_usage, 'run')} without tokens or cost")
    if answer.rejected_count:
        doubts.append(f"{_many(answer.rejected_count, 'record')} rejected")
    return doubts


def _day_or_time(at: datetime, zone: Zone) -> str:
    """A day where the time is its beginning, as most people ask for days."""
    local = at.astimezone(zone)
    return str(local.date()) if local.time() == time() else f"{local:%Y-%m-%d %H:%M}"


def _last_in(end: datetime, zone: Zone) -> str:
    """The last day before the end, where a day ends there."""
    local = end.astimezone(zone)
    return str(local.date() - timedelta(days=1)) if local.time() == time() else f"{local:%Y-%m-%d %H:%M}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
