"""Counting what each format gives while it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from steelyard.records import TOKEN_KINDS, Call, Usage
from steelyard.results import FormatCount


@dataclass(slots=True)
class FormatTally:
    """What one format gave so far. A sum to which no run has anything to say is None, never 0."""

    files: int = 0
    runs: int = 0
    calls: int | None = None
    calls_known_runs: int = 0
    tokens: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(TOKEN_KINDS))
    tokens_known_runs: int = 0
    tokens_unknown_runs: int = 0
    cost_known_usd: float | None = None
    cost_known_runs: int = 0
    cost_lower_bound_usd: float | None = None
    cost_lower_bound_runs: int = 0
    cost_unknown_runs: int = 0

    def add_calls(self, calls: Sequence[Call] | None) -> None:
        """Counts one run's calls, if it lists them; a sum over a model's calls does not say how many they were."""
        if calls is not None and not any(call.summed for call in calls):
            self.calls = (self.calls or 0) + len(calls)
            self.calls_known_runs += 1

    def add_usage(self, usage: Usage | None) -> None:
        """Counts one run's tokens, if it states any."""
        stated = [] if usage is None else [(kind, n) for kind in TOKEN_KINDS if (n := getattr(usage, kind)) is not None]
        if not stated:
            self.tokens_unknown_runs += 1
            return
        self.tokens_known_runs += 1
        tokens = self.tokens
        for kind, count in stated:
            tokens[kind] = (tokens[kind] or 0) + count

    def add_cost(self, cost: float | None, *, bound: bool) -> None:
        """Counts one run's cost: known, a lower bound, or not known."""
        if cost is None:
            self.cost_unknown_runs += 1
        elif bound:
            self.cost_lower_bound_usd = (self.cost_lower_bound_usd or 0.0) + cost
            self.cost_lower_bound_runs += 1
        else:
            self.cost_known_usd = (self.cost_known_usd or 0.0) + cost
            self.cost_known_runs += 1

    def count(self) -> FormatCount:
        """The counts as they stand, for good."""
        counts = {name: getattr(self, name) for name in self.__slots__}
        return FormatCount(**counts | {"tokens": dict(self.tokens)})
