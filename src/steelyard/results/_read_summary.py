"""Summary of `read`: files, runs, calls, tokens and cost by format, and what was rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.records import TOKEN_KINDS, Finding, Rejected, finding_dict, sum_in_order
from steelyard.results._base import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatCount:
    """Totals of one format. A sum that no run reports is None, never 0."""

    files: int = 0
    runs: int = 0
    calls: int | None = None
    """Model calls in the runs that list theirs."""
    calls_known_runs: int = 0
    tokens: Mapping[str, int | None] = field(default_factory=lambda: dict.fromkeys(TOKEN_KINDS))
    """Tokens by kind, in the runs that state them."""
    total_tokens: int | None = None
    """All tokens of the runs that state any, by kind or as a total."""
    tokens_known_runs: int = 0
    tokens_unknown_runs: int = 0
    cost_known_usd: float | None = None
    cost_known_runs: int = 0
    cost_lower_bound_usd: float | None = None
    cost_lower_bound_runs: int = 0
    cost_unknown_runs: int = 0

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The counts for `--json`."""
        counts = {name: getattr(self, name) for name in self.__slots__}
        if self.total_tokens is None:
            counts["reason"] = "no run reports tokens" if self.runs else "there are no runs"
        if self.calls is None:
            counts["calls_reason"] = "no run reports its calls" if self.runs else "there are no runs"
        return counts


@dataclass(frozen=True, kw_only=True, repr=False)
class ReadSummary(Result):
    """What a reading found."""

    formats: Mapping[str, FormatCount]
    archives: int
    unknown: tuple[str, ...]
    """Files of no known format."""
    without_runs: Mapping[str, int]
    """Files of known tools that hold no run: how many, by `tool: name of the file`."""
    searched_paths: tuple[str, ...]
    """Where logs were looked for, when no path was given."""
    price_table: str
    """Price table."""
    outside: int
    """Runs left out by `since` and `until`."""
    rejected: Sequence[Rejected]
    """The records that were rejected."""
    reasons: tuple[tuple[Rejected, int], ...]
    """The first record of each reason for which some were rejected, the most frequent reason first."""
    findings: tuple[Finding, ...]

    @property
    def rejected_count(self) -> int:
        """Number of rejected records."""
        return len(self.rejected)

    @property
    def total(self) -> FormatCount:
        """All formats together."""
        counts = list(self.formats.values())
        sums = {name: _sum(*(getattr(count, name) for count in counts)) for name in _counts(FormatCount())}
        tokens = {kind: _sum(*(count.tokens[kind] for count in counts)) for kind in TOKEN_KINDS}
        return FormatCount(tokens=tokens, **{name: value for name, value in sums.items() if value is not None})

    def _about(self) -> str:
        set_aside = f", {self.rejected_count:,} rejected" if self.rejected_count else ""
        return f"{self.total.runs:,} runs in {len(self.formats)} formats{set_aside}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a format."""
        return [{"format": name, **_counts(count), **count.tokens} for name, count in self.formats.items()]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "formats": {name: count.to_dict() for name, count in self.formats.items()},
            "total": self.total.to_dict(),
            "prices": self.price_table,
            "archives": self.archives,
            "not_recognized": list(self.unknown),
            "without_runs": dict(self.without_runs),
            "searched_paths": list(self.searched_paths),
            "left_out_by_time": self.outside,
            "rejected": [rejected.to_dict() for rejected in self.rejected],
            "rejected_count": self.rejected_count,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def _counts(count: FormatCount) -> dict[str, Any]:  # Any: whole numbers or dollars
    """The counts that are one number."""
    return {name: getattr(count, name) for name in count.__slots__ if name != "tokens"}


def _sum(*values: Any) -> Any:  # Any: whole numbers or dollars
    """The sum of the values that are known; None when none is."""
    known = [value for value in values if value is not None]
    return sum_in_order(known) if known else None
