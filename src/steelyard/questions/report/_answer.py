"""Answer of `report`: the answers of several questions about the same runs, with their inputs and commands."""

from __future__ import annotations

from typing import ClassVar

from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._run_rows import ListedRun
from steelyard.questions.compare import Comparison
from steelyard.questions.completeness import CompletenessSummary
from steelyard.questions.judges import Judges
from steelyard.questions.measure import Measurement
from steelyard.questions.rank import Ranking
from steelyard.questions.repeatability import Repeatability
from steelyard.questions.speedup import SpeedupResult
from steelyard.questions.usage import UsageSummary
from steelyard.records import Finding

RESULTS = {
    "rank": "ranking",
    "measure": "measurement",
    "compare": "comparison",
    "judges": "judges",
    "repeatability": "repeatability",
    "speedup": "speedup",
    "usage": "usage",
    "completeness": "completeness",
}
"""Field of the answer in each section that has one."""


class ReportInput(Part, frozen=True, kw_only=True):
    """One of the inputs, as the user named it."""

    name: str
    sha256: str | None
    """Hash of the file, or of a directory's files and their names; None if it cannot be read again."""


class ReportOutput(Part, frozen=True, kw_only=True):
    """Output of one run."""

    run: str
    task: str
    agent: str | None
    text: str
    left_out: int = 0
    """Number of omitted characters."""


class Report(Answer, frozen=True, kw_only=True):
    """Report with the sections that the inputs support."""

    rows: ClassVar[Rows] = Rows("runs")
    title: str
    profile: str
    prices: str
    version: str
    """Version of Steelyard."""
    inputs: tuple[ReportInput, ...]
    sections: tuple[str, ...]
    """Requested sections in order."""
    omitted: dict[str, str]
    """Reasons for omitted sections."""
    commands: dict[str, str]
    """Command that prints the JSON of each section, and the command of the report."""
    ranking: Ranking | None = None
    measurement: Measurement | None = None
    comparison: Comparison | None = None
    """Comparison of the two leading groups."""
    judges: Judges | None = None
    repeatability: Repeatability | None = None
    speedup: SpeedupResult | None = None
    usage: UsageSummary | None = None
    completeness: CompletenessSummary | None = None
    sentence: str
    """Summary of the runs in one sentence."""
    run_count: int
    """Number of runs; `runs` contains at most 50,000."""
    runs: tuple[ListedRun, ...]
    outputs: tuple[ReportOutput, ...] = ()
    """Outputs of the runs, if requested."""
    outputs_left_out: int = 0
    redact: bool = True
    """Whether keys and tokens are redacted in HTML and Markdown."""
    findings: tuple[Finding, ...] = ()
    """Findings from reading and from every section."""
    rejected_count: int = 0

    @property
    def results(self) -> dict[str, Answer]:
        """The answers by section."""
        parts = {section: getattr(self, name) for section, name in RESULTS.items()}
        return {section: part for section, part in parts.items() if part is not None}

    @property
    def about(self) -> str:
        """Title, sections and number of runs."""
        return f"{self.title}: {', '.join(self.results) or 'no results'}; {counted(self.run_count, 'run')}"

    @property
    def is_empty(self) -> bool:
        """Whether no input could be used."""
        return not self.run_count and not self.results

    @property
    def is_redacted(self) -> bool:
        """Whether keys and tokens are redacted in HTML and Markdown."""
        return self.redact
