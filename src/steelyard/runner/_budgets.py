"""What a plan may spend: counted over all executions, and reserved before a trial starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.records import sum_in_order
from steelyard.runner._plan_records import Budget
from steelyard.runner._trial_records import ExecutionResult, Trial

Kind = tuple[str, str | None]
"""An agent and a model: what trials cost is like what others of the same kind cost."""
_SECONDS_AN_HOUR = 3600.0


@dataclass(frozen=True)
class Amounts:
    """What was, or may be, spent; None where it is not known, or not limited."""

    usd: float | None = None
    tokens: float | None = None
    hours: float | None = None


UNITS = ("usd", "tokens", "hours")
_WORDS = {"usd": "${:,.2f}", "tokens": "{:,.0f} tokens", "hours": "{:.2f} hours"}


def amounts_of(result: ExecutionResult) -> Amounts:
    """What an execution spent."""
    tokens = result.usage.total if result.usage is not None else None
    hours = (result.ended_at - result.started_at).total_seconds() / _SECONDS_AN_HOUR
    return Amounts(usd=result.cost_usd, tokens=tokens, hours=hours)


class Spending:
    """Keeps the budget. Not thread-safe by itself: the scheduler asks under its lock.

    What a trial may spend is set apart for it before it starts, so that trials which run at the same time never spend
    more than there is, however much each of them takes.
    """

    def __init__(self, budget: Budget | None, metered: Iterable[str], *, parallel: int = 1) -> None:
        self._budget = budget or Budget()
        self._metered = frozenset(metered)
        """Labels of the agents that call models; the others spend time alone."""
        self._parallel = parallel
        self._spent = dict.fromkeys(UNITS, 0.0)
        self._reserved: dict[str, Amounts] = {}
        self._most: dict[Kind, dict[str, float]] = {}
        self.unknown: str | None = None
        """The execution whose cost is not known although there is a budget for it; nothing is started any more."""

    @property
    def limits(self) -> Amounts:
        """What the whole plan may spend."""
        return Amounts(usd=self._budget.usd, tokens=self._budget.tokens, hours=self._budget.hours)

    @property
    def spent(self) -> Amounts:
        """What was spent."""
        return Amounts(**self._spent)

    def add(self, trial: Trial, result: ExecutionResult) -> None:
        """Count an execution."""
        amounts = amounts_of(result)
        most = self._most.setdefault((trial.agent, trial.model), {})
        for unit in UNITS:
            amount = getattr(amounts, unit)
            if amount is not None:
                self._spent[unit] += amount
                most[unit] = max(most.get(unit, 0.0), amount)
            elif getattr(self.limits, unit) is not None and trial.agent in self._metered:
                self.unknown = f"{trial.sentence}, retry {result.retry}: {unit} unknown"

    def release(self, trial: Trial) -> None:
        """The trial runs no longer."""
        self._reserved.pop(trial.id, None)

    def reserve(self, trial: Trial) -> Amounts | None:
        """What the trial may spend, now set apart for it; None where what it is expected to spend does not fit."""
        if self.unknown is not None:
            return None
        allowed = {unit: self._share(trial, unit) for unit in UNITS}
        if any(share is not None and share <= 0 for share in allowed.values()):
            return None
        self._reserved[trial.id] = Amounts(**allowed)
        return self._reserved[trial.id]

    def _share(self, trial: Trial, unit: str) -> float | None:
        """What the trial gets of what is left: twice what its kind took at most, or an equal share; 0 if that is less.

        None where nothing limits it.
        """
        hours = trial.time_limit_seconds / _SECONDS_AN_HOUR
        cap: float | None = hours if unit == "hours" else getattr(self._budget, f"trial_{unit}")
        limit: float | None = getattr(self.limits, unit)
        if limit is None or (unit != "hours" and trial.agent not in self._metered):
            return cap if unit != "hours" else None
        reserved = sum_in_order(getattr(each, unit) or 0.0 for each in self._reserved.values())
        left = limit - self._spent[unit] - reserved
        expected = self._most.get((trial.agent, trial.model), {}).get(unit, hours if unit == "hours" else 0.0)
        if expected > left:
            return 0.0
        equal = left / max(1, self._parallel - len(self._reserved))
        return min(max(2 * expected, equal), left, cap if cap is not None else left)

    def is_of_plan(self, allowed: Amounts) -> bool:
        """Whether the plan's budget, not the trial's own, set what a trial may spend."""
        pairs = ((allowed.usd, self._budget.trial_usd), (allowed.tokens, self._budget.trial_tokens))
        return any(share is not None and share != cap for share, cap in pairs)

    def sentence(self) -> str | None:
        """What was spent of what may be, for people; None without a budget."""
        limits, spent = self.limits, self.spent
        parts = [
            f"{_WORDS[unit].format(getattr(spent, unit))} of {_WORDS[unit].format(getattr(limits, unit))}"
            for unit in UNITS
            if getattr(limits, unit) is not None
        ]
        return ", ".join(parts) or None
