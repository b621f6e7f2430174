"""Submissions from files, sent in batches to an arena here or on a server, and their outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import ClassVar, Protocol

import msgspec

from steelyard import pages  # its names are imported on first use
from steelyard.arena import LocatedSubmission, Receipt, SubmissionOutcome
from steelyard.errors import AbortedError
from steelyard.formatting import counted
from steelyard.pages import Column
from steelyard.questions._answer import Rows
from steelyard.questions._read_summary import RejectedRecord, rejected_record
from steelyard.questions._run_input import current_progress
from steelyard.questions.arena._common import ArenaAnswer, no_records, or_rejected, score_column, spared
from steelyard.questions.arena._rankings import rank_notes
from steelyard.records import Finding, Rejected, Submission, one_a_kind, set_aside_findings
from steelyard.settings import shown_path

AT_ONCE = 100_000
"""Submissions per batch in memory."""


class SubmissionTarget(Protocol):
    """Arena here or on a server."""

    def submit(
        self,
        given: Sequence[Submission | Rejected],
        *,
        artifacts_root: Path | None = None,
        progress: Callable[[Sequence[SubmissionOutcome]], None] | None = None,
    ) -> list[SubmissionOutcome]:
        """Return the outcome of each submission, in order."""
        ...


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


def submit_located(
    arena: SubmissionTarget,
    files: Iterable[tuple[Path, Iterator[LocatedSubmission | Rejected]]],
    *,
    artifacts: Callable[[Path], Path] | None,
    what: str,
) -> SubmitResult:
    """Submit the records of each file in batches; add to each rejection where its record is.

    `artifacts` returns the artifact directory of a file. An interruption is an error with the number of accepted
    submissions.
    """
    progress, accepted, name = current_progress(), 0, ""

    def count(outcomes: Sequence[SubmissionOutcome]) -> None:
        nonlocal accepted
        accepted += sum(isinstance(outcome, Receipt) and outcome.status == "accepted" for outcome in outcomes)
        if progress is not None:
            progress(name, len(outcomes))

    receipts: list[Receipt] = []
    rejected: list[Rejected] = []
    notes: list[Finding] = []
    try:
        for path, located in files:
            before = len(receipts) + len(rejected)
            root, name = None if artifacts is None else artifacts(path), str(shown_path(path))
            records = or_rejected(path, located)
            while batch := list(islice(records, AT_ONCE)):
                given = [record if isinstance(record, Rejected) else record.submission for record in batch]
                outcomes = arena.submit(given, artifacts_root=root, progress=count)
                for record, outcome in zip(batch, outcomes, strict=True):
                    if isinstance(outcome, Receipt):
                        receipts.append(outcome)
                    elif isinstance(record, LocatedSubmission):
                        reason = f"submission {record.submission.id[:200]!r}: {outcome.reason}"
                        place = {"path": record.path, "line": record.line, "item": record.item}
                        rejected.append(msgspec.structs.replace(outcome, **place, reason=reason))
                    else:
                        rejected.append(record)
            if len(receipts) + len(rejected) == before:
                notes.append(no_records(what, path))
    except KeyboardInterrupt as error:
        raise AbortedError(
            f"interrupted; accepted so far: {counted(accepted, 'submission')}",
            hint="run the same command again; accepted submissions are not counted twice",
        ) from error
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
