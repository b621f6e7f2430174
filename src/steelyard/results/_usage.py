"""What `usage` gives: tokens and dollars by day, model, agent, project or session, and how sure the total is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

from steelyard.formatting import quantity
from steelyard.records import TOKEN_KINDS, Finding, Zone, finding_dict, zone_of
from steelyard.results._base import Result

BudgetStatus = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCount:
    """Usage of a group. A sum that no call reports is None, never 0."""

    runs: int = 0
    """Runs with a call in the group; one that worked on two days is counted on both."""
    calls: int | None = 0
    """Model calls; None where no run lists its calls."""
    tokens: Mapping[str, int | None] = field(default_factory=lambda: dict.fromkeys(TOKEN_KINDS))
    """Tokens by kind; None for a kind that nothing states."""
    total_tokens: int | None = None
    """All tokens together, totals that state no kinds included."""
    cost_usd: float | None = None
    """What is known of the cost; None where nothing is."""
    lower_bound: bool = False
    """Whether the true cost may be higher: a part of it is unknown or known to be too low, or records were rejected."""
    lower_bound_runs: int = 0
    """Runs whose own cost is known to be too low."""
    unpriced_calls: int = 0
    """Calls with tokens that have no price, in runs that state no cost."""
    unpriced_runs: int = 0
    """Runs with tokens that have no price, and that state no cost."""
    runs_without_usage: int = 0
    """Runs that state neither tokens nor a cost."""

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """Return the counts for `--json`, with the reason if the cost is unknown."""
        counts = {name: getattr(self, name) for name in self.__slots__} | {"tokens": dict(self.tokens)}
        if self.cost_usd is None:
            counts["reason"] = "the tokens have no price" if self.unpriced_runs else "no tokens reported"
        return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageGroup:
    """What one group used."""

    key: Mapping[str, str | None]
    """The group's values by key; None if a run or call does not report one."""
    used: UsageCount


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCost:
    """What one series, such as a model, cost on one day."""

    day: date
    series: str | None
    cost_usd: float | None
    """None where something was used and nothing is known of its cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLocation:
    """A place where an installed agent would keep its logs."""

    tool: str
    path: str
    exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A limit on the total, and whether it holds."""

    usd: float
    status: BudgetStatus
    """`inconclusive`: what is known stays within the budget, and the rest is unknown."""


@dataclass(frozen=True, kw_only=True, repr=False)
class UsageSummary(Result):
    """Tokens and dollars of runs, summed by when and by what."""

    by: tuple[str, ...]
    groups: tuple[UsageGroup, ...]
    """Ordered by key; where no time is among the keys, the most expensive first."""
    total: UsageCount
    unpriced_models: tuple[str, ...]
    """Models whose tokens have no price."""
    first_day: date | None
    """The day of the first call that counts."""
    last_day: date | None
    series_by: str
    """The key that splits costs over days."""
    days: tuple[DayCost, ...]
    run_costs: tuple[float | None, ...]
    """The known cost of each run within the asked-for time, in rising order; None where nothing is known."""
    tz: str
    """The time zone of days."""
    since: str | None
    until: str | None
    prices: str
    """Price table."""
    runs_outside: int = 0
    """Runs without a call in the asked-for time."""
    last_day_before: date | None = None
    """The last day on which they have a call before it."""
    first_day_after: date | None = None
    """The first day on which they have a call after it."""
    budget: Budget | None = None
    searched_paths: tuple[LogLocation, ...] = ()
    """Where logs were looked for, when no path was given."""
    rejected_count: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def sentence(self) -> str:
        """The total and how sure it is, in one sentence."""
        doubts = list(self._doubts())
        if not self.total.runs and self.runs_outside:
            outside = "; ".join([f"{_many(self.runs_outside, 'run')}, {self._outside}", *doubts])
            return f"{self._amount} in the requested time range: {outside}."
        head = ", ".join([self._amount, f"{_many(self.total.runs, 'run')}", *self._calls, *self._period])
        return f"{head}: {'; '.join(doubts)}." if doubts else f"{head}."

    @property
    def _amount(self) -> str:
        used = self.total
        if used.cost_usd is None:
            return "Cost unknown"
        return f"{'At least ' if used.lower_bound else ''}{quantity(used.cost_usd, 'USD')}"

    @property
    def _calls(self) -> list[str]:
        calls = self.total.calls
        return [] if calls is None else [_many(calls, "call")]

    @property
    def _period(self) -> list[str]:
        if self.first_day is None or self.last_day is None:
            return []
        return [f"{self.first_day}" if self.first_day == self.last_day else f"{self.first_day} to {self.last_day}"]

    @property
    def _outside(self) -> str:
        """When the runs happened, if none of them has a call in the requested period."""
        zone = zone_of(self.tz)
        before = "" if self.since is None else f"before {_day_or_time(datetime.fromisoformat(self.since), zone)}"
        after = "" if self.until is None else f"after {_last_in(datetime.fromisoformat(self.until), zone)}"
        if self.first_day_after is None:
            return f"all {before}; the last on {self.last_day_before}"
        if self.last_day_before is None:
            return f"all {after}; the first on {self.first_day_after}"
        days = f"the nearest on {self.last_day_before} and {self.first_day_after}"
        return f"all {before} or {after}; {days}"

    def _doubts(self) -> Sequence[str]:
        used, doubts = self.total, []
        if used.lower_bound_runs:
            are = "is a lower bound" if used.lower_bound_runs == 1 else "are lower bounds"
            doubts.append(f"{used.lower_bound_runs:,} of {_many(used.runs, 'run')} {are}")
        if self.unpriced_models:
            models = _many(len(self.unpriced_models), "model")
            doubts.append(f"{models} without a price ({', '.join(self.unpriced_models)})")
        elif used.unpriced_runs:
            doubts.append(f"{_many(used.unpriced_runs, 'run')} without a price")
        if used.runs_without_usage:
            doubts.append(f"{_many(used.runs_without_usage, 'run')} without tokens or cost")
        if self.rejected_count:
            doubts.append(f"{_many(self.rejected_count, 'record')} rejected")
        return doubts

    def _about(self) -> str:
        return self.sentence.removesuffix(".")

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a group."""
        return [
            {**group.key, **{name: getattr(group.used, name) for name in _PLAIN}, **group.used.tokens}
            for group in self.groups
        ]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        budget = None if self.budget is None else {"usd": self.budget.usd, "status": self.budget.status}
        return {
            "by": list(self.by),
            "tz": self.tz,
            "since": self.since,
            "until": self.until,
            "prices": self.prices,
            "groups": [{"key": dict(group.key), **group.used.to_dict()} for group in self.groups],
            "total": self.total.to_dict(),
            "unpriced_models": list(self.unpriced_models),
            "first_day": None if self.first_day is None else self.first_day.isoformat(),
            "last_day": None if self.last_day is None else self.last_day.isoformat(),
            "runs_outside": self.runs_outside,
            "last_day_before": None if self.last_day_before is None else self.last_day_before.isoformat(),
            "first_day_after": None if self.first_day_after is None else self.first_day_after.isoformat(),
            "summary": self.sentence,
            "budget": budget,
            "searched_paths": [
                {"tool": each.tool, "path": each.path, "exists": each.exists} for each in self.searched_paths
            ],
            "rejected_count": self.rejected_count,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


_PLAIN = tuple(name for name in UsageCount.__slots__ if name != "tokens")
"""The counts that are one number."""


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
