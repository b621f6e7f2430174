"""What `report` gives: the results of several commands over the same runs, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.records import Finding, finding_dict, one_a_kind
from steelyard.results._base import Result, json_number
from steelyard.results._comparison import Comparison
from steelyard.results._completeness import CompletenessSummary
from steelyard.results._judges import Judges
from steelyard.results._measurement import Measurement
from steelyard.results._ranking import Ranking
from steelyard.results._repeatability import Repeatability
from steelyard.results._speedup import SpeedupResult
from steelyard.results._usage import UsageSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInput:
    """One of the inputs, as the user named it."""

    name: str
    sha256: str | None
    """Of the file; of a folder's files with their names; None where it cannot be read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """The runs, column by column, as many as a page can hold."""

    columns: Mapping[str, Sequence[str | float | None]]
    count: int
    """How many runs the columns hold."""
    total: int
    """How many runs there are."""
    sentence: str
    """What ran, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutput:
    """What one run wrote."""

    run: str
    task: str
    agent: str | None
    text: str
    left_out: int = 0
    """Characters beyond those that are shown."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Report(Result):
    """The result of reporting: a section is there where the runs have what it needs."""

    title: str
    inputs: tuple[ReportInput, ...]
    runs: RunRows
    ranking: Ranking | None = None
    measurement: Measurement | None = None
    """Where it was asked for, or fewer than two groups to rank."""
    comparison: Comparison | None = None
    """The two leaders."""
    judges: Judges | None = None
    repeatability: Repeatability | None = None
    speedup: SpeedupResult | None = None
    usage: UsageSummary | None = None
    completeness: CompletenessSummary | None = None
    outputs: tuple[ReportOutput, ...] = ()
    outputs_left_out: int = 0
    sections: tuple[str, ...]
    """The sections that were asked for, in their order."""
    omitted: Mapping[str, str]
    """Why a section that was asked for is not there."""
    commands: Mapping[str, str]
    """The command that gives the numbers of each section."""
    findings: tuple[Finding, ...] = ()
    """What was found while reading and in every section."""
    profile: str
    prices: str
    version: str
    redact: bool = True
    """Whether keys and tokens are taken out before it is shown."""
    rejected_count: int = 0

    @property
    def results(self) -> dict[str, Result]:
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
        """Whether nothing of the input could be used."""
        return not self.runs.total and not self.results

    def _about(self) -> str:
        return f"{self.title}: {', '.join(self.results) or 'no results'}; {self.runs.total:,} runs"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a run."""
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
