"""What a reading found: files, runs, calls, tokens and cost by format, and what was set aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.records import TOKEN_KINDS, Call, Finding, Rejected, SetAside, Usage, finding_dict


@dataclass(slots=True)
class FormatCount:
    """What one format gave. A sum to which no run has anything to say is None, never 0."""

    files: int = 0
    runs: int = 0
    calls: int | None = None
    """Model calls in the runs that list theirs."""
    calls_known_runs: int = 0
    tokens: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(TOKEN_KINDS))
    """Tokens by kind, in the runs that state them."""
    tokens_known_runs: int = 0
    tokens_unknown_runs: int = 0
    cost_known_usd: float | None = None
    cost_known_runs: int = 0
    cost_lower_bound_usd: float | None = None
    cost_lower_bound_runs: int = 0
    cost_unknown_runs: int = 0

    @property
    def total_tokens(self) -> int | None:
        """All kinds together; None when no run states any."""
        total: int | None = _sum(*self.tokens.values())
        return total

    def add(self, other: FormatCount) -> None:
        """Both together."""
        self.tokens = {kind: _sum(self.tokens[kind], other.tokens[kind]) for kind in TOKEN_KINDS}
        for name in self.__slots__:
            if name != "tokens":
                setattr(self, name, _sum(getattr(self, name), getattr(other, name)))

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

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The counts for `--json`."""
        counts = {name: getattr(self, name) for name in self.__slots__} | {"total_tokens": self.total_tokens}
        if self.total_tokens is None:
            counts["reason"] = f"none of the {self.runs:,} runs states its tokens" if self.runs else "there are no runs"
        if self.calls is None:
            counts["calls_reason"] = (
                f"none of the {self.runs:,} runs lists its calls" if self.runs else "there are no runs"
            )
        return counts


@dataclass(slots=True)
class ReadSummary:
    """What a reading found."""

    formats: dict[str, FormatCount]
    archives: int = 0
    unknown: tuple[str, ...] = ()
    looked_in: tuple[str, ...] = ()
    book: str = ""
    outside: int = 0
    """Runs left out by `since` and `until`."""
    set_aside: SetAside = field(default_factory=SetAside)
    findings: list[Finding] = field(default_factory=list)
    findings_count: int = 0

    @property
    def total(self) -> FormatCount:
        """All formats together."""
        total = FormatCount()
        for count in self.formats.values():
            total.add(count)
        return total

    def reasons(self) -> list[tuple[Rejected, int]]:
        """The first record of each reason for which some were set aside, the most frequent reason first."""
        return sorted(self.set_aside.by_reason.values(), key=lambda counted: (-counted[1], counted[0].reason))

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The shape that `--json` prints."""
        return {
            "formats": {name: count.to_dict() for name, count in self.formats.items()},
            "total": self.total.to_dict(),
            "prices": self.book,
            "archives": self.archives,
            "not_recognized": list(self.unknown),
            "looked_in": list(self.looked_in),
            "left_out_by_time": self.outside,
            "set_aside": [
                {**finding_dict(rejected.as_finding()), "hint": rejected.advice} for rejected in self.set_aside.listed
            ],
            "set_aside_count": self.set_aside.count,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def _sum(*values: Any) -> Any:  # Any: whole numbers or dollars
    """The sum of the values that are known; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
