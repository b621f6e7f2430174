"""Answer of `read`: files, runs, calls, tokens and cost by format, and rejected records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import counted, quantity
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import TOKEN_KINDS, TOO_LARGE, Finding, Rejected, sum_in_order

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, PageTable

TERMINALREASONS = 12
"""Reasons for rejected records that a terminal shows."""
SPARED = {"cost_unknown_runs": 1, "calls": 2, "files": 3}


_COSTS = ("cost_known_usd", "cost_lower_bound_usd")
REASONS = ("reason", "calls_reason", "cost_reason")


class FormatCount(Part, frozen=True, kw_only=True):
    """Totals of one format. A sum that no run reports is None, never 0."""

    files: int = 0
    runs: int = 0
    calls: int | None = None
    """Model calls in the runs that list theirs."""
    calls_known_runs: int = 0
    tokens: dict[str, int | None] = msgspec.field(default_factory=lambda: dict.fromkeys(TOKEN_KINDS))
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
    reason: str | UnsetType = UNSET
    """Why `total_tokens` is missing."""
    calls_reason: str | UnsetType = UNSET
    """Why `calls` is missing."""
    cost_reason: str | UnsetType = UNSET
    """Why the cost of runs with a known cost is missing."""


class RejectedRecord(Part, frozen=True, kw_only=True):
    """Record that was rejected."""

    code: str
    severity: Literal["error"] = "error"
    message: str
    """Reason and hint."""
    where: str
    """File and line, or the number of the item."""
    hint: str


class RejectionReason(Part, frozen=True, kw_only=True):
    """Reason for which records were rejected."""

    records: int
    """Number of records rejected for this reason."""
    reason: str
    where: str
    """First location."""
    hint: str


class ReadSummary(Answer, frozen=True, kw_only=True):
    """Runs, calls, tokens and cost of the files that were read, by format."""

    rows: ClassVar[Rows] = Rows("formats")
    formats: dict[str, FormatCount]
    total: FormatCount
    """All formats together."""
    prices: str
    """Price table."""
    archives: int
    """Number of opened archives."""
    not_recognized: tuple[str, ...]
    """Files of no known format."""
    without_runs: dict[str, int]
    """Number of files of known tools that contain no runs, by `tool: name of the file`."""
    searched_paths: tuple[str, ...]
    """Where logs were searched for, if no path was given."""
    left_out_by_time: int
    """Runs excluded by `since` and `until`."""
    rejected: Sequence[RejectedRecord]
    """Rejected records, in the order of reading."""
    rejected_count: int
    reasons: tuple[RejectionReason, ...]
    """Reasons for rejected records, the most frequent first."""
    findings: tuple[Finding, ...]

    @property
    def about(self) -> str:
        """Number of runs, formats and rejected records."""
        rejected = f", {self.rejected_count:,} rejected" if self.rejected_count else ""
        return f"{counted(self.total.runs, 'run')} in {counted(len(self.formats), 'format')}{rejected}"

    @property
    def is_empty(self) -> bool:
        """Whether no run was read."""
        return not self.total.runs


def rejected_record(rejected: Rejected) -> RejectedRecord:
    """Return the record as the summary lists it."""
    return RejectedRecord(code=rejected.code, message=rejected.message, where=rejected.where, hint=rejected.advice)


def format_count(sums: Mapping[str, Any]) -> FormatCount:  # Any: counts, dollars, tokens by kind
    """Return totals, with the reasons for missing ones."""
    absent = "there are no runs"
    costs = {name: sums[name] for name in _COSTS}
    finite = {name: None if cost is not None and math.isinf(cost) else cost for name, cost in costs.items()}
    return FormatCount(
        **{**sums, **finite},
        cost_reason=UNSET if finite == costs else TOO_LARGE,
        reason=UNSET if sums["total_tokens"] is not None else "no run reports tokens" if sums["runs"] else absent,
        calls_reason=UNSET if sums["calls"] is not None else "no run reports its calls" if sums["runs"] else absent,
    )


def total_of(counts: Sequence[FormatCount]) -> FormatCount:
    """Return the totals of all formats."""
    names = [name for name in FormatCount.__struct_fields__ if name != "tokens" and name not in REASONS]
    nothing = FormatCount()
    sums = {name: _sum([getattr(each, name) for each in counts], getattr(nothing, name)) for name in names}
    for name in _COSTS:
        if any(each.cost_reason is not UNSET and getattr(each, name) is None for each in counts):
            sums[name] = math.inf
    tokens = {kind: _sum([each.tokens[kind] for each in counts], None) for kind in TOKEN_KINDS}
    return format_count({**sums, "tokens": tokens})


def _sum(values: Sequence[Any], nothing: Any) -> Any:  # Any: whole numbers or dollars
    """Return the sum of the known values; `nothing` if none is known."""
    known = [value for value in values if value is not None]
    return sum_in_order(known) if known else nothing


def page(answer: ReadSummary) -> Page:
    """Return one row per format, and one per reason for rejected records."""
    return pages.Page(
        name="read",
        title="What was read?",
        answer=_sentence(answer),
        table=_format_table(answer) if answer.formats else None,
        also=(_reason_table(answer),) if answer.reasons else (),
        details=tuple(_details(answer)),
        facts=(("prices", answer.prices),),
    )


def _sentence(answer: ReadSummary) -> str:
    """Return the number of runs, files and formats, and the cost."""
    total = answer.total
    formats = f" in {counted(len(answer.formats), 'format')}" if answer.formats else ""
    if not total.runs:
        is_empty = not (answer.formats or answer.not_recognized or answer.rejected_count)
        return "No files found." if is_empty else f"No runs found{formats}."
    priced = bool(total.cost_known_runs + total.cost_lower_bound_runs)
    spent = sum_in_order([cost for cost in (total.cost_known_usd, total.cost_lower_bound_usd) if cost is not None])
    least = "at least " if total.cost_lower_bound_runs or total.cost_unknown_runs else ""
    cost = f"cost {least}{quantity(spent, 'USD')}" if priced else "cost unknown"
    if total.cost_reason is not UNSET or math.isinf(spent):
        cost = f"no total cost: {TOO_LARGE}"
    return f"{counted(total.runs, 'run')} from {counted(total.files, 'file')}{formats}; {cost}."


def _details(answer: ReadSummary) -> list[str]:
    """Return the numbers of files without runs and of archives."""
    details = []
    if unknown := len(answer.not_recognized):
        details.append(f"{counted(unknown, 'file')} {'was' if unknown == 1 else 'were'} not recognized.")
    if answer.without_runs:
        files = sum(answer.without_runs.values())
        names = ", ".join(f"{name} ({count:,})" for name, count in sorted(answer.without_runs.items()))
        details.append(f"{counted(files, 'file')} {'contains' if files == 1 else 'contain'} no runs: {names}.")
    if answer.archives:
        opened = f"{counted(answer.archives, 'archive')} {'was' if answer.archives == 1 else 'were'} opened."
        details.append(opened)
    return details


def _format_table(answer: ReadSummary) -> PageTable:
    counts = list(answer.formats.values())

    def column(name: str, title: str, shown: Callable[[FormatCount], str]) -> Column:
        return pages.Column(
            name=name,
            title=title,
            values=[getattr(count, name) for count in counts],
            decimals=6,
            texts=[shown(count) for count in counts],
            spare=SPARED.get(name, 0),
            foot=shown(answer.total) if len(counts) > 1 else "",
        )

    names = pages.text_column("format", "format", list(answer.formats))
    return pages.PageTable(
        caption="Runs by format",
        columns=(
            replace(names, foot="all" if len(counts) > 1 else ""),
            column("files", "files", lambda count: f"{count.files:,}" if count.files else pages.DASH),
            column("runs", "runs", lambda count: f"{count.runs:,}"),
            column("calls", "calls", lambda count: _covering(count.calls, count.calls_known_runs, count.runs)),
            column(
                "total_tokens",
                "tokens",
                lambda count: _covering(count.total_tokens, count.tokens_known_runs, count.runs),
            ),
            column("cost_known_usd", "cost known", lambda count: _cost(count.cost_known_usd, count.cost_known_runs)),
            column(
                "cost_lower_bound_usd",
                "lower bound",
                lambda count: _cost(count.cost_lower_bound_usd, count.cost_lower_bound_runs),
            ),
            column(
                "cost_unknown_runs",
                "unknown",
                lambda count: f"{count.cost_unknown_runs:,}" if count.cost_unknown_runs else pages.DASH,
            ),
        ),
    )


def _reason_table(answer: ReadSummary) -> PageTable:
    return pages.PageTable(
        name="reasons",
        caption="Rejected records by reason",
        terminal_rows=TERMINALREASONS,
        columns=(
            pages.count_column("records", "rejected", [each.records for each in answer.reasons]),
            pages.text_column("reason", "reason", [each.reason for each in answer.reasons]),
            pages.text_column("where", "first location", [each.where for each in answer.reasons]),
            pages.text_column("hint", "hint", [each.hint for each in answer.reasons]),
        ),
    )


def _cost(usd: float | None, runs: int) -> str:
    """Return dollars with the number of runs that they cover."""
    return f"{pages.number_text(usd, 'USD')} ({runs:,})" if runs and usd is not None else pages.DASH


def _covering(value: int | None, known: int, runs: int) -> str:
    """Return the number, with the count of runs if it covers only some; a dash if it is unknown."""
    if value is None:
        return pages.DASH
    return f"{value:,}" if known == runs else f"{value:,} ({known:,} of {runs:,})"
