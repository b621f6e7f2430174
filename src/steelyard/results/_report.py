"""What `report` gives: the results of several commands over the same runs, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.records import Finding, finding_dict, one_a_kind
from steelyard.results._base import Result, json_number

if TYPE_CHECKING:
    from steelyard.questions.compare import Comparison
    from steelyard.questions.completeness import CompletenessSummary
    from steelyard.questions.judges import Judges
    from steelyard.questions.measure import Measurement
    from steelyard.questions.rank import Ranking
    from steelyard.questions.repeatability import Repeatability
    from steelyard.questions.speedup import SpeedupResult
    from steelyard.questions.usage import UsageSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInput:
    """One of the inputs, as the user named it."""

    name: str
    sha256: str | None
    """Hash of the file, or of a directory's files and their names; None if it cannot be read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """Table of runs by column, up to the maximum of a page."""

    columns: Mapping[str, Sequence[str | float | None]]
    count: int
    """Number of runs in the columns."""
    total: int
    """Total number of runs."""
    sentence: str
    """Summary of the runs in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutput:
    """Output of one run."""

    run: str
    task: str
    agent: str | None
    text: str
    left_out: int = 0
    """Number of omitted characters."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Report(Result):
    """Report with the sections that the runs support."""

    title: str
    inputs: tuple[ReportInput, ...]
    runs: RunRows
    ranking: Ranking | None = None
    measurement: Measurement | None = None
    """Set if requested, or if there are fewer than two groups to rank."""
    comparison: Comparison | None = None
    """Comparison of the two leading groups."""
    judges: Judges | None = None
    repeatability: Repeatability | None = None
    speedup: SpeedupResult | None = None
    usage: UsageSummary | None = None
    completeness: CompletenessSummary | None = None
    outputs: tuple[ReportOutput, ...] = ()
    outputs_left_out: int = 0
    sections: tuple[str, ...]
    """Requested sections in order."""
    omitted: Mapping[str, str]
    """Reasons for omitted sections."""
    commands: Mapping[str, str]
    """Command that prints the numbers of each section."""
    findings: tuple[Finding, ...] = ()
    """Findings from reading and from every section."""
    profile: str
    prices: str
    version: str
    redact: bool = True
    """Whether keys and tokens are redacted."""
    rejected_count: int = 0

    @property
    def results(self) -> dict[str, Any]:  # Any: results and answers
        """The results by the names of their sections."""
        parts = {
            "rank": self.ranking,
            "measure": self.measurement,
            "compare": self.comparison,
            "judges": self.judges,
            "repeatability": self.repeatability,
            "speedup": self.speedup,
            "usage": self.usage,
            "completeness": self.completeness,
        }
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def empty(self) -> bool:
        """Whether no input could be used."""
        return not self.runs.total and not self.results

    def _about(self) -> str:
        return f"{self.title}: {', '.join(self.results) or 'no results'}; {self.runs.total:,} runs"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one flat row per run."""
        names = list(self.runs.columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*self.runs.columns.values(), strict=True)]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "title": self.title,
            "profile": self.profile,
            "prices": self.prices,
            "version": self.version,
            "inputs": [{"name": each.name, "sha256": each.sha256} for each in self.inputs],
            "sections": {name: part.to_dict() for name, part in self.results.items()},
            "omitted": dict(self.omitted),
            "commands": dict(self.commands),
            "runs": {
                "count": self.runs.total,
                "listed": self.runs.count,
                "rows": [_strict(row) for row in self.to_dicts()],
            },
            "findings": [finding_dict(finding) for finding in one_a_kind(self.findings)],
        }


def _strict(row: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON values
    return {name: json_number(value) if isinstance(value, float) else value for name, value in row.items()}
