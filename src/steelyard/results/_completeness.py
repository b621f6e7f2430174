"""Result of `completeness`: for each field, the number of runs by provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from steelyard.records import Finding, finding_dict
from steelyard.results._base import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCompleteness:
    """Number of runs by provenance of a field; the counts sum to all runs of the group."""

    reported: int = 0
    """Reported in the record."""
    counted: int = 0
    """Counted or computed from other parts of the record."""
    priced: int = 0
    """Priced from tokens by the price table."""
    lower_bound: int = 0
    """A lower bound."""
    unknown: int = 0
    """Not known."""

    @property
    def known(self) -> int:
        """Number of runs with a value."""
        return self.reported + self.counted + self.priced + self.lower_bound

    def to_dict(self) -> dict[str, int]:
        """The counts for `--json`."""
        return {"known": self.known, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletenessGroup:
    """The fields of the runs of one group."""

    key: Mapping[str, str | None]
    """The group's values by key; empty for all runs."""
    n: int
    """Number of runs."""
    fields: Mapping[str, FieldCompleteness]

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The group for `--json`."""
        fields = {name: field.to_dict() for name, field in self.fields.items()}
        return {"key": dict(self.key), "n": self.n, "fields": fields}


@dataclass(frozen=True, kw_only=True, repr=False)
class CompletenessSummary(Result):
    """What is known of runs, field by field."""

    by: tuple[str, ...]
    groups: tuple[CompletenessGroup, ...]
    """Ordered by key; without keys, the one group of all runs."""
    total: CompletenessGroup
    prices: str
    """Price table."""
    rejected_count: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def stated(self) -> tuple[str, ...]:
        """The fields that some run has, in the order of a record."""
        return tuple(name for name, field in self.total.fields.items() if field.known)

    @property
    def absent(self) -> tuple[str, ...]:
        """The fields that no run has."""
        return tuple(name for name, field in self.total.fields.items() if not field.known)

    @property
    def sentence(self) -> str:
        """For how many runs verdict, cost and tokens are known, in one sentence."""
        fields = self.total.fields
        parts = [_known("a verdict", fields["verdict"]), _known("a cost", fields["cost_usd"])]
        parts.append(_known("tokens", fields["usage"]))
        return f"Of {self.total.n:,} run{'' if self.total.n == 1 else 's'}, {', '.join(parts)}."

    def _about(self) -> str:
        return self.sentence.removesuffix(".")

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a group and field."""
        return [
            {**group.key, "field": name, "n": group.n, **field.to_dict()}
            for group in self.groups
            for name, field in group.fields.items()
        ]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "by": list(self.by),
            "prices": self.prices,
            "groups": [group.to_dict() for group in self.groups],
            "total": self.total.to_dict(),
            "summary": self.sentence,
            "rejected_count": self.rejected_count,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def _known(what: str, field: FieldCompleteness) -> str:
    bound = f" ({field.lower_bound:,} lower bounds)" if field.lower_bound else ""
    return f"{field.known:,} {'has' if field.known == 1 else 'have'} {what}{bound}"
