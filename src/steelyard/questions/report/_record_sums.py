"""What a report adds up while whole records are read: usage by day and model, and what is known of each field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from steelyard.questions.completeness import CompletenessCounting, CompletenessOptions, CompletenessSummary
from steelyard.questions.report._options import ReportOptions
from steelyard.questions.usage import UsageAdding, UsageOptions, UsageSummary
from steelyard.records import Run, RunChooser

Asked: TypeAlias = dict[str, UsageOptions | CompletenessOptions]


class RecordSums:
    """Takes records one after another; a section that is not asked for takes none."""

    def __init__(self, options: ReportOptions, sections: Sequence[str]) -> None:
        shared = {name: getattr(options, name) for name in ("set", "map", "where", "since", "until", "prices")}
        # UTC, so that a report does not depend on where it is made; its figure shows the days
        usage, completeness = UsageOptions(**shared, by=("month", "model"), tz="UTC"), CompletenessOptions(**shared)
        wanted: Asked = {"usage": usage, "completeness": completeness}
        self.asked = {name: wanted[name] for name in wanted if name in sections}
        self._adding, self._counting = UsageAdding(usage), CompletenessCounting(completeness)
        self._chooser = RunChooser(self._adding.choice)

    def add_calls(self, run: Run, id_: str) -> None:
        """The calls of a run, of which each has its own time."""
        if "usage" in self.asked and self._chooser.keeps(run):
            self._adding.add(run, id_)

    def add_fields(self, run: Run) -> None:
        """The fields of a run that was chosen."""
        if "completeness" in self.asked:
            self._counting.add(run)

    def used(self, *, rejected_count: int) -> UsageSummary | None:
        """Return the usage of the calls; None if neither cost nor tokens are known."""
        summary = self._adding.summary((), rejected_count=rejected_count)
        is_known = summary.total.cost_usd is not None or summary.total.total_tokens is not None
        return summary if is_known and summary.total.runs else None

    def covered(self) -> CompletenessSummary:
        """Completeness of the runs."""
        return self._counting.summary(())
