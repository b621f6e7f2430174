"""What a plan may spend: counted over all tries, and reserved before a cell starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.records import sum_in_order
from steelyard.runner._cell_records import Cell, TryResult
from steelyard.runner._plan_records import Budget

Kind = tuple[str, str | None]
"""An agent and a model: what cells cost is like what others of the same kind cost."""
_SECONDS_AN_HOUR = 3600.0


@dataclass(frozen=True)
class Amounts:
    """What was, or may be, spent; None where it is not known, or not limited."""

    usd: float | None = None
    tokens: float | None = None
    hours: float | None = None


UNITS = ("usd", "tokens", "hours")
_WORDS = {"usd": "${:,.2f}", "tokens": "{:,.0f} tokens", "hours": "{:.2f} hours"}


def amounts_of(result: TryResult) -> Amounts:
    """What a try spent."""
    tokens = result.usage.total if result.usage is not None else None
    hours = (result.ended_at - result.started_at).total_seconds() / _SECONDS_AN_HOUR
    return Amounts(usd=result.cost_usd, tokens=tokens, hours=hours)


class Spending:
    """Keeps the budget. Not thread-safe by itself: the scheduler asks under its lock."""

    def __init__(self, budget: Budget | None, metered: Iterable[str]) -> None:
        self._budget = budget or Budget()
        self._metered = frozenset(metered)
        """Labels of the agents that call models; the others spend time alone."""
        self._spent = dict.fromkeys(UNITS, 0.0)
        self._reserved: dict[str, Amounts] = {}
        self._most: dict[Kind, dict[str, float]] = {}
        self._probing: dict[Kind, str] = {}
        self.unknown: str | None = None
        """The try whose cost is not known although there is a budget for it; nothing is started any more."""

    @property
    def limits(self) -> Amounts:
        """What the whole plan may spend."""
        return Amounts(usd=self._budget.usd, tokens=self._budget.tokens, hours=self._budget.hours)

    @property
    def spent(self) -> Amounts:
        """What was spent."""
        return Amounts(**self._spent)

    def add(self, cell: Cell, result: TryResult) -> None:
        """Count a try."""
        amounts = amounts_of(result)
        most = self._most.setdefault((cell.agent, cell.model), {})
        for unit in UNITS:
            amount = getattr(amounts, unit)
            if amount is not None:
                self._spent[unit] += amount
                most[unit] = max(most.get(unit, 0.0), amount)
            elif getattr(self.limits, unit) is not None and cell.agent in self._metered:
                self.unknown = f"{cell.sentence}, try {result.number}: {unit} not known"

    def release(self, cell: Cell) -> None:
        """The cell runs no longer."""
        self._reserved.pop(cell.id, None)
        if self._probing.get((cell.agent, cell.model)) == cell.id:
            del self._probing[cell.agent, cell.model]

    def reserve(self, cell: Cell) -> Amounts | None:
        """What the cell may spend, now set apart for it; None where that does not fit now.

        The first cell of an agent and model runs alone unless cells have a budget: nobody knows yet what one costs.
        """
        if self.unknown is not None:
            return None
        kind = (cell.agent, cell.model)
        expected, allowed = {}, {}
        for unit in UNITS:
            limit, cap = getattr(self.limits, unit), getattr(self._budget, f"cell_{unit}", None)
            most = self._most.get(kind, {}).get(unit)
            guess = most if most is not None else cap
            left = None
            if limit is not None and (unit == "hours" or cell.agent in self._metered):
                left = (
                    limit
                    - self._spent[unit]
                    - sum_in_order(getattr(each, unit) or 0.0 for each in self._reserved.values())
                )
                if left <= 0 or (guess or 0.0) > left or (guess is None and kind in self._probing):
                    return None
                if guess is None:
                    self._probing[kind] = cell.id
            expected[unit] = guess if limit is not None else None
            allowed[unit] = min((bound for bound in (cap, left) if bound is not None), default=None)
        self._reserved[cell.id] = Amounts(**expected)
        return Amounts(**allowed)

    def sentence(self) -> str | None:
        """What was spent of what may be, for people; None without a budget."""
        limits, spent = self.limits, self.spent
        told = [
            f"{_WORDS[unit].format(getattr(spent, unit))} of {_WORDS[unit].format(getattr(limits, unit))}"
            for unit in UNITS
            if getattr(limits, unit) is not None
        ]
        return ", ".join(told) or None
