"""What a reading found: files, runs, calls, tokens and cost by format, and what was set aside."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from steelyard.records.finding import Finding, Rejected
from steelyard.records.run import TOKEN_KINDS


@dataclass(slots=True)
class FormatCount:
    """What one format gave."""

    files: int = 0
    runs: int = 0
    calls: int = 0
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOKEN_KINDS, 0))
    cost_known_usd: float = 0.0
    cost_known_runs: int = 0
    cost_lower_bound_usd: float = 0.0
    cost_lower_bound_runs: int = 0
    cost_unknown_runs: int = 0

    @property
    def total_tokens(self) -> int:
        """All kinds together."""
        return sum(self.tokens.values())

    def add(self, other: FormatCount) -> None:
        """Both together."""
        self.tokens = {kind: self.tokens[kind] + other.tokens[kind] for kind in TOKEN_KINDS}
        for name in ("files", "runs", "calls", *(name for name in self.__slots__ if name.startswith("cost_"))):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def add_cost(self, cost: float | None, *, bound: bool) -> None:
        """Counts one run's cost: known, a lower bound, or not known."""
        if cost is None:
            self.cost_unknown_runs += 1
        elif bound:
            self.cost_lower_bound_usd += cost
            self.cost_lower_bound_runs += 1
        else:
            self.cost_known_usd += cost
            self.cost_known_runs += 1

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The counts for `--json`."""
        return {name: getattr(self, name) for name in self.__slots__} | {"total_tokens": self.total_tokens}


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
    rejected: list[Rejected] = field(default_factory=list)
    rejected_count: int = 0
    findings: list[Finding] = field(default_factory=list)
    findings_count: int = 0

    @property
    def total(self) -> FormatCount:
        """All formats together."""
        total = FormatCount()
        for count in self.formats.values():
            total.add(count)
        return total

    def reasons(self) -> list[tuple[str, int]]:
        """Why records were set aside, the most frequent reason first."""
        found = Counter(rejected.reason for rejected in self.rejected)
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The shape that `--json` prints."""
        return {
            "formats": {name: count.to_dict() for name, count in self.formats.items()},
            "total": self.total.to_dict(),
            "prices": self.book,
            "archives": self.archives,
            "not_recognised": list(self.unknown),
            "looked_in": list(self.looked_in),
            "left_out_by_time": self.outside,
            "set_aside": [finding_dict(rejected.as_finding()) for rejected in self.rejected],
            "set_aside_count": self.rejected_count,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def finding_dict(finding: Finding) -> dict[str, str | None]:
    """A finding as JSON."""
    return {"code": finding.code, "severity": finding.severity, "message": finding.message, "where": finding.where}
