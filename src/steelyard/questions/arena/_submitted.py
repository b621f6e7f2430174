"""Outcome of submitting files, which the client shows for a server too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Receipt
from steelyard.pages import Column
from steelyard.questions._answer import Rows
from steelyard.questions._read_summary import RejectedRecord, rejected_record
from steelyard.questions.arena._common import ArenaAnswer, score_column, spared
from steelyard.questions.arena._rankings import rank_notes
from steelyard.records import Finding, Rejected, one_a_kind, set_aside_findings


class SubmitResult(ArenaAnswer, frozen=True, kw_only=True):
    """Outcome of submitting files."""

    rows: ClassVar[Rows] = Rows("receipts")

    receipts: tuple[Receipt, ...]
    rejected: tuple[RejectedRecord, ...]
    findings: tuple[Finding, ...]
    """Findings about rejected submissions and empty files."""
    rejected_count: int

    @property
    def accepted(self) -> int:
        """Number of new submissions."""
        return sum(receipt.status == "accepted" for receipt in self.receipts)

    @property
    def about(self) -> str:
        """Number of accepted, known and rejected submissions."""
        known = len(self.receipts) - self.accepted
        return f"{self.accepted:,} accepted, {known:,} already known, {self.rejected_count:,} rejected"

    @property
    def is_empty(self) -> bool:
        """Whether there is no valid submission."""
        return not self.receipts


def submitted(receipts: Sequence[Receipt], rejected: Sequence[Rejected], notes: Iterable[Finding]) -> SubmitResult:
    """Return the outcome of the submissions in all files."""
    return SubmitResult(
        receipts=tuple(receipts),
        rejected=tuple(map(rejected_record, rejected)),
        findings=tuple(one_a_kind((*set_aside_findings(rejected), *notes))),
        rejected_count=len(rejected),
    )


def page(answer: SubmitResult) -> pages.Page:
    """Return one row per receipt."""
    receipts = answer.receipts
    percentiles = [each.percentile for each in receipts]
    columns = (
        pages.id_column("submission_id", "submission", "submissions", [each.submission_id for each in receipts]),
        pages.id_column("task_id", "task", "tasks", [each.task_id for each in receipts]),
        score_column("overall_score", "overall", [each.overall_score for each in receipts]),
        pages.count_column("overall_ranking", "rank", [each.overall_ranking for each in receipts]),
        spared(Column(name="percentile", title="percentile", values=percentiles, decimals=1)),
        pages.text_column("status", "status", [each.status for each in receipts]),
        pages.text_column("notes", "notes", ["; ".join(rank_notes(each)) or None for each in receipts]),
    )
    return pages.Page(
        name="submitted",
        title="Which submissions were accepted?",
        answer=f"{answer.about}.",
        table=pages.PageTable(caption="Receipts", columns=columns) if receipts else None,
    )
