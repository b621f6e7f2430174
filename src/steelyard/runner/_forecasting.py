"""Cost forecast of pending trials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.records import sum_of_known
from steelyard.runner._gathering import TrialState
from steelyard.runner._plan import PlanRead


@dataclass(frozen=True)
class Forecast:
    """The trials of one agent and model, and what those to run would cost."""

    agent: str
    model: str | None
    trials: int
    done: int
    low_usd: float | None
    high_usd: float | None
    basis: str
    first: TrialState
    """The first of its trials."""


def forecasts(read: PlanRead, states: Iterable[TrialState]) -> list[Forecast]:
    """For each agent and model the range of what its open trials would cost.

    From what finished trials of the same agent and model cost; without any, from the budget of a trial.
    """
    groups: dict[tuple[str, str | None], list[TrialState]] = {}
    for state in states:
        groups.setdefault((state.trial.agent, state.trial.model), []).append(state)
    return [_forecast(read, agent, model, group) for (agent, model), group in groups.items()]


def _forecast(read: PlanRead, agent: str, model: str | None, states: list[TrialState]) -> Forecast:
    done = [state for state in states if state.state == "done"]
    to_run = len(states) - len(done)
    costs = [cost for state in done if (cost := cost_of_executions(state)) is not None]
    budget = read.plan.plan.budget
    cap = budget.trial_usd if budget is not None else None
    low: float | None = None
    high: float | None = None
    use = read.workers.get(agent)
    if use is None or read.endpoint_of(use) is None:
        low, high, basis = 0.0, 0.0, "no model calls"
    elif costs:
        low, high = to_run * min(costs), to_run * max(costs)
        basis = f"lowest and highest cost of {len(costs)} finished trials"
    elif cap is not None:
        low, high, basis = 0.0, to_run * cap, "the budget per trial"
    else:
        basis = "no finished trial and no trial_usd in the plan"
    return Forecast(agent, model, len(states), len(done), low, high, basis, states[0])


def cost_of_executions(state: TrialState) -> float | None:
    """What all executions of a trial cost; None where one of them has no known cost."""
    return sum_of_known(result.cost_usd for result in state.executions)
