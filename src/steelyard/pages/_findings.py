"""Findings as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.formatting import counted
from steelyard.pages._columns import count_column, text_column
from steelyard.pages._page import Page, PageTable
from steelyard.records import GRAVEST_FIRST, Finding, one_a_kind

PLACES_SHOWN = 3


def findings_page(findings: Sequence[Finding], *, rejected: int) -> Page:
    """Return one row per kind of finding, the gravest first."""
    kinds = sorted(one_a_kind(findings), key=lambda finding: GRAVEST_FIRST.index(finding.severity))
    counts = [(sum(finding.severity == severity for finding in kinds), severity) for severity in GRAVEST_FIRST]
    listed = ", ".join(
        counted(count, severity if severity != "info" else "note") for count, severity in counts if count
    )
    left_out = f" {counted(rejected, 'record')} rejected." if rejected else ""
    columns = (
        text_column("severity", "severity", [finding.severity for finding in kinds]),
        text_column("message", "finding", [finding.message for finding in kinds]),
        count_column("count", "cases", [finding.count for finding in kinds]),
        text_column("where", "where", [_where(finding) for finding in kinds]),
        text_column("code", "code", [finding.code for finding in kinds]),
    )
    return Page(
        name="findings",
        title="What should I know before I trust these numbers?",
        answer=(f"{listed}." if listed else "No findings.") + left_out,
        table=PageTable(name="findings", caption="Findings", columns=columns) if kinds else None,
    )


def folded_findings(findings: Sequence[Finding], *, rejected: int = 0) -> tuple[PageTable, ...]:
    """Return the table of findings, folded below a count of them; no table without findings."""
    page = findings_page(findings, rejected=rejected)
    return () if page.table is None else (replace(page.table, caption=page.answer, is_folded=True),)


def _where(finding: Finding) -> str | None:
    places = [place.where for place in finding.places[:PLACES_SHOWN] if place.where]
    more = len(finding.places) - len(places)
    return None if not places else ", ".join(places) + (f" and {more:,} more" if more > 0 else "")
